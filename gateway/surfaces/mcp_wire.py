"""What `shutten mcp` and the gateway say to each other over the local socket: one JSON a frame."""

from typing import Any

import msgspec

from gateway.errors import TABLE, GatewayError
from gateway.surfaces.mcp_tools import ImageContent, TextContent, ToolAnswer, ToolCard

PATH = "/mcp"
MOST_FRAME_BYTES = 16 * 2**20  # a few page images


class Hello(msgspec.Struct, tag_field="is", tag="hello"):
    """The first frame: which agent, by whose token; `next_n` goes on with an earlier run."""

    agent: str
    token: str
    language: str | None = None
    next_n: int = 1


class ListCall(msgspec.Struct, tag_field="is", tag="list"):
    """Which tools there are."""

    id: int


class ToolCall(msgspec.Struct, tag_field="is", tag="call"):
    """Call one."""

    id: int
    name: str
    arguments: dict[str, Any] = {}


class Cancel(msgspec.Struct, tag_field="is", tag="cancel"):
    """Nobody waits for call `id` any more."""

    id: int


class Welcome(msgspec.Struct, tag_field="is", tag="welcome"):
    """The run is registered."""

    run_id: str


class Refused(msgspec.Struct, tag_field="is", tag="refused"):
    """An error, of call `id` or (0) of the run itself."""

    id: int
    code: str
    message: str


class Cards(msgspec.Struct, tag_field="is", tag="cards"):
    """The tools there are."""

    id: int
    cards: list[ToolCard]


class Answered(msgspec.Struct, tag_field="is", tag="answered"):
    """What a call brought; `is_known` false: there is no such tool."""

    id: int
    content: list["Words | Picture"] = []
    structured: dict[str, Any] | None = None
    is_error: bool = False
    is_known: bool = True
    next_n: int = 1


class Words(msgspec.Struct, tag_field="is", tag="text"):
    """A text."""

    text: str


class Picture(msgspec.Struct, tag_field="is", tag="image"):
    """An image."""

    data: bytes
    media_type: str


class Progressed(msgspec.Struct, tag_field="is", tag="progress"):
    """How far call `id` is."""

    id: int
    done: float
    total: float | None = None
    message: str = ""


class Changed(msgspec.Struct, tag_field="is", tag="changed"):
    """The list of tools is another one now."""


ToGateway = Hello | ListCall | ToolCall | Cancel
FromGateway = Welcome | Refused | Cards | Answered | Progressed | Changed
TO_GATEWAY: msgspec.json.Decoder[ToGateway] = msgspec.json.Decoder(ToGateway)
FROM_GATEWAY: msgspec.json.Decoder[FromGateway] = msgspec.json.Decoder(FromGateway)
encode = msgspec.json.Encoder().encode


class RefusedError(GatewayError):
    """The gateway refused; its sentence is shown as it came."""

    def __init__(self, refused: Refused) -> None:
        code = refused.code if refused.code in TABLE else "internal"
        super().__init__(refused.message, code=code)
        self.message = refused.message


def answered(call_id: int, answer: ToolAnswer | None, next_n: int) -> Answered:
    """An answer as a frame."""
    if answer is None:
        return Answered(call_id, is_known=False, next_n=next_n)
    content = [
        Words(each.text) if isinstance(each, TextContent) else Picture(each.data, each.media_type)
        for each in answer.content
    ]
    structured = dict(answer.structured) if answer.structured is not None else None
    return Answered(call_id, content, structured, answer.is_error, next_n=next_n)


def answer_of(frame: Answered) -> ToolAnswer | None:
    """The inverse of `answered`."""
    if not frame.is_known:
        return None
    content = [
        TextContent(each.text)
        if isinstance(each, Words)
        else ImageContent(each.data, each.media_type)
        for each in frame.content
    ]
    return ToolAnswer(content, frame.structured, is_error=frame.is_error)
