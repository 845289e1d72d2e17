"""What the network must not open, whoever asks, and what it must not let be saved."""

from pathlib import Path

import pytest

from gateway.core.audit import AccessAction
from gateway.errors import InvalidRequestError
from tests.surfaces.serving import operate, serving


@pytest.mark.parametrize("login", ["member", "hr", "admin"])
async def test_nobody_reads_this_machines_files_over_the_network(
    template: Path, home: Path, login: str
) -> None:
    async with serving(template, home) as world, world.person(login) as person:
        for path in (home / "config.toml", home / "no-such-file"):
            params = {"collection": "handbook", "path": str(path)}
            assert await person.rpc("knowledge.sources.add_file", params) == "!not_found"
        async with world.person("admin") as admin:
            rows = await admin.rpc("knowledge.sources.list", {"collection": "handbook"})
        assert "config.toml" not in {row["title"] for row in rows}


@pytest.mark.parametrize("name", ["", "  \n", "長" * 201])
async def test_a_collection_keeps_a_name(template: Path, home: Path, name: str) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        assert await person.rpc("knowledge.collections.create", {"name": name}) == (
            "!invalid_request"
        )
        shelves = await person.rpc("knowledge.collections.list")
        (salary,) = (each for each in shelves if each["slug"] == "salary")
        change = {"collection": "salary", "version": salary["version"], "name": name}
        assert await person.rpc("knowledge.collections.update", change) == "!invalid_request"
        change["name"] = " 薪資 "
        assert (await person.rpc("knowledge.collections.update", change))["name"] == "薪資"


async def test_odd_people_and_paths_are_refused_by_code(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("admin") as person:
        odd = ({"login": "a\0b"}, {"login": "a\x1b[2Jb"}, {"login": "q", "language": "xx"})
        for each in odd:
            params = {"login": "q", "display_name": "Q", "password": "long enough", **each}
            assert await person.rpc("accounts.create", params) == "!invalid_request"
        for path in ("a\0b", "/", "no-such"):
            params = {"collection": "handbook", "path": path}
            with pytest.raises(InvalidRequestError):
                await operate(world.app, "knowledge.sources.add_file", params, "admin")


async def test_a_pasted_title_is_no_path(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        params = {"collection": "handbook", "title": "2026/01 A\\B 公告", "text": "單車棚在地下。"}
        added = await person.rpc("knowledge.sources.add", params)
        assert added["source"]["title"] == "2026／01 A＼B 公告.txt"


async def test_what_is_missing_is_refused_and_logged_like_what_is_forbidden(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with world.person("admin") as admin:
            (salary,) = await admin.rpc("knowledge.sources.list", {"collection": "salary"})
        logged, said = [], set()
        for source_id in (salary["id"], "01900000-0000-7000-8000-000000000000"):
            before = len(await world.app.store.audit.entries(None, 1_000))
            said.add(await person.rpc("knowledge.sources.get", {"source_id": source_id}))
            said.add(await person.rpc("knowledge.sources.delete", {"source_id": source_id}))
            address = f"{world.url}/api/knowledge/sources/{source_id}/original"
            async with person.session.get(address) as response:
                said.add("!" + (await response.json())["error"]["code"])
            new = (await world.app.store.audit.entries(None, 1_000))[: -before or None]
            logged.append([entry.action for entry in new])
        assert said == {"!not_found"}
        assert logged == [[AccessAction.DENIED] * 3] * 2


async def test_a_collection_is_shared_with_ones_own_agents_only(template: Path, home: Path) -> None:
    def saved(grants: list[dict[str, str]], version: int) -> dict[str, object]:
        return {"collection": "notes", "version": version, "grants": grants}

    async with serving(template, home) as world, world.person("hr") as person:
        await person.rpc("knowledge.collections.create", {"name": "Notes", "slug": "notes"})
        mine = (await person.rpc("knowledge.grants.list", {"collection": "notes"}))["grants"]
        to_agent, to_nobody = (
            [*mine, {"subject_kind": "agent", "subject_id": name, "role": "viewer"}]
            for name in ("xiaohe", "no-such")
        )
        for grants in (to_agent, to_nobody):  # a viewer of the agent, and a missing one, alike
            assert await person.rpc("knowledge.grants.replace", saved(grants, 1)) == (
                "!not_shareable"
            )
        bound = {"agent_id": "xiaohe", "account": "hr", "role": "owner"}
        await operate(world.app, "agents.bind", bound, None)
        assert (await person.rpc("knowledge.grants.replace", saved(to_agent, 1)))["version"] == 2
        await operate(world.app, "agents.bind", {**bound, "role": "viewer"}, None)
        kept = await person.rpc("knowledge.grants.replace", saved(to_agent, 2))
        assert kept["version"] == 3  # what was shared before is not asked about again
