"""An agent's own documents over HTTP: who sees, makes, fills, and what archiving does to them."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.serving import Person, World, answer, operate, ready, serving
from tests.surfaces.test_upload import form, sent

AGENT = {"agent_id": "xiaohe"}
ENSURE, SOURCES = "knowledge.agent.own.ensure", "knowledge.agent.data_sources"
NAME = "小禾 的資料"
TEXT = "# 停車\n\n停車位每月租金八百元。\n".encode()


@pytest.fixture
async def world(template: Path, home: Path) -> AsyncIterator[World]:
    async with serving(template, home) as opened:
        yield opened


async def made_and_filled(world: World, admin: Person, **params: Any) -> str:
    own = await admin.rpc(ENSURE, {**AGENT, **params})
    assert (own["name"], own["is_new"]) == (NAME, True)
    status, added = await sent(admin, form(own["collection_id"], ("停車.md", TEXT)))
    assert (status, added["files"][0]["status"]) == (200, "added")
    await ready(world.app, added["files"][0]["source"]["id"])
    return str(own["collection_id"])


async def found(person: Person) -> list[str]:
    hits = await person.rpc("knowledge.search", {"query": "停車位租金多少"})
    return [hit["title"] for hit in hits["hits"]]


async def first_source(person: Person) -> Any:
    return (await person.rpc(SOURCES, AGENT))["sources"][0]


async def test_the_first_upload_reaches_those_who_talk_to_the_agent(world: World) -> None:
    async with world.person("admin") as admin, world.person("member") as member:
        before = await admin.rpc(SOURCES, AGENT)
        assert before["may_create"]
        assert not any(each["is_own"] for each in before["sources"])
        collection_id = await made_and_filled(world, admin, share_chat_users=True)
        assert await found(member) == ["停車.md"]
        async with member.chat() as socket:
            frames = await answer(socket, "停車位每月租金多少？")
            assert "停車.md" in json.dumps(frames[-1], ensure_ascii=False)
        again = await admin.rpc(ENSURE, {**AGENT, "share_chat_users": True})
        assert (again["collection_id"], again["is_new"]) == (collection_id, False)


async def test_without_the_box_nobody_else_reads_it(world: World) -> None:
    async with world.person("admin") as admin, world.person("member") as member:
        collection_id = await made_and_filled(world, admin, sensitivity="restricted")
        assert await found(member) == []
        grants = await admin.rpc("knowledge.grants.list", {"collection": collection_id})
        kinds = [(each["subject_kind"], each["role"]) for each in grants["grants"]]
        assert sorted(kinds) == [("agent", "viewer"), ("user", "owner")]
        assert (await first_source(member))["sensitivity"] == "restricted"


async def test_the_list_tells_names_to_owners_and_counts_to_others(world: World) -> None:
    async with world.person("admin") as admin, world.person("member") as member:
        await made_and_filled(world, admin, share_chat_users=True)
        seen = await admin.rpc(SOURCES, AGENT)
        assert [each["is_own"] for each in seen["sources"]] == [True, False, False, False]
        own = seen["sources"][0]
        assert (own["sources"], own["is_used"], own["role"]) == (1, True, "owner")
        assert {each["name"] for each in own["readers"]} == {"陳人資", "王小明"}
        told = await member.rpc(SOURCES, AGENT)
        assert not told["may_create"]
        own = told["sources"][0]
        assert own["readers"] is None
        assert own["counts"] == {"people": 2, "departments": 0, "agents": 0, "channels": 0}
        shelf = next(each for each in told["sources"] if each["slug"] == "products")
        assert shelf["counts"] == {"people": 2, "departments": 1, "agents": 0, "channels": 1}
        assert "陳人資" not in str(told)
        hr = await world.app.store.accounts.find_by_login("hr")
        assert hr is not None
        await world.app.store.accounts.put(replace(hr, is_active=False))
        assert (await first_source(member))["counts"]["people"] == 1


async def test_who_is_bound_is_looked_up_at_each_call(world: World) -> None:
    async with world.person("hr") as hr:
        unbound = {**AGENT, "account": "hr", "role": None}
        assert len((await hr.rpc(SOURCES, AGENT))["sources"]) == 3
        await operate(world.app, "agents.bind", unbound, "admin")
        assert await hr.rpc(SOURCES, AGENT) == "!not_found"
        assert await hr.rpc(ENSURE, AGENT) == "!not_found"
        await operate(world.app, "agents.bind", {**unbound, "role": "operator"}, "admin")
        assert await hr.rpc(ENSURE, AGENT) == "!not_found"
        await operate(world.app, "agents.bind", {**unbound, "role": "owner"}, "admin")
        assert (await hr.rpc(ENSURE, AGENT))["is_new"]
        assert await hr.rpc(SOURCES, {"agent_id": "nobody"}) == "!not_found"
        assert await hr.rpc(ENSURE, {**AGENT, "sensitivity": "secret"}) == "!invalid_request"
    async with world.nobody() as nobody:
        assert await nobody.rpc(SOURCES, AGENT) == "!not_signed_in"
        assert await nobody.rpc(ENSURE, AGENT) == "!not_signed_in"


async def test_an_owner_bound_later_does_not_manage_it(world: World) -> None:
    async with world.person("admin") as admin, world.person("hr") as hr:
        collection_id = await made_and_filled(world, admin)
        bound = {**AGENT, "account": "hr", "role": "owner"}
        await operate(world.app, "agents.bind", bound, "admin")
        assert (await hr.rpc(ENSURE, {**AGENT, "share_chat_users": True}))["is_new"] is False
        assert (await first_source(hr))["role"] is None
        status, _ = await sent(hr, form(collection_id, ("more.md", TEXT)))
        assert status == 404


async def test_a_list_that_was_empty_holds_it_alone_and_says_so(world: World) -> None:
    async with world.person("admin") as admin:
        await admin.rpc("agents.knowledge.set", {**AGENT, "collections": []})
        own = await admin.rpc(ENSURE, AGENT)
        assert own["list_change"] == "only_one"
        assert NAME in own["notice"]
        used = [each["is_used"] for each in (await admin.rpc(SOURCES, AGENT))["sources"]]
        assert used == [True, False, False, False]
        await admin.rpc("agents.knowledge.set", {**AGENT, "collections": ["handbook"]})
        assert (await admin.rpc(ENSURE, AGENT))["notice"] is None
        sources = (await admin.rpc(SOURCES, AGENT))["sources"]
        assert {each["slug"] for each in sources if each["is_used"]} == {"handbook"}


async def test_unreadable_settings_make_nothing(world: World, home: Path) -> None:
    (home / "agents" / "xiaohe" / "agent.toml").write_text("[knowledge", "utf-8")
    async with world.person("admin") as admin:
        assert await admin.rpc(ENSURE, AGENT) == "!agent_file_broken"
        shelves = await admin.rpc("knowledge.collections.list")
        assert NAME not in [each["name"] for each in shelves]


@pytest.mark.parametrize("way", ["archive", "hand_over"])
async def test_archived_with_the_agent_only_owners_open_it_and_it_comes_back(
    world: World, way: str
) -> None:
    async with world.person("admin") as admin, world.person("member") as member:
        collection_id = await made_and_filled(world, admin, share_chat_users=True)
        shared = {"collection": collection_id}
        now = await admin.rpc("knowledge.grants.list", shared)
        department = {"subject_kind": "department", "subject_id": "業務部", "role": "viewer"}
        change = {**shared, "version": now["version"], "grants": [*now["grants"], department]}
        before = (await admin.rpc("knowledge.grants.replace", change))["grants"]
        params = {**AGENT, "to": "admin", "archive": True} if way == "hand_over" else AGENT
        await admin.rpc(f"agents.{way}", params)
        assert await found(member) == []
        assert await member.rpc("knowledge.sources.list", shared) == "!not_found"
        (source,) = await admin.rpc("knowledge.sources.list", shared)
        original = f"{world.url}/api/knowledge/sources/{source['id']}/original"
        for person, status in ((admin, 200), (member, 404)):
            async with person.session.get(original) as response:
                assert response.status == status
        (shelf,) = [
            each
            for each in await admin.rpc("knowledge.collections.list")
            if each["id"] == collection_id
        ]
        assert shelf["is_archived"]
        now = await admin.rpc("knowledge.grants.list", shared)
        assert [each["role"] for each in now["grants"]] == ["owner"]
        change = {**shared, "version": now["version"], "grants": before}
        put_back = await admin.rpc("knowledge.grants.replace", change)
        assert [each["role"] for each in put_back["grants"]] == ["owner"]
        assert await found(member) == []
        assert (await first_source(admin))["is_used"] is False
        await admin.rpc("agents.restore", AGENT)
        after = (await admin.rpc("knowledge.grants.list", shared))["grants"]
        assert key(after) == key(before)
        assert await found(member) == ["停車.md"]


def key(grants: list[dict[str, str]]) -> list[tuple[str, ...]]:
    return sorted(tuple(each.values()) for each in grants)


async def test_a_deleted_one_is_made_anew(world: World) -> None:
    async with world.person("admin") as admin:
        collection_id = await made_and_filled(world, admin)
        await admin.rpc("agents.archive", AGENT)
        assert await admin.rpc(ENSURE, AGENT) != "!agent_archived"  # it is there
        deletion = {"collection": collection_id, "confirm_name": NAME}
        assert await admin.rpc("knowledge.collections.delete", deletion) is None
        assert await admin.rpc(ENSURE, AGENT) == "!agent_archived"
        await admin.rpc("agents.restore", AGENT)
        again = await admin.rpc(ENSURE, AGENT)
        assert again["is_new"]
        assert again["collection_id"] != collection_id


async def test_the_start_finds_an_agent_whose_folder_is_gone(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        await made_and_filled(world, admin, share_chat_users=True)
    folder, away = home / "agents" / "xiaohe", home / "away"
    for start in (folder, away):
        start.rename(away if start == folder else folder)
        again = home.with_name(f"{home.name}-{start.name}")
        async with serving(home, again) as world, world.person("member") as member:
            assert bool(await found(member)) is (start == away)


USES = {
    "agents.list": {},
    "chat.ask": {"agent": "xiaohe", "text": "特休有幾天？"},
    "agents.dispatch": {"agent_id": "xiaohe", "text": "特休有幾天？"},
    "knowledge.agent.data_sources": {"agent_id": "xiaohe"},
}


async def test_a_folder_taken_away_while_it_runs_is_noticed_at_the_next_use(
    template: Path, home: Path
) -> None:
    folder, away = home / "agents" / "xiaohe", home / "away"
    async with serving(template, home) as world, world.person("admin") as admin:
        await made_and_filled(world, admin, share_chat_users=True)
        async with world.person("member") as member:
            for use, params in USES.items():
                assert await found(member)
                folder.rename(away)
                await admin.rpc(use, params)
                assert not await found(member), use
                [seen] = await admin.rpc("agents.list")
                assert seen["is_folder_missing"]
                away.rename(folder)
                await admin.rpc(use, params)
