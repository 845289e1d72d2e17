"""Which API calls a finished reply makes us owe, with ids that a repeat would give again."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from gateway.core.asking import is_blank
from gateway.core.messages import InboundMessage, Limits, OutboundCall, Reply

# Namespaces of our own, so that a row's id is never what a platform sees as its key.
_CALL = uuid.UUID("6f0c1f0e-6f3b-5c0b-9a55-2f2d0f8f7a11")
_KEY = uuid.UUID("b7c0d6a2-1d0f-5d53-8f0c-7a4a1c9d5e22")


def owed_calls(
    turn_id: str, message: InboundMessage, reply: Reply, limits: Limits, now: datetime
) -> tuple[OutboundCall, ...]:
    """At most `parts_per_call` parts a call, in order (DESIGN section 8.6).

    The one-time reply handle goes to the first call alone. Parts in which nothing can be
    seen are left out: platforms refuse them, and the call with them.
    """
    parts = [part for part in reply.parts if not is_blank(part)]
    return tuple(
        OutboundCall(
            id=str(uuid.uuid5(_CALL, f"{turn_id}/{seq}")),
            turn_id=turn_id,
            seq=seq,
            conversation=message.conversation,
            parts=tuple(chunk),
            idempotency_key=str(uuid.uuid5(_KEY, f"{turn_id}/{seq}")),
            created_at=now,
            reply_handle=message.reply_handle if seq == 0 else None,
            reply_to=message.reply_to if seq == 0 else None,
        )
        for seq, chunk in enumerate(_chunks(parts, limits.parts_per_call))
    )


def final_frame(reply: Reply) -> Mapping[str, Any]:
    """What a channel that shows citations itself needs beside the parts (DESIGN section 8.17)."""
    return {"text": reply.text, "citations": [asdict(view) for view in reply.citations]}


def _chunks(parts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(parts), size):
        yield parts[start : start + size]
