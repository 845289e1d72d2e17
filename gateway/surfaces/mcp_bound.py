"""No account keeps the others out of `/mcp`: who opens one session too many loses an older one."""

from collections import OrderedDict, defaultdict
from collections.abc import MutableMapping
from typing import Any

from gateway.surfaces.mcp_asgi import GONE, REFUSED, Application, Message, Receive, Send

MOST_OF_ONE = 100  # open sessions of an account, or of an agent's key
SESSION = b"mcp-session-id"
MISSING = 404


class Bounded:
    """An ASGI application around the SDK's, that knows which sessions are whose.

    The one that was not used for longest is ended as its own client would end it; a client that
    comes back to it is told that it is missing, and begins another (MCP, "Session Management").
    """

    def __init__(self, application: Application, most: int = MOST_OF_ONE) -> None:
        self._application = application
        self._most = most
        # by holder, the one used last at the end; some may be over without our knowing
        self._open: dict[str, OrderedDict[bytes, None]] = defaultdict(OrderedDict)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """`user` of the scope is the SDK's, named by account and agent."""
        own = self._open[scope["user"].username]
        asked = dict(scope["headers"]).get(SESSION, b"")
        if asked in own:
            own.move_to_end(asked)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun = dict(message.get("headers", ())).get(SESSION, b"")
                status, is_delete = message["status"], scope["method"] == "DELETE"
                if status == MISSING or (is_delete and status < REFUSED):
                    own.pop(asked, None)
                elif begun and not asked and status < REFUSED:
                    own[begun] = None
            await send(message)

        await self._application(scope, receive, watched)
        while len(own) > self._most:
            await self._end(scope, own.popitem(last=False)[0])

    async def _end(self, scope: MutableMapping[str, Any], session: bytes) -> None:
        await self._application(
            {**scope, "method": "DELETE", "headers": [(SESSION, session)]}, _nothing, _unheard
        )


async def _nothing() -> Message:
    return dict(GONE)


async def _unheard(_message: Message) -> None:
    """It is over, or was before."""
