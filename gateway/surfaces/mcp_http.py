"""`/mcp`: MCP over streamable HTTP, for programs with a token (FEATURES B, C; DESIGN section 5)."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import structlog
from aiohttp import web

from gateway.errors import GatewayError, NotSignedInError
from gateway.operations.table import Caller
from gateway.surfaces.doors import Doors
from gateway.surfaces.http import error_response
from gateway.surfaces.mcp_asgi import Application, answered
from gateway.surfaces.mcp_tools import FixedTools, Tool
from gateway.surfaces.routes import Route, header_parameter
from gateway.surfaces.session import HttpCallers, language_of

log = structlog.get_logger()
SURFACE = "mcp"
CALLER = "shutten.caller"  # in the scope of each request
START_S = 30.0  # the SDK is loaded at the first request

_MESSAGE = {"type": "object", "required": ["jsonrpc"], "properties": {"jsonrpc": {"const": "2.0"}}}
_STREAM = {"text/event-stream": {"type": "string"}}
_HEADERS = (
    header_parameter("Mcp-Session-Id", "Of revisions up to 2025-11-25: told by the first answer."),
    header_parameter("MCP-Protocol-Version"),
)
# ours, or JSON-RPC's own where the protocol refuses
_ERRORS = {"anyOf": [{"$ref": "#/components/schemas/Error"}, _MESSAGE]}


def _route(method: str, summary: str, **more: Any) -> Route:
    security = ("token", "key", "agentKey", "agentApiKey")
    statuses = (403, 405, 406, 409, 415, 500)
    return Route(
        method, "/mcp", summary, "mcp", security, _HEADERS,
        statuses=statuses, errors=_ERRORS, **more,
    )  # fmt: skip


ROUTES = (
    _route(
        "post",
        "Send a message of the Model Context Protocol (streamable HTTP).",
        body=_MESSAGE,
        answer=_MESSAGE,
        also=_STREAM,
        without_body=(202,),
    ),
    _route(
        "get",
        "Listen to what the server tells of itself in a session.",
        answer={"type": "string"},
        answer_type="text/event-stream",
    ),
    _route("delete", "End a session."),
)


class Sessions(Protocol):
    """What runs the SDK's side (surfaces/mcp_sessions.py), loaded at the first request."""

    async def __call__(
        self, toolbox: FixedTools, serving: "asyncio.Future[Served]", end: asyncio.Event
    ) -> None: ...


class Served(Protocol):
    """The SDK's side: an application, and the user of a request as it compares them."""

    @property
    def application(self) -> Application: ...
    def user(self, caller: Caller) -> object: ...


class McpHttp:
    """The same tools for every client; who asks is decided at each request."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.toolbox = FixedTools.of(tools)
        self._wanted = asyncio.Event()
        self._end = asyncio.Event()
        self._served: asyncio.Future[Served] | None = None

    async def run(self) -> None:
        """Keep the sessions until cancelled or ended; nothing is loaded before it is wanted."""
        await self._wanted.wait()
        if self._end.is_set():
            return
        begin = await asyncio.to_thread(_load)
        assert self._served is not None
        await begin(self.toolbox, self._served, self._end)

    def close(self) -> None:
        """End all sessions and streams: the gateway stops."""
        self._end.set()
        self._wanted.set()

    async def served(self) -> Served:
        """GatewayError `unavailable` while it cannot be had."""
        if self._end.is_set():
            raise GatewayError("stopping", code="unavailable")
        if self._served is None:
            self._served = asyncio.get_running_loop().create_future()
        self._wanted.set()
        try:
            async with asyncio.timeout(START_S):
                return await asyncio.shield(self._served)
        except TimeoutError as error:
            raise GatewayError("not loaded", code="unavailable") from error

    @property
    def ended(self) -> asyncio.Event:
        """Set once the gateway stops."""
        return self._end


class McpDoor:
    """The route: origin, then token, then the session."""

    def __init__(self, doors: Doors, callers: HttpCallers, sessions: McpHttp) -> None:
        self._doors = doors
        self._callers = callers
        self._sessions = sessions

    def routes(self) -> tuple[web.RouteDef, ...]:
        """One path, whatever the method: which are allowed is the protocol's matter."""
        return (web.route("*", "/mcp", self.answer),)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """401 with a challenge where no token holds; 403 for another site's page."""
        if not self._callers.is_own_origin(request):
            raise GatewayError("origin", code="origin_refused")
        try:
            caller = await self._doors.open(request, SURFACE)
        except NotSignedInError as error:
            refused = error_response(error, language_of(request))
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        served = await self._sessions.served()
        state = {CALLER: caller, "user": served.user(caller)}
        return await answered(request, served.application, state, self._sessions.ended)


def _load() -> Any:
    from gateway.surfaces.mcp_sessions import keep  # noqa: PLC0415 - the SDK is heavy

    log.info("MCP over HTTP is loaded")
    return keep
