"""The SDK's side of `/mcp`: sessions up to 2025-11-25, single exchanges since 2026-07-28."""

import asyncio
from dataclasses import dataclass

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from gateway.operations.table import Caller
from gateway.surfaces.mcp_asgi import Application
from gateway.surfaces.mcp_bound import Bounded
from gateway.surfaces.mcp_http import CALLER, Served
from gateway.surfaces.mcp_server import Context, build
from gateway.surfaces.mcp_tools import FixedTools

MOST_SESSIONS = 1_000
IDLE_S = 1_800.0
MOST_BODY_BYTES = 8 * 2**20  # a document in base64


@dataclass(frozen=True, slots=True)
class HttpSessions:
    """Implements Served."""

    application: Application

    def user(self, caller: Caller) -> object:
        """A session goes on only for the account, or the agent's key, that began it."""
        account = caller.account.id if caller.account is not None else ""
        agent = caller.agent.agent_id if caller.agent is not None else ""
        token = AccessToken(token="", client_id=f"{account}/{agent}", scopes=[])
        return AuthenticatedUser(token)


async def keep(toolbox: FixedTools, serving: "asyncio.Future[Served]", end: asyncio.Event) -> None:
    """Serve until `end`; `serving` tells when it has begun."""
    manager = StreamableHTTPSessionManager(
        app=build(toolbox, _caller),
        session_idle_timeout=IDLE_S,
        max_request_body_size=MOST_BODY_BYTES,
        max_sessions=MOST_SESSIONS,
    )
    async with manager.run():
        serving.set_result(HttpSessions(Bounded(manager.handle_request)))
        await end.wait()


def _caller(context: Context) -> object:
    """Of this request, not of the session's first one: a token may have ended meanwhile."""
    assert context.request is not None
    return context.request.scope[CALLER]
