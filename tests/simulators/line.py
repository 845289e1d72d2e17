"""LINE's Messaging API on the wire: every call checked against the official specification."""

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from tests.simulators.openapi import OpenApi
from tests.simulators.serving import served

OWN_SPEC = Path(__file__).parent.parent / "fixtures" / "line" / "messaging-api.yml"
REPLY, PUSH, LOADING = (
    "/v2/bot/message/reply",
    "/v2/bot/message/push",
    "/v2/bot/chat/loading/start",
)
LINK_TOKEN = "/v2/bot/user/{userId}/linkToken"
BOT_INFO, WEBHOOK = "/v2/bot/info", "/v2/bot/channel/webhook/endpoint"
TEXT_UNITS = 5000  # in the vendor's pages, not in the specification
TOKEN_LIFE_S = 60.0


class Fault(StrEnum):
    """How the next call is treated, whichever it is."""

    RATE = "429 rate"
    QUOTA = "429 quota"
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    SERVER_ERROR_AFTER = "accepted, 500"
    UNAUTHORISED = "401"
    FORBIDDEN = "403"
    BAD_REQUEST = "400"
    TOKEN_EXPIRED = "400 invalid reply token"
    HANG = "no answer, not accepted"
    CLOSE_BEFORE = "closed, not accepted"
    CLOSE_AFTER = "accepted, closed without an answer"
    HANG_AFTER = "accepted, no answer"
    GARBAGE = "accepted, answer unreadable"


REFUSALS = {
    Fault.RATE: (429, "The API rate limit has been exceeded."),
    Fault.QUOTA: (429, "You have reached your monthly limit."),
    Fault.UNAUTHORISED: (401, "Authentication failed"),
    Fault.FORBIDDEN: (403, "Not available for your account"),
    Fault.BAD_REQUEST: (400, "The request body has 1 error(s)"),
    Fault.TOKEN_EXPIRED: (400, "Invalid reply token"),
    Fault.UNAVAILABLE: (503, "Service Unavailable"),
}
ACCEPTED = frozenset({Fault.CLOSE_AFTER, Fault.HANG_AFTER, Fault.GARBAGE, Fault.SERVER_ERROR_AFTER})


@dataclass(frozen=True, slots=True)
class Delivery:
    """Messages that reached a chat."""

    path: str
    to: str
    texts: tuple[str, ...]
    key: str | None


@dataclass
class Token:
    """A reply token we handed out with an event."""

    chat: str
    issued_at: float
    is_used: bool = False


