"""Documents that wait for approval, on SQLite: counted, decided and ended in one go each."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source
from gateway.core.proposals import (
    OpenProposal,
    Proposal,
    ProposalState,
    limit_broken,
    may_decide,
)
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.interfaces import Ids, ProposalCards
from gateway.interfaces.workspace import ProposalStates
from gateway.store.audit_rows import put_event
from gateway.store.collections import (
    COLLECTION_COLUMNS,
    IS_LIVE,
    collection_of,
    live_collection,
)
from gateway.store.database import Database
from gateway.store.grant_rows import GRANT_COLUMNS, grants_of
from gateway.store.people import FIND_ACCOUNT, account_of
from gateway.store.proposal_rows import (
    IS_OPEN,
    counts,
    details_of,
    proposal_of,
    stored,
    values_of,
)
from gateway.store.source_rows import add_source
from gateway.store.statements import Statement, literal
from gateway.store.tables.people import accounts, collections, grants
from gateway.store.tables.proposals import proposals
from gateway.store.values import micros

_PENDING = literal(ProposalState.PENDING.value)
_INSERT = Statement(insert(proposals), columns=[column.name for column in proposals.c])
_OF_TURN = Statement(
    select(*proposals.c)
    .where(proposals.c.turn_id == bindparam("turn_id"))
    .order_by(proposals.c.created_at, proposals.c.id)
)
_FIND = Statement(select(*proposals.c).where(proposals.c.id == bindparam("proposal_id")))
_LIVE = Statement(
    select(*COLLECTION_COLUMNS).where(IS_LIVE, collections.c.id == bindparam("collection_id"))
)
_GRANTS = Statement(
    select(*GRANT_COLUMNS).where(grants.c.collection_id == bindparam("collection_id"))
)
_OPEN = Statement(
    select(*proposals.c, accounts.c.display_name, *COLLECTION_COLUMNS)
    .join(collections, collections.c.id == proposals.c.collection_id)
    .join(accounts, accounts.c.id == proposals.c.account_id, isouter=True)
    .where(IS_LIVE, IS_OPEN)
    .order_by(proposals.c.created_at, proposals.c.id)
)
_GRANTS_OF_OPEN = Statement(
    select(*GRANT_COLUMNS).where(
        grants.c.collection_id.in_(select(proposals.c.collection_id).where(IS_OPEN))
    )
)
_DECIDE = Statement(
    update(proposals)
    .where(proposals.c.id == bindparam("proposal_id"), proposals.c.state == _PENDING)
    .values(
        state=bindparam("new_state"),
        decided_by=bindparam("who"),
        decided_at=bindparam("at"),
        source_id=bindparam("new_source"),
        title="",  # a decided card keeps who and when, not what
        name="",
    )
)
_OVER = Statement(
    select(*proposals.c)
    .join(collections, collections.c.id == proposals.c.collection_id, isouter=True)
    .where(
        proposals.c.state == _PENDING,
        or_(
            proposals.c.expires_at <= bindparam("now"),
            collections.c.id.is_(None),
            collections.c.removed_at.is_not(None),
        ),
    )
)
_ALL_PENDING = Statement(select(proposals.c.id).where(proposals.c.state == _PENDING))


class SqliteProposals:
    """Cards; of two decisions the writer takes one first, and the other finds it decided."""

    def __init__(self, database: Database, ids: Ids) -> None:
        self._database = database
        self._ids = ids

    async def put(self, cards: Sequence[Proposal]) -> Sequence[Proposal]:
        return await self._database.write(lambda c: _put(c, cards))

    async def of_turn(self, turn_id: str) -> Sequence[Proposal]:
        rows = await self._database.read(lambda c: _OF_TURN.all(c, turn_id=turn_id))
        return [proposal_of(row) for row in rows]

    async def decidable(self, account_id: str, now: datetime) -> Sequence[OpenProposal]:
        return await self._database.read(lambda c: _decidable(c, account_id, now))

    async def find(self, proposal_id: str, account_id: str, now: datetime) -> OpenProposal:
        return await self._database.read(lambda c: _found(c, proposal_id, account_id, now))

    async def approve(
        self, proposal_id: str, account_id: str, source: Source, now: datetime
    ) -> tuple[Source, bool]:
        """Also where the source is there already: then the card names that one."""
        job_id, at = self._ids.new(), micros(now)

        def unit(connection: Connection) -> tuple[Source, bool]:
            card = _found(connection, proposal_id, account_id, now).proposal
            added, is_new = add_source(connection, source, job_id, at)
            ended = _ended(card, ProposalState.APPROVED, now, account_id)
            _end(connection, replace(ended, source_id=added.id))
            return added, is_new

        return await self._database.write(unit)

    async def reject(
        self, proposal_id: str, account_id: str, now: datetime, *, reason: str | None = None
    ) -> None:
        def unit(connection: Connection) -> None:
            card = _found(connection, proposal_id, account_id, now).proposal
            _end(connection, _ended(card, ProposalState.REJECTED, now, account_id), reason)

        await self._database.write(unit)

    async def expire(self, now: datetime) -> Sequence[str]:
        def unit(connection: Connection) -> list[str]:
            over = [proposal_of(row) for row in _OVER.all(connection, now=micros(now))]
            for card in over:
                _end(connection, _ended(card, ProposalState.EXPIRED, now))
            return [card.id for card in over]

        return await self._database.write(unit)

    async def state_of(self, proposal_id: str) -> Proposal | None:
        row = await self._database.read(lambda c: _FIND.first(c, proposal_id=proposal_id))
        return None if row is None else proposal_of(row)

    async def pending(self) -> frozenset[str]:
        return frozenset(row[0] for row in await self._database.read(_ALL_PENDING.all))


def _put(connection: Connection, cards: Sequence[Proposal]) -> list[Proposal]:
    kept: list[Proposal] = []
    for card in cards:
        live_collection(connection, card.collection_id)
        known = stored(connection, card)
        if known is None:
            of_agent, of_proposer = counts(connection, card)
            limit = limit_broken(of_agent, of_proposer, 1)
            if limit is not None:  # what was written for the cards before this one goes too
                raise GatewayError("pending cards", code="proposal_limit", limit=limit)
            _INSERT.run(connection, **values_of(card))
            by = card.proposer.account_id or f"agent:{card.proposer.agent_id}"
            event = "knowledge_proposal_created"
            put_event(connection, SecurityEvent(event, card.created_at, by, details_of(card)))
        kept.append(known or card)
    return kept


def _found(
    connection: Connection, proposal_id: str, account_id: str, now: datetime
) -> OpenProposal:
    """All is looked up whatever is missing, so that absent and forbidden take the same way."""
    row = _FIND.first(connection, proposal_id=proposal_id)
    collection_id = "" if row is None else row[1]
    shelf = _LIVE.first(connection, collection_id=collection_id)
    person = FIND_ACCOUNT.first(connection, account_id=account_id)
    allowed = grants_of(_GRANTS.all(connection, collection_id=collection_id))
    account = None if person is None else account_of(person)
    if not may_decide(account, collection_id, allowed) or row is None or shelf is None:
        raise NotFoundError(f"proposal {proposal_id}")
    card = proposal_of(row)
    if card.state is ProposalState.PENDING and not card.is_open(now):
        raise ConflictError(proposal_id, code="proposal_expired")
    if not card.is_open(now):
        is_over = card.state is ProposalState.EXPIRED
        raise ConflictError(proposal_id, code="proposal_expired" if is_over else "proposal_decided")
    return OpenProposal(card, collection_of(shelf))


def _decidable(connection: Connection, account_id: str, now: datetime) -> list[OpenProposal]:
    person = FIND_ACCOUNT.first(connection, account_id=account_id)
    account = None if person is None else account_of(person)
    at = micros(now)
    allowed = tuple(grants_of(_GRANTS_OF_OPEN.all(connection, now=at)))
    width = len(proposals.c)
    found = []
    for row in _OPEN.all(connection, now=at):
        collection = collection_of(row[width + 1 :])
        if may_decide(account, collection.id, allowed):
            found.append(OpenProposal(proposal_of(row[:width]), collection, row[width] or ""))
    return found


def _ended(card: Proposal, state: ProposalState, at: datetime, by: str | None = None) -> Proposal:
    return replace(card, state=state, decided_at=at, decided_by=by)


def _end(connection: Connection, ended: Proposal, reason: str | None = None) -> None:
    """`reason`: it was to be approved, and this stood in the way for good."""
    assert ended.decided_at is not None
    _DECIDE.run(
        connection,
        proposal_id=ended.id,
        new_state=ended.state.value,
        who=ended.decided_by,
        at=micros(ended.decided_at),
        new_source=ended.source_id,
    )
    event = f"knowledge_proposal_{ended.state.value}"
    details = details_of(ended) | {"source_id": ended.source_id}
    if reason is not None:
        event, details = "knowledge_proposal_approved_failed", details | {"reason": reason}
    by = ended.decided_by or "gateway"
    put_event(connection, SecurityEvent(event, ended.decided_at, by, details))


fits: type[ProposalCards] = SqliteProposals
states_fit: type[ProposalStates] = SqliteProposals
