"""What the network must not open, whoever asks, and what it must not let be saved."""

from pathlib import Path

import pytest

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
