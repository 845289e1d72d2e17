"""What a tool is, for every way MCP is spoken here: a card, a function, and what it answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from gateway.catalogue import error_text
from gateway.errors import GatewayError
from gateway.operations.table import Caller

Schema = Mapping[str, Any]  # JSON Schema
Progress = Callable[[float, float | None, str], Awaitable[None]]  # done, of how many, in words


@dataclass(frozen=True, slots=True)
class TextContent:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class ImageContent:
    """A picture."""

    data: bytes
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class Annotations:
    """MCP's hints: what a call of the tool can do."""

    is_read_only: bool = True
    is_destructive: bool = False
    is_idempotent: bool = True
    is_open_world: bool = False


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as clients see it."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema | None = None
    annotations: Annotations = Annotations()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call brought; `structured` fits the card's output schema unless `is_error`."""

    content: Sequence[TextContent | ImageContent]
    structured: Mapping[str, Any] | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A card with its function, which gets the arguments unchecked.

    What `run` raises as GatewayError becomes a structured error. `is_listed` false: it is not
    in `tools/list`, and callable all the same.
    """

    card: ToolCard
    run: Callable[[Caller, Mapping[str, Any], Progress], Awaitable[ToolAnswer]]
    is_listed: bool = True


class Toolbox(Protocol):
    """What one client is offered; whoever serves it tells who the client is."""

    async def cards(self, caller: object) -> Sequence[ToolCard]:
        """Those to list now."""
        ...

    async def call(
        self, caller: object, name: str, arguments: Mapping[str, Any], progress: Progress
    ) -> ToolAnswer | None:
        """None: there is no such tool for this client."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTools:
    """The same tools for everybody; implements Toolbox for clients that are a Caller."""

    tools: Mapping[str, Tool] = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Sequence[Tool]) -> "FixedTools":
        """By name, in this order."""
        return cls({tool.card.name: tool for tool in tools})

    async def cards(self, caller: object) -> Sequence[ToolCard]:
        """All that are listed."""
        assert isinstance(caller, Caller)
        return [tool.card for tool in self.tools.values() if tool.is_listed]

    async def call(
        self, caller: object, name: str, arguments: Mapping[str, Any], progress: Progress
    ) -> ToolAnswer | None:
        """An error of ours is an answer: the model can read it and do better."""
        assert isinstance(caller, Caller)
        tool = self.tools.get(name)
        if tool is None:
            return None
        try:
            return await tool.run(caller, arguments, progress)
        except GatewayError as error:
            return refusal(error, caller.language)


def refusal(error: GatewayError, language: str | None) -> ToolAnswer:
    """An error as an answer: its sentence, and its code for programs."""
    sentence = getattr(error, "message", None) or error_text(error.code, language, **error.params)
    told = {"error": {"code": error.code, "message": sentence}}
    return ToolAnswer([TextContent(sentence)], told, is_error=True)


def json_answer(value: Mapping[str, Any], *, is_error: bool = False) -> ToolAnswer:
    """A JSON object, as text and as structured content."""
    text = msgspec.json.encode(value).decode()
    return ToolAnswer([TextContent(text)], value, is_error=is_error)
