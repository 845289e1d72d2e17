"""Discord's gateway on the wire: sessions that number, keep and replay what they sent."""

import asyncio
import contextlib
import itertools
import json
import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
GRANTED_INTENTS = 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15  # guilds, both kinds of messages, content


class Line:
    """One socket, with a compression context of its own."""

    def __init__(self, socket: web.WebSocketResponse, *, is_compressed: bool) -> None:
        self.socket = socket
        self._zlib = zlib.compressobj() if is_compressed else None

    async def send(self, frame: dict[str, Any]) -> None:
        data = json.dumps(frame)
        with contextlib.suppress(ConnectionError):  # what it would have said is replayed
            if self._zlib is None:
                await self.socket.send_str(data)
            else:
                raw = self._zlib.compress(data.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
                await self.socket.send_bytes(raw)


@dataclass
class Session:
    """What one IDENTIFY began."""

    id: str
    line: Line | None = None
    sent: list[dict[str, Any]] = field(default_factory=list)  # numbered from 1

    async def dispatch(self, kind: str, data: dict[str, Any]) -> None:
        frame = {"op": DISPATCH, "t": kind, "s": len(self.sent) + 1, "d": data}
        self.sent.append(frame)
        if self.line is not None:
            await self.line.send(frame)


@dataclass
class Gateway:
    """State of the pretended gateway; `close_codes` answer the next IDENTIFYs."""

    token: str
    bot_id: str
    url: str = ""
    heartbeat_ms: int = 20_000
    close_codes: deque[int] = field(default_factory=deque)
    sessions: dict[str, Session] = field(default_factory=dict)
    guilds: list[dict[str, Any]] = field(default_factory=list)  # as GUILD_CREATE brings them
    identified: int = 0
    resumed: list[int] = field(default_factory=list)  # the sequences that RESUME named
    beats: list[int | None] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    closed_with: list[int | None] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def connected(self) -> list[Line]:
        return [line for line in self.lines if not line.socket.closed]

    async def dispatch(self, kind: str, data: dict[str, Any]) -> None:
        """An event for every session that can still be resumed, connected or not."""
        for session in self.sessions.values():
            await session.dispatch(kind, data)

    async def say(self, op: int, data: Any = None) -> None:
        for line in self.connected:
            await line.send({"op": op, "d": data})

    async def wait_until(self, is_so: Any, timeout_s: float = 20.0) -> None:
        async with asyncio.timeout(timeout_s):
            while not is_so():
                self.changed.clear()
                await self.changed.wait()

    async def wait_for_up(self, times: int) -> None:
        await self.wait_until(lambda: self.identified + len(self.resumed) >= times)

    async def drop(self) -> None:
        """Cut every connection under the client's feet."""
        for line in self.connected:
            transport = line.socket._req.transport if line.socket._req is not None else None
            if transport is not None:
                transport.abort()

    def forget(self) -> None:
        """Sessions that can not be resumed any more."""
        self.sessions.clear()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        query = request.query
        if (query.get("v"), query.get("encoding")) != ("10", "json"):
            self.violations.append(f"gateway asked for with {dict(query)}")
        line = Line(socket, is_compressed=query.get("compress") == "zlib-stream")
        self.lines.append(line)
        await line.send({"op": HELLO, "d": {"heartbeat_interval": self.heartbeat_ms}})
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                await self._hear(line, json.loads(message.data))
                self.changed.set()
        for session in self.sessions.values():
            if session.line is line:
                session.line = None
        self.closed_with.append(socket.close_code)
        if socket.close_code in (1000, 1001):
            self.forget()  # so Discord does
        self.changed.set()
        return socket

    async def _hear(self, line: Line, frame: dict[str, Any]) -> None:
        match frame["op"]:
            case 1:
                self.beats.append(frame["d"])
                await line.send({"op": ACK})
            case 2:
                await self._identify(line, frame["d"])
            case 6:
                await self._resume(line, frame["d"])
            case other:
                self.violations.append(f"op {other}")

    async def _identify(self, line: Line, data: dict[str, Any]) -> None:
        if data["token"] != self.token:
            await line.socket.close(code=4004)
            return
        if self.close_codes:
            await line.socket.close(code=self.close_codes.popleft())
            return
        if data["intents"] != GRANTED_INTENTS:
            self.violations.append(f"intents {data['intents']}")
        self.forget()  # one session at a time: an old one gets nothing more
        session = Session(f"session{next(self._numbers)}", line)
        self.sessions[session.id] = session
        self.identified += 1
        ready = {
            "v": 10,
            "user": {"id": self.bot_id, "username": "helper", "bot": True},
            "guilds": [{"id": guild["id"], "unavailable": True} for guild in self.guilds],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {"id": self.bot_id, "flags": 1 << 18},
        }
        await session.dispatch("READY", ready)
        for guild in self.guilds:
            await session.dispatch("GUILD_CREATE", guild)

    async def _resume(self, line: Line, data: dict[str, Any]) -> None:
        session = self.sessions.get(data["session_id"])
        if session is None or data["token"] != self.token:
            await line.send({"op": INVALID, "d": False})
            return
        self.resumed.append(data["seq"])
        session.line = line
        for frame in session.sent[data["seq"] :]:
            await line.send(frame)
        await session.dispatch("RESUMED", {})
