"""Messages, tools and drafts: what we say to a language model and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool on offer; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Draft:
    """What the model answered: text, or calls for tools, before citations are checked."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
