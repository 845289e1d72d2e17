"""What supervisor, zygote and reading child say to each other: small framed messages."""

import struct
from collections.abc import Iterator

import msgspec

LENGTH = struct.Struct(">I")


class Request(msgspec.Struct, frozen=True, array_like=True):
    """Read one file; it and the pipe for the answer come with this as descriptors."""

    name: str  # a hint only
    charset: str  # likewise
    include_hidden: bool
    max_chars: int
    timeout_s: float
    memory_mb: int
    is_sandbox_required: bool
    page: int = 0  # from 1: this one alone, as a picture
    dpi: int = 0  # at which it is drawn, where the picture itself is the answer


class Status(msgspec.Struct, frozen=True, array_like=True):
    """How the reading child ended, said by the zygote, which never sees what it wrote."""

    exit_code: int | None
    signal: int | None
    is_timeout: bool


class Begun(msgspec.Struct, frozen=True, array_like=True):
    """The first frame, written before a byte of the file is read."""

    is_sandboxed: bool


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """Any number of frames between the first and the last: how far the reading is."""

    done: int
    of: int


class WireBlock(msgspec.Struct, frozen=True, array_like=True):
    """A block; `header` and `sheet` count from 1 into their lists, 0 is none."""

    text: str
    heading_level: int = 0
    page: int = 0
    row: int = 0
    is_row: bool = False
    header: int = 0
    slide: int = 0
    sheet: int = 0


class WireWarning(msgspec.Struct, frozen=True, array_like=True):
    """A warning by its code, with the pages it is about."""

    code: str
    pages: tuple[int, ...] = ()
    detail: str = ""


class Read(msgspec.Struct, frozen=True, array_like=True, tag="read"):
    """The last frame: the document."""

    blocks: tuple[WireBlock, ...]
    headers: tuple[str, ...]
    media_type: str
    warnings: tuple[WireWarning, ...] = ()
    pages: int | None = None
    sheets: tuple[str, ...] = ()
    title: str = ""
    pictured: tuple[int, ...] = ()


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="refused"):
    """The last frame: why there is no document, a code of FEATURES A9."""

    code: str
    is_picture: bool = False  # an image file


Answer = Read | Refused


class Drawn(msgspec.Struct, frozen=True, array_like=True, tag="drawn"):
    """The last frame of the drawing child: how many pages there are, and the one asked for."""

    pages: int
    png: bytes = b""  # none: no such page, or only their number was asked for


DrawnAnswer = Drawn | Refused


def frame(message: msgspec.Struct) -> bytes:
    """The message with its length before it."""
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


def frames(data: bytes) -> Iterator[bytes]:
    """The complete frames at the beginning of `data`."""
    at = 0
    while at + LENGTH.size <= len(data):
        (length,) = LENGTH.unpack_from(data, at)
        end = at + LENGTH.size + length
        if end > len(data):
            return
        yield data[at + LENGTH.size : end]
        at = end
