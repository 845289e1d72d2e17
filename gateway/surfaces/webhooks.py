"""POST /webhooks/{channel}/{name}: verify, store, and only then answer 200."""

from collections.abc import Mapping

import structlog
from aiohttp import web

from gateway import catalogue
from gateway.errors import TABLE, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Accept, Channel, Clock, Meter
from gateway.metering import SILENT

log = structlog.get_logger()

PATH = "/webhooks/{channel}/{name}"
MAX_BODY_BYTES = 1024 * 1024  # before anything is verified; no platform's events come near it

Channels = Mapping[tuple[str, str], Channel]


class Webhooks:
    """The way in for platforms that call us; which messages a body holds is the channel's word."""

    def __init__(
        self,
        channels: Channels,
        accept: Accept,
        clock: Clock,
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        meter: Meter = SILENT,
    ) -> None:
        """`channels` is asked anew each time, so that it may change meanwhile."""
        self._channels = channels
        self._accept = accept
        self._clock = clock
        self._max_body_bytes = max_body_bytes
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
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > self._max_body_bytes:
                raise GatewayError("body over the cap", code="payload_too_large")
            chunks.append(chunk)
        return b"".join(chunks)

    def _check_length(self, request: web.Request) -> None:
        if (request.content_length or 0) > self._max_body_bytes:
            raise GatewayError("body over the cap", code="payload_too_large")


def _refusal(error: GatewayError) -> web.Response:
    said = {"code": error.code, "message": catalogue.error_text(error.code, "en", **error.params)}
    return web.json_response({"error": said}, status=TABLE[error.code].http_status)
