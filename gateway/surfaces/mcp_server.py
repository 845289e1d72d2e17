"""A toolbox as an MCP server; sessions, framing and protocol revisions are the SDK's work."""

import base64
import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from gateway.surfaces.mcp_tools import TextContent, ToolAnswer, Toolbox, ToolCard

NAME = "shutten"
logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what it says of broken requests quotes them
Context = ServerRequestContext[Any, Any]
WhoAsks = Callable[[Context], object]


def build(
    toolbox: Toolbox, who_asks: WhoAsks, listening: ListenHandler | None = None
) -> Server[Any]:
    """A server over `toolbox`; `who_asks` finds what the toolbox knows a client by.

    `listening` serves clients of 2026-07-28 that want to be told when the list changes.
    """

    async def list_tools(
        context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        cards = await toolbox.cards(who_asks(context))
        return types.ListToolsResult(tools=[_tool(card) for card in cards])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async def progress(done: float, total: float | None, message: str) -> None:
            await context.session.report_progress(done, total, message)

        who = who_asks(context)
        answer = await toolbox.call(who, params.name, params.arguments or {}, progress)
        if answer is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:80]}")
        return _result(answer)

    server: Server[Any] = Server(
        NAME,
        version=version(NAME),
        cache_hints={"tools/list": CacheHint(), "server/discover": CacheHint()},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=listening,
    )
    server.middleware.clear()  # spans for OpenTelemetry: nobody collects them here
    return server


def _tool(card: ToolCard) -> types.Tool:
    hints = card.annotations
    return types.Tool(
        name=card.name,
        title=card.title,
        description=card.description,
        input_schema=dict(card.input_schema),
        output_schema=dict(card.output_schema) if card.output_schema is not None else None,
        annotations=types.ToolAnnotations(
            title=card.title,
            read_only_hint=hints.is_read_only,
            destructive_hint=hints.is_destructive,
            idempotent_hint=hints.is_idempotent,
            open_world_hint=hints.is_open_world,
        ),
    )


def _result(answer: ToolAnswer) -> types.CallToolResult:
    content: list[types.ContentBlock] = []
    for each in answer.content:
        if isinstance(each, TextContent):
            content.append(types.TextContent(text=each.text))
        else:
            data = base64.b64encode(each.data).decode()
            content.append(types.ImageContent(data=data, mime_type=each.media_type))
    structured = dict(answer.structured) if answer.structured is not None else None
    return types.CallToolResult(
        content=content, structured_content=structured, is_error=answer.is_error
    )
