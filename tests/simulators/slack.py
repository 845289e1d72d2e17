"""Slack on the wire: Web API, files, Socket Mode; calls are checked by the specification."""

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import WSMsgType, web

from tests.simulators.serving import served
from tests.simulators.slack_spec import SlackSpec

TEAM, BOT_USER, BOT, APP = "T0000TEAM", "U0000BOTX", "B0000BOTX", "A0000APPX"
PERSON, DIRECT, CHANNEL = "U0000PERS", "D0000DIRE", "C0000CHAN"
POST, UPDATE, STATUS = "chat.postMessage", "chat.update", "assistant.threads.setStatus"


class Fault(StrEnum):
    """How the next call of the Web API is treated, whichever it is."""

    RATE = "429"
    SERVER_ERROR = "500, not accepted"
    SERVER_ERROR_AFTER = "500, accepted"
    UNAVAILABLE = "503, not accepted"
    GATEWAY_TIMEOUT = "504, accepted later"
    CLOSE_BEFORE = "closed, not accepted"
    CLOSE_AFTER = "accepted, closed without an answer"
    HANG = "no answer, not accepted"
    HANG_AFTER = "accepted, no answer"
    TRUNCATED = "accepted, answer cut"
    GARBAGE = "accepted, answer unreadable"
    LIST = "accepted, answer no object"
    TEXT = "accepted, answer plain text"
    FORBIDDEN_PAGE = "403 page"


ACCEPTED = frozenset(
    {
        Fault.SERVER_ERROR_AFTER,
        Fault.CLOSE_AFTER,
        Fault.HANG_AFTER,
        Fault.TRUNCATED,
        Fault.GARBAGE,
        Fault.LIST,
        Fault.TEXT,
    }
)


@dataclass(frozen=True, slots=True)
class Error:
    """The next call is answered `ok: false` with this error."""

    name: str
    status: int = 200


@dataclass
class Message:
    """A message that stands in a chat; `edits` are the texts it had before."""

    channel: str
    ts: str
    text: str
    thread: str | None
    metadata: Any = None
    edits: list[str] = field(default_factory=list)


@dataclass
class RemoteFile:
    """What is answered for a file."""

    body: bytes
    content_type: str = "application/octet-stream"
    status: int = 200
    location: str = ""
    is_endless: bool = False


