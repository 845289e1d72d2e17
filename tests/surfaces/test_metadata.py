"""Metadata of documents and places of collections, as editors, readers and others meet them."""

from pathlib import Path
from typing import Any

from tests.surfaces.mcp_talking import call, run_of
from tests.surfaces.serving import Person, operate, ready, serving
from tests.surfaces.test_retrieve import THRESHOLD_ALL, asked, client, source, titles


async def pasted(person: Person, shelf: str, title: str, text: str, **metadata: Any) -> Any:
    params = {"collection": shelf, "title": title, "text": text, "metadata": metadata}
    added = await person.rpc("knowledge.sources.add", params)
    assert not isinstance(added, str), added
    return added["source"]


async def found(person: Person, query: str, **filters: Any) -> set[str]:
    answer = await person.rpc("knowledge.search", {"query": query, "filters": filters, "limit": 20})
    return {hit["title"] for hit in answer["hits"]}


async def test_what_is_noted_down_holds_from_the_next_search_on(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        bike = await pasted(hr, "handbook", "單車", "單車棚在地下二樓。", kind="bike", year=2026)
        car = await pasted(hr, "handbook", "汽車", "汽車棚在地下三樓。", kind="car")
        assert bike["metadata"] == {"kind": "bike", "year": 2026}
        for each in (bike, car):
            await ready(world.app, each["id"])
        assert {"單車.txt", "汽車.txt"} <= await found(hr, "地下")
        assert await found(hr, "地下", kind="bike") == {"單車.txt"}
        assert await found(hr, "地下", kind="bike", year=2026.0) == {"單車.txt"}
        assert await found(hr, "地下", kind="bike", year="2026") == set()
        assert await found(hr, "地下", year=None, kind="car") == {"汽車.txt"}
        assert await found(hr, "地下", title="汽車.txt") == {"汽車.txt"}

        change = {"source_id": car["id"], "metadata": {"kind": "bike"}, "before": {"kind": "car"}}
        saved = await hr.rpc("knowledge.sources.set_metadata", change)
        assert saved["metadata"] == {"kind": "bike"}
        assert saved["passages"] == 1
        assert await found(hr, "地下", kind="bike") == {"單車.txt", "汽車.txt"}
        assert await hr.rpc("knowledge.sources.set_metadata", change) == "!conflict"
        wrong = {"source_id": car["id"], "metadata": {"a\nb": 1}}
        assert await hr.rpc("knowledge.sources.set_metadata", wrong) == "!invalid_request"
        nested = {"query": "地下", "filters": {"kind": ["bike"]}}
        assert await hr.rpc("knowledge.search", nested) == "!invalid_request"
        listed = await hr.rpc("knowledge.sources.list", {"collection": "handbook"})
        assert {each["id"]: each["metadata"] for each in listed}[car["id"]] == {"kind": "bike"}


async def test_a_filter_shows_nobody_what_they_may_not_read(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("admin") as admin:
        paid = await pasted(admin, "salary", "薪資", "月薪十二萬。", topic="pay")
        await ready(world.app, paid["id"])
        assert await found(admin, "月薪", topic="pay") == {"薪資.txt"}
        async with world.person("member") as member:
            assert await found(member, "月薪", topic="pay") == set()
            assert await found(member, "月薪", id=paid["id"]) == set()
            change = {"source_id": paid["id"], "metadata": {}}
            assert await member.rpc("knowledge.sources.set_metadata", change) == "!not_found"
            change = {"source_id": "none", "metadata": {}}
            assert await member.rpc("knowledge.sources.set_metadata", change) == "!not_found"
        audit = home / "security_audit.jsonl"
        await world.app.store.audit.export(audit)
        assert "knowledge_source_metadata_changed" not in audit.read_text("utf-8")
        change = {"source_id": paid["id"], "metadata": {"topic": "secret words"}}
        await admin.rpc("knowledge.sources.set_metadata", change)
        await world.app.store.audit.export(audit)
        told = audit.read_text("utf-8")
        assert '"changes":[{"key":"topic"}]' in told
        assert "secret words" not in told


async def test_agents_filter_too(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        listed = await operate(
            world.app, "knowledge.sources.list", {"collection": "handbook"}, "admin"
        )
        change = {"source_id": listed[0]["id"], "metadata": {"topic": "leave"}}
        await operate(world.app, "knowledge.sources.set_metadata", change, "admin")
        for filters, wanted in (
            ({"topic": "leave"}, {listed[0]["id"]}),
            ({"topic": "x"}, set()),
        ):
            got = await call(link, "knowledge_search", query="特休 請假", filters=filters)
            assert got is not None
            assert got.structured is not None
            assert {each["source_id"] for each in got.structured["passages"]} == wanted
        refused = await call(link, "knowledge_search", query="特休", filters={"topic": ["x"]})
        assert refused is not None
        assert refused.is_error


async def test_retrieve_filters_by_metadata(template: Path, home: Path) -> None:
    async with client(template, home) as here:
        body = asked("到職滿一年的特休有幾天？")
        wanted = "topic eq 'leave' and year ne 1"
        body["knowledgeSourceParams"] = [
            source(rerankerThreshold=THRESHOLD_ALL, filterAddOn=wanted)
        ]
        assert titles(await here.retrieve(body)) == set()
        listed = await operate(
            here.world.app, "knowledge.sources.list", {"collection": "handbook"}, "admin"
        )
        one = next(each for each in listed if each["title"] == "員工手冊.docx")
        change = {"source_id": one["id"], "metadata": {"topic": "leave"}}
        await operate(here.world.app, "knowledge.sources.set_metadata", change, "admin")
        assert titles(await here.retrieve(body)) == {"員工手冊.docx"}


async def made(person: Person, name: str, parent: str | None = None) -> Any:
    return await person.rpc("knowledge.collections.create", {"name": name, "parent_id": parent})


async def shared(owner: Person, shelf: Any, who: str, role: str) -> None:
    """With one more person."""
    now = await owner.rpc("knowledge.grants.list", {"collection": shelf["id"]})
    lines = [
        {key: each[key] for key in ("subject_kind", "subject_id", "role")} for each in now["grants"]
    ]
    lines.append({"subject_kind": "user", "subject_id": who, "role": role})
    params = {"collection": shelf["id"], "version": now["version"], "grants": lines}
    assert not isinstance(await owner.rpc("knowledge.grants.replace", params), str)


async def seen(person: Person) -> dict[str, Any]:
    return {each["id"]: each for each in await person.rpc("knowledge.collections.list")}


async def test_a_place_grants_nothing_and_hints_at_nothing(template: Path, home: Path) -> None:
    async with (
        serving(template, home) as world,
        world.person("hr") as hr,
        world.person("member") as member,
    ):
        account = await world.app.store.accounts.find_by_login("member")
        assert account is not None
        outer = await made(hr, "外層")
        inner = await made(hr, "內層", outer["id"])
        assert inner["parent_id"] == outer["id"]
        assert not {outer["id"], inner["id"]} & (await seen(member)).keys()
        await shared(hr, inner, account.id, "viewer")
        assert (await seen(member))[inner["id"]]["parent_id"] is None  # of one it does not list
        await shared(hr, outer, account.id, "viewer")
        assert (await seen(member))[inner["id"]]["parent_id"] == outer["id"]

        deep = await made(hr, "更內層", inner["id"])
        assert deep["id"] not in await seen(member)  # what lies in it is not shared with it
        circle = {"collection": outer["id"], "version": 2, "parent_id": deep["id"]}
        assert await hr.rpc("knowledge.collections.update", circle) == "!invalid_request"
        async with world.person("admin") as admin:
            foreign = await made(admin, "別人的")
        for nowhere in ("none", foreign["id"]):
            move = {"collection": deep["id"], "version": 1, "parent_id": nowhere}
            assert await hr.rpc("knowledge.collections.update", move) == "!not_found"
        move = {"collection": deep["id"], "version": 1, "parent_id": ""}
        assert (await hr.rpc("knowledge.collections.update", move))["parent_id"] is None


async def test_a_folder_is_held_only_by_what_its_owner_lists(template: Path, home: Path) -> None:
    async with (
        serving(template, home) as world,
        world.person("hr") as hr,
        world.person("admin") as admin,
    ):
        admins = await world.app.store.accounts.find_by_login("admin")
        assert admins is not None
        outer = await made(hr, "外層")
        inner = await made(hr, "內層", outer["id"])
        hidden = await made(admin, "別人的", outer["id"])
        assert hidden["id"] not in await seen(hr)
        deletion = {"collection": outer["id"], "confirm_name": "外層"}
        assert await hr.rpc("knowledge.collections.delete", deletion) == "!folder_not_empty"
        assert outer["id"] in await seen(hr)
        inside = {"collection": inner["id"], "confirm_name": "內層"}
        assert await hr.rpc("knowledge.collections.delete", inside) is None
        assert await hr.rpc("knowledge.collections.delete", deletion) is None
        assert (await seen(admin))[hidden["id"]]["parent_id"] is None
