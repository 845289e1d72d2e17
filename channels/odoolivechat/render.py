"""From a call we owe to the body that a relay takes; pure."""

import msgspec

from channels.text import clean
from gateway.core.messages import Limits, OutboundCall, Unit

LIMITS = Limits(
    Unit.CODE_POINTS, part_units=20_000, parts_per_call=1, footer_units=1_200, shows_drafts=False
)


def body(call: OutboundCall) -> bytes:
    """JSON, plain text; ValueError where it cannot be carried."""
    if len(call.parts) != LIMITS.parts_per_call:
        raise ValueError(f"{len(call.parts)} parts in a call")
    text = clean(call.parts[0])
    if not text.strip() or len(text) > LIMITS.part_units:
        raise ValueError(f"a part of {len(text)} characters")
    said = {
        "session_id": call.conversation.id,
        "message_id": call.reply_to,
        "turn_id": call.turn_id,
        "text": text,
        "idempotency_key": call.idempotency_key,
    }
    return msgspec.json.encode(said)
