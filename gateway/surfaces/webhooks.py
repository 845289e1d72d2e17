"""POST /webhooks/{channel}/{name}: verify, store, and only then answer 200."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from aiohttp import web

from gateway import catalogue
from gateway.errors import TABLE, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Accept, Channel, Clock, Meter
from gateway.metering import SILENT

log = structlog.get_logger()

PATH = "/webhooks/{channel}/{name}"
MAX_BODY_BYTES = 1024 * 1024  # before anything is verified; no platform's events come near it
SMALL_BODY_BYTES = 64 * 1024  # events are smaller; larger bodies are read a few at a time
LARGE_AT_ONCE = 8  # so that a thousand unsigned megabytes at once are not a gigabyte
CHUNK_BYTES = 32 * 1024
BODY_WITHIN_S = 5.0  # LINE waits two seconds for its answer, Slack three

Channels = Mapping[tuple[str, str], Channel]


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """What of a body is taken before anything about it is verified."""

    max_bytes: int = MAX_BODY_BYTES
    small_bytes: int = SMALL_BODY_BYTES
    large_at_once: int = LARGE_AT_ONCE
    within_s: float = BODY_WITHIN_S


class Webhooks:
    """The way in for platforms that call us; which messages a body holds is the channel's word."""

    def __init__(
        self,
        channels: Channels,
        accept: Accept,
        clock: Clock,
        *,
        limits: BodyLimits = BodyLimits(),
        meter: Meter = SILENT,
    ) -> None:
        """`channels` is asked anew each time, so that it may change meanwhile."""
        self._channels = channels
        self._accept = accept
        self._clock = clock
        self._limits = limits
        self._large = asyncio.Semaphore(limits.large_at_once)
        self._meter = meter

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.post(PATH, self.receive, expect_handler=self._expect),)

    async def receive(self, request: web.Request) -> web.Response:
        """200 once every event of the body is stored, else the error's own status."""
        begun_s = self._clock.monotonic()
        try:
            channel = self._channel(request)
            body = await self._body(request)
            messages = channel.parse(request.headers, body, self._clock.now())
            if messages:
                await self._accept(messages)
            echo = channel.challenge(body)
        except GatewayError as error:
            log.info("webhook refused", code=error.code)
            return _refusal(error)
        self._meter.observe("acknowledged", self._clock.monotonic() - begun_s, channel=channel.name)
        return web.Response(text=echo)

    def _channel(self, request: web.Request) -> Channel:
        place = request.match_info["channel"], request.match_info["name"]
        channel = self._channels.get(place)
        if channel is None:
            raise NotFoundError("no such webhook")
        return channel

    async def _expect(self, request: web.Request) -> web.StreamResponse | None:
        """Whoever asks before sending hears at once what the body would be answered."""
        try:
            self._channel(request)
            self._check_length(request)
        except GatewayError as error:
            return _refusal(error)
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
        return None

    async def _body(self, request: web.Request) -> bytes:
        """The raw bytes, cut off at the cap whatever Content-Length says; never compressed."""
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise InvalidRequestError("a compressed webhook")
        self._check_length(request)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.within_s):
                if not await _filled(body, request, self._limits.small_bytes):
                    return bytes(body)
                async with self._large:
                    if not await _filled(body, request, self._limits.max_bytes):
                        return bytes(body)
        except TimeoutError as error:
            raise GatewayError("body too slow", code="unavailable") from error
        raise GatewayError("body over the cap", code="payload_too_large")

    def _check_length(self, request: web.Request) -> None:
        if (request.content_length or 0) > self._limits.max_bytes:
            raise GatewayError("body over the cap", code="payload_too_large")


async def _filled(body: bytearray, request: web.Request, most: int) -> bool:
    """Read on; True where there is more than `most`, False at the body's end."""
    while chunk := await request.content.read(min(CHUNK_BYTES, most + 1 - len(body))):
        body += chunk
        if len(body) > most:
            return True
    return False


def _refusal(error: GatewayError) -> web.Response:
    said = {"code": error.code, "message": catalogue.error_text(error.code, "en", **error.params)}
    return web.json_response({"error": said}, status=TABLE[error.code].http_status)
