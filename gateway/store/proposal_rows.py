"""Cards as rows: read, written, counted and recognised."""

from sqlalchemy import Connection, and_, bindparam, func, or_, select

from gateway.core.access import AudienceKind
from gateway.core.proposals import Proposal, ProposalKind, ProposalState, Proposer
from gateway.store.collections import IS_LIVE
from gateway.store.statements import Row, Statement, literal
from gateway.store.tables.people import collections
from gateway.store.tables.proposals import proposals
from gateway.store.values import clean, instant, micros

IS_OPEN = and_(
    proposals.c.state == literal(ProposalState.PENDING.value),
    proposals.c.expires_at > bindparam("now"),
)
_COUNT_OF_AGENT = Statement(
    select(func.count())
    .select_from(proposals)
    .join(collections, collections.c.id == proposals.c.collection_id)
    .where(IS_LIVE, IS_OPEN, proposals.c.agent_id == bindparam("agent"))
)
_COUNT_OF_PROPOSER = Statement(
    select(func.count())
    .select_from(proposals)
    .join(collections, collections.c.id == proposals.c.collection_id)
    .where(IS_LIVE, IS_OPEN, proposals.c.account_id == bindparam("proposer"))
)
_SAME = Statement(
    select(*proposals.c)
    .where(
        proposals.c.collection_id == bindparam("collection"),
        proposals.c.sha256 == bindparam("hash"),
        or_(
            proposals.c.turn_id == bindparam("turn"),
            and_(
                IS_OPEN,
                proposals.c.agent_id == bindparam("agent"),
                proposals.c.account_id.is_(bindparam("proposer")),
            ),
        ),
    )
    .limit(1)
)


def proposal_of(row: Row) -> Proposal:
    """A row of the proposals table."""
    return Proposal(
        id=row[0],
        collection_id=row[1],
        title=row[2],
        kind=ProposalKind(row[3]),
        name=row[4],
        media_type=row[5],
        size_bytes=row[6],
        sha256=row[7],
        proposer=Proposer(row[8], row[9], AudienceKind(row[10]), row[11], row[12]),
        created_at=instant(row[13]),
        state=ProposalState(row[15]),
        decided_by=row[16],
        decided_at=instant(row[17]),
        source_id=row[18],
    )


def values_of(card: Proposal) -> dict[str, str | int | None]:
    """All columns of a card that is put."""
    return {
        "id": card.id,
        "collection_id": card.collection_id,
        "title": clean(card.title),
        "kind": card.kind.value,
        "name": clean(card.name),
        "media_type": clean(card.media_type),
        "size_bytes": card.size_bytes,
        "sha256": card.sha256,
        "turn_id": card.proposer.turn_id,
        "agent_id": card.proposer.agent_id,
        "audience": card.proposer.audience.value,
        "channel": card.proposer.channel,
        "account_id": card.proposer.account_id,
        "created_at": micros(card.created_at),
        "expires_at": micros(card.expires_at),
        "state": ProposalState.PENDING.value,
        "decided_by": None,
        "decided_at": None,
        "source_id": None,
    }


def stored(connection: Connection, card: Proposal) -> Proposal | None:
    """The card of the same turn, or a pending one of the same proposer, for the same bytes."""
    row = _SAME.first(
        connection,
        collection=card.collection_id,
        hash=card.sha256,
        turn=card.proposer.turn_id,
        agent=card.proposer.agent_id,
        proposer=card.proposer.account_id,
        now=micros(card.created_at),
    )
    return None if row is None else proposal_of(row)


def counts(connection: Connection, card: Proposal) -> tuple[int, int | None]:
    """Open cards of the card's agent, and of its proposer where that is a person."""
    proposer, now = card.proposer, micros(card.created_at)
    of_agent: int = _COUNT_OF_AGENT.scalar(connection, agent=proposer.agent_id, now=now)
    if proposer.account_id is None:
        return of_agent, None
    of_proposer: int = _COUNT_OF_PROPOSER.scalar(connection, proposer=proposer.account_id, now=now)
    return of_agent, of_proposer


def details_of(card: Proposal) -> dict[str, str | int | bool | None]:
    """What the security audit says of a card: ids and figures, no name and no title."""
    return {
        "proposal_id": card.id,
        "collection_id": card.collection_id,
        "kind": card.kind.value,
        "size_bytes": card.size_bytes,
        "sha256": card.sha256,
        "agent_id": card.proposer.agent_id,
        "audience": card.proposer.audience.value,
        "channel": card.proposer.channel,
        "proposed_by": card.proposer.account_id,
    }
