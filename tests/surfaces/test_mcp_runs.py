"""A run's four tools: when they exist, what they show, and what ends them (FEATURES A21)."""

import asyncio
import re
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, MCPError

from gateway.commands.mcp_link import RunLink
from gateway.core.access import AudienceKind
from gateway.demo.company import AGENT
from gateway.surfaces.local import LocalRoute
from gateway.surfaces.mcp_stdio import StdioServer
from gateway.surfaces.mcp_wire import Hello, RefusedError
from tests.surfaces.mcp_talking import SIX, beside, call, give_back, grants, run_of, words
from tests.surfaces.serving import operate, serving

FOUR = [
    "knowledge_search",
    "knowledge_get_passage",
    "knowledge_list_collections",
    "knowledge_add_source",
]
TEN = [*FOUR, *SIX]


async def test_numbers_go_on_and_a_passage_keeps_its_own(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        assert [card.name for card in await link.cards(None)] == TEN
        first = await call(link, "knowledge_search", query="特休", limit=1)
        assert first is not None
        assert first.structured is not None
        shown = first.structured["passages"]
        assert [each["n"] for each in shown] == [1]
        again = await call(link, "knowledge_search", query="特休 請假 病假 出差", limit=5)
        assert again is not None
        assert again.structured is not None
        numbers = {each["chunk_id"]: each["n"] for each in again.structured["passages"]}
        assert numbers[shown[0]["chunk_id"]] == 1
        assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))
        assert len(numbers) > 1
        near = await call(link, "knowledge_get_passage", chunk_id=shown[0]["chunk_id"], context=2)
        assert near is not None
        assert near.structured is not None
        assert 1 in [each["n"] for each in near.structured["passages"]]
        headers = [line for line in words(near).split("\n")[1:] if not line.startswith("│")]
        assert all(re.fullmatch(r"\[\d+\] .+（.+） chunk_id=\d+", line) for line in headers)


