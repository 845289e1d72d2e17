"""Discord on the wire: REST calls checked against the official specification, and the gateway."""

import asyncio
import base64
import itertools
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.simulators.discord_gateway import Gateway
from tests.simulators.openapi31 import OpenApi31
from tests.simulators.serving import served

OWN_SPEC = Path(__file__).parent.parent / "fixtures" / "discord" / "openapi.json"
BOT_ID, PERSON_ID, OTHER_ID = "900000000000000001", "800000000000000001", "800000000000000002"
GUILD_ID, CHANNEL_ID, THREAD_ID = "700000000000000001", "700000000000000002", "700000000000000003"
DM_ID = "700000000000000004"
TOKEN = base64.b64encode(BOT_ID.encode()).decode().rstrip("=") + ".abcdef.secret"
CONTENT_POINTS = 2000  # in the vendor's pages; the specification says 4000, for paying people
EPOCH_MS = 1_420_070_400_000


class Fault(StrEnum):
    """How the next call about a channel is treated, whichever it is."""

    RATE = "429"
    GLOBAL_RATE = "429 for all"
    EDGE_RATE = "429 of the edge"
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    UNAUTHORISED = "401"
    FORBIDDEN = "403"
    DM_CLOSED = "403 cannot send to this user"
    NO_CHANNEL = "404 channel"
    NO_MESSAGE = "404 message"
    BAD_REQUEST = "400"
    NO_HISTORY = "400 no reply without history"
    HANG = "no answer, not accepted"
    CLOSE_BEFORE = "closed, not accepted"
    CLOSE_AFTER = "accepted, closed without an answer"
    HANG_AFTER = "accepted, no answer"
    TRUNCATED = "accepted, half an answer"
    GARBAGE = "accepted, answer unreadable"


REFUSALS = {
    Fault.UNAUTHORISED: (401, 0, "401: Unauthorized"),
    Fault.FORBIDDEN: (403, 50013, "Missing Permissions"),
    Fault.DM_CLOSED: (403, 50007, "Cannot send messages to this user"),
    Fault.NO_CHANNEL: (404, 10003, "Unknown Channel"),
    Fault.NO_MESSAGE: (404, 10008, "Unknown Message"),
    Fault.BAD_REQUEST: (400, 50035, "Invalid Form Body"),
    Fault.NO_HISTORY: (400, 160002, "Cannot reply without permission to read message history"),
    Fault.SERVER_ERROR: (500, 0, "500: Internal Server Error"),
    Fault.UNAVAILABLE: (503, 0, "503: Service Unavailable"),
}
RATES = frozenset({Fault.RATE, Fault.GLOBAL_RATE, Fault.EDGE_RATE})
ACCEPTED = frozenset({Fault.CLOSE_AFTER, Fault.HANG_AFTER, Fault.TRUNCATED, Fault.GARBAGE})


