"""Messages, tools and drafts: what we say to a language model and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Speaker(StrEnum):
    """Whose words a chat message holds."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool; `arguments` is JSON text as the model wrote it, untrusted."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the conversation with the model."""

    speaker: Speaker
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    images: tuple[bytes, ...] = field(default=(), repr=False)  # PNG, before the text; a user's


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool on offer; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What a call cost, in the model's own tokens."""

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Of several calls."""
        return TokenUsage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


NO_TOKENS = TokenUsage()


@dataclass(frozen=True, slots=True)
class Draft:
    """What the model answered: text, or calls for tools, before citations are checked.

    `usage` is None where the server did not tell; the same words are the same draft at any cost.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage | None = field(default=None, compare=False)