async def test_it_reads_what_agent_and_account_may_read_and_never_as_one_to_one(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, run_of(world, home, "admin") as link:
        listed = await call(link, "knowledge_list_collections")
        assert listed is not None
        assert listed.structured is not None
        slugs = {row["slug"] for row in listed.structured["collections"]}
        everything = await operate(world.app, "knowledge.collections.list", {}, "admin")
        assert slugs < {row["slug"] for row in everything}  # no override of an admin's
        assert "personal" not in {row["sensitivity"] for row in everything if row["slug"] in slugs}
        found = await call(link, "knowledge_search", query="特休", collections=["nothing"])
        assert found is not None
        assert found.structured == {"passages": []}


async def test_a_proposal_waits_and_each_read_is_in_the_log(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        await call(link, "knowledge_search", query="特休")
        await call(link, "knowledge_get_passage", chunk_id="1")
        await call(link, "knowledge_list_collections")
        made = await call(
            link, "knowledge_add_source", collection="handbook", text="a rule", title="rule"
        )
        assert made is not None
        assert made.structured is not None
        assert made.structured["state"] == "pending"
        card = made.structured["proposal_id"]
        refused = await call(link, "knowledge_add_source", collection="nothing", text="a rule")
        assert refused is not None
        assert refused.is_error
        of_run = "FROM access_log WHERE agent_id = ? AND channel = 'mcp' AND turn_id IS NOT NULL"
        with closing(sqlite3.connect(home / "knowledge" / "knowledge.db")) as database:
            actions = database.execute(f"SELECT action {of_run}", [AGENT]).fetchall()
            proposer = database.execute(
                "SELECT agent_id, audience FROM proposals WHERE id = ?", [card]
            ).fetchone()
        assert sorted(each for (each,) in actions) == ["denied", "denied", "list", "search"]
        assert proposer == (AGENT, AudienceKind.ACCOUNT_DOOR.value)


WRONG: list[tuple[str, dict[str, object]]] = [
    ("knowledge_search", {"query": ""}),
    ("knowledge_search", {"query": "  "}),
    ("knowledge_search", {"query": "x" * 1001}),
    ("knowledge_search", {"query": "a", "limit": 21}),
    ("knowledge_search", {"query": "a", "limit": 0}),
    ("knowledge_search", {"query": "a", "else": 1}),
    ("knowledge_search", {}),
    ("knowledge_get_passage", {"chunk_id": "1", "context": 3}),
    ("knowledge_get_passage", {"chunk_id": 1}),
    ("knowledge_list_collections", {"all": True}),
    ("knowledge_add_source", {"collection": "handbook"}),
    ("knowledge_add_source", {"collection": "handbook", "text": "a", "url": "http://b.c"}),
]


async def test_what_does_not_fit_is_named(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        for name, arguments in WRONG:
            answer = await call(link, name, **arguments)
            assert answer is not None
            assert answer.is_error, (name, arguments)
            assert answer.structured is not None
            assert answer.structured["error"]["code"] == "invalid_request", (name, arguments)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_open_sessions_hear_that_the_tools_went_and_came(
    template: Path, home: Path, mode: str
) -> None:
    heard = asyncio.Event()

    async def on_message(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    async with serving(template, home) as world, run_of(world, home) as link:
        server = StdioServer(link)
        link.changed = server.changed
        async with (
            Client(beside(server), mode=mode, message_handler=on_message) as client,
            AsyncExitStack() as listening,
        ):
            hear: Callable[[], Awaitable[object]] = heard.wait
            if mode != "legacy":
                opened = client.listen(tools_list_changed=True)
                hear = aiter(await listening.enter_async_context(opened)).__anext__
            assert len((await client.list_tools()).tools) == 10
            kept = {
                slug: await grants(world, slug, AGENT)
                for slug in ("handbook", "products", "salary")
            }
            async with asyncio.timeout(10):
                await hear()
            assert (await client.list_tools(cache_mode="bypass")).tools == []
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("knowledge_search", {"query": "特休"})
            heard.clear()
            await give_back(world, "handbook", kept["handbook"])
            async with asyncio.timeout(10):
                await hear()
            assert len((await client.list_tools(cache_mode="bypass")).tools) == 10
            found = await client.call_tool("knowledge_search", {"query": "特休"})
            assert found.structured_content["passages"]


async def test_a_revoked_grant_holds_at_the_next_call(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        before = await call(link, "knowledge_search", query="特休")
        assert before is not None
        assert before.structured is not None
        await grants(world, "handbook", AGENT)
        after = await call(link, "knowledge_search", query="特休")
        assert after is not None
        assert after.structured is not None
        lost = {each["chunk_id"] for each in before.structured["passages"]}
        assert not lost & {each["chunk_id"] for each in after.structured["passages"]}
        (chunk_id, *_) = sorted(lost)
        opened = await call(link, "knowledge_get_passage", chunk_id=chunk_id)
        missing = await call(link, "knowledge_get_passage", chunk_id="1")
        assert opened == missing


async def test_a_token_that_ends_ends_the_runs_reading(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        assert await link.cards(None)
        await world.app.sign_in.sign_out(link.hello.token)
        answer = await call(link, "knowledge_search", query="特休")
        assert answer is not None
        assert answer.structured is not None
        assert answer.structured["error"]["code"] == "not_signed_in"
        assert await link.cards(None) == []


async def test_neither_a_wrong_token_nor_another_agent_begins_a_run(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        token = await world.token("member")
        for agent, given, code in (
            (AGENT, "wrong", "not_signed_in"),
            ("nobody", token, "not_found"),
            ("../" + AGENT, token, "not_found"),
        ):
            link = RunLink(home, Hello(agent, given, "en"))
            async with asyncio.TaskGroup() as tasks:
                keeping = tasks.create_task(link.keep())
                with pytest.raises(RefusedError) as refused:
                    await link.begun()
                keeping.cancel()
            assert refused.value.code == code


async def test_without_a_gateway_each_call_says_so_until_it_is_back(
    template: Path, home: Path
) -> None:
    heard = asyncio.Event()

    async def changed() -> None:
        heard.set()

    async with serving(template, home) as world, run_of(world, home) as link:
        link.changed = changed
        await call(link, "knowledge_search", query="特休", limit=1)
        cards = await link.cards(None)
        app = world.app
        local = LocalRoute(home, app.registry, app.store.accounts, app.clock, app.mcp.runs)
        await app.mcp.runs.close()
        (home / "run" / "local.key").rename(home / "run" / "away")
        answer = await call(link, "knowledge_search", query="特休")
        assert answer is not None
        assert answer.is_error
        assert "not running" in words(answer)
        assert await link.cards(None) == cards
        await local.start()
        try:
            back = await call(link, "knowledge_search", query="出差", limit=1)
            assert back is not None
            assert back.structured is not None
            assert [each["n"] for each in back.structured["passages"]] == [2]
        finally:
            await local.stop()
        assert not heard.is_set()  # the same tools as before


async def test_a_hundred_calls_at_once_are_all_answered(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        asked = [call(link, "knowledge_search", query="特休", limit=1) for _ in range(100)]
        answers = await asyncio.gather(*asked)
        assert {words(answer) for answer in answers} == {words(answers[0])}


async def test_a_switched_off_library_has_no_tools(template: Path, home: Path) -> None:
    shutil.copytree(template, home)
    config = home / "config.toml"
    on = config.read_text("utf-8")
    config.write_text(on.replace("[knowledge]\n", "[knowledge]\nenabled = false\n"), "utf-8")
    off = home.with_name("off")
    async with serving(home, off) as world, run_of(world, off) as link:
        assert await link.cards(None) == []
        assert await call(link, "knowledge_search", query="特休") is None
