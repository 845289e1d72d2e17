"""What the drawing child hands back is untrusted: only a plain PNG of bounded size goes on."""

import re
import struct
import zlib

from gateway.errors import ExtractionError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 8 * 1024 * 1024
MOST_PIXELS = 8_000_000
MOST_SIDE = 10_000
_HEADER = struct.Struct(">IIBBBBB")  # IHDR (PNG, section 11.2.1)
_COLOURS = {0: 1, 2: 3}  # grey, RGB: bytes a pixel
_ORDER = re.compile(rb"IHDR(?:IDAT)+IEND")  # nothing that carries text, profiles or addresses


def checked_png(data: bytes) -> bytes:
    """`data` itself. ExtractionError `extract_crashed` where it is not what was agreed.

    Signature, sizes and every chunk's length and CRC are looked at; the pixels are not unpacked
    here.
    """
    if len(data) > MOST_BYTES or not data.startswith(SIGNATURE):
        raise _refused("no picture, or too many bytes")
    names, at, header = [], len(SIGNATURE), b""
    while at < len(data):
        name, body, at = _chunk(data, at)
        names.append(name)
        header = header or body
    if not _ORDER.fullmatch(b"".join(names)) or len(header) != _HEADER.size:
        raise _refused("parts that do not belong there")
    width, height, depth, colour, *rest = _HEADER.unpack(header)
    if not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE and width * height <= MOST_PIXELS):
        raise _refused("a picture out of its limits")
    if depth != 8 or colour not in _COLOURS or any(rest):
        raise _refused("a kind of picture that is never drawn")
    return data


def _chunk(data: bytes, at: int) -> tuple[bytes, bytes, int]:
    """(type, first bytes of the body, where the next one begins)."""
    if at + 12 > len(data):
        raise _refused("cut off")
    (length,) = struct.unpack_from(">I", data, at)
    end = at + 12 + length
    if end > len(data):
        raise _refused("cut off")
    body = memoryview(data)[at + 4 : end - 4]
    if zlib.crc32(body) != struct.unpack_from(">I", data, end - 4)[0]:
        raise _refused("a wrong check sum")
    return bytes(body[:4]), bytes(body[4 : 4 + _HEADER.size + 1]), end


def _refused(detail: str) -> ExtractionError:
    return ExtractionError(f"the drawn page: {detail}")
