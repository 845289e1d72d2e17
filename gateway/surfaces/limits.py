"""How much one program, browser or address may ask for, how large, and for how long."""

import asyncio
import hashlib
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from gateway.core.rates import Buckets
from gateway.errors import GatewayError
from gateway.interfaces import Clock
from gateway.surfaces.session import COOKIE, address_of

CREDENTIALS = ("Authorization", "X-API-Key", "api-key")
# what lasts as long as it takes: sockets, streams, and files as fast as the network is
LASTING = ("/ws/", "/mcp", "/api/knowledge/upload", "/api/knowledge/sources/")
SMALL_BODY_BYTES = 2**20
# by the beginning of the path, the longest first; the other routes take little or nothing
BODIES: tuple[tuple[str, int], ...] = (
    ("/rpc", 8 * 2**20),
    ("/mcp", 8 * 2**20),
    ("/api/operations/", 8 * 2**20),
    ("/agents", 8 * 2**20),  # questions with images; uploads count what they stream themselves
)
STREAMED = ("/api/knowledge/upload",)


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Of `[gateway]`; 0 for no limit."""

    per_minute: int = 1200
    per_minute_of_address: int = 600
    timeout_s: float = 300.0


class RequestLimits:
    """Counts by what lets a request in; by address where that is nothing, or nothing that holds."""

    def __init__(self, settings: LimitSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._keys = Buckets(settings.per_minute)
        self._addresses = Buckets(settings.per_minute_of_address)

    def admit(self, request: web.Request) -> None:
        """`too_many_requests`, with `retry_after` in seconds; `payload_too_large`.

        This machine's own address is not counted: a proxy on it stands for everybody.
        """
        if (request.content_length or 0) > most_bytes(request.path):
            raise GatewayError("body", code="payload_too_large")
        now_s, address, key = self._clock.monotonic(), address_of(request), _key_of(request)
        wait_s = self._addresses.wait(address, now_s) if address else 0.0
        if key is not None:
            wait_s = wait_s or self._keys.take(key, now_s)
        elif address:
            wait_s = self._addresses.take(address, now_s)
        if wait_s:
            raise GatewayError("rate", code="too_many_requests", retry_after=math.ceil(wait_s))

    def refused(self, request: web.Request) -> None:
        """A key that does not hold counts for its address: whoever guesses has many keys."""
        address = address_of(request)
        if address and _key_of(request) is not None:
            self._addresses.take(address, self._clock.monotonic())

    @asynccontextmanager
    async def in_time(self, request: web.Request) -> AsyncIterator[None]:
        """`request_timeout` when it takes longer than any answer should."""
        timeout_s = self._settings.timeout_s
        if not timeout_s or request.path.startswith(LASTING):
            yield
            return
        timeout = asyncio.timeout(timeout_s)
        try:
            async with timeout:
                yield
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise GatewayError("request", code="request_timeout") from error


def most_bytes(path: str) -> int:
    """How large a request's body may be; what is streamed is bounded by its own route."""
    if path.startswith(STREAMED):
        return 2**63
    return next((most for begin, most in BODIES if path.startswith(begin)), SMALL_BODY_BYTES)


def bounded(request: web.Request) -> web.Request:
    """The request, its body bounded where no length was said beforehand."""
    if request.content_length is not None or not request.can_read_body:
        return request
    if request.path.startswith((*STREAMED, *LASTING)):
        return request
    return request.clone(client_max_size=most_bytes(request.path))


def _key_of(request: web.Request) -> str | None:
    """By what is counted: a hash of the token, key or cookie that came along."""
    given = [request.headers[name] for name in CREDENTIALS if name in request.headers]
    given = given or [value for value in (request.cookies.get(COOKIE),) if value]
    if not given:
        return None
    return hashlib.sha256(given[0].encode("utf-8", "surrogateescape")).hexdigest()
