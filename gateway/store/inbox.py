"""The durable inbox on SQLite: stored before the webhook is answered, one lane a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    null,
    or_,
    select,
    update,
)

from gateway.core.messages import Conversation, InboundMessage, OutboundCall
from gateway.errors import NotFoundError
from gateway.interfaces import Claimed, Clock, Inbox, Retractions
from gateway.store import retraction_rows
from gateway.store.database import Database
from gateway.store.json_text import encoded, json_list
from gateway.store.outbox_rows import DELETE_SENT, FORGET_TEXT, INSERT_CALL, row_of
from gateway.store.retraction_rows import account_of, freed
from gateway.store.statements import Statement, literal
from gateway.store.tables.inbox import dedupe, inbox
from gateway.store.values import micros

_MESSAGES = msgspec.json.Decoder(InboundMessage)

_BUSY, _DONE = literal("busy"), literal("done")
_RUNNING, _WAITING = literal("running"), literal("waiting")
_IS_OPEN = inbox.c.state != _DONE  # written as in the partial index, or SQLite passes it by
_lane_other = inbox.alias()

_SEE = Statement(
    insert(dedupe).prefix_with("OR IGNORE", dialect="sqlite"),
    columns=["account", "key", "at", "row_id"],
)
_OPEN_IN_LANE = Statement(  # counts no further than it must
    select(func.count()).select_from(
        select(inbox.c.seq)
        .where(inbox.c.lane == bindparam("lane"), _IS_OPEN, inbox.c.state.in_((_WAITING, _RUNNING)))
        .limit(bindparam("most"))
        .subquery()
    )
)
_INSERT = Statement(
    insert(inbox).values(attempts=0, failures=0),
    columns=["id", "lane", "state", "payload", "received_at"],
)
_EXPIRE = Statement(
    update(inbox)
    .where(_IS_OPEN, inbox.c.state == _RUNNING, inbox.c.claimed_until <= bindparam("now"))
    .values(**freed(_WAITING))
)
_NEXT = Statement(
    select(inbox.c.id, inbox.c.payload, inbox.c.attempts, inbox.c.preview)
    .where(
        _IS_OPEN,
        inbox.c.state == _WAITING,
        ~select(_lane_other.c.seq)
        .where(
            _lane_other.c.lane == inbox.c.lane,
            _lane_other.c.state != _DONE,
            or_(
                _lane_other.c.state == _RUNNING,
                and_(_lane_other.c.state == _WAITING, _lane_other.c.seq < inbox.c.seq),
            ),
        )
        .exists(),
    )
    .order_by(inbox.c.seq)
    .limit(bindparam("most"))
)
_CLAIM = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row_id"))
    .values(
        state=_RUNNING,
        attempts=inbox.c.attempts + 1,
        claimed_by=bindparam("by"),
        claimed_until=bindparam("until"),
    )
)
_STATE = Statement(select(inbox.c.state, inbox.c.failures).where(inbox.c.id == bindparam("row_id")))
_FINISH = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row_id"))
    .values(
        state=_DONE,
        payload=null(),
        claimed_by=null(),
        claimed_until=null(),
        answered_at=bindparam("now"),
    )
)
_RELEASE = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row_id"), _IS_OPEN)
    .values(
        failures=inbox.c.failures + bindparam("failed"),
        attempts=func.max(0, inbox.c.attempts - 1 + bindparam("failed")),
        **freed(_WAITING),
    )
)
_RECOVER = Statement(
    update(inbox).where(_IS_OPEN, inbox.c.state.in_((_RUNNING, _BUSY))).values(**freed(_WAITING))
)
_SHOWN = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row_id"), _IS_OPEN)
    .values(preview=bindparam("shown"))
)
_RENEW = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row_id"), _IS_OPEN, inbox.c.state == _RUNNING)
    .values(claimed_until=bindparam("until"))
)
_FORGET_ROWS = Statement(
    delete(inbox).where(inbox.c.state == _DONE, inbox.c.answered_at < bindparam("before"))
)
_FORGET_KEYS = Statement(delete(dedupe).where(dedupe.c.at < bindparam("before")))


class SqliteInbox:
    """Rows of inbox.db: waiting | running | busy -> done; the message is wiped when answered."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def put(
        self, rows: Sequence[tuple[str, InboundMessage]], lane_limit: int
    ) -> Sequence[str]:
        written = [_Written(row_id, each, encoded(each)) for row_id, each in rows]
        seen_at = micros(self._clock.now())
        return await self._database.write(
            lambda connection: [_put(connection, row, seen_at, lane_limit) for row in written]
        )

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> Sequence[Claimed]:
        """Counts an attempt; a claim past its time is free again."""
        at, end = micros(now), micros(until)

        def unit(connection: Connection) -> list[Claimed]:
            _EXPIRE.run(connection, now=at)
            rows = _NEXT.all(connection, most=limit)
            _CLAIM.many(connection, ({"row_id": row[0], "by": by, "until": end} for row in rows))
            return [Claimed(row[0], _MESSAGES.decode(row[1]), row[2] + 1, row[3]) for row in rows]

        return await self._database.write(unit)

    async def answered(self, row_id: str, calls: Sequence[OutboundCall], now: datetime) -> None:
        """NotFoundError for a row that never was. A row that is done stays as it is."""
        at = micros(now)
        rows = [row_of(call) for call in calls]

        def unit(connection: Connection) -> None:
            found = _STATE.first(connection, row_id=row_id)
            if found is None:
                raise NotFoundError(f"inbox row {row_id}")
            if found[0] != "done":
                INSERT_CALL.many(connection, rows)
                _FINISH.run(connection, row_id=row_id, now=at)

        await self._database.write(unit)

    async def release(self, row_id: str, *, failed: bool) -> int:
        """A "busy" row given back waits like any other; NotFoundError when there is none."""
        now = micros(self._clock.now())

        def unit(connection: Connection) -> int:
            _RELEASE.run(connection, row_id=row_id, failed=int(failed), now=now)
            found = _STATE.first(connection, row_id=row_id)
            if found is None:
                raise NotFoundError(f"inbox row {row_id}")
            failures: int = found[1]
            return failures

        return await self._database.write(unit)

    async def recover(self, now: datetime) -> int:
        """One gateway a home: at its start every claim is a dead process's."""
        at = micros(now)
        return await self._database.write(lambda c: _RECOVER.run(c, now=at))

    async def shown(self, row_id: str, preview: str) -> None:
        await self._database.write(lambda c: _SHOWN.run(c, row_id=row_id, shown=preview))

    async def renew(self, row_ids: Sequence[str], until: datetime) -> None:
        rows = [{"row_id": row_id, "until": micros(until)} for row_id in row_ids]
        if rows:
            await self._database.write(lambda c: _RENEW.many(c, rows))

    async def retract(self, conversation: Conversation, keys: Sequence[str]) -> Sequence[str]:
        """A running turn goes on, without a re-run; what is kept of it is wiped when it ends."""
        now = micros(self._clock.now())
        return await self._database.write(
            lambda c: retraction_rows.retract(c, conversation, keys, now)
        )

    async def retracted(self, turn_ids: Sequence[str] | None = None) -> Sequence[str]:
        ids = None if turn_ids is None else json_list(turn_ids)
        return await self._database.read(lambda c: retraction_rows.retracted(c, ids))

    async def purge(self, before: datetime) -> int:
        """Also forgets sent outbox rows, and wipes the text of dead and unknown ones."""
        at = micros(before)

        def unit(connection: Connection) -> int:
            FORGET_TEXT.run(connection, before=at)
            return sum(
                statement.run(connection, before=at)
                for statement in (_FORGET_ROWS, _FORGET_KEYS, DELETE_SENT)
            )

        return await self._database.write(unit)


@dataclass(frozen=True, slots=True)
class _Written:
    """A message ready to be stored."""

    row_id: str
    message: InboundMessage
    payload: bytes


def _put(connection: Connection, row: _Written, seen_at: int, lane_limit: int) -> str:
    message, conversation = row.message, row.message.conversation
    account = account_of(conversation)
    keys = [f"d:{message.delivery_id}"] if message.delivery_id else []
    keys += [f"m:{message.message_key}"] if message.message_key else []
    fresh = [
        _SEE.run(connection, account=account, key=key, at=seen_at, row_id=row.row_id)
        for key in keys
    ]
    if not all(fresh) or retraction_rows.is_retracted(
        connection, conversation, message.message_key
    ):
        return "duplicate"
    is_open = _OPEN_IN_LANE.scalar(connection, lane=conversation.lane, most=lane_limit)
    is_busy = is_open >= lane_limit
    _INSERT.run(
        connection,
        id=row.row_id,
        lane=conversation.lane,
        state="busy" if is_busy else "waiting",
        payload=row.payload,
        received_at=micros(message.received_at),
    )
    return "busy" if is_busy else "new"


fits: type[Inbox] = SqliteInbox
fits_retractions: type[Retractions] = SqliteInbox
