"""The frames that go to the page (DESIGN 8.17); pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from channels.text import clean, whole_text
from gateway.core.messages import CitationView, Limits, OutboundCall, Unit

LIMITS = Limits(
    Unit.CODE_POINTS, part_units=100_000, parts_per_call=1, footer_units=0, has_markdown=True
)


def delta(turn_id: str, text: str) -> str:
    """A piece of a draft."""
    return _frame({"type": "assistant_delta", "turn_id": turn_id, "text": clean(text)})


def done(turn_id: str, text: str, citations: Sequence[Mapping[str, Any]]) -> str:
    """The finished answer; its text replaces the deltas."""
    return _frame(
        {
            "type": "assistant_done",
            "turn_id": turn_id,
            "text": clean(text),
            "citations": list(citations),
        }
    )


def done_again(turn_id: str, text: str, citations: Sequence[CitationView]) -> str:
    """The same for a socket that comes back later."""
    return done(turn_id, text, [asdict(each) for each in citations])


def error(code: str, message: str) -> str:
    """What went wrong, as a sentence."""
    return _frame({"type": "error", "code": code, "message": message})


def final(call: OutboundCall) -> str:
    """The final frame of a reply; ValueError where it cannot be carried."""
    return done(call.turn_id, whole_text(call, LIMITS), (call.extra or {}).get("citations", ()))


def _frame(values: Mapping[str, Any]) -> str:
    return msgspec.json.encode(values).decode()