@dataclass
class DiscordSimulator:
    """State of the pretended platform; faults are taken from the queue, one a call."""

    token: str = TOKEN
    wall: Callable[[], float] = time.time  # of ids and nonces
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by channel
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    edits: list[tuple[str, str]] = field(default_factory=list)  # (message id, content)
    payloads: list[dict[str, Any]] = field(default_factory=list)  # of POST and PATCH
    calls: list[str] = field(default_factory=list)
    typing: list[str] = field(default_factory=list)
    files: dict[str, web.Response] = field(default_factory=dict)
    file_headers: list[dict[str, str]] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    retry_after_s: float = 1.0
    rate_headers: dict[str, str] = field(default_factory=dict)  # of every answer about a channel
    nonce_life_s: float = 180.0
    application_flags: int = 1 << 18
    violations: list[str] = field(default_factory=list)
    url: str = ""
    received: asyncio.Event = field(default_factory=asyncio.Event)
    gateway: Gateway = field(init=False)
    _nonces: dict[tuple[str, str], tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _spec: OpenApi31 = field(default_factory=lambda: OpenApi31(OWN_SPEC))
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gateway = Gateway(self.token, BOT_ID)

    # ------------------------------------------------------------ what Discord sends to us

    def said(self, content: str, author: str = PERSON_ID, /, **over: Any) -> dict[str, Any]:
        """The data of MESSAGE_CREATE, a direct message by default; None leaves a field out."""
        person = {"id": author, "username": f"user{author[-1]}", "global_name": "王小明"}
        data = {
            "id": self.new_id(),
            "channel_id": DM_ID,
            "channel_type": 1,
            "type": 0,
            "content": content,
            "author": person,
            "timestamp": "2026-03-01T09:00:00.000000+00:00",
            "edited_timestamp": None,
            "mentions": [],
            "mention_roles": [],
            "mention_everyone": False,
            "attachments": [],
            "embeds": [],
            "flags": 0,
            "pinned": False,
            "tts": False,
        } | over
        return {key: value for key, value in data.items() if value is not None}

    def in_guild(self, content: str, author: str = PERSON_ID, /, **over: Any) -> dict[str, Any]:
        place = {"channel_id": CHANNEL_ID, "guild_id": GUILD_ID, "channel_type": 0}
        return self.said(content, author, **(place | over))

    async def send(self, data: dict[str, Any]) -> dict[str, Any]:
        """A person's message: in its channel, and an event."""
        self.messages.setdefault(data["channel_id"], []).append(data)
        await self.gateway.dispatch("MESSAGE_CREATE", data)
        return data

    def frame(self, data: dict[str, Any], kind: str = "MESSAGE_CREATE") -> bytes:
        return json.dumps({"op": 0, "t": kind, "s": 1, "d": data}).encode()

    def new_id(self) -> str:
        milliseconds = int(self.wall() * 1000) - EPOCH_MS
        return str(milliseconds << 22 | next(self._numbers))

    # ------------------------------------------------------------ what we send to Discord

    def ours(self, channel: str = DM_ID) -> list[str]:
        """What our messages in a channel say now."""
        return [
            each["content"]
            for each in self.messages.get(channel, ())
            if each["author"]["id"] == BOT_ID
        ]

    async def wait_for(self, messages: int, channel: str = DM_ID, timeout_s: float = 20.0) -> None:
        await self._wait(lambda: len(self.ours(channel)) >= messages, timeout_s)

    async def wait_for_calls(self, calls: int, timeout_s: float = 20.0) -> None:
        await self._wait(lambda: len(self.calls) >= calls, timeout_s)

    async def _wait(self, is_so: Callable[[], bool], timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            while not is_so():
                self.received.clear()
                await self.received.wait()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        path = request.path.removeprefix("/api/v10")
        query = dict(request.query)
        found = self._spec.violations(request.method, path, query, raw)
        if request.method in ("POST", "PATCH") and raw:
            length = len(json.loads(raw).get("content") or "")
            found += [f"{length} characters"] if not 1 <= length <= CONTENT_POINTS else []
        self.violations += [f"{request.method} {path}: {each}" for each in found]
        is_of_channel = path.startswith("/channels/")
        if is_of_channel:
            self.calls.append(f"{request.method} {path}")
        fault = self.faults.popleft() if self.faults and is_of_channel else None
        self.received.set()
        if fault is not None and fault not in ACCEPTED:
            return await self._refuse(request, fault)
        if request.headers.get("Authorization") != f"Bot {self.token}":
            return _error(401, 0, "401: Unauthorized")
        answer = self._accept(request.method, path, query, json.loads(raw) if raw else {})
        self.received.set()
        return await self._answer(request, answer, fault)

    def _accept(
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any]
    ) -> web.Response:
        fixed = {
            "/users/@me": {"id": BOT_ID, "username": "helper", "bot": True},
            "/gateway/bot": {"url": self.gateway.url, "shards": 1},
            "/applications/@me": {"id": BOT_ID, "flags": self.application_flags},
        }
        if path in fixed:
            return _json(fixed[path])
        channel, _, rest = path.removeprefix("/channels/").partition("/")
        if rest == "typing":
            self.typing.append(channel)
            return web.Response(status=204)
        if rest:
            return self._of_messages(method, channel, rest, query, body)
        known = self.channels.get(channel)
        return _json(known) if known else _error(404, 10003, "Unknown Channel")

    def _of_messages(
        self, method: str, channel: str, rest: str, query: dict[str, str], body: dict[str, Any]
    ) -> web.Response:
        if method == "GET":
            return _json(self._after(channel, query))
        if method == "POST":
            return _json(self._posted(channel, body), headers=self.rate_headers)
        if method == "DELETE":
            return self._deleted(channel, rest.removeprefix("messages/"))
        return self._edited(channel, rest.removeprefix("messages/"), body)

    def _after(self, channel: str, query: dict[str, str]) -> list[dict[str, Any]]:
        """As Discord does: the first ones behind `after`, the newest of them first."""
        least, most = int(query.get("after", "0")), int(query.get("limit", "50"))
        behind = [each for each in self.messages.get(channel, ()) if int(each["id"]) > least]
        behind = sorted(behind, key=lambda each: int(each["id"]))[:most]
        left_out = ("guild_id", "channel_type", "nonce")  # the REST API does not tell them
        return [
            {key: value for key, value in each.items() if key not in left_out}
            for each in reversed(behind)
        ]

    def _posted(self, channel: str, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("allowed_mentions") != {"parse": [], "replied_user": False}:
            self.violations.append(f"allowed mentions {body.get('allowed_mentions')}")
        key = channel, str(body.get("nonce"))
        at, before = self._nonces.get(key, (float("-inf"), {}))
        if body.get("enforce_nonce") and self.wall() - at < self.nonce_life_s:
            return before
        message = self.said(body["content"].strip(), BOT_ID, channel_id=channel)
        message["author"] = {"id": BOT_ID, "username": "helper", "bot": True}
        message |= {key: body[key] for key in ("nonce", "message_reference") if key in body}
        self.payloads.append(body)
        self.messages.setdefault(channel, []).append(message)
        self._nonces[key] = self.wall(), message
        return message

    def _edited(self, channel: str, message_id: str, body: dict[str, Any]) -> web.Response:
        for message in self.messages.get(channel, ()):
            if message["id"] == message_id:
                message["content"] = body["content"].strip()
                self.edits.append((message_id, message["content"]))
                self.payloads.append(body)
                return _json(message)
        return _error(404, 10008, "Unknown Message")

    def _deleted(self, channel: str, message_id: str) -> web.Response:
        before = self.messages.get(channel, [])
        self.messages[channel] = [each for each in before if each["id"] != message_id]
        is_gone = len(self.messages[channel]) < len(before)
        return web.Response(status=204) if is_gone else _error(404, 10008, "Unknown Message")

    async def _refuse(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault is Fault.CLOSE_BEFORE:
            return _cut(request)
        if fault is Fault.HANG:
            await self._ended.wait()
            return _cut(request)
        if fault in RATES:
            return self._too_many(fault)
        status, code, message = REFUSALS[fault]
        return _error(status, code, message)

    def _too_many(self, fault: Fault) -> web.Response:
        if fault is Fault.EDGE_RATE:
            wait = {"Retry-After": f"{self.retry_after_s}"}
            return web.Response(status=429, text="<html>", headers=wait)
        is_global = fault is Fault.GLOBAL_RATE
        body = {"message": "slow", "retry_after": self.retry_after_s, "global": is_global}
        headers = {"Via": "1.1 google", "Retry-After": f"{self.retry_after_s}"}
        headers |= {"X-RateLimit-Global": "true"} if is_global else {}
        return _json(body, 429, headers)

    async def _answer(
        self, request: web.Request, answer: web.Response, fault: Fault | None
    ) -> web.StreamResponse:
        if fault is Fault.CLOSE_AFTER:
            return _cut(request)
        if fault is Fault.HANG_AFTER:
            await self._ended.wait()
        if fault is Fault.GARBAGE:
            return web.Response(body=b"<html>\xff", content_type="text/html")
        if fault is Fault.TRUNCATED:
            half = web.StreamResponse(headers={"Content-Type": "application/json"})
            half.content_length = 400
            await half.prepare(request)
            await half.write(b'{"id": "1')
            return _cut(request)
        return answer

    async def _serve_file(self, request: web.Request) -> web.StreamResponse:
        self.file_headers.append(dict(request.headers))
        return self.files.get(request.match_info["name"]) or web.Response(status=404)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["DiscordSimulator"]:
        app = web.Application()
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_get("/files/{name}", self._serve_file)
        app.router.add_route("*", "/api/v10/{path:.*}", self.serve)
        async with served(app) as place:
            self.url = f"http://{place}/api/v10"
            self.gateway.url = f"ws://{place}/gateway/"
            try:
                yield self
            finally:
                self._ended.set()
                await self.gateway.drop()
        self.violations += self.gateway.violations


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Without a charset, as Discord says it: discord.py takes nothing else for JSON."""
    named = {"Content-Type": "application/json", **(headers or {})}
    return web.Response(body=json.dumps(value).encode(), status=status, headers=named)


def _error(status: int, code: int, message: str) -> web.Response:
    return _json({"message": message, "code": code}, status)


def _cut(request: web.Request) -> web.Response:
    """Close the connection under the client's feet."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
