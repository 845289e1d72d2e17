"""A form as it streams in: odd names refuse nothing, endless and dripping bodies end."""

import asyncio
import re
from typing import Any, cast
from urllib.parse import unquote

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.streams import StreamReader

from gateway.errors import GatewayError, InvalidRequestError

PATIENCE_S = 60.0  # before the pace counts
LEAST_BYTES_A_S = 4096  # on average: what is slower holds a place for nothing
MOST_STRAY_LINES = 100
_CONTROLS = bytes(each for each in range(0x20) if each != 0x09) + b"\x7f"
_HEADER = re.compile(rb"[!#-'*+.0-9A-Z^_`a-z|~-]+:")
_DISPOSITION = re.compile(rb"\AContent-Disposition:", re.IGNORECASE)
_PARAMETER = re.compile(r';\s*([A-Za-z]+\*?)\s*=\s*(?:"((?:\\"|[^"])*)"?|([^;]*))')


class TolerantBody:
    """The part of aiohttp's StreamReader that its MultipartReader uses.

    In the headers of parts control characters are left out, and so are lines that are no header
    (a name with a line break in it); a boundary and the bytes of files are never touched.
    """

    def __init__(
        self,
        content: StreamReader,
        boundary: bytes,
        most_bytes: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._content = content
        self._boundary = boundary
        self._most_bytes = most_bytes
        self._patience_s = patience_s
        self._began = asyncio.get_running_loop().time()
        self._bytes = 0
        self._is_in_headers = False

    async def read(self, n: int = -1) -> bytes:
        """GatewayError `payload_too_large` over the cap; InvalidRequestError where it drips."""
        return await self._timed(self._content.read(n))

    async def readline(self, *, max_line_length: int | None = None) -> bytes:
        """Boundaries, headers and the line ends between."""
        for _ in range(MOST_STRAY_LINES):
            line = await self._timed(self._content.readline(max_line_length=max_line_length))
            words = line.rstrip(b"\r\n")
            if not self._is_in_headers:
                self._is_in_headers = words.rstrip() == self._boundary
                return line
            if not words:
                self._is_in_headers = False
                return line
            if _HEADER.match(words):
                # under a name of our own: aiohttp would judge it, by rules that few programs know
                return (
                    _DISPOSITION.sub(b"X-Disposition:", words.translate(None, _CONTROLS)) + b"\r\n"
                )
        raise InvalidRequestError("upload", reason="multipart/form-data")

    def at_eof(self) -> bool:
        """Whether all was read."""
        return self._content.at_eof()

    def unread_data(self, data: bytes) -> None:
        """What was read too far."""
        self._bytes -= len(data)
        self._content.unread_data(data)

    async def _timed(self, reading: Any) -> bytes:
        until = self._began + self._patience_s + self._bytes / LEAST_BYTES_A_S
        try:
            async with asyncio.timeout_at(until):
                data: bytes = await reading
        except TimeoutError as error:
            raise InvalidRequestError("too slow", reason="time") from error
        self._bytes += len(data)
        if self._bytes > self._most_bytes:
            raise GatewayError("upload", code="payload_too_large")
        return data


def reader_of(request: web.Request, most_bytes: int) -> MultipartReader:
    """Reads the parts of a form; ValueError where the request is none."""
    named = re.search(r'boundary="?([^";]+)', request.headers.get("Content-Type", ""))
    boundary = b"--" + (named[1].strip() if named else "").encode("utf-8", "replace")
    body = TolerantBody(request.content, boundary, most_bytes)
    return MultipartReader(request.headers, cast(StreamReader, body))


def names_of(part: BodyPartReader) -> tuple[str, str]:
    """(field, file name) as sent; what cannot be told is empty. RFC 5987 names go first."""
    found: dict[str, str] = {}
    for match in _PARAMETER.finditer(part.headers.get("X-Disposition", "")):
        value = match[3].strip() if match[2] is None else match[2].replace('\\"', '"')
        found.setdefault(match[1].lower(), value)
    return found.get("name", ""), _extended(found) or _plain(found.get("filename", ""))


def _extended(found: dict[str, str]) -> str:
    charset, mark, value = found.get("filename*", "").partition("'")
    if not mark:
        return ""
    try:
        return unquote(value.partition("'")[2], charset or "utf-8", "replace")
    except LookupError:  # no such charset
        return unquote(value.partition("'")[2], "utf-8", "replace")


def _plain(name: str) -> str:
    """Browsers send UTF-8 as it is; some programs send it percent-encoded."""
    decoded = unquote(name)
    is_encoded = name.isascii() and not decoded.isascii() and "\ufffd" not in decoded
    return decoded if is_encoded else name.encode("utf-8", "replace").decode()
