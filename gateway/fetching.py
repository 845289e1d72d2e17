"""Fetches what somebody else's address names, from the public internet and nowhere else."""

import asyncio
import zlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Collection,
    Iterator,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from yarl import URL

from gateway.core.addresses import is_public
from gateway.errors import UpstreamError
from gateway.pinning import Resolve, pinned_connector, resolved

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
MOST_URL_CHARS = 2_000
CONNECT_TIMEOUT_S = 5.0
READ_BYTES = 64 * 1024
PORTS = {"https": frozenset({443, 8443}), "http": frozenset({80, 8080})}
HEADERS = {"User-Agent": "shutten", "Accept": "*/*", "Accept-Encoding": "identity"}

Server = tuple[str, int]  # address and port


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How much one fetch may take."""

    most_bytes: int = 5 * 1024 * 1024  # decoded
    total_s: float = 30.0  # redirects and body included


class GuardedFetch:
    """Each hop is resolved once, all its addresses must be public, and it connects to those."""

    def __init__(
        self,
        limits: FetchLimits = FetchLimits(),
        *,
        has_plain_http: bool = False,
        allow: Collection[Server] = (),
        resolve: Resolve | None = None,
    ) -> None:
        """`allow` names servers of tests that are reached although they are not public."""
        self._limits = limits
        self._schemes = ("https", "http") if has_plain_http else ("https",)
        self._allow = frozenset(allow)
        self._resolve = resolve or resolved

    @asynccontextmanager
    async def open(self, url: str) -> AsyncIterator["Opened"]:
        """UpstreamError: `url_blocked` for what may not be fetched, else `url_fetch_failed`."""
        ends_at = asyncio.get_running_loop().time() + self._limits.total_s
        async with aiohttp.ClientSession(
            connector=self._connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        ) as session:
            response = await self._followed(session, url, ends_at)
            try:
                yield Opened(response, self._limits.most_bytes, ends_at)
            finally:
                response.close()

    def _connector(self) -> aiohttp.TCPConnector:
        return pinned_connector(
            self._may_connect, self._resolve, lambda: _blocked("not a public address")
        )

    def _may_connect(self, address: str, port: int) -> bool:
        return is_public(address) or (address, port) in self._allow

    async def _followed(
        self, session: aiohttp.ClientSession, url: str, ends_at: float
    ) -> aiohttp.ClientResponse:
        target = self._checked(url)
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._request(session, target, ends_at)
            if response.status not in REDIRECTS:
                if response.status == 200:
                    return response
                response.close()
                raise _failed(f"status {response.status}")
            place = response.headers.get("Location", "")
            response.close()
            target = self._checked(place, target)
        raise _failed("too many redirects")

    def _checked(self, url: str, base: URL | None = None) -> URL:
        """An address that may be asked for; where its host leads is seen when connecting."""
        try:
            parsed = URL(url) if base is None else base.join(URL(url))
            scheme, host, port = parsed.scheme, parsed.host, parsed.port
        except (ValueError, TypeError) as error:
            raise _blocked("not a URL") from error
        if len(url) > MOST_URL_CHARS or scheme not in self._schemes or not host or port is None:
            raise _blocked("scheme, host or length")
        if parsed.user is not None or parsed.password is not None:
            raise _blocked("credentials in the URL")
        if port not in PORTS[scheme] and port not in {each for _, each in self._allow}:
            raise _blocked("port")
        is_address = ":" in host or host.replace(".", "").isdigit()
        if is_address and not self._may_connect(host, port):
            raise _blocked("not a public address")
        return parsed.with_fragment(None)

    async def _request(
        self, session: aiohttp.ClientSession, url: URL, ends_at: float
    ) -> aiohttp.ClientResponse:
        left_s = ends_at - asyncio.get_running_loop().time()
        if left_s <= 0:
            raise _failed("out of time")
        timeout = aiohttp.ClientTimeout(total=left_s, connect=min(left_s, CONNECT_TIMEOUT_S))
        try:
            return await session.get(url, headers=HEADERS, timeout=timeout, allow_redirects=False)
        except aiohttp.InvalidURL as error:
            raise _blocked("not a URL") from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _failed(type(error).__name__) from error


class Opened:
    """A fetched address; its bytes are read once, decoded and counted in small steps."""

    def __init__(self, response: aiohttp.ClientResponse, most_bytes: int, ends_at: float) -> None:
        self._response = response
        self._most_bytes = most_bytes
        self._ends_at = ends_at

    @property
    def url(self) -> str:
        """Where the redirects ended."""
        return str(self._response.url)

    @property
    def media_type(self) -> str:
        """As the server says, without parameters."""
        return self._response.content_type

    @property
    def charset(self) -> str | None:
        """As the server says."""
        return self._response.charset

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """UpstreamError: `url_too_large` over the cap, else `url_fetch_failed`."""
        inflate = _inflater(self._response.headers.get("Content-Encoding", ""))
        loop, size = asyncio.get_running_loop(), 0
        try:
            async for raw in self._response.content.iter_chunked(READ_BYTES):
                for chunk in _steps(inflate, raw):
                    size += len(chunk)
                    if size > self._most_bytes:
                        raise UpstreamError("over the cap", code="url_too_large")
                    yield chunk
                if loop.time() > self._ends_at:
                    raise _failed("out of time")
        except (aiohttp.ClientError, TimeoutError, OSError, zlib.error) as error:
            raise _failed(type(error).__name__) from error
        if inflate is not None and not inflate.eof:
            raise _failed("cut short")


def _inflater(encoding: str) -> "zlib._Decompress | None":
    """We ask for no encoding; who compresses all the same is read too."""
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        case _:
            raise _failed("content encoding")


def _steps(inflate: "zlib._Decompress | None", raw: bytes) -> Iterator[bytes]:
    """Never more than READ_BYTES at a time, however much they swell."""
    if inflate is None:
        yield raw
        return
    is_full = True
    while not inflate.eof and (raw or is_full):
        step = inflate.decompress(raw, READ_BYTES)
        raw, is_full = inflate.unconsumed_tail, len(step) == READ_BYTES
        yield step


def _blocked(reason: str) -> UpstreamError:
    return UpstreamError(reason, code="url_blocked")


def _failed(reason: str) -> UpstreamError:
    return UpstreamError(reason, code="url_fetch_failed")
