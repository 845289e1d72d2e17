"""One aiohttp request as an ASGI application sees it: the SDK's HTTP side is one."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import msgspec
from aiohttp import web

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOOK_S = 1.0  # how soon it is noticed that whoever asked is gone
REFUSED = 400  # statuses from here on
INVALID_REQUEST = -32600  # JSON-RPC's
JSON = "application/json"
GONE: Mapping[str, Any] = {"type": "http.disconnect"}


async def answered(
    request: web.Request,
    application: Application,
    state: Mapping[str, Any],
    ended: asyncio.Event,
) -> web.StreamResponse:
    """Its answer, sent already where it is a stream. `state` goes into the scope.

    `ended`: we stop, and whoever asks is told as if the connection were gone.
    """
    exchange = _Exchange(request, await request.read(), ended)
    with contextlib.suppress(ConnectionError):  # gone meanwhile: nobody to answer
        await application({**_scope(request), **state}, exchange.receive, exchange.send)
    return exchange.response


def _scope(request: web.Request) -> dict[str, Any]:
    raw_path, _, query = request.raw_path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": None,
        "server": None,
    }


class _Exchange:
    """The two directions of one request."""

    def __init__(self, request: web.Request, body: bytes, ended: asyncio.Event) -> None:
        self._request = request
        self._body: bytes | None = body
        self._ended = ended
        self._refusal: bytes | None = None  # as far as it came; None: it is none, or JSON
        self.response = web.StreamResponse(status=500)

    async def receive(self) -> Message:
        """The body, then only that the client is gone."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        while not self._ended.is_set():
            transport = self._request.transport
            if transport is None or transport.is_closing():
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._ended.wait()
        return dict(GONE)

    async def send(self, message: Message) -> None:
        """Head, then pieces of the body; the last one ends it."""
        if message["type"] == "http.response.start":
            self.response = web.StreamResponse(status=message["status"])
            for name, value in message.get("headers", ()):
                self.response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
            if message["status"] >= REFUSED and self.response.content_type != JSON:
                self._refusal = b""
            else:
                await self.response.prepare(self._request)
        elif message["type"] == "http.response.body" and self._refusal is not None:
            self._refusal += message.get("body", b"")
            if not message.get("more_body", False):
                await self._refuse(self._refusal.decode("utf-8", "replace"))
        elif message["type"] == "http.response.body":
            await self.response.write(message.get("body", b""))
            if not message.get("more_body", False):
                await self.response.write_eof()

    async def _refuse(self, words: str) -> None:
        """Some refusals of the SDK are bare words, or nothing: clients read JSON."""
        error = {"code": INVALID_REQUEST, "message": words or self.response.reason}
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
        self.response.content_type = JSON
        self.response.content_length = len(body)
        await self.response.prepare(self._request)
        await self.response.write_eof(body)
