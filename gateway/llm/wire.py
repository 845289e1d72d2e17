"""OpenAI's chat completions as values: our messages into theirs, their chunks into a draft."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.core.chat import ChatMessage, Draft, Speaker, Tool, ToolCall
from gateway.errors import LanguageModelError

MAX_DRAFT_CHARS = 60_000  # more than any channel carries; a model that runs away is cut here
MAX_TOOL_CALLS = 16
MAX_ARGUMENT_CHARS = 20_000


def messages_payload(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The conversation as the request body has it."""
    return [_message(message) for message in messages]


def tools_payload(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools on offer as the request body has them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def _message(message: ChatMessage) -> dict[str, Any]:
    payload: dict[str, Any] = {"role": message.speaker.value, "content": message.text}
    if message.speaker is Speaker.TOOL:
        payload["tool_call_id"] = message.tool_call_id or ""
    if message.tool_calls:
        payload["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    return payload


@dataclass(slots=True)
class _CallInPieces:
    """One tool call while its pieces arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class DraftInPieces:
    """Puts a draft together from chunks that may lack, repeat or misplace anything."""

    text: list[str] = field(default_factory=list)
    chars: int = 0
    calls: dict[int, _CallInPieces] = field(default_factory=dict)
    is_finished: bool = False  # the server said so; a stream that just ends was cut off

    @property
    def is_full(self) -> bool:
        """No more is taken in."""
        return self.chars >= MAX_DRAFT_CHARS

    def add(self, chunk: Any) -> str:
        """Take one chunk in; the text it adds."""
        added = ""
        for choice in list(getattr(chunk, "choices", None) or ())[:1]:
            if getattr(choice, "finish_reason", None):
                self.is_finished = True
            delta = getattr(choice, "delta", None)
            for position, piece in enumerate(getattr(delta, "tool_calls", None) or ()):
                self._add_call(position, piece)
            content = getattr(delta, "content", None)
            if isinstance(content, str):
                added = content[: MAX_DRAFT_CHARS - self.chars]
        self.chars += len(added)
        self.text.append(added)
        return added

    def _add_call(self, position: int, piece: Any) -> None:
        index = getattr(piece, "index", None)
        index = index if isinstance(index, int) else position
        if index not in self.calls and len(self.calls) >= MAX_TOOL_CALLS:
            return
        call = self.calls.setdefault(index, _CallInPieces())
        function = getattr(piece, "function", None)
        call.id = call.id or _text(getattr(piece, "id", None))
        call.name = call.name or _text(getattr(function, "name", None))
        arguments = call.arguments + _text(getattr(function, "arguments", None))
        if len(arguments) > MAX_ARGUMENT_CHARS:
            raise LanguageModelError("the arguments of a tool call have no end")
        call.arguments = arguments

    def draft(self) -> Draft:
        """What came, whole. LanguageModelError when the stream broke off."""
        if not self.is_finished and not self.is_full:
            raise LanguageModelError("the stream ended before the answer did")
        calls = tuple(
            ToolCall(f"call_{index}" if not call.id else call.id, call.name, call.arguments)
            for index, call in sorted(self.calls.items())
        )
        return Draft("".join(self.text), _distinct(calls))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _distinct(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Give calls with the same id ids of their own, so that each result finds its call."""
    if len({call.id for call in calls}) == len(calls):
        return calls
    return tuple(
        ToolCall(f"call_{index}", call.name, call.arguments) for index, call in enumerate(calls)
    )
