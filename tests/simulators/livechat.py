"""A website's relay on the wire: signs what visitors say, checks what comes back for them."""

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

from tests.simulators.serving import served

FIELDS = {"session_id", "message_id", "turn_id", "text", "idempotency_key"}
WINDOW_S = 300


class Fault(StrEnum):
    """How the next call is treated."""

    RATE = "429"
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    UNAUTHORISED = "401"
    BAD_REQUEST = "400"
    GONE = "410"
    REDIRECT = "302"
    CLOSE_BEFORE = "closed, not accepted"
    CLOSE_AFTER = "accepted, closed without an answer"
    HANG_AFTER = "accepted, no answer"
    GARBAGE = "accepted, answer unreadable"


ACCEPTED = frozenset({Fault.CLOSE_AFTER, Fault.HANG_AFTER, Fault.GARBAGE})


@dataclass
class LiveChatSimulator:
    """State of the pretended relay; faults are taken from the queue, one a call."""

    secret: str = "live-chat-secret"
    now: Callable[[], float] = time.time
    replies: list[dict[str, Any]] = field(default_factory=list)
    repeats: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    retry_after: str | None = None
    url: str = ""
    received: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    # ------------------------------------------------------------ what the relay sends to us

    def event(self, text: str, session: str = "session-1", **over: Any) -> dict[str, Any]:
        n = next(self._numbers)
        event = {"event_id": f"e{n}", "session_id": session, "message_id": n, "text": text}
        return event | {"visitor_name": "Visitor 7"} | over

    def signed(
        self, event: Any, *, at: float | None = None, secret: str | None = None
    ) -> tuple[dict[str, str], bytes]:
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        timestamp = str(int(self.now() if at is None else at))
        signature = sign(self.secret if secret is None else secret, timestamp, body)
        return {"X-Livechat-Timestamp": timestamp, "X-Livechat-Signature": signature}, body

    # ------------------------------------------------------------ what we send to the relay

    def texts_to(self, session: str) -> list[str]:
        return [reply["text"] for reply in self.replies if reply["session_id"] == session]

    async def wait_for(self, replies: int, timeout_s: float = 20.0) -> None:
        async with asyncio.timeout(timeout_s):
            while len(self.replies) < replies:
                self.received.clear()
                await self.received.wait()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if request.method == "OPTIONS":
            return web.Response(status=405)
        raw = await request.read()
        self.calls.append(request.path)
        self.received.set()
        self._check(request, raw)
        fault = self.faults.popleft() if self.faults else None
        if fault is not None and fault not in ACCEPTED:
            return self._refuse(request, fault)
        self._accept(json.loads(raw))
        self.received.set()
        if fault is Fault.CLOSE_AFTER:
            return _cut(request)
        if fault is Fault.HANG_AFTER:
            await self._ended.wait()
        if fault is Fault.GARBAGE:
            return web.Response(body=b"<html>\xff", content_type="text/html")
        return web.json_response({"ok": True})

    def _check(self, request: web.Request, raw: bytes) -> None:
        timestamp = request.headers.get("X-Livechat-Timestamp", "")
        found = []
        if request.headers.get("X-Livechat-Signature") != sign(self.secret, timestamp, raw):
            found.append("the signature does not fit")
        if abs(self.now() - float(timestamp or 0)) > WINDOW_S:
            found.append("the time is another")
        body = json.loads(raw)
        if set(body) != FIELDS:
            found.append(f"fields {sorted(body)}")
        if request.headers.get("Idempotency-Key") != body.get("idempotency_key"):
            found.append("two idempotency keys")
        if not str(body.get("text", "")).strip():
            found.append("no text")
        if request.headers.get("Content-Type") != "application/json":
            found.append("no JSON")
        self.violations += found

    def _accept(self, body: dict[str, Any]) -> None:
        if any(each["idempotency_key"] == body["idempotency_key"] for each in self.replies):
            self.repeats.append(body["idempotency_key"])
        else:
            self.replies.append(body)

    def _refuse(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault is Fault.CLOSE_BEFORE:
            return _cut(request)
        headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
        if fault is Fault.REDIRECT:
            headers["Location"] = "/elsewhere"
        return web.Response(status=int(fault.value), headers=headers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LiveChatSimulator"]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.serve)
        async with served(app) as place:
            self.url = f"http://{place}/replies"
            try:
                yield self
            finally:
                self._ended.set()


def sign(secret: str, timestamp: str, body: bytes) -> str:
    said = b"v1:" + timestamp.encode() + b":" + body
    return "v1=" + hmac.new(secret.encode(), said, hashlib.sha256).hexdigest()


def _cut(request: web.Request) -> web.Response:
    """Close the connection under the client's feet."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
