"""LINE's host of files: content that is there, is being prepared, is gone, or never ends."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

from tests.simulators.line import OWN_SPEC
from tests.simulators.openapi import OpenApi
from tests.simulators.serving import served

CONTENT = "/v2/bot/message/{messageId}/content"
TRANSCODING = "/v2/bot/message/{messageId}/content/transcoding"
_PATH = re.compile(r"/v2/bot/message/([0-9]+)/content(/transcoding)?")


class Body(StrEnum):
    """How a file comes."""

    WHOLE = "whole, with its length"
    CHUNKED = "whole, without a length"
    ENDLESS = "no length, no end"
    LYING = "Content-Length: 10, no end"
    SHORT = "less than its length, then closed"
    SILENT = "headers, then nothing"
    REDIRECT = "somewhere else"


@dataclass
class File:
    """What a message holds. `processing` counts the polls before a large one is ready."""

    data: bytes = b"%PDF-1.7 leave"
    body: Body = Body.WHOLE
    processing: int | None = None
    is_failed: bool = False
    is_prepared: bool = True

    def __post_init__(self) -> None:
        self.is_prepared = self.processing is None and not self.is_failed


@dataclass
class LineFiles:
    """Files by message id; every call is checked against the official specification."""

    access_token: str = "line-token"
    files: dict[str, File] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    gone: int = 404
    url: str = ""
    sent_bytes: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event | None = None  # where set, content waits for it
    _spec: OpenApi = field(default_factory=lambda: OpenApi(OWN_SPEC))
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.calls.append(request.path)
        self.asked.set()
        found = _PATH.fullmatch(request.path)
        template = (TRANSCODING if found[2] else CONTENT) if found else request.path
        body = await request.read()
        self.violations += self._spec.violations(request.method, template, request.headers, body)
        if request.headers.get("Authorization") != f"Bearer {self.access_token}":
            return web.json_response({"message": "Authentication failed"}, status=401)
        file = self.files.get(found[1]) if found else None
        if found is None or file is None:
            return web.json_response({"message": "Not found"}, status=self.gone)
        return _transcoding(file) if found[2] else await self._content(request, file)

    async def _content(self, request: web.Request, file: File) -> web.StreamResponse:
        if self.held is not None:
            await self.held.wait()
        if not file.is_prepared:
            return web.json_response({}, status=202)
        if file.body is Body.WHOLE:
            return web.Response(body=file.data)
        if file.body is Body.REDIRECT:
            return web.Response(status=302, headers={"Location": file.data.decode()})
        return await self._stream(request, file)

    async def _stream(self, request: web.Request, file: File) -> web.StreamResponse:
        lengths = {Body.LYING: 10, Body.SHORT: len(file.data) + 9}
        length = lengths.get(file.body)
        headers = {} if length is None else {"Content-Length": str(length)}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        assert request.transport is not None
        if file.body is Body.LYING:
            await response.write(b"x" * 10)
            await self._endless(request.transport.write, request)
        elif file.body is Body.ENDLESS:
            await self._endless(response.write, request)
        elif file.body is Body.SILENT:
            await self._ended.wait()
        else:
            await response.write(file.data)
        if file.body is Body.SHORT:
            request.transport.close()
        return response

    async def _endless(self, write: Callable[[bytes], Any], request: web.Request) -> None:
        with contextlib.suppress(ConnectionError):
            while not self._ended.is_set() and request.transport is not None:
                waits = write(b"x" * 10_000)
                if waits is not None:
                    await waits
                self.sent_bytes += 10_000
                await asyncio.sleep(0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LineFiles"]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.serve)
        async with served(app, shutdown_s=0.1) as place:
            self.url = f"http://{place}"
            try:
                yield self
            finally:
                self._ended.set()


def _transcoding(file: File) -> web.Response:
    if file.is_failed:
        return web.json_response({"status": "failed"})
    if file.processing:
        file.processing -= 1
        return web.json_response({"status": "processing"})
    file.is_prepared = True
    return web.json_response({"status": "succeeded"})


def file_event(event: dict[str, Any], kind: str = "file", **over: Any) -> dict[str, Any]:
    """A text event of the simulator made one with a file."""
    message = {"id": event["message"]["id"], "type": kind}
    message |= {"fileName": "規章.pdf", "fileSize": 14} if kind == "file" else {}
    if kind != "file":
        message["contentProvider"] = {"type": "line"}
    return event | {"message": message | over}


def unsent(event: dict[str, Any], number: int = 1, **over: Any) -> dict[str, Any]:
    """The sender takes the message of `event` back."""
    return {
        "type": "unsend",
        "unsend": {"messageId": event["message"]["id"]},
        "webhookEventId": f"01UNSEND{number:018d}",
        "deliveryContext": {"isRedelivery": False},
        "timestamp": event["timestamp"],
        "source": event["source"],
        "mode": "active",
    } | over
