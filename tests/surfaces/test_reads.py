"""The access log over HTTP: a row a read at each door, and who may see what of it."""

from pathlib import Path
from typing import Any

import pytest

from gateway.core.audit import AccessAction, AccessEntry
from tests.surfaces.serving import Person, World, answer, serving

QUESTION = "到職滿一年的特休有幾天？"
LIST, DENIED = "knowledge.access_log.list", "knowledge.access_log.denied"


async def written(world: World, before: int) -> list[AccessEntry]:
    """What was logged since, oldest first."""
    entries = await world.app.store.audit.entries(None, 1_000)
    return list(entries[: len(entries) - before][::-1])


async def logged(world: World) -> int:
    return len(await world.app.store.audit.entries(None, 1_000))


async def reads(person: Person, collection: str = "handbook", **params: Any) -> Any:
    return await person.rpc(LIST, {"collection": collection, **params})


async def test_each_door_writes_one_row_a_read_and_one_a_refusal(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        async with world.person("admin") as admin:
            (salary,) = await admin.rpc("knowledge.sources.list", {"collection": "salary"})
            found = await admin.rpc(
                "knowledge.search", {"query": "月薪", "collections": ["salary"]}
            )
        hidden = found["hits"][0]["chunk_id"]
        found = await person.rpc("knowledge.search", {"query": QUESTION})
        hit = found["hits"][0]
        async with person.chat() as socket:
            await answer(socket, QUESTION)
        session = {"conversation_id": "c1"}
        address = f"{world.url}/api/knowledge/sources/"

        async def download(source_id: str) -> None:
            async with person.session.get(f"{address}{source_id}/original") as response:
                await response.read()

        doors: list[tuple[Any, AccessAction]] = [
            (lambda: person.rpc("knowledge.search", {"query": QUESTION}), AccessAction.SEARCH),
            (lambda: person.rpc("knowledge.search", {"query": "…"}), AccessAction.SEARCH),
            (
                lambda: person.rpc("knowledge.passages.get", {"chunk_id": hit["chunk_id"]}),
                AccessAction.PASSAGE,
            ),
            *(
                (
                    lambda chunk_id=chunk_id: person.rpc(
                        "knowledge.passages.get", {"chunk_id": chunk_id}
                    ),
                    AccessAction.DENIED,
                )
                for chunk_id in (hidden, "1", "x", "9" * 19, "1" * 40)
            ),
            (
                lambda: person.rpc("knowledge.sources.list", {"collection": "handbook"}),
                AccessAction.LIST,
            ),
            (
                lambda: person.rpc("knowledge.sources.list", {"collection": "salary"}),
                AccessAction.DENIED,
            ),
            (lambda: person.rpc("knowledge.collections.list"), AccessAction.LIST),
            (
                lambda: person.rpc("knowledge.citations.for_session", session),
                AccessAction.PASSAGE,
            ),
            (lambda: person.rpc("chat.history", session), AccessAction.PASSAGE),
            (lambda: download(hit["source_id"]), AccessAction.DOWNLOAD),
            (lambda: download(salary["id"]), AccessAction.DENIED),
            (lambda: download("none"), AccessAction.DENIED),
            (lambda: reads(person, "handbook"), AccessAction.DENIED),
        ]
        me = await world.app.store.accounts.find_by_login("member")
        assert me is not None
        for n, (go, action) in enumerate(doors):
            before = await logged(world)
            await go()
            rows = await written(world, before)
            assert [(row.action, row.account_id) for row in rows] == [(action, me.id)], n


async def test_a_turn_logs_its_injection_for_whom_and_through_whom(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("member") as person:
        before = await logged(world)
        async with person.chat() as socket:
            await answer(socket, QUESTION)
        rows = await written(world, before)
        assert rows[0].action is AccessAction.AUTO_INJECT
        assert rows[0].query == QUESTION
        assert {row.agent_id for row in rows} == {"xiaohe"}
        assert {row.channel for row in rows} == {"webchat"}
        async with world.person("admin") as admin:
            page = await reads(admin)
        assert (page["rows"][0]["account"], page["rows"][0]["agent"]) == ("王小明", "小禾")


async def test_owners_see_who_read_theirs_and_of_others_neither_words_nor_numbers(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        async with world.person("admin") as admin:
            await admin.rpc("knowledge.search", {"query": "月薪 特休 產品", "limit": 20})
            [first, *_] = (await reads(admin, "salary"))["rows"]
            handbook = (await reads(admin, "handbook"))["rows"][0]
        assert first["action"] == handbook["action"] == "search"
        assert first["question"] == "月薪 特休 產品"  # the admin's own, and an admin
        async with world.person("hr") as owner:
            await owner.rpc("knowledge.search", {"query": "月薪"})
            mine, others, *_ = (await reads(owner, "salary"))["rows"]
            assert (others["account"], others["question"]) == ("林管理", None)
            assert others["question_hash"] == first["question_hash"]
            assert others["passages"] == first["passages"] > 0
            assert (mine["account"], mine["question"]) == ("陳人資", "月薪")
            assert mine["question_hash"] != others["question_hash"]
            refused = [await reads(owner, each) for each in ("handbook", "products", "none")]
            assert refused == ["!not_found"] * 3
            assert await owner.rpc(DENIED) == "!not_found"


async def test_pages_go_on_where_the_last_ended(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        for n in range(5):
            await admin.rpc("knowledge.search", {"query": f"特休 {n}"})
        whole = (await reads(admin, limit=200))["rows"]
        seen: list[Any] = []
        after = None
        while True:
            page = await reads(admin, limit=2, before=after)
            seen += page["rows"]
            after = page["next"]
            if after is None:
                break
        assert seen == whole
        for bad in ({"limit": 0}, {"limit": 201}, {"before": "yesterday"}):
            assert await reads(admin, **bad) == "!invalid_request"


async def test_admins_see_every_refusal_with_what_it_was_for(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        query = {"query": "月薪", "collections": ["salary"]}
        hidden = (await admin.rpc("knowledge.search", query))["hits"][0]["chunk_id"]
        async with world.person("member") as person:
            await person.rpc("knowledge.sources.list", {"collection": "salary"})
            await person.rpc("knowledge.passages.get", {"chunk_id": hidden})
            await person.rpc("knowledge.sources.list", {"collection": "none"})
            assert await person.rpc(DENIED) == "!not_found"
        rows = (await admin.rpc(DENIED))["rows"]
        assert [row["collection"] for row in rows[:3]] == ["", "薪資與考核", "薪資與考核"]
        assert {row["account"] for row in rows[:3]} == {"王小明"}


@pytest.mark.parametrize("method", [LIST, DENIED])
async def test_with_the_library_off_its_log_is_closed_too(
    template: Path, home: Path, method: str
) -> None:
    async with serving(template, home) as world:
        text = (home / "config.toml").read_text("utf-8")
        assert "[knowledge]" in text
    (home / "config.toml").write_text(text.replace("[knowledge]", "[knowledge]\nenabled = false"))
    async with serving(home, home.parent / "off") as world, world.person("admin") as admin:
        params = {"collection": "handbook"} if method == LIST else {}
        assert await admin.rpc(method, params) == "!knowledge_disabled"
