"""Turns and their citations on SQLite; what a gone source left in them is never shown."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Text, and_, bindparam, delete, func, or_, select, update

from gateway.core.access import AudienceKind
from gateway.core.turns import Exchange, TurnRecord
from gateway.interfaces import Retractions, Turns
from gateway.store.database import Database
from gateway.store.json_text import json_list
from gateway.store.outbox import SqliteOutbox
from gateway.store.statements import Row, Statement, in_texts, literal
from gateway.store.tables.record import access_log, turns
from gateway.store.turn_rows import exchanges, put_turn, records

_SPARE = 4  # turns read beyond the limit: some replies may still be on their way
_MANY = 200  # or, rarely, a long row of replies that could not be delivered

_FORGET = Statement(delete(turns).where(turns.c.id == bindparam("turn_id")))
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
_HAS_TEXT = or_(turns.c.question != literal(""), turns.c.answer != literal(""))  # not forgotten
_AFTER = Statement(
    select(*turns.c)
    .where(
        turns.c.conversation == bindparam("conversation"),
        turns.c.id > bindparam("after"),
        _HAS_TEXT,
    )
    .order_by(turns.c.id)
    .limit(bindparam("most"))
)
_NEWEST = Statement(
    select(*turns.c)
    .where(turns.c.conversation == bindparam("conversation"), _HAS_TEXT)
    .order_by(turns.c.id.desc())
    .limit(bindparam("most"))
)
_newest_each = (
    select(func.max(turns.c.id))
    .where(
        turns.c.account_id == bindparam("account_id"),
        turns.c.audience == literal(AudienceKind.WEBCHAT.value),
        _HAS_TEXT,
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
# what colleagues were asked in these turns (`Asked.of_colleague`): conversations named below them
_turn_ids = func.json_each(bindparam("turns", type_=Text)).table_valued("value")
_below = literal("ask/").concat(_turn_ids.c.value)
_BELOW = Statement(
    select(turns.c.id).join_from(
        _turn_ids,
        turns,
        and_(
            turns.c.conversation > _below.concat(literal("/")),
            turns.c.conversation < _below.concat(literal("0")),
        ),
    )
)
_FORGET_QUERIES = Statement(
    update(access_log)
    .where(in_texts(access_log.c.turn_id, "turns"), access_log.c.query != literal(""))
    .values(query=literal(""))
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
        question = "" if await self._retractions.retracted([turn.id]) else turn.question

        def unit(connection: Connection) -> None:
            _FORGET.run(connection, turn_id=turn.id)
            put_turn(connection, turn, question=question)

        await self._database.write(unit)
        # the mark is set before anybody wipes: one that is not seen here is followed by its wiping
        await self.forget_questions(await self._retractions.retracted([turn.id]))

    async def forget_questions(self, turn_ids: Sequence[str]) -> None:
        def unit(connection: Connection) -> None:
            below = _BELOW.all(connection, turns=json_list(turn_ids))
            ids = json_list([*turn_ids, *(row[0] for row in below)])
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

        def unit(connection: Connection) -> list[Exchange]:
            rows = _RECENT.all(
                connection, agent_id=agent_id, conversation=conversation, most=limit + spare
            )
            return exchanges(connection, rows)

        found = await self._database.read(unit)
        not_out = await self._outbox.not_out([each.turn_id for each in found]) if found else ()
        kept = [each for each in found if each.turn_id not in not_out][:limit]
        if len(kept) < limit and len(found) == limit + spare and spare < _MANY:
            return None
        return kept[::-1]

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
        return await self._database.read(lambda c: records(c, read(c)))


fits: type[Turns] = SqliteTurns
