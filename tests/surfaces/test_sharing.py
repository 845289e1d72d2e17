"""Sharing over HTTP: whom one may look up, what the answers tell, and who is asked."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.serving import Person, World, operate, serving

LINE_ACCOUNTS = """
[channels.line.main]
agent = "xiaohe"
channel_secret = "a"
channel_access_token = "b"
[channels.line.second]
agent = "xiaohe"
channel_secret = "c"
channel_access_token = "d"
"""
SWITCHED_OFF = "[knowledge]\nenabled = false"


async def account(world: World, login: str, name: str, role: str = "member") -> str:
    params = {"login": login, "display_name": name, "password": "long enough one", "role": role}
    made = await operate(world.app, "accounts.create", params, None)
    return str(made["id"])


async def id_of(world: World, login: str) -> str:
    found = await world.app.store.accounts.find_by_login(login)
    assert found is not None
    return found.id


async def save(person: Person, slug: str, *lines: tuple[str, str, str]) -> Any:
    now = await person.rpc("knowledge.grants.list", {"collection": slug})
    grants = [
        {"subject_kind": kind, "subject_id": subject, "role": role} for kind, subject, role in lines
    ]
    change = {"collection": slug, "version": now["version"], "grants": now["grants"] + grants}
    return await person.rpc("knowledge.grants.replace", change)


async def test_members_are_looked_up_by_the_name_they_show(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        for n in range(25):
            await account(world, f"secret-login-{n}", f"佐藤 {n:02}")

        async def names(query: str) -> list[str]:
            params = {"kind": "user", "query": query}
            return [each["name"] for each in await hr.rpc("knowledge.principals.search", params)]

        assert await names("佐藤") == [f"佐藤 {n:02}" for n in range(20)]
        assert await names(" 佐藤 ０３ ") == ["佐藤 03"]
        for query in ("", "佐", " 佐\u3000", "secret-login", "admin", "%%", "__", "  "):
            assert await names(query) == []
        (found,) = await hr.rpc("knowledge.principals.search", {"query": "佐藤 07", "kind": "user"})
        assert found == {
            "kind": "user",
            "id": await id_of(world, "secret-login-7"),
            "name": "佐藤 07",
            "department": "",
            "is_active": True,
        }
        assert "secret-login" not in str(
            await hr.rpc("knowledge.principals.search", {"query": "佐藤"})
        )


async def test_people_who_left_are_not_offered(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        member = await world.app.store.accounts.find_by_login("member")
        assert member is not None
        params = {"kind": "user", "query": "王小明"}
        assert len(await hr.rpc("knowledge.principals.search", params)) == 1
        await world.app.store.accounts.put(replace(member, is_active=False))
        assert await hr.rpc("knowledge.principals.search", params) == []
        shared = await save(hr, "salary", ("user", member.id, "viewer"))
        assert shared == "!not_shareable"


async def test_only_who_has_something_to_share_may_look(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("member") as member:
        for params in ({}, {"query": "陳人資"}, {"kind": "department"}):
            assert await member.rpc("knowledge.principals.search", params) == "!not_found"
        async with world.person("hr") as hr:
            owner = ("user", await id_of(world, "member"), "owner")
            assert (await save(hr, "salary", owner))["version"] == 3
            found = await member.rpc("knowledge.principals.search", {"query": "陳人資"})
            assert [each["kind"] for each in found if each["kind"] == "user"] == ["user"]


async def test_what_else_can_be_shared_with_is_listed(template: Path, home: Path) -> None:
    async with serving(template, home, config=LINE_ACCOUNTS) as world, world.person("hr") as hr:

        async def ids(person: Person, **params: str) -> list[str]:
            return [each["id"] for each in await person.rpc("knowledge.principals.search", params)]

        assert await ids(hr, kind="department") == sorted(["人力資源部", "業務部", "資訊部"])
        assert await ids(hr, kind="agent") == []
        channels = await ids(hr, kind="channel")
        assert channels[:3] == ["line", "line/main", "line/second"]
        assert {"telegram", "whatsapp", "widget", "odoolivechat"} < set(channels)
        assert "webchat" not in str(channels)
        assert await ids(hr, kind="channel", query="ＬＩＮＥ") == channels[:3]
        async with world.person("admin") as admin:
            assert await ids(admin, kind="agent") == ["xiaohe"]
        saved = await save(hr, "salary", ("channel", "line/second", "viewer"))
        assert {each["code"] for each in saved["warnings"]} == {"whole_channel", "direct_only"}
        saved = await save(hr, "salary", ("channel", "line", "viewer"))
        assert "several_accounts" in {each["code"] for each in saved["warnings"]}
        for subject in ("line/third", "telegram/main", "webchat", "myspace", "line:"):
            assert await save(hr, "salary", ("channel", subject, "viewer")) == "!not_shareable"


async def test_names_are_resolved_for_those_on_the_list_alone(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        hr_id, member, admin = [await id_of(world, each) for each in ("hr", "member", "admin")]
        asked = {"collection": "salary", "ids": [hr_id, member, "xiaohe", "no-such"]}
        found = await hr.rpc("knowledge.principals.resolve", asked)
        assert {(each["kind"], each["id"], each["name"]) for each in found} == {
            ("user", hr_id, "陳人資"),
            ("agent", "xiaohe", "小禾"),
        }
        for collection in ("products", "handbook", "no-such"):  # editor there, owner nowhere
            asked = {"collection": collection, "ids": [admin]}
            assert await hr.rpc("knowledge.principals.resolve", asked) == "!not_found"


@pytest.mark.parametrize("login", ["hr", "admin"])
async def test_over_the_network_a_login_is_no_name_for_a_person(
    template: Path, home: Path, login: str
) -> None:
    async with serving(template, home) as world, world.person(login) as person:
        said = set()
        for subject in ("member", "admin", "no-such-login"):
            said.add(await save(person, "salary", ("user", subject, "viewer")))
        assert said == {"!not_shareable"}
        as_operator = await operate(
            world.app, "knowledge.grants.list", {"collection": "salary"}, login
        )
        line = {"subject_kind": "user", "subject_id": "member", "role": "viewer"}
        change = {
            "collection": "salary",
            "version": as_operator["version"],
            "grants": [*as_operator["grants"], line],
        }
        saved = await operate(world.app, "knowledge.grants.replace", change, login)
        assert await id_of(world, "member") in {each["subject_id"] for each in saved["grants"]}


async def test_an_agents_collections_are_told_to_its_owners_and_admins(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        ask = {"agent_id": "xiaohe"}
        said = {
            str(await hr.rpc("knowledge.agent.collections", params))
            for params in (ask, {"agent_id": "no-such"}, {"agent_id": ""})
        }
        assert said == {"!not_found"}  # a viewer of the agent, and no agent, alike
        async with world.person("admin") as admin:
            told = await admin.rpc("knowledge.agent.collections", ask)
        assert {each["slug"] for each in told} == {"products", "handbook", "salary"}
        assert set(told[0]) == {"id", "slug", "name", "sensitivity"}
        bound = {"agent_id": "xiaohe", "account": "hr", "role": "owner"}
        await operate(world.app, "agents.bind", bound, None)
        assert await hr.rpc("knowledge.agent.collections", ask) == told


async def test_the_list_tells_role_and_counts(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        params = {"name": "獎金", "department": "人資", "embedding_policy": "local_only"}
        made = await hr.rpc("knowledge.collections.create", params)
        assert (made["role"], made["sensitivity"], made["version"]) == ("owner", "internal", 1)
        assert (made["department"], made["embedding_policy"]) == ("人資", "local_only")
        listed = {each["slug"]: each for each in await hr.rpc("knowledge.collections.list")}
        assert {slug: each["role"] for slug, each in listed.items()} == {
            "products": "editor",
            "handbook": "editor",
            "salary": "owner",
            made["slug"]: "owner",
        }
        assert listed["handbook"]["sources"] > 0
        assert [each["in_progress"] for each in listed.values()] == [0] * 4
        change = {"collection": made["id"], "version": 1, "name": "獎金辦法"}
        saved = await hr.rpc("knowledge.collections.update", change)
        assert (saved["name"], saved["version"]) == ("獎金辦法", 2)
        assert await hr.rpc("knowledge.collections.update", change) == "!conflict"
        async with world.person("member") as member:
            assert made["slug"] not in str(await member.rpc("knowledge.collections.list"))
            assert await member.rpc("knowledge.collections.create", {"name": "x"}) == "!not_found"
        for name, answer in (
            ("獎金", "!invalid_request"),
            ("獎金辦法", None),
            ("獎金辦法", "!not_found"),
        ):
            deletion = {"collection": made["id"], "confirm_name": name}
            assert await hr.rpc("knowledge.collections.delete", deletion) == answer


async def test_a_switched_off_library_refuses_all_of_it(template: Path, home: Path) -> None:
    off = shutil.copytree(template, home.parent / "off")
    config = off / "config.toml"
    config.write_text(config.read_text("utf-8").replace("[knowledge]", SWITCHED_OFF), "utf-8")
    async with serving(off, home) as world, world.person("admin") as admin:
        for method, params in {
            "collections.list": {},
            "collections.create": {"name": "x"},
            "grants.list": {"collection": "salary"},
            "grants.replace": {"collection": "salary", "version": 1, "grants": []},
            "principals.search": {},
            "principals.resolve": {"collection": "salary", "ids": []},
            "agent.collections": {"agent_id": "xiaohe"},
        }.items():
            said = await admin.rpc(f"knowledge.{method}", params)
            assert said == "!knowledge_disabled", method
