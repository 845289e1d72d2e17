"""POST /webhooks/{channel}/{name}: verify, store, and only then answer 200."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog
from aiohttp import web

from gateway import catalogue
from gateway.core.messages import InboundMessage
from gateway.errors import TABLE, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Channel, Clock

log = structlog.get_logger()

PATH = "/webhooks/{channel}/{name}"
MAX_BODY_BYTES = 1024 * 1024  # before anything is verified; no platform's events come near it

Channels = Mapping[tuple[str, str], Channel]
Accept = Callable[[Sequence[InboundMessage]], Awaitable[object]]  # durable when it returns


class Webhooks:
    """The way in for platforms that call us; which messages a body holds is the channel's word."""

    def __init__(
        self,
        channels: Channels,
        accept: Accept,
        clock: Clock,
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._channels = channels
        self._accept = accept
        self._clock = clock
        self._max_body_bytes = max_body_bytes

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.post(PATH, self.receive),)

    async def receive(self, request: web.Request) -> web.Response:
        """200 once every event of the body is stored, else the error's own status."""
        place = request.match_info["channel"], request.match_info["name"]
        try:
            channel = self._channels.get(place)
            if channel is None:
                raise NotFoundError("no such webhook")
            body = await self._body(request)
            messages = channel.parse(request.headers, body, self._clock.now())
            if messages:
                await self._accept(messages)
        except GatewayError as error:
            log.info("webhook refused", code=error.code)
            return _refusal(error)
        return web.Response()

    async def _body(self, request: web.Request) -> bytes:
        """The raw bytes, cut off at the cap whatever Content-Length says; never compressed."""
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise InvalidRequestError("a compressed webhook")
        if (request.content_length or 0) > self._max_body_bytes:
            raise GatewayError("body over the cap", code="payload_too_large")
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > self._max_body_bytes:
                raise GatewayError("body over the cap", code="payload_too_large")
            chunks.append(chunk)
        return b"".join(chunks)


def _refusal(error: GatewayError) -> web.Response:
    said = {"code": error.code, "message": catalogue.error_text(error.code, "en", **error.params)}
    return web.json_response({"error": said}, status=TABLE[error.code].http_status)
