"""Two owners who save the same collection's grants at the same moment, over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

from tests.surfaces.serving import Person, World, serving

Line = dict[str, str]
SHELF = {"collection": "salary"}
ROUNDS = 3


def line(kind: str, subject: str, role: str = "viewer") -> Line:
    return {"subject_kind": kind, "subject_id": subject, "role": role}


def keys(grants: list[Line]) -> set[tuple[str, ...]]:
    return {(each["subject_kind"], each["subject_id"], each["role"]) for each in grants}


async def id_of(world: World, login: str) -> str:
    found = await world.app.store.accounts.find_by_login(login)
    assert found is not None
    return found.id


async def save(person: Person, version: int, *grants: Line) -> Any:
    change = SHELF | {"version": version, "grants": list(grants)}
    return await person.rpc("knowledge.grants.replace", change)


async def test_one_save_holds_and_the_other_is_told_with_nothing_mixed(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        mine, other = [line("user", await id_of(world, who), "owner") for who in ("hr", "member")]
        version = (await hr.rpc("knowledge.grants.list", SHELF))["version"]
        version = (await save(hr, version, mine, other))["version"]
        async with world.person("member") as member:
            for n in range(ROUNDS):
                pair = [
                    (hr, line("channel", f"line:A{n}")),
                    (member, line("channel", f"line:B{n}")),
                ]
                pair = pair[:: -1 if n % 2 else 1]
                done = await asyncio.gather(
                    *(save(person, version, mine, other, more) for person, more in pair)
                )
                assert [each for each in done if isinstance(each, str)] == ["!conflict"]
                at = 0 if isinstance(done[0], dict) else 1
                now = await hr.rpc("knowledge.grants.list", SHELF)
                assert keys(now["grants"]) == keys([mine, other, pair[at][1]])
                assert now["version"] == done[at]["version"] == version + 1
                version = now["version"]
            # each takes the other one away: whoever comes second is no owner any more, or told so
            last = await asyncio.gather(save(hr, version, mine), save(member, version, other))
            lost = [each for each in last if isinstance(each, str)]
            assert lost in (["!conflict"], ["!not_found"])
        collection = await world.app.store.collections.find_by_slug("salary")
        assert collection is not None
        left = await world.app.store.grants.of_collection(collection.id)
        stayed = mine if isinstance(last[0], dict) else other
        assert [(each.subject_id, each.role.value) for each in left] == [
            (stayed["subject_id"], "owner")
        ]
