"""MCP over this process's stdin and stdout, for `shutten mcp`."""

import contextlib

import anyio
from mcp.server.lowlevel import NotificationOptions
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from gateway.surfaces.mcp_server import Context, build
from gateway.surfaces.mcp_tools import Toolbox

Reading = ReadStream[SessionMessage | Exception]
Writing = WriteStream[SessionMessage]


class StdioServer:
    """Serves one client, in whichever protocol revision it begins with."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._bus = InMemorySubscriptionBus()
        self._server = build(toolbox, self._note, ListenHandler(self._bus))
        self._session: ServerSession | None = None

    async def run(self) -> None:
        """Until stdin ends."""
        async with stdio_server() as (reading, writing):
            await self.serve(reading, writing)

    async def serve(self, reading: Reading, writing: Writing) -> None:
        """One connection, until it ends."""
        options = self._server.create_initialization_options(
            NotificationOptions(tools_changed=True)
        )
        await self._server.run(reading, writing, options)

    async def changed(self) -> None:
        """The list of tools is another one: up to 2025-11-25 told to the session, after that to
        whoever listens.
        """
        if self._session is not None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._session.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())

    def _note(self, context: Context) -> object:
        self._session = context.session
        return None
