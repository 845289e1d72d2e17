"""The frames that go to a visitor (DESIGN 8.17); pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from channels.text import clean, whole_text
from gateway.core.messages import CitationView, Limits, OutboundCall, Unit

LIMITS = Limits(
    Unit.CODE_POINTS, part_units=100_000, parts_per_call=1, footer_units=0, has_markdown=True
)
SHOWN = ("n", "title", "locator", "excerpt")  # ids would open nothing, and are nobody's business


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A question and its answer, for a visitor who comes back."""

    turn_id: str
    question: str
    text: str
    citations: tuple[CitationView, ...] = ()


def session(token: str) -> str:
    """Who the visitor is from now on."""
    return _frame({"type": "session", "token": token})


def history(turns: Sequence[PastTurn]) -> str:
    """What was said before, oldest first."""
    said = [
        {
            "turn_id": turn.turn_id,
            "question": clean(turn.question),
            "text": clean(turn.text),
            "citations": [_of_view(each) for each in turn.citations],
        }
        for turn in turns
    ]
    return _frame({"type": "history", "turns": said})


def delta(turn_id: str, text: str) -> str:
    """A piece of a draft."""
    return _frame({"type": "assistant_delta", "turn_id": turn_id, "text": clean(text)})


def done_again(turn: PastTurn) -> str:
    """A finished answer for a socket that comes back."""
    return _done(turn.turn_id, turn.text, [_of_view(each) for each in turn.citations])


def error(code: str, message: str) -> str:
    """What went wrong, as a sentence."""
    return _frame({"type": "error", "code": code, "message": message})


def final(call: OutboundCall) -> str:
    """The final frame of a reply; ValueError where it cannot be carried."""
    citations = [_shown(each) for each in (call.extra or {}).get("citations", ())]
    return _done(call.turn_id, whole_text(call, LIMITS), citations)


def _done(turn_id: str, text: str, citations: Sequence[Mapping[str, Any]]) -> str:
    said = {"type": "assistant_done", "turn_id": turn_id, "text": clean(text)}
    return _frame({**said, "citations": list(citations)})


def _of_view(view: CitationView) -> Mapping[str, Any]:
    return {key: getattr(view, key) for key in SHOWN}


def _shown(citation: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: citation[key] for key in SHOWN}


def _frame(values: Mapping[str, Any]) -> str:
    return msgspec.json.encode(values).decode()
