"""`search_knowledge`: both shapes, every error code, revisions that never change (FEATURES C)."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import regex

from gateway.core.chunking import chunk
from gateway.core.documents import Block, Extracted, NewRevision
from gateway.core.passages import Locator
from gateway.core.whole_text import whole_of
from gateway.operations.table import Caller
from gateway.surfaces.local import LocalCall, local_caller
from gateway.surfaces.mcp_search import CARD
from tests.surfaces.mcp_talking import quiet
from tests.surfaces.serving import World, operate, ready, serving

OLD = "# 規定\n\n第一條 " + "出差住宿每晚二千四百元。" * 120 + "\n\n第二條 👩‍👩‍👧 家庭日。"
LAW = "法規"


async def caller(world: World, login: str) -> Caller:
    return await local_caller(world.app.store.accounts, LocalCall("", {}, login))


async def ask(world: World, login: str, **given: Any) -> dict[str, Any]:
    """The envelope; of an answer the card's own schema approves."""
    tool = world.app.mcp.http.toolbox.tools["search_knowledge"]
    answer = await tool.run(await caller(world, login), given, quiet)
    (content,) = answer.content
    told: dict[str, Any] = json.loads(getattr(content, "text", ""))
    assert told == answer.structured
    assert answer.is_error is ("error" in told)
    if not answer.is_error:
        jsonschema.validate(told, CARD.output_schema)
    return told


async def code(world: World, login: str, **given: Any) -> str:
    told = await ask(world, login, **given)
    assert told["type"] == "knowledge_error", told
    found: str = told["error"]["code"]
    return found


async def whole(world: World, login: str, limit: int, **item: Any) -> str:
    """Window after window until the end."""
    text: str = ""
    while True:
        told = await ask(world, login, offset=len(text), limit_chars=limit, **item)
        assert len(told["content"]) <= limit
        assert told["content_offset"] == len(text)
        text += told["content"]
        if not told["content_truncated"]:
            assert told["content_total_chars"] == len(text)
            return text
        assert regex.fullmatch(r"\X+", told["content"])


async def add(world: World, text: str) -> str:
    params = {"collection": "handbook", "text": text, "title": f"{LAW}.md"}
    added = await operate(world.app, "knowledge.sources.add", params, "hr")
    source_id: str = added["source"]["id"]
    await ready(world.app, source_id)
    return source_id


