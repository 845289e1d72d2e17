"""MCP over HTTP: every revision by its schema, whose session it is, and what is refused."""

import ast
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import gateway as gateway_package
from gateway.operations.table import Caller
from gateway.surfaces.mcp_bound import MOST_OF_ONE
from gateway.surfaces.mcp_tools import (
    FixedTools,
    ImageContent,
    Progress,
    TextContent,
    Tool,
    ToolAnswer,
    ToolCard,
)
from tests.surfaces.mcp_talking import HANDSHAKES, MODERN, REVISIONS, SIX, Wire, check
from tests.surfaces.serving import World, serving

PNG = b"\x89PNG"


async def picture(caller: Caller, _given: Any, progress: Progress) -> ToolAnswer:
    """A tool with all that an answer can have."""
    await progress(12, 45, "12/45 pages")
    login = caller.account.login if caller.account is not None else ""
    return ToolAnswer([TextContent(login), ImageContent(PNG)], {"login": login})


CARD = ToolCard("picture", "Picture", "Shows one.", {"type": "object"}, {"type": "object"})


@asynccontextmanager
async def gateway(template: Path, home: Path, *, config: str = "") -> AsyncIterator[World]:
    async with serving(template, home, config=config) as world:
        tools = world.app.mcp.http
        listed = FixedTools({**tools.toolbox.tools, "picture": Tool(CARD, picture)})
        tools.toolbox = listed
        yield world


@asynccontextmanager
async def client(world: World, login: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {await world.token(login)}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(
            streamable_http_client(f"{world.url}/mcp", http_client=http), mode=mode, **options
        ) as found,
    ):
        yield found


async def test_every_answer_fits_the_schema_of_its_revision(template: Path, home: Path) -> None:
    async with gateway(template, home) as world, aiohttp.ClientSession() as session:
        token = await world.token("member")
        for revision in REVISIONS:
            wire = Wire(world.url, token, revision, session)
            begun = (await wire.begin())["result"]
            if revision == MODERN:
                check(revision, "DiscoverResult", begun)
            else:
                check(revision, "InitializeResult", begun)
                assert begun["protocolVersion"] == revision
                check(revision, "EmptyResult", (await wire.ask("ping"))["result"])
            listed = (await wire.ask("tools/list"))["result"]
            check(revision, "ListToolsResult", listed)
            assert [tool["name"] for tool in listed["tools"]] == [*SIX, "picture"]
            for name, given, is_error in (
                ("picture", {}, False),
                ("search_knowledge", {"query": "特休"}, False),
                ("search_knowledge", {}, True),
                ("ListNamespaces", {}, False),
                ("SearchKnowledge", {"namespace": "handbook", "query": "特休"}, False),
                ("ListDocuments", {"namespace": "nothing"}, True),
            ):
                asked = {"name": name, "arguments": given}
                result = (await wire.ask("tools/call", asked))["result"]
                check(revision, "CallToolResult", result)
                assert result.get("isError", False) is is_error
            unknown = await wire.ask("tools/call", {"name": "nothing", "arguments": {}})
            assert unknown["error"]["code"] == -32602
            assert (await wire.ask("prompts/list"))["error"]["code"] == -32601


async def test_nobody_keeps_the_others_out_with_sessions_of_their_own(
    template: Path, home: Path
) -> None:
    async with gateway(template, home) as world, aiohttp.ClientSession() as session:
        told = {login: await world.token(login) for login in ("member", "hr")}

        def wire(login: str) -> Wire:
            return Wire(world.url, told[login], HANDSHAKES[-1], session)

        async def is_open(each: Wire) -> bool:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            async with session.post(each.url, json=body, headers=each.headers) as answer:
                assert answer.status in (200, 404)
                return answer.status == 200

        other, first, kept = wire("hr"), wire("member"), wire("member")
        for each in (other, first, kept):
            await each.begin()
        headers = {**kept.headers, "Accept": "nothing"}
        async with session.post(kept.url, json={}, headers=headers) as refused:
            assert refused.status == 406  # and yet the session counts
        for _ in range(MOST_OF_ONE - 1):
            await wire("member").begin()
        assert not await is_open(first)
        assert await is_open(kept)
        assert await is_open(other)
        for _ in range(MOST_OF_ONE):
            await wire("member").begin()
        assert not await is_open(kept)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_lists_calls_and_is_told_of_progress(
    template: Path, home: Path, mode: str
) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with gateway(template, home) as world, client(world, "member", mode) as found:
        *_, card = (await found.list_tools()).tools
        assert (card.name, card.title) == ("picture", "Picture")
        assert card.annotations is not None
        assert card.annotations.read_only_hint
        result = await found.call_tool("picture", {}, progress_callback=on_progress)
        assert told == [(12, 45, "12/45 pages")]
        assert result.structured_content == {"login": "member"}
        assert [each.type for each in result.content] == ["text", "image"]
        many = await asyncio.gather(*(found.call_tool("picture", {}) for _ in range(100)))
        assert {each.structured_content["login"] for each in many} == {"member"}


