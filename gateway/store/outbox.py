"""The durable outbox on SQLite: one row an API call, in order within a conversation."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from gateway.core.messages import IDEMPOTENT, SendMethod
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.interfaces import DueCall, Outbox
from gateway.store.database import Database
from gateway.store.json_text import json_list
from gateway.store.outbox_rows import (
    DEAD,
    DUE_COLUMNS,
    PENDING,
    SENDING,
    SENT,
    UNKNOWN,
    WIPED,
    due_call,
)
from gateway.store.statements import Statement, in_texts, literal
from gateway.store.tables.inbox import inbox, outbox
from gateway.store.values import instant, micros

_UNSENT = (PENDING, SENDING)
_REPEATABLE = outbox.c.method.in_([literal(method.value) for method in sorted(IDEMPOTENT)])
_NO_CLAIM = {"claimed_by": null(), "claimed_until": null()}
_WIPED = {"payload": null(), "reply_handle": null()}
_earlier = outbox.alias()

_DUE = Statement(
    select(*DUE_COLUMNS)
    .where(
        outbox.c.state.in_(_UNSENT),  # written as in the partial index
        outbox.c.state == PENDING,
        outbox.c.due_at <= bindparam("now"),
        or_(outbox.c.claimed_until.is_(None), outbox.c.claimed_until <= bindparam("now")),
        ~select(_earlier.c.seq)
        .where(
            _earlier.c.lane == outbox.c.lane,
            _earlier.c.seq < outbox.c.seq,
            _earlier.c.state.in_(_UNSENT),
        )
        .exists(),
    )
    .order_by(outbox.c.seq)
    .limit(bindparam("most"))
)
_of_call = outbox.c.id == bindparam("call_id")
_CLAIM = Statement(
    update(outbox)
    .where(_of_call)
    .values(
        attempts=outbox.c.attempts + 1,
        claimed_by=bindparam("by"),
        claimed_until=bindparam("until"),
    )
)
_SENDING = Statement(
    update(outbox)
    .where(_of_call, outbox.c.state.in_(_UNSENT))
    .values(state=SENDING, method=bindparam("how"))
)
_SENT = Statement(
    update(outbox)
    .where(_of_call, outbox.c.state != SENT)
    .values(state=SENT, finished_at=bindparam("now"), reason="", **_NO_CLAIM, **_WIPED)
)
_POSTPONE = Statement(
    update(outbox)
    .where(_of_call, outbox.c.state.in_(_UNSENT))
    .values(
        state=case((outbox.c.payload.is_(None), DEAD), else_=PENDING),
        due_at=bindparam("until"),
        reason=bindparam("reason"),
        method=case(
            (bindparam("drop_handle") == 1, null()), (_REPEATABLE, outbox.c.method), else_=null()
        ),
        reply_handle=case((bindparam("drop_handle") == 1, null()), else_=outbox.c.reply_handle),
        attempts=func.max(0, outbox.c.attempts - bindparam("given_back")),
        **_NO_CLAIM,
    )
)
_GIVE_UP = Statement(
    update(outbox)
    .where(_of_call, outbox.c.state.in_(_UNSENT))
    .values(
        state=bindparam("new_state"),
        finished_at=bindparam("now"),
        reason=bindparam("reason"),
        reply_handle=null(),
        **_NO_CLAIM,
    )
)
_IN_MID_SEND = Statement(
    select(outbox.c.id).where(outbox.c.state == SENDING, ~_REPEATABLE).order_by(outbox.c.seq)
)
_TO_UNKNOWN = Statement(
    update(outbox)
    .where(outbox.c.state == SENDING, ~_REPEATABLE)
    .values(
        state=UNKNOWN,
        finished_at=bindparam("now"),
        reason="stopped_while_sending",
        reply_handle=null(),
        **_NO_CLAIM,
    )
)
_TO_PENDING = Statement(
    update(outbox)
    .where(outbox.c.state.in_(_UNSENT), outbox.c.payload.is_not(None))
    .values(state=PENDING, **_NO_CLAIM)
)
_TO_DEAD = Statement(  # its text went with a source while it was being sent
    update(outbox)
    .where(outbox.c.state.in_(_UNSENT), outbox.c.payload.is_(None))
    .values(state=DEAD, finished_at=bindparam("now"), reason="source_removed", **_NO_CLAIM)
)
_REPLAY = Statement(
    update(outbox)
    .where(_of_call, in_texts(outbox.c.state, "states"), outbox.c.payload.is_not(None))
    .values(
        state=PENDING,
        # the message that showed the draft is no way any more; a key is, where there was one
        method=case(
            (outbox.c.method == literal(SendMethod.EDIT.value), null()), else_=outbox.c.method
        ),
        due_at=bindparam("now"),
        attempts=0,
        finished_at=null(),
        reason="replayed",
        **_NO_CLAIM,
    )
)
_LISTED = Statement(
    select(
        outbox.c.id,
        outbox.c.turn_id,
        outbox.c.lane,
        outbox.c.state,
        outbox.c.method,
        outbox.c.reason,
        outbox.c.attempts,
        outbox.c.created_at,
        outbox.c.finished_at,
    )
    .where(in_texts(outbox.c.state, "states"))
    .order_by(outbox.c.seq.desc())
    .limit(bindparam("most"))
)
_LISTED_NAMES = ("id", "turn_id", "conversation", "state", "method", "reason", "attempts")
_owes_sentence = and_(outbox.c.state.in_(_UNSENT), outbox.c.call_seq == literal_column("0"))
_FORGET_SOURCE = Statement(  # of a reply that has not begun to go out a sentence is still owed
    update(outbox)
    .where(in_texts(outbox.c.turn_id, "turns"), outbox.c.payload.is_not(None))
    .values(
        state=case(
            (_owes_sentence, outbox.c.state),
            (outbox.c.state == PENDING, DEAD),
            else_=outbox.c.state,
        ),
        finished_at=case(
            (_owes_sentence, null()),
            (outbox.c.state == PENDING, bindparam("now")),
            else_=outbox.c.finished_at,
        ),
        reason=case((outbox.c.state == PENDING, "source_removed"), else_=outbox.c.reason),
        payload=case((_owes_sentence, bindparam("wiped")), else_=null()),
        reply_handle=case((_owes_sentence, outbox.c.reply_handle), else_=null()),
    )
)
_NOT_OUT = Statement(
    select(outbox.c.turn_id)
    .where(in_texts(outbox.c.turn_id, "turns"), outbox.c.state != SENT)
    .union(
        select(inbox.c.id).where(in_texts(inbox.c.id, "turns"), inbox.c.state != literal("done"))
    )
)


class SqliteOutbox:
    """Rows of inbox.db: pending -> sending -> sent | unknown | dead."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> Sequence[DueCall]:
        """Counts an attempt, this one included in `DueCall.attempts`."""
        at, end = micros(now), micros(until)

        def unit(connection: Connection) -> list[DueCall]:
            rows = _DUE.all(connection, now=at, most=limit)
            _CLAIM.many(connection, ({"call_id": row[0], "by": by, "until": end} for row in rows))
            return [due_call(row) for row in rows]

        return await self._database.write(unit)

    async def sending(self, call_id: str, method: SendMethod) -> None:
        """NotFoundError when the call is settled or gone: then nothing may be sent."""
        await self._change(_SENDING, call_id, how=method.value)

    async def sent(self, call_id: str, now: datetime) -> None:
        at = micros(now)
        await self._database.write(lambda c: _SENT.run(c, call_id=call_id, now=at))

    async def postpone(
        self,
        call_id: str,
        until: datetime,
        reason: str,
        *,
        without_handle: bool = False,
        uncounted: bool = False,
    ) -> None:
        """Keeps the method only where a repeat must use the same one; frees the claim."""
        await self._change(
            _POSTPONE,
            call_id,
            until=micros(until),
            reason=reason,
            drop_handle=int(without_handle),
            given_back=int(uncounted),
        )

    async def give_up(self, call_id: str, state: str, reason: str, now: datetime) -> None:
        """InvalidRequestError for any other state. The text stays for people to see."""
        if state not in {"unknown", "dead"}:
            raise InvalidRequestError(f"outbox state {state}", reason=state)
        await self._change(_GIVE_UP, call_id, new_state=state, reason=reason, now=micros(now))

    async def recover(self, now: datetime) -> Sequence[str]:
        at = micros(now)

        def unit(connection: Connection) -> list[str]:
            unknown = [row[0] for row in _IN_MID_SEND.all(connection)]
            _TO_UNKNOWN.run(connection, now=at)
            _TO_DEAD.run(connection, now=at)
            _TO_PENDING.run(connection)
            return unknown

        return await self._database.write(unit)

    async def listed(self, states: Sequence[str], limit: int) -> Sequence[Mapping[str, Any]]:
        """Newest first; keys as _LISTED_NAMES and `created_at`, `finished_at`; never the text."""
        rows = await self._database.read(
            lambda c: _LISTED.all(c, states=json_list(states), most=limit)
        )
        return [
            dict(zip(_LISTED_NAMES, row, strict=False))
            | {"created_at": instant(row[7]), "finished_at": instant(row[8])}
            for row in rows
        ]

    async def replay(
        self, call_id: str, now: datetime, states: Sequence[str] = ("dead", "unknown")
    ) -> None:
        """With a fresh count of attempts; the key stays, so that an accepted push stays one."""
        await self._change(_REPLAY, call_id, now=micros(now), states=json_list(states))

    async def forget_turns(self, turn_ids: Sequence[str], now: datetime) -> None:
        """Wipe the replies of these turns, which rest on a source that is going (section 8.8).

        The first call of a reply stays due, without parts: whoever asked is told something.
        """
        at, turns = micros(now), json_list(turn_ids)
        if turn_ids:
            await self._database.write(
                lambda c: _FORGET_SOURCE.run(c, turns=turns, now=at, wiped=WIPED)
            )

    async def not_out(self, turn_ids: Sequence[str]) -> frozenset[str]:
        """Those whose reply is not, or not surely, with the person."""
        turns = json_list(turn_ids)
        rows = await self._database.read(lambda c: _NOT_OUT.all(c, turns=turns))
        return frozenset(row[0] for row in rows)

    async def _change(self, statement: Statement, call_id: str, **values: Any) -> None:
        changed = await self._database.write(
            lambda connection: statement.run(connection, call_id=call_id, **values)
        )
        if not changed:
            raise NotFoundError(f"no unsent outbox row {call_id}")


fits: type[Outbox] = SqliteOutbox