async def test_a_search_leads_to_a_document_that_reads_to_its_end(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        item = await add(world, OLD)
        found = await ask(world, "member", query="家庭日", max_results=5)
        row = next(each for each in found["results"] if each["knowledge_item_id"] == item)
        assert row["reference"].startswith(
            f"knowledge:{row['knowledge_base_id']}/{item}/{row['knowledge_revision_id']}#"
        )
        expected = OLD.replace("\n\n", "\n")  # paragraphs are lines
        for limit in (10_000, 977):
            assert await whole(world, "member", limit, knowledge_item_id=item) == expected
        family = expected.index("👩")
        one = await ask(world, "member", knowledge_item_id=item, offset=family - 1, limit_chars=4)
        assert one["content"] == " "  # the family is one character to people, five to us
        told = await ask(world, "member", knowledge_item_id=item)
        assert (told["scope"], told["team"], told["content_limit"]) == ("internal", "", 4000)
        at_end = await ask(world, "member", knowledge_item_id=item, offset=len(expected))
        assert (at_end["content"], at_end["content_truncated"]) == ("", False)


async def test_a_revision_never_changes_and_searches_follow_the_current_one(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        item = await add(world, OLD)
        first = (await ask(world, "member", knowledge_item_id=item))["knowledge_revision_id"]
        block = Block("出差住宿每晚三千元。", Locator())
        chunks, sections = chunk(Extracted((block,), "text/plain"))
        whole_text = whole_of([block])
        revision = NewRevision("second", item, chunks, sections, whole=whole_text)
        assert await world.app.store.passages.replace(revision)
        now = await ask(world, "member", knowledge_item_id=item)
        assert (now["knowledge_revision_id"], now["content"]) == ("second", block.text)
        pinned = {"knowledge_item_id": item, "knowledge_revision_id": first}
        old = OLD.replace("\n\n", "\n")
        assert await whole(world, "member", 10_000, **pinned) == old
        for words in ("二千四百元", "三千元"):
            found = (await ask(world, "member", query=words, max_results=50))["results"]
            revisions = {
                row["knowledge_revision_id"] for row in found if row["knowledge_item_id"] == item
            }
            assert revisions <= {"second"}
        await operate(world.app, "knowledge.sources.delete", {"source_id": item}, "hr")
        assert await code(world, "member", **pinned) == "knowledge_resource_unavailable"


async def test_every_shape_that_is_none_has_its_code(template: Path, home: Path) -> None:
    async with serving(template, home) as world:
        item = (await ask(world, "member", query="特休"))["results"][0]
        base, known = item["knowledge_base_id"], item["knowledge_item_id"]
        salary = await operate(world.app, "knowledge.sources.list", {"collection": "salary"}, "hr")
        secret = salary[0]["id"]
        shelves = await operate(world.app, "knowledge.collections.list", {}, "hr")
        other = next(each for each in shelves if each["slug"] == "salary")
        invalid, unavailable = "knowledge_invalid_request", "knowledge_resource_unavailable"
        table: list[tuple[dict[str, Any], str]] = [
            ({}, "knowledge_query_required"),
            ({"query": "  "}, "knowledge_query_required"),
            ({"knowledge_base_id": base}, "knowledge_query_required"),
            ({"knowledge_revision_id": "r"}, "knowledge_item_required"),
            ({"query": "a", "knowledge_item_id": known}, invalid),
            ({"query": "a", "knowledge_revision_id": "r"}, invalid),
            ({"query": "a", "max_results": 0}, invalid),
            ({"query": "a", "max_results": 51}, invalid),
            ({"query": "a" * 1001}, invalid),
            ({"query": 1}, invalid),
            ({"query": "a", "alpha": float("nan")}, invalid),
            ({"query": "a", "owner": "x"}, invalid),
            ({"knowledge_item_id": known, "offset": -1}, invalid),
            ({"knowledge_item_id": known, "offset": 10**30}, invalid),
            ({"knowledge_item_id": known, "limit_chars": 0}, invalid),
            ({"knowledge_item_id": known, "limit_chars": 10_001}, invalid),
            ({"knowledge_item_id": "nothing"}, unavailable),
            ({"knowledge_item_id": "\ud800"}, unavailable),
            ({"knowledge_item_id": secret}, unavailable),
            ({"knowledge_item_id": known, "knowledge_revision_id": "r"}, unavailable),
            ({"knowledge_item_id": known, "knowledge_base_id": other["id"]}, unavailable),
            ({"query": "a", "knowledge_base_id": other["id"]}, unavailable),
            ({"query": "a", "knowledge_base_id": "nothing"}, unavailable),
        ]
        for given, expected in table:
            assert await code(world, "member", **given) == expected, given
        missing = await ask(world, "member", knowledge_item_id="nothing")
        assert await ask(world, "member", knowledge_item_id=secret) == missing
        odd = await ask(world, "member", query="特休", mode="else", alpha=99, offset=None)
        assert odd["mode"] == "hybrid"
        narrowed = await ask(world, "member", query="特休", knowledge_base_id=base)
        assert {row["knowledge_base_id"] for row in narrowed["results"]} == {base}
        for mode in ("lexical", "semantic", "rrf"):
            assert (await ask(world, "member", query="特休", mode=mode))["mode"] == mode
        with closing(sqlite3.connect(home / "knowledge" / "knowledge.db")) as database:
            rows = database.execute("SELECT action FROM access_log").fetchall()
        actions = [action for (action,) in rows]
        assert actions.count("denied") >= 8
        assert actions.count("search") >= 6