async def test_a_session_is_its_accounts_and_ends_when_it_is_deleted(
    template: Path, home: Path
) -> None:
    async with gateway(template, home) as world, aiohttp.ClientSession() as session:
        mine = Wire(world.url, await world.token("member"), HANDSHAKES[-1], session)
        await mine.begin()
        body = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
        other = mine.headers | {"Authorization": f"Bearer {await world.token('hr')}"}
        for method, headers, status in (
            ("POST", other, 404),
            ("POST", mine.headers, 200),
            ("DELETE", other, 404),
            ("DELETE", mine.headers, 200),
            ("POST", mine.headers, 404),
        ):
            sent = body if method == "POST" else None
            async with session.request(method, mine.url, json=sent, headers=headers) as response:
                assert response.status == status, (method, status)


async def test_nobody_comes_in_without_a_token_that_holds(template: Path, home: Path) -> None:
    async with gateway(template, home) as world, aiohttp.ClientSession() as session:
        wire = Wire(world.url, await world.token("member"), HANDSHAKES[-1], session)
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        no_token = {k: v for k, v in wire.headers.items() if k != "Authorization"}
        for headers, status in (
            (no_token, 401),
            (no_token | {"Authorization": "Bearer wrong"}, 401),
            (wire.headers | {"Origin": "https://elsewhere.example"}, 403),
            (wire.headers | {"Host": "elsewhere.example"}, 403),
            (wire.headers | {"MCP-Protocol-Version": "1999-01-01"}, 400),
        ):
            async with session.post(wire.url, json=body, headers=headers) as response:
                assert response.status == status, headers
                challenge = response.headers.get("WWW-Authenticate")
                assert challenge == ("Bearer" if status == 401 else None)
        assert not world.app.mcp.http.ended.is_set()


async def test_every_refusal_is_json(template: Path, home: Path) -> None:
    async with gateway(template, home) as world, aiohttp.ClientSession() as session:
        wire = Wire(world.url, await world.token("member"), HANDSHAKES[-1], session)
        modern = wire.headers | {"MCP-Protocol-Version": MODERN}
        for method, headers, status in (
            ("GET", modern, 405),
            ("DELETE", modern, 405),
            ("GET", wire.headers, 400),
            ("POST", wire.headers | {"Content-Type": "text/plain"}, 400),
        ):
            async with session.request(method, wire.url, data=b"", headers=headers) as response:
                assert response.status == status, (method, headers)
                assert response.content_type == "application/json"
                told = await response.json()
                assert told["error"]["message"]


async def test_a_token_that_ends_ends_its_session_at_once(template: Path, home: Path) -> None:
    async with gateway(template, home) as world, aiohttp.ClientSession() as session:
        token = await world.token("member")
        wire = Wire(world.url, token, HANDSHAKES[-1], session)
        await wire.begin()
        await world.app.sign_in.sign_out(token)
        body = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
        async with session.post(wire.url, json=body, headers=wire.headers) as response:
            assert response.status == 401


async def test_open_streams_do_not_hold_up_the_end(template: Path, home: Path) -> None:
    async with aiohttp.ClientSession() as session:
        async with gateway(template, home) as world:
            wire = Wire(world.url, await world.token("member"), HANDSHAKES[-1], session)
            await wire.begin()
            stream = await session.get(wire.url, headers=wire.headers)
            assert stream.status == 200
            assert stream.content_type == "text/event-stream"
        async with asyncio.timeout(5):
            assert b"error" not in await stream.read()
        stream.close()


async def test_a_gateway_that_nobody_asked_ends_as_well(template: Path, home: Path) -> None:
    async with gateway(template, home) as world:
        ended = world.app.mcp.http.ended
        assert not ended.is_set()
    assert ended.is_set()


def test_the_sdk_is_loaded_only_where_it_is_wanted() -> None:
    heavy = {"gateway.surfaces.mcp_server", "gateway.surfaces.mcp_sessions"}
    heavy |= {"gateway.surfaces.mcp_stdio"}
    for path in sorted(Path(gateway_package.__file__ or "").parent.rglob("*.py")):
        name = f"gateway.{path.parent.name}.{path.stem}"
        at_once = {
            found
            for node in ast.parse(path.read_text("utf-8")).body
            if isinstance(node, ast.ImportFrom | ast.Import)
            for found in ([node.module] if isinstance(node, ast.ImportFrom) else _names(node))
        }
        if name not in heavy:
            assert not at_once & heavy, path
            assert not {each for each in at_once if each and each.split(".")[0] == "mcp"}, path


def _names(node: ast.Import) -> list[str]:
    return [alias.name for alias in node.names]
