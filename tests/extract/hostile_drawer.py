"""A drawing child that may do anything with its answer; run by the renderer's tests."""

import os
import struct
import time
import zlib
from collections.abc import Callable

from gateway.errors import ExtractionError
from gateway.extract.serving import serve_pictures
from gateway.extract.wire import Drawn, Request

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 1, height: int = 1, *, text: bytes = b"", colour: int = 0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    said = chunk(b"tEXt", text) if text else b""
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return SIGNATURE + chunk(b"IHDR", header) + said + pixels + chunk(b"IEND", b"")


def leave() -> Drawn:
    os._exit(3)


def look() -> Drawn:
    os.close(os.open("/etc/hostname", os.O_RDONLY))
    return Drawn(1, png())


def sleep() -> Drawn:
    time.sleep(60)
    return Drawn(1)


def spin() -> Drawn:
    while True:
        continue


def abort() -> Drawn:
    os.abort()


def lie() -> Drawn:
    raise ExtractionError("", code="not_found")


DEEDS: dict[str, Callable[[], Drawn]] = {
    "abort": abort,
    "exit": leave,
    "look": look,
    "sleep": sleep,
    "spin": spin,
    "lie": lie,
    "allocate": lambda: Drawn(1, bytes(1 << 32)),
    "huge": lambda: Drawn(1, bytes(9 * 1024 * 1024)),
    "html": lambda: Drawn(1, b"<script>alert(1)</script>"),
    "text": lambda: Drawn(1, png(text=b"Comment\0<script>")),
    "large": lambda: Drawn(1, png(100_000, 100_000)),
    "after": lambda: Drawn(1, png() + b"<html>"),
    "pages": lambda: Drawn(-5, png()),
    "nothing": lambda: Drawn(1),
    "whole": lambda: Drawn(1, png()),
}


def draw(data: bytes, _request: Request) -> Drawn:
    """What the document says is done."""
    return DEEDS[data.decode()]()


if __name__ == "__main__":
    serve_pictures(draw, lambda: None, 5.0)
