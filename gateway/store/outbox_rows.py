"""Outbox rows as the inbox writes them and the outbox reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, insert, null, update

from gateway.core.messages import Conversation, OutboundCall, ReplyHandle, SendMethod
from gateway.interfaces import DueCall
from gateway.store.json_text import encoded
from gateway.store.statements import Row, Statement, literal
from gateway.store.tables.inbox import outbox
from gateway.store.values import instant, micros

PENDING, SENDING, SENT = literal("pending"), literal("sending"), literal("sent")
UNKNOWN, DEAD = literal("unknown"), literal("dead")


@dataclass(frozen=True, slots=True)
class _Payload:
    """What is wiped once it is out: the text of a call."""

    parts: tuple[str, ...]
    extra: Mapping[str, Any] | None = None
    reply_to: str | None = None


WIPED = encoded(_Payload(()))  # its text went; whoever waits is still owed a sentence
_PAYLOADS = msgspec.json.Decoder(_Payload)
_CONVERSATIONS = msgspec.json.Decoder(Conversation)
_HANDLES = msgspec.json.Decoder(ReplyHandle)

INSERT_CALL = Statement(
    insert(outbox).prefix_with("OR IGNORE", dialect="sqlite").values(attempts=0, reason=""),
    columns=[
        "id",
        "turn_id",
        "call_seq",
        "lane",
        "conversation",
        "state",
        "payload",
        "reply_handle",
        "idempotency_key",
        "created_at",
        "due_at",
    ],
)
DELETE_SENT = Statement(
    delete(outbox).where(outbox.c.state == SENT, outbox.c.finished_at < bindparam("before"))
)
FORGET_TEXT = Statement(
    update(outbox)
    .where(outbox.c.state.in_((UNKNOWN, DEAD)), outbox.c.finished_at < bindparam("before"))
    .values(payload=null(), reply_handle=null())
)


def row_of(call: OutboundCall) -> dict[str, Any]:
    """Parameters of INSERT_CALL."""
    handle = call.reply_handle
    payload = _Payload(call.parts, call.extra, call.reply_to)
    created_at = micros(call.created_at)
    return {
        "id": call.id,
        "turn_id": call.turn_id,
        "call_seq": call.seq,
        "lane": call.conversation.lane,
        "conversation": encoded(call.conversation),
        "state": "pending",
        "payload": encoded(payload),
        "reply_handle": None if handle is None else encoded(handle),
        "idempotency_key": call.idempotency_key,
        "created_at": created_at,
        "due_at": created_at,
    }


DUE_COLUMNS = (
    outbox.c.id,
    outbox.c.turn_id,
    outbox.c.call_seq,
    outbox.c.conversation,
    outbox.c.payload,
    outbox.c.reply_handle,
    outbox.c.idempotency_key,
    outbox.c.created_at,
    outbox.c.attempts,
    outbox.c.method,
)


def due_call(row: Row) -> DueCall:
    """A row of DUE_COLUMNS; its present claim counts as an attempt."""
    payload = _PAYLOADS.decode(row[4])
    call = OutboundCall(
        id=row[0],
        turn_id=row[1],
        seq=row[2],
        conversation=_CONVERSATIONS.decode(row[3]),
        parts=payload.parts,
        idempotency_key=row[6],
        created_at=instant(row[7]),
        reply_handle=None if row[5] is None else _HANDLES.decode(row[5]),
        extra=payload.extra,
        reply_to=payload.reply_to,
    )
    return DueCall(call, row[8] + 1, None if row[9] is None else SendMethod(row[9]))
