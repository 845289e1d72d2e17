"""A draft while it arrives: text, tool calls and token counts, each bounded."""

from dataclasses import dataclass, field, replace

from gateway.core.chat import Draft, TokenUsage, ToolCall
from gateway.errors import LanguageModelError

MAX_DRAFT_CHARS = 60_000  # more than any channel carries; a model that runs away is cut here
MAX_TOOL_CALLS = 16
MAX_ARGUMENT_CHARS = 20_000


@dataclass(slots=True)
class CallInPieces:
    """One tool call while its pieces arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, call_id: object, name: object, arguments: object) -> None:
        """Id and name come once, arguments bit by bit; anything but text counts as nothing."""
        self.id = self.id or _text(call_id)
        self.name = self.name or _text(name)
        longer = self.arguments + _text(arguments)
        if len(longer) > MAX_ARGUMENT_CHARS:
            raise LanguageModelError("the arguments of a tool call have no end")
        self.arguments = longer


@dataclass(slots=True)
class Pieces:
    """Puts a draft together from events that may lack, repeat or misplace anything."""

    text: list[str] = field(default_factory=list)
    chars: int = 0
    calls: dict[int, CallInPieces] = field(default_factory=dict)
    is_finished: bool = False  # the server said so; a stream that just ends was cut off
    usage: TokenUsage | None = None

    @property
    def is_full(self) -> bool:
        """No more is taken in."""
        return self.chars >= MAX_DRAFT_CHARS

    def add_text(self, content: object) -> str:
        """Take text in, as much as there is room for; what was taken."""
        added = _text(content)[: MAX_DRAFT_CHARS - self.chars]
        self.chars += len(added)
        self.text.append(added)
        return added

    def call(self, index: int) -> CallInPieces:
        """The call at this place; one too many leads nowhere."""
        if index not in self.calls and len(self.calls) >= MAX_TOOL_CALLS:
            return CallInPieces()
        return self.calls.setdefault(index, CallInPieces())

    def count(self, tokens_in: object, tokens_out: object) -> None:
        """The newest counts hold; what is no number leaves the older one."""
        known = self.usage or TokenUsage()
        read, written = _number(tokens_in), _number(tokens_out)
        if read is not None:
            known = replace(known, tokens_in=read)
        if written is not None:
            known = replace(known, tokens_out=written)
        if read is not None or written is not None:
            self.usage = known

    def draft(self) -> Draft:
        """What came, whole. LanguageModelError when the stream broke off."""
        if not self.is_finished and not self.is_full:
            raise LanguageModelError("the stream ended before the answer did")
        calls = tuple(
            ToolCall(f"call_{index}" if not call.id else call.id, call.name, call.arguments)
            for index, call in sorted(self.calls.items())
        )
        return Draft("".join(self.text), _distinct(calls), self.usage)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if isinstance(value, int) and is_count else None


def _distinct(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Give calls with the same id ids of their own, so that each result finds its call."""
    if len({call.id for call in calls}) == len(calls):
        return calls
    return tuple(
        ToolCall(f"call_{index}", call.name, call.arguments) for index, call in enumerate(calls)
    )
