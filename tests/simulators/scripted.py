"""A language model's server that plays a script and misbehaves on demand; a subclass an API."""

import asyncio
import base64
import binascii
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from aiohttp import web

from tests.simulators.serving import served

PIECE_CHARS = 2  # small enough to cut every mark
Server = TypeVar("Server", bound="ScriptedServer")


@dataclass(frozen=True)
class Say:
    """Answer with this text, in small pieces."""

    text: str
    piece_chars: int = PIECE_CHARS
    tokens: tuple[int, int] | None = (120, 30)  # in, out
    waits: bool = False  # until released


@dataclass(frozen=True)
class UseTool:
    """Ask for a tool; the arguments come in two pieces. A str is sent as it is."""

    arguments: dict[str, Any] | str
    name: str = "knowledge_search"
    text: str = ""
    calls: int = 1
    has_ids: bool = True  # false: every call says the same


class Trouble(StrEnum):
    """What a server may do to us."""

    HANG = "hang"  # takes the request and says nothing
    HANG_MID_STREAM = "hang_mid_stream"
    DROP_MID_STREAM = "drop_mid_stream"
    END_EARLY = "end_early"  # a clean end, but the answer was not finished
    RATE_LIMIT = "rate_limit"  # 429 with Retry-After
    OVERLOADED = "overloaded"  # 529
    SERVER_ERROR = "server_error"
    WRONG_KEY = "wrong_key"  # 401 whose body repeats the key
    REDIRECT = "redirect"  # to another host, which would get the key
    NOTHING = "nothing"  # finished, without a word
    REFUSAL = "refusal"  # begins, then the server's own filter ends it
    CUT_OFF = "cut_off"  # the limit of tokens was reached
    ODD_EVENTS = "odd_events"  # nulls and unknown fields; then an answer
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    NO_CONTENT = "no_content"
    ERROR_EVENT = "error_event"
    NOT_A_STREAM = "not_a_stream"


Step = Say | UseTool | Trouble
STATUSES = {
    Trouble.RATE_LIMIT: (429, "slow down"),
    Trouble.SERVER_ERROR: (500, "broken"),
    Trouble.OVERLOADED: (529, "Overloaded"),
}
UNFINISHED = (Trouble.HANG_MID_STREAM, Trouble.DROP_MID_STREAM, Trouble.END_EARLY)


@dataclass
class ScriptedServer:
    """Plays its script, one step a request; the last step repeats for ever."""

    script: list[Step]
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    listed: int = 0  # how often the list of models was asked for
    valid_key: str | None = None  # for the list; None: any
    base_url: str = ""
    retry_after_s: float = 0.05
    began: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)  # what hangs goes on

    PATH = "/"
    LIST_PATH = "/v1/models"
    BASE = ""

    @abstractmethod
    def key_of(self, request: web.Request) -> str:
        """The key as it came."""

    @abstractmethod
    def complaint(self, body: dict[str, Any]) -> str:
        """What the real server would refuse with 400."""

    @abstractmethod
    def frames(self, step: Step) -> Sequence[bytes]:
        """The events of the stream, without the last."""

    @abstractmethod
    def end(self) -> bytes:
        """The last event."""

    @abstractmethod
    def error(self, message: str) -> dict[str, Any]:
        """The body of a refusal."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.keys.append(self.key_of(request))
        self.headers.append(dict(request.headers))
        complaint = self.complaint(body)
        if complaint:
            return self._refuse(400, complaint)
        step = self.script[min(len(self.requests), len(self.script) - 1)]
        self.requests.append(body)
        self.began.set()
        if step is Trouble.HANG or (isinstance(step, Say) and step.waits):
            await self.released.wait()
        refusal = self._refusal(step)
        return refusal if refusal is not None else await self._stream(request, step)

    async def models(self, request: web.Request) -> web.StreamResponse:
        self.listed += 1
        if self.script[0] is Trouble.HANG:
            await self.released.wait()
        if self.valid_key is not None and self.key_of(request) != self.valid_key:
            return self._refuse(401, f"invalid key {self.key_of(request)}")
        return web.json_response({"object": "list", "data": [], "has_more": False})

    def _refusal(self, step: Step) -> web.Response | None:
        if isinstance(step, Trouble) and step in STATUSES:
            return self._refuse(*STATUSES[step], {"Retry-After": str(self.retry_after_s)})
        if step is Trouble.WRONG_KEY:
            return self._refuse(401, f"Incorrect API key provided: {self.keys[-1]}")
        if step is Trouble.REDIRECT:
            return web.Response(status=307, headers={"Location": self.base_url + "/elsewhere"})
        if step is Trouble.NOT_A_STREAM:
            return web.json_response({"choices": [{"message": {"content": "whole"}}]})
        return None

    def _refuse(
        self, status: int, message: str, headers: dict[str, str] | None = None
    ) -> web.Response:
        self.statuses.append(status)
        return web.json_response(self.error(message), status=status, headers=headers)

    async def _stream(self, request: web.Request, step: Step) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for frame in self.frames(step):
            await response.write(frame)
        if step is Trouble.DROP_MID_STREAM and request.transport is not None:
            request.transport.abort()
        if step is Trouble.HANG_MID_STREAM:
            await self.released.wait()
        if step not in UNFINISHED:
            await response.write(self.end())
        self.statuses.append(200)
        return response


def is_png(data: str) -> bool:
    """Base64 of something that begins like a PNG."""
    try:
        return base64.b64decode(data, validate=True).startswith(b"\x89PNG\r\n\x1a\n")
    except binascii.Error:
        return False


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[Server]:
    """The server on a free local port, gone at the end."""
    app = web.Application(client_max_size=8 * 1024 * 1024)
    app.router.add_post(server.PATH, server.answer)
    app.router.add_get(server.LIST_PATH, server.models)
    async with served(app, shutdown_s=0.1) as place:
        server.base_url = f"http://{place}{server.BASE}"
        yield server
