"""Turns and their citations on SQLite; what a gone source left in them is never shown."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec
from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select, update

from gateway.core.access import AudienceKind
from gateway.core.scope_origin import Provenance
from gateway.core.turns import Exchange, TurnCitation, TurnRecord
from gateway.interfaces import Retractions, Turns
from gateway.store.database import Database
from gateway.store.json_text import encoded, json_list
from gateway.store.outbox import SqliteOutbox
from gateway.store.statements import Row, Statement, in_texts, literal
from gateway.store.tables.library import sources
from gateway.store.tables.people import collections
from gateway.store.tables.record import access_log, turn_citations, turns
from gateway.store.values import clean, instant, micros

_SPARE = 4  # turns read beyond the limit: some replies may still be on their way
_MANY = 200  # or, rarely, a long row of replies that could not be delivered

_FORGET = Statement(delete(turns).where(turns.c.id == bindparam("turn_id")))
_INSERT = Statement(insert(turns), columns=[column.name for column in turns.c])
_INSERT_CITATION = Statement(
    insert(turn_citations), columns=[column.name for column in turn_citations.c]
)
_LIVE_SOURCES = Statement(
    select(sources.c.id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(collections.c.removed_at.is_(None), in_texts(sources.c.id, "ids"))
)
_FIND = Statement(select(*turns.c).where(turns.c.id == bindparam("turn_id")))
_RECENT = Statement(
    select(*turns.c)
    .where(
        turns.c.conversation == bindparam("conversation"),
        turns.c.agent_id.is_not_distinct_from(bindparam("agent_id")),
    )
    .order_by(turns.c.id.desc())
    .limit(bindparam("most"))
)
_AFTER = Statement(
    select(*turns.c)
    .where(turns.c.conversation == bindparam("conversation"), turns.c.id > bindparam("after"))
    .order_by(turns.c.id)
    .limit(bindparam("most"))
)
_NEWEST = Statement(
    select(*turns.c)
    .where(turns.c.conversation == bindparam("conversation"))
    .order_by(turns.c.id.desc())
    .limit(bindparam("most"))
)
_newest_each = (
    select(func.max(turns.c.id))
    .where(
        turns.c.account_id == bindparam("account_id"),
        turns.c.audience == literal(AudienceKind.WEBCHAT.value),
    )
    .group_by(turns.c.conversation)
)
_CONVERSATIONS = Statement(
    select(*turns.c)
    .where(turns.c.id.in_(_newest_each))
    .order_by(turns.c.id.desc())
    .limit(bindparam("most"))
)
_FORGET_QUESTIONS = Statement(
    update(turns)
    .where(in_texts(turns.c.id, "turns"), turns.c.question != literal(""))
    .values(question=literal(""))
)
_FORGET_QUERIES = Statement(
    update(access_log)
    .where(in_texts(access_log.c.turn_id, "turns"), access_log.c.query != literal(""))
    .values(query=literal(""))
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
_PRESENTED = Statement(
    select(turn_citations.c.turn_id, turn_citations.c.source_id, turn_citations.c.collection_id)
    .where(in_texts(turn_citations.c.turn_id, "turns"))
    .order_by(turn_citations.c.turn_id, turn_citations.c.n)
)


class SqliteTurns:
    """Turns by conversation; ids are UUIDv7, so their order is that of time."""

    def __init__(self, database: Database, outbox: SqliteOutbox, retractions: Retractions) -> None:
        self._database = database
        self._outbox = outbox
        self._retractions = retractions

    async def record(self, turn: TurnRecord) -> None:
        """Title, locator and excerpt of a source that went meanwhile are not written, and no
        question whose message was taken back, before or while this is written.
        """
        values = _values(turn)
        if await self._retractions.retracted([turn.id]):
            values["question"] = ""
        source_ids = {each.source_id for each in turn.citations}

        def unit(connection: Connection) -> None:
            live = _live(connection, source_ids)
            _FORGET.run(connection, turn_id=turn.id)
            _INSERT.run(connection, **values)
            _INSERT_CITATION.many(
                connection,
                [_citation_values(turn.id, each, live) for each in turn.citations],
            )

        await self._database.write(unit)
        # the mark is set before anybody wipes: one that is not seen here is followed by its wiping
        await self.forget_questions(await self._retractions.retracted([turn.id]))

    async def forget_questions(self, turn_ids: Sequence[str]) -> None:
        ids = json_list(turn_ids)

        def unit(connection: Connection) -> None:
            _FORGET_QUESTIONS.run(connection, turns=ids)
            _FORGET_QUERIES.run(connection, turns=ids)

        if turn_ids:
            await self._database.write(unit)

    async def find(self, turn_id: str) -> TurnRecord | None:
        found = await self._records(lambda c: _FIND.all(c, turn_id=turn_id))
        return found[0] if found else None

    async def recent(
        self, agent_id: str | None, conversation: str, limit: int
    ) -> Sequence[Exchange]:
        found = await self._out(agent_id, conversation, limit, _SPARE)
        if found is None:
            found = await self._out(agent_id, conversation, limit, _MANY)
        return found or ()

    async def _out(
        self, agent_id: str | None, conversation: str, limit: int, spare: int
    ) -> list[Exchange] | None:
        """None: among so many turns too few went out, and there are older ones."""

        def unit(connection: Connection) -> tuple[list[Row], list[Row], set[str]]:
            rows = _RECENT.all(
                connection, agent_id=agent_id, conversation=conversation, most=limit + spare
            )
            presented = _PRESENTED.all(connection, turns=json_list(row[0] for row in rows))
            return rows, presented, _live(connection, {row[1] for row in presented})

        rows, presented, live = await self._database.read(unit)
        not_out = await self._outbox.not_out([row[0] for row in rows]) if rows else frozenset()
        kept = [row for row in rows if row[0] not in not_out][:limit]
        if len(kept) < limit and len(rows) == limit + spare and spare < _MANY:
            return None
        by_turn = _by_turn(presented)
        return [_exchange(row, by_turn[row[0]], live) for row in reversed(kept)]

    async def of_conversation(
        self, conversation: str, limit: int, after_turn_id: str | None = None
    ) -> Sequence[TurnRecord]:
        """Without `after_turn_id` the newest `limit` ones."""
        if after_turn_id is not None:
            return await self._records(
                lambda c: _AFTER.all(c, conversation=conversation, after=after_turn_id, most=limit)
            )
        newest = await self._records(
            lambda c: _NEWEST.all(c, conversation=conversation, most=limit)
        )
        return newest[::-1]

    async def conversations(self, account_id: str, limit: int) -> Sequence[TurnRecord]:
        """Newest first."""
        return await self._records(
            lambda c: _CONVERSATIONS.all(c, account_id=account_id, most=limit)
        )

    async def _records(self, read: Callable[[Connection], list[Row]]) -> list[TurnRecord]:
        def unit(connection: Connection) -> tuple[list[Row], list[Row]]:
            rows = read(connection)
            return rows, _CITATIONS.all(connection, turns=json_list(row[0] for row in rows))

        rows, cited = await self._database.read(unit)
        by_turn = _by_turn(cited)
        return [_record(row, by_turn[row[0]]) for row in rows]


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
    )


def _record(row: Row, cited: Sequence[Row]) -> TurnRecord:
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


fits: type[Turns] = SqliteTurns