@dataclass
class LineSimulator:
    """State of the pretended platform; faults are taken from the queue, one a call."""

    secret: str = "line-secret"
    access_token: str = "line-token"
    now: Callable[[], float] = time.monotonic
    deliveries: list[Delivery] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    loading: list[str] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    retry_after_s: float | None = None
    tokens: dict[str, Token] = field(default_factory=dict)
    accepted_keys: set[str] = field(default_factory=set)
    link_tokens: dict[str, str] = field(default_factory=dict)  # token -> the user it is for
    webhook: str | None = "https://chat.example/webhooks/line/main"
    webhook_is_active: bool = True
    looked_up: list[str] = field(default_factory=list)
    url: str = ""
    received: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _spec: OpenApi = field(default_factory=lambda: OpenApi(OWN_SPEC))
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    # ------------------------------------------------------------ what LINE sends to us

    def text_event(
        self, text: str, user: str | None = "U" + "1" * 32, **over: Any
    ) -> dict[str, Any]:
        """A text message event; `source`, `message` and any other field can be replaced."""
        n = next(self._numbers)
        source = over.pop("source", {"type": "user", "userId": user})
        token = f"token{n:027d}"
        chat = source.get("groupId") or source.get("roomId") or source.get("userId") or ""
        self.tokens[token] = Token(chat, self.now())
        event = {
            "type": "message",
            "message": {"id": str(500000 + n), "type": "text", "text": text, "quoteToken": f"q{n}"},
            "webhookEventId": f"01H{n:023d}",
            "deliveryContext": {"isRedelivery": False},
            "timestamp": int(time.time() * 1000),
            "source": source,
            "replyToken": token,
            "mode": "active",
        }
        event["message"].update(over.pop("message", {}))
        return event | over

    def link_event(self, user: str, nonce: str, result: str = "ok", **over: Any) -> dict[str, Any]:
        """How the account-link flow ended, as LINE tells it."""
        n = next(self._numbers)
        event = {
            "type": "accountLink",
            "link": {"result": result, "nonce": nonce},
            "webhookEventId": f"01L{n:023d}",
            "deliveryContext": {"isRedelivery": False},
            "timestamp": int(time.time() * 1000),
            "source": {"type": "user", "userId": user},
            "mode": "active",
        }
        return event | ({"replyToken": f"token{n:027d}"} if result == "ok" else {}) | over

    def follow_dialog(self, url: str, opened_by: str) -> dict[str, Any]:
        """LINE's own page: it links only the user whose token it is, who must have opened it."""
        query = parse_qs(urlsplit(url).query)
        (token,), (nonce,) = query["linkToken"], query["nonce"]
        is_right = 10 <= len(nonce) <= 255 and self.link_tokens.pop(token, None) == opened_by
        return self.link_event(opened_by, nonce, "ok" if is_right else "failed")

    def body(self, *events: dict[str, Any]) -> bytes:
        return json.dumps({"destination": "U" + "0" * 32, "events": list(events)}).encode()

    def headers(self, body: bytes) -> dict[str, str]:
        return {"X-Line-Signature": sign(self.secret, body), "Content-Type": "application/json"}

    # ------------------------------------------------------------ what we send to LINE

    def texts_to(self, chat: str) -> list[tuple[str, ...]]:
        return [delivery.texts for delivery in self.deliveries if delivery.to == chat]

    async def wait_for(self, deliveries: int, timeout_s: float = 20.0) -> None:
        async with asyncio.timeout(timeout_s):
            while len(self.deliveries) < deliveries:
                self.received.clear()
                await self.received.wait()

    async def wait_for_calls(self, calls: int, timeout_s: float = 20.0) -> None:
        async with asyncio.timeout(timeout_s):
            while len(self.calls) < calls:
                self.received.clear()
                await self.received.wait()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if request.path in (BOT_INFO, WEBHOOK):
            return self._look_up(request)
        raw = await request.read()
        self._check(request.method, request.path, request.headers, raw)
        self.calls.append(request.path)
        self.received.set()
        fault = self.faults.popleft() if self.faults else None
        if fault is not None and fault not in ACCEPTED:
            return await self._refuse(request, fault)
        if request.headers.get("Authorization") != f"Bearer {self.access_token}":
            return _error(401, "Authentication failed")
        answer = self._accept(request.path, json.loads(raw or b"null"), request.headers)
        self.received.set()
        return await self._answer(request, answer, fault)

    def _look_up(self, request: web.Request) -> web.Response:
        """What can be asked about the account itself; it changes nothing."""
        self.violations += self._spec.violations(request.method, request.path, request.headers, b"")
        self.looked_up.append(request.path)
        if request.headers.get("Authorization") != f"Bearer {self.access_token}":
            return _error(401, "Authentication failed")
        if request.path == BOT_INFO:
            return web.json_response(
                {
                    "userId": "U" + "0" * 32,
                    "basicId": "@216ru",
                    "displayName": "禾光茶業",
                    "chatMode": "bot",
                    "markAsReadMode": "auto",
                }
            )
        if self.webhook is None:
            return _error(404, "Webhook endpoint not found")
        return web.json_response({"endpoint": self.webhook, "active": self.webhook_is_active})

    def _check(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> None:
        user = _link_user(path)
        found = self._spec.violations(method, LINK_TOKEN if user else path, headers, raw)
        if not found and path != LOADING and not user:
            found = [
                f"a text of {units} units"
                for message in json.loads(raw)["messages"]
                if not 1 <= (units := len(message["text"].encode("utf-16-le")) // 2) <= TEXT_UNITS
            ]
        if path == REPLY and "X-Line-Retry-Key" in headers:
            found.append("a reply with a retry key")
        if path == PUSH and "X-Line-Retry-Key" not in headers:
            found.append("a push without a retry key")
        self.violations += [f"{path}: {violation}" for violation in found]

    def _accept(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> web.Response:
        if path == LOADING:
            self.loading.append(body["chatId"])
            return web.json_response({}, status=202)
        if user := _link_user(path):
            token = f"link{next(self._numbers):028d}"
            self.link_tokens[token] = user
            return web.json_response({"linkToken": token})
        if path == REPLY:
            return self._accept_reply(body, headers)
        return self._accept_push(body, headers)

    def _accept_reply(self, body: dict[str, Any], headers: Mapping[str, str]) -> web.Response:
        if "X-Line-Retry-Key" in headers:
            return _error(400, "Retry key is not supported")
        token = self.tokens.get(body["replyToken"])
        if token is None or token.is_used or self.now() - token.issued_at > TOKEN_LIFE_S:
            return _error(400, "Invalid reply token")
        token.is_used = True
        return self._delivered(REPLY, token.chat, body, None)

    def _accept_push(self, body: dict[str, Any], headers: Mapping[str, str]) -> web.Response:
        key = headers.get("X-Line-Retry-Key")
        if key is not None and key in self.accepted_keys:
            return _error(409, "The retry key is already accepted")
        if key is not None:
            self.accepted_keys.add(key)
        return self._delivered(PUSH, body["to"], body, key)

    def _delivered(self, path: str, to: str, body: dict[str, Any], key: str | None) -> web.Response:
        texts = tuple(message["text"] for message in body["messages"])
        self.deliveries.append(Delivery(path, to, texts, key))
        sent = [{"id": str(900000 + next(self._numbers)), "quoteToken": "q"} for _ in texts]
        return web.json_response({"sentMessages": sent})

    async def _refuse(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault is Fault.CLOSE_BEFORE:
            return _cut(request)
        if fault is Fault.HANG:
            await self._ended.wait()
        status, message = REFUSALS.get(fault, (500, "Something is wrong"))
        is_told = fault is Fault.RATE and self.retry_after_s is not None
        return _error(
            status, message, {"Retry-After": f"{self.retry_after_s}"} if is_told else None
        )

    async def _answer(
        self, request: web.Request, answer: web.Response, fault: Fault | None
    ) -> web.StreamResponse:
        if fault is Fault.CLOSE_AFTER:
            return _cut(request)
        if fault is Fault.HANG_AFTER:
            await self._ended.wait()
        if fault is Fault.SERVER_ERROR_AFTER:
            return _error(500, "Something is wrong")
        if fault is Fault.GARBAGE:
            return web.Response(body=b"<html>\xff", content_type="text/html")
        return answer

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LineSimulator"]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.serve)
        async with served(app) as place:
            self.url = f"http://{place}"
            try:
                yield self
            finally:
                self._ended.set()


def sign(secret: str, body: bytes) -> str:
    return base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode()


def _link_user(path: str) -> str:
    """The user of an issue-link-token call, else nothing."""
    before, after = LINK_TOKEN.split("{userId}")
    is_it = path.startswith(before) and path.endswith(after)
    return path.removeprefix(before).removesuffix(after) if is_it else ""


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response({"message": message}, status=status, headers=headers)


def _cut(request: web.Request) -> web.Response:
    """Close the connection under the client's feet."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
