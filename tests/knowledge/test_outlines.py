"""Section trees of documents: made when they are read, seen within a scope, gone with them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.core.access import Collection
from gateway.core.documents import Block, Extracted, Source
from gateway.core.passages import Locator
from gateway.store import Store
from tests.fakes.extraction import FakeExtractor
from tests.knowledge.shelf import Shelf

LEAVE = "到職滿一年的同仁每年有七日特別休假。特別休假應於年度內休畢，未休畢的日數折發工資。"
TRAVEL = "出差返回後三日內應填寫差旅費報支單。住宿費每日以三千元為上限。"
HANDBOOK = Extracted(
    (
        Block("前言。", Locator(page=1)),
        Block("第一章 人事", Locator(page=2), 1),
        Block("特別休假", Locator(page=2), 2),
        Block(LEAVE * 6, Locator(page=2)),
        Block("差旅費", Locator(page=3), 2),
        Block(TRAVEL * 8, Locator(page=4)),
    ),
    "application/pdf",
    pages=4,
)


async def handbook(shelf: Shelf, collection: Collection, name: str = "手冊.pdf") -> Source:
    assert isinstance(shelf.extractor, FakeExtractor)
    shelf.extractor.documents[name] = HANDBOOK
    return await shelf.done(collection, name, f"{collection.id}{name}")


async def test_the_tree_is_told_in_order_with_pages_and_sentences(shelf: Shelf) -> None:
    source = await handbook(shelf, await shelf.collection())
    tree = await shelf.store.outlines.of_source(await shelf.scope(), source.id)
    assert [(each.title, each.first_page, each.last_page, each.level) for each in tree] == [
        ("手冊.pdf", 1, 2, 1),
        ("第一章 人事", 2, 4, 1),
        ("特別休假", 2, 2, 2),
        ("差旅費", 3, 4, 2),
    ]
    leave = next(each for each in tree if each.title == "特別休假")
    assert leave.path == ("第一章 人事", "特別休假")
    assert leave.summary == LEAVE
    assert leave.summary_by == ""
    assert all(each.summary for each in tree)


async def test_a_passage_knows_its_innermost_section(shelf: Shelf) -> None:
    await handbook(shelf, await shelf.collection())
    (passage, *_) = await shelf.found("住宿費")
    hits = await shelf.store.outlines.of_passages(await shelf.scope(), [passage.id, 7])
    assert list(hits) == [passage.id]
    assert hits[passage.id].title == "差旅費"
    assert hits[passage.id].source_id == passage.source_id


async def test_without_headings_the_document_is_the_section(shelf: Shelf) -> None:
    source = await shelf.done(await shelf.collection(), "筆記.txt", LEAVE * 10)
    (only,) = await shelf.store.outlines.of_source(await shelf.scope(), source.id)
    assert (only.title, only.path, only.first_page) == ("筆記.txt", ("筆記.txt",), 1)
    assert only.summary == LEAVE


async def test_nothing_outside_the_scope_is_told(shelf: Shelf) -> None:
    mine, other = await shelf.collection(), await shelf.collection()
    seen, hidden = await handbook(shelf, mine, "a.pdf"), await handbook(shelf, other, "b.pdf")
    found = await shelf.found("住宿費")
    narrow = (await shelf.scope()).narrow(frozenset({mine.id}))
    hits = await shelf.store.outlines.of_passages(narrow, [each.id for each in found])
    assert {each.source_id for each in hits.values()} == {seen.id}
    assert await shelf.store.outlines.of_source(narrow, hidden.id) == []
    assert await shelf.store.outlines.of_source(narrow, "none") == []
    empty = narrow.narrow(frozenset())
    assert not await shelf.store.outlines.of_passages(empty, [each.id for each in found])
    assert not await shelf.store.outlines.of_source(empty, seen.id)


async def test_a_deleted_document_leaves_no_section(shelf: Shelf, tmp_path: Path) -> None:
    source = await handbook(shelf, await shelf.collection())
    scope = await shelf.scope()
    await shelf.library.remove(source.id)
    assert await shelf.store.outlines.of_source(scope, source.id) == []
    with closing(sqlite3.connect(tmp_path / "home/knowledge/knowledge.db")) as opened:
        assert opened.execute("SELECT count(*) FROM sections").fetchone() == (0,)


def made_by_an_earlier_release(home: Path, *, has_text: bool) -> None:
    with closing(sqlite3.connect(home / "knowledge/knowledge.db")) as opened, opened:
        opened.execute("DELETE FROM sections WHERE ordinal < 0")
        opened.execute("UPDATE passages SET section = NULL WHERE section < 0")
        opened.execute("UPDATE sections SET summary = NULL")
        if not has_text:
            opened.execute("UPDATE revisions SET body = NULL")


async def test_documents_of_an_earlier_release_get_theirs_in_the_background(
    shelf: Shelf, store: Store, tmp_path: Path
) -> None:
    collection = await shelf.collection()
    first = await handbook(shelf, collection)
    second = await shelf.done(collection, "筆記.txt", LEAVE * 10)
    scope = await shelf.scope()
    fresh = [await store.outlines.of_source(scope, each.id) for each in (first, second)]
    for has_text in (True, False):
        made_by_an_earlier_release(tmp_path / "home", has_text=has_text)
        (only,) = await store.outlines.of_source(scope, second.id)
        assert (only.title, only.summary) == ("筆記.txt", "")  # never empty, and no guess
        (passage, *_) = [each for each in await shelf.found("特別休假") if each.title == "筆記.txt"]
        hits = await store.outlines.of_passages(scope, [passage.id])
        assert hits[passage.id].title == "筆記.txt"
        assert len(await store.outlines.lacking(9)) == 2
        await shelf.outline()
        assert await store.outlines.lacking(9) == []
        trees = [await store.outlines.of_source(scope, each.id) for each in (first, second)]
        assert all(each.summary for tree in trees for each in tree)
        assert trees == fresh or not has_text
