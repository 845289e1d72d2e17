"""Turns, what they presented and what they rest on, as rows inside a transaction."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection, and_, func, insert, literal_column, select, union_all

from gateway.core.access import AudienceKind
from gateway.core.scope_origin import Provenance
from gateway.core.turns import Exchange, TurnCitation, TurnRecord
from gateway.store.json_text import encoded, json_list
from gateway.store.statements import Row, Statement, in_texts, literal
from gateway.store.tables.library import sources
from gateway.store.tables.people import collections
from gateway.store.tables.record import turn_citations, turn_rests_on, turns
from gateway.store.values import clean, instant, micros

_INSERT = Statement(insert(turns), columns=[column.name for column in turns.c])
_INSERT_CITATION = Statement(
    insert(turn_citations), columns=[column.name for column in turn_citations.c]
)
_INSERT_REST = Statement(insert(turn_rests_on), columns=[column.name for column in turn_rests_on.c])
_LIVE_SOURCES = Statement(
    select(sources.c.id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(collections.c.removed_at.is_(None), in_texts(sources.c.id, "ids"))
)
_CITATIONS = Statement(
    select(*turn_citations.c, collections.c.no)
    .join(sources, sources.c.id == turn_citations.c.source_id, isouter=True)
    .join(
        collections,
        and_(collections.c.id == sources.c.collection_id, collections.c.removed_at.is_(None)),
        isouter=True,
    )
    .where(in_texts(turn_citations.c.turn_id, "turns"))
    .order_by(turn_citations.c.turn_id, turn_citations.c.n)
)
_RESTS = Statement(  # the collection's id, or nothing where the source is gone
    select(
        turn_rests_on.c.turn_id,
        turn_rests_on.c.source_id,
        func.coalesce(collections.c.id, literal("")),
    )
    .join(sources, sources.c.id == turn_rests_on.c.source_id, isouter=True)
    .join(
        collections,
        and_(collections.c.id == sources.c.collection_id, collections.c.removed_at.is_(None)),
        isouter=True,
    )
    .where(in_texts(turn_rests_on.c.turn_id, "turns"))
    .order_by(turn_rests_on.c.turn_id, turn_rests_on.c.source_id)
)
_own = select(
    turn_citations.c.turn_id,
    turn_citations.c.source_id,
    turn_citations.c.collection_id,
    turn_citations.c.n,
).where(in_texts(turn_citations.c.turn_id, "turns"))
_earlier = select(
    turn_rests_on.c.turn_id,
    turn_rests_on.c.source_id,
    turn_rests_on.c.collection_id,
    literal_column("2147483647").label("n"),
).where(in_texts(turn_rests_on.c.turn_id, "turns"))
_rested = union_all(_own, _earlier).subquery()
_RESTED = Statement(
    select(_rested.c.turn_id, _rested.c.source_id, _rested.c.collection_id).order_by(
        _rested.c.turn_id, _rested.c.n, _rested.c.source_id
    )
)


def put_turn(connection: Connection, turn: TurnRecord, *, question: str) -> None:
    """The turn and all it rests on; titles and excerpts of what is gone are left out."""
    live = _live(connection, (each.source_id for each in turn.citations))
    _INSERT.run(connection, **_values(turn) | {"question": clean(question)})
    _INSERT_CITATION.many(
        connection, [_citation_values(turn.id, each, live) for each in turn.citations]
    )
    _INSERT_REST.many(
        connection,
        [
            {"turn_id": turn.id, "source_id": source_id, "collection_id": collection_id}
            for source_id, collection_id in dict(turn.rests_on).items()
        ],
    )


def records(connection: Connection, rows: Sequence[Row]) -> list[TurnRecord]:
    """Rows of the turns table as they are told outside, in their order."""
    ids = json_list(row[0] for row in rows)
    cited = _by_turn(_CITATIONS.all(connection, turns=ids))
    rests = _by_turn(_RESTS.all(connection, turns=ids))
    return [_record(row, cited[row[0]], rests[row[0]]) for row in rows]


def exchanges(connection: Connection, rows: Sequence[Row]) -> list[Exchange]:
    """The same as history: with all that each rested on, and whether that is still there."""
    rested = _by_turn(_RESTED.all(connection, turns=json_list(row[0] for row in rows)))
    live = _live(connection, {each[1] for of_turn in rested.values() for each in of_turn})
    return [_exchange(row, rested[row[0]], live) for row in rows]


def _by_turn(rows: Sequence[Row]) -> dict[str, list[Row]]:
    by_turn: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_turn[row[0]].append(row)
    return by_turn


def _live(connection: Connection, source_ids: Iterable[str]) -> set[str]:
    ids = json_list(source_ids)
    return {row[0] for row in _LIVE_SOURCES.all(connection, ids=ids)}


def _exchange(row: Row, presented: Sequence[Row], live: set[str]) -> Exchange:
    existing = [(each[1], each[2]) for each in presented if each[1] in live]
    return Exchange(
        turn_id=row[0],
        question=row[7],
        answer=row[8],
        asked_at=instant(row[9]),
        presented=tuple(dict.fromkeys(existing)),
        is_complete=len(existing) == len(presented),
        is_direct=bool(row[3]),
        account_id=row[5],
        sender=row[6],
    )


def _record(row: Row, cited: Sequence[Row], rests: Sequence[Row]) -> TurnRecord:
    return TurnRecord(
        id=row[0],
        agent_id=row[1],
        conversation=row[2],
        is_direct=bool(row[3]),
        audience=AudienceKind(row[4]),
        account_id=row[5],
        sender=row[6],
        question=row[7],
        answer=row[8],
        asked_at=instant(row[9]),
        answered_at=instant(row[10]),
        citations=tuple(_citation(each) for each in cited),
        rests_on=tuple((each[1], each[2]) for each in rests),
        provenance=None if row[11] is None else msgspec.json.decode(row[11], type=Provenance),
    )


def _citation(row: Row) -> TurnCitation:
    """A row of _CITATIONS; nothing but ids when its source or collection is gone."""
    title, locator, excerpt = row[5:8] if row[-1] is not None else ("", "", "")
    return TurnCitation(
        row[1], row[2], row[3], row[4], title, locator, excerpt, is_cited=bool(row[8])
    )


def _values(turn: TurnRecord) -> dict[str, object]:
    return {
        "id": turn.id,
        "agent_id": turn.agent_id,
        "conversation": turn.conversation,
        "is_direct": int(turn.is_direct),
        "audience": turn.audience.value,
        "account_id": turn.account_id,
        "sender": turn.sender,
        "question": clean(turn.question),
        "answer": clean(turn.answer),
        "asked_at": micros(turn.asked_at),
        "answered_at": micros(turn.answered_at),
        "provenance": None if turn.provenance is None else encoded(turn.provenance),
    }


def _citation_values(turn_id: str, each: TurnCitation, live: set[str]) -> dict[str, object]:
    is_live = each.source_id in live
    return {
        "turn_id": turn_id,
        "n": each.n,
        "passage_id": each.passage_id,
        "source_id": each.source_id,
        "collection_id": each.collection_id,
        "title": clean(each.title) if is_live else "",
        "locator": clean(each.locator) if is_live else "",
        "excerpt": clean(each.excerpt) if is_live else "",
        "is_cited": int(each.is_cited),
    }