@dataclass
class SlackSimulator:
    """State of the pretended platform; faults are taken from the queue, one a call."""

    secret: str = "slack-secret"
    token: str = "xoxb-slack-token"
    app_token: str = "xapp-slack-token"
    scopes: str = "chat:write,im:history,app_mentions:read"
    messages: list[Message] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[tuple[str, str, str]] = field(default_factory=list)
    faults: deque[Fault | Error | None] = field(default_factory=deque)
    method_faults: dict[str, deque[Fault | Error | None]] = field(default_factory=dict)
    retry_after_s: str | None = None
    files: dict[str, RemoteFile] = field(default_factory=dict)
    file_infos: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens_seen: list[str | None] = field(default_factory=list)  # with downloads
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    handshakes_refused: int = 0  # of the next ones
    acknowledged: list[str] = field(default_factory=list)
    echoes: int = 0  # answers to our pings
    tickets: set[str] = field(default_factory=set)
    url: str = ""
    received: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _spec: SlackSpec = field(default_factory=SlackSpec)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    # ------------------------------------------------------------ what Slack sends to us

    def event(self, text: str = "hello", **over: Any) -> dict[str, Any]:
        """The inside of a direct message event; any field can be replaced."""
        ts = f"{1772355600 + next(self._numbers)}.000100"
        event = {
            "type": "message",
            "client_msg_id": f"5a0b6a3e-0000-4000-8000-{next(self._numbers):012d}",
            "text": text,
            "user": PERSON,
            "ts": ts,
            "team": TEAM,
            "channel": DIRECT,
            "event_ts": ts,
            "channel_type": "im",
        }
        return event | over

    def in_channel(self, text: str = "hello", **over: Any) -> dict[str, Any]:
        return self.event(text, **({"channel": CHANNEL, "channel_type": "channel"} | over))

    def mention_of(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """The app_mention event that comes beside a message event."""
        kept = {key: item for key, item in event.items() if key != "channel_type"}
        return kept | {"type": "app_mention"}

    def envelope(self, event: Any, **over: Any) -> dict[str, Any]:
        return {
            "token": "verification-token",
            "team_id": TEAM,
            "api_app_id": APP,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{next(self._numbers):010d}",
            "event_time": 1772355600,
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": TEAM,
                    "user_id": BOT_USER,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": "4-context",
        } | over

    def body(self, event: Any, **over: Any) -> bytes:
        return json.dumps(self.envelope(event, **over)).encode()

    def headers(self, body: bytes, at_s: float | None = None) -> dict[str, str]:
        return sign(self.secret, body, time.time() if at_s is None else at_s)

    async def push(self, *envelopes: Any) -> None:
        """Through the newest socket, as Slack does in Socket Mode."""
        for payload in envelopes:
            number = next(self._numbers)
            frame = {
                "envelope_id": f"envelope-{number}",
                "payload": payload,
                "type": "events_api",
                "accepts_response_payload": False,
                "retry_attempt": 0,
                "retry_reason": "",
            }
            await self.sockets[-1].send_str(json.dumps(frame))

    # ------------------------------------------------------------ what we send to Slack

    def texts_in(self, channel: str, thread: str | None = None) -> list[str]:
        """As people read them."""
        return [
            shown(each.text)
            for each in self.messages
            if each.channel == channel and each.thread == thread
        ]

    async def echo(self) -> None:
        """Until the newest socket answered: what was sent before by it has arrived."""
        before = self.echoes
        await self.sockets[-1].ping()
        await self.until(lambda: self.echoes > before)

    async def until(self, is_so: Any, timeout_s: float = 20.0) -> None:
        """Wait for calls, sockets and acknowledgements until something is so."""
        async with asyncio.timeout(timeout_s):
            while not is_so():
                self.received.clear()
                await self.received.wait()

    async def wait_for(self, messages: int) -> None:
        await self.until(lambda: len(self.messages) >= messages)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        method = request.path.removeprefix("/api/")
        values = await self._values(request)
        self._check(request, method, values)
        self.calls.append(method)
        self.bodies.append(values)
        self.received.set()
        fault = self._fault(method)
        if isinstance(fault, Error):
            return web.json_response({"ok": False, "error": fault.name}, status=fault.status)
        if fault is not None and fault not in ACCEPTED:
            return await self._refuse(request, fault)
        wanted = self.app_token if method == "apps.connections.open" else self.token
        if request.headers.get("Authorization") != f"Bearer {wanted}":
            return web.json_response({"ok": False, "error": "invalid_auth"})
        answer = self._accept(method, values)
        self.received.set()
        return await self._answer(request, answer, fault)

    def _fault(self, method: str) -> Fault | Error | None:
        own = self.method_faults.get(method)
        if own:
            return own.popleft()
        return self.faults.popleft() if self.faults else None

    async def _values(self, request: web.Request) -> dict[str, Any]:
        raw = await request.read()
        if request.content_type == "application/json":
            value = json.loads(raw)
            assert isinstance(value, dict)
            return value
        form = dict(await request.post()) if raw else {}
        return {**request.query, **form}

    def _check(self, request: web.Request, method: str, values: Mapping[str, Any]) -> None:
        is_json = request.content_type == "application/json"
        found = self._spec.violations(request.method, method, values, is_json=is_json)
        if not request.headers.get("Authorization", "").startswith("Bearer x"):
            found.append("no bearer token")
        self.violations += [f"{method}: {violation}" for violation in found]

    def _accept(self, method: str, values: dict[str, Any]) -> dict[str, Any]:
        accept = {
            "auth.test": self._identity,
            POST: self._posted,
            UPDATE: self._updated,
            "chat.delete": self._deleted,
            STATUS: self._status,
            "conversations.history": self._listed,
            "conversations.replies": self._listed,
            "files.info": self._file_info,
            "apps.connections.open": self._ticket,
        }.get(method)
        return accept(values) if accept else _error("unknown_method")

    def _identity(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "ok": True,
            "url": "https://example.slack.com/",
            "team": "Example",
            "user": "helper",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT,
            "is_enterprise_install": False,
        }

    def _status(self, values: dict[str, Any]) -> dict[str, Any]:
        self.statuses.append((values["channel_id"], values["thread_ts"], values["status"]))
        return {"ok": True}

    def _file_info(self, values: dict[str, Any]) -> dict[str, Any]:
        info = self.file_infos.get(values["file"])
        return {"ok": True, "file": info} if info else _error("file_not_found")

    def _ticket(self, _: dict[str, Any]) -> dict[str, Any]:
        ticket = f"ticket{next(self._numbers)}"
        self.tickets.add(ticket)
        return {"ok": True, "url": f"{self.url.replace('http', 'ws')}/link/?ticket={ticket}"}

    def _posted(self, values: dict[str, Any]) -> dict[str, Any]:
        ts = f"{int(time.time())}.{next(self._numbers):06d}"
        message = Message(
            values["channel"], ts, values["text"], values.get("thread_ts"), values.get("metadata")
        )
        self.messages.append(message)
        said = {"type": "message", "text": message.text, "ts": ts, "user": BOT_USER, "bot_id": BOT}
        return {"ok": True, "channel": message.channel, "ts": ts, "message": said}

    def _updated(self, values: dict[str, Any]) -> dict[str, Any]:
        for message in self.messages:
            if (message.channel, message.ts) == (values["channel"], values["ts"]):
                message.edits.append(message.text)
                message.text = values["text"]
                return {
                    "ok": True,
                    "channel": message.channel,
                    "ts": message.ts,
                    "text": message.text,
                }
        return _error("message_not_found")

    def _deleted(self, values: dict[str, Any]) -> dict[str, Any]:
        for message in self.messages:
            if (message.channel, message.ts) == (values["channel"], values["ts"]):
                self.messages.remove(message)
                return {"ok": True, "channel": message.channel, "ts": message.ts}
        return _error("message_not_found")

    def _listed(self, values: dict[str, Any]) -> dict[str, Any]:
        found = [
            {"type": "message", "ts": each.ts, "text": each.text, "metadata": each.metadata}
            for each in self.messages
            if each.channel == values["channel"]
            and each.thread == values.get("ts")
            and float(each.ts) >= float(values.get("oldest", 0))
        ]
        return {"ok": True, "messages": found, "has_more": False}

    async def _refuse(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault is Fault.CLOSE_BEFORE:
            return _cut(request)
        if fault is Fault.HANG:
            await self._ended.wait()
        if fault is Fault.RATE:
            told = {"Retry-After": self.retry_after_s} if self.retry_after_s is not None else {}
            return web.json_response(_error("ratelimited"), status=429, headers=told)
        status = {Fault.UNAVAILABLE: 503, Fault.GATEWAY_TIMEOUT: 504, Fault.FORBIDDEN_PAGE: 403}
        return web.Response(
            text="<html>upstream</html>", content_type="text/html", status=status.get(fault, 500)
        )

    async def _answer(
        self, request: web.Request, answer: dict[str, Any], fault: Fault | Error | None
    ) -> web.StreamResponse:
        if fault is Fault.CLOSE_AFTER:
            return _cut(request)
        if fault is Fault.HANG_AFTER:
            await self._ended.wait()
        if fault is Fault.TRUNCATED:
            return await _truncated(request, json.dumps(answer).encode())
        if fault in ODD_ANSWERS:
            body, content_type = ODD_ANSWERS[fault]
            return web.Response(body=body, content_type=content_type)
        if fault is Fault.SERVER_ERROR_AFTER:
            return web.json_response(_error("internal_error"), status=500)
        return web.json_response(answer, headers={"x-oauth-scopes": self.scopes})

    # ------------------------------------------------------------ files

    async def serve_file(self, request: web.Request) -> web.StreamResponse:
        self.tokens_seen.append(request.headers.get("Authorization"))
        file = self.files[request.path]
        if file.location:
            return web.Response(status=302, headers={"Location": file.location})
        if not file.is_endless:
            return web.Response(
                body=file.body, status=file.status, headers={"Content-Type": file.content_type}
            )
        response = web.StreamResponse(headers={"Content-Type": file.content_type})
        await response.prepare(request)
        while not self._ended.is_set():
            await response.write(file.body)
        return response

    # ------------------------------------------------------------ Socket Mode

    async def serve_socket(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        is_good = ticket in self.tickets
        self.tickets.discard(ticket)  # each opens one connection, or none
        if not is_good or self.handshakes_refused:
            self.handshakes_refused -= is_good
            return web.Response(status=408)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        await socket.send_str(json.dumps({"type": "hello", "num_connections": 1}))
        self.sockets.append(socket)
        self.received.set()
        async for message in socket:
            if message.type is WSMsgType.PING:
                await socket.pong(message.data)
            elif message.type is WSMsgType.PONG:
                self.echoes += 1
                self.received.set()
            elif message.type is WSMsgType.TEXT:
                self.acknowledged.append(json.loads(message.data)["envelope_id"])
                self.received.set()
        self.received.set()
        return socket

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        await self.sockets[-1].send_str(json.dumps({"type": "disconnect", "reason": reason}))

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator["SlackSimulator"]:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self.serve)
        app.router.add_get("/link/", self.serve_socket)
        app.router.add_get("/files/{path:.*}", self.serve_file)
        async with served(app, port=port) as place:
            self.url = f"http://{place}"
            try:
                yield self
            finally:
                self._ended.set()
                for socket in self.sockets:
                    await socket.close()


ODD_ANSWERS: dict[Fault | Error | None, tuple[bytes, str]] = {
    Fault.GARBAGE: (b'{"ok": tru', "application/json"),
    Fault.LIST: (b'["ok"]', "application/json"),
    Fault.TEXT: (b"ok", "text/plain"),
}


def sign(secret: str, body: bytes, at_s: float) -> dict[str, str]:
    stamp = str(int(at_s))
    base = b"v0:" + stamp.encode() + b":" + body
    signature = "v0=" + hmac.digest(secret.encode(), base, hashlib.sha256).hex()
    return {
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature,
        "Content-Type": "application/json",
    }


def shown(text: str) -> str:
    """What people read of a text in which no control sequence may stand."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _error(name: str) -> dict[str, Any]:
    return {"ok": False, "error": name}


async def _truncated(request: web.Request, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.abort()
    return response


def _cut(request: web.Request) -> web.Response:
    """Close the connection under the client's feet."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
