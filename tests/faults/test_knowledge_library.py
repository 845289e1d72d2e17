"""What users of other products met with their libraries: doubles, ghosts, stuck and locked ones."""

import asyncio
import io
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.documents import Block, Extracted, SourceState, StatusDetail
from gateway.core.passages import Locator
from gateway.errors import ModelError, NotFoundError
from gateway.interfaces import Vector
from gateway.knowledge.search import Search
from gateway.store import Store
from models.calibration import find_calibration
from tests.fakes.extraction import FakeExtractor
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import OWNER, Shelf
from tests.stores import new_store

PROVES = bool(os.environ.get("SHUTTEN_PROVE"))
TEXT = "特休規定：滿一年七日。" * 15 + "\n\n病假規定：一年三十日。" + "細則請見附件。" * 60


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock()


@pytest.fixture
async def store(tmp_path: Path, clock: WoundClock) -> AsyncIterator[Store]:
    async with new_store(tmp_path / "home", clock, RealIds()) as opened:
        yield opened


@pytest.fixture
def shelf(store: Store, clock: WoundClock) -> Shelf:
    return Shelf(store, clock)


def searching(shelf: Shelf) -> Search:
    store = shelf.store
    return Search(
        store.passages, store.vectors, shelf.encoder, store.audit, shelf.clock, find_calibration
    )


async def found(shelf: Shelf, search: Search, question: str = "特休") -> list[str]:
    """Titles of what a person would be shown now."""
    entry = AccessEntry(AccessAction.SEARCH, shelf.clock.now(), account_id=OWNER.id)
    result = await search.search(question, await shelf.scope(), 8, entry=entry)
    return sorted({hit.passage.title for hit in result.hits})


async def test_one_file_by_two_doors_gives_the_same_passages(shelf: Shelf) -> None:
    uploaded, proposed = await shelf.collection(), await shelf.collection()
    one = await shelf.done(uploaded, "手冊.txt", TEXT)
    draft = replace(one, id=RealIds().new(), collection_id=proposed.id, sha256="", size_bytes=0)
    put = shelf.store.sources.add
    two, is_new = await shelf.library.add_approved(draft, io.BytesIO(TEXT.encode()), put)
    await shelf.ingestion.drain()
    assert is_new
    scope, texts = await shelf.scope(), []
    for source in (one, await shelf.now(two)):
        assert source.revision_id is not None
        read = await shelf.store.passages.of_revision(scope, source.id, source.revision_id)
        texts.append([(each.text, each.locator) for each in read])
    assert texts[0] == texts[1] != []


async def test_the_same_name_with_other_content_leaves_citations_where_they_point(
    shelf: Shelf,
) -> None:
    collection = await shelf.collection()
    first = await shelf.done(collection, "規則.txt", "特休七日")
    [old] = await shelf.found("特休")
    second = await shelf.done(collection, "規則.txt", "特休十日")
    assert first.id != second.id
    [still] = await shelf.store.passages.around(await shelf.scope(), old.id, 0)
    assert (still.text, still.source_id) == ("特休七日", first.id)


@pytest.mark.parametrize("broken", ["reader", "encoder", "encoder gone"])
async def test_what_fails_while_it_is_read_again_takes_nothing_away(
    shelf: Shelf, broken: str
) -> None:
    class Failing(FakeEncoder):
        is_failing = False

        async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
            if self.is_failing:
                raise ModelError("gone", code="model_unavailable")
            return await super().embed_passages(texts)

    shelf.encoder = encoder = Failing()
    shelf.restart()
    source = await shelf.done(await shelf.collection(), "手冊.txt", TEXT)
    reader = shelf.extractor
    assert isinstance(reader, FakeExtractor)
    if broken == "reader":
        reader.codes["手冊.txt"] = "extract_crashed"
    encoder.is_failing = broken == "encoder"
    encoder.key = "another model" if broken == "encoder" else encoder.key
    await shelf.library.read_again(source.id)
    await shelf.ingestion.drain()
    now = await shelf.now(source)
    said = {
        "reader": (SourceState.READY, StatusDetail.HYBRID, "extract_crashed", []),
        "encoder": (SourceState.READY, StatusDetail.KEYWORD_ONLY, None, ["embedding_failed"]),
        "encoder gone": (SourceState.READY, StatusDetail.HYBRID, None, []),
    }
    warnings = [warning.code for warning in now.warnings]
    assert (now.state, now.status_detail, now.error_code, warnings) == said[broken]
    assert await found(shelf, searching(shelf)) == ["手冊.txt"]


async def test_what_was_deleted_is_found_in_no_way_in_the_same_process(shelf: Shelf) -> None:
    collection = await shelf.collection()
    gone = await shelf.done(collection, "gone.txt", TEXT)
    await shelf.done(collection, "kept.txt", f"{TEXT}別的")
    search = searching(shelf)
    assert await found(shelf, search) == ["gone.txt", "kept.txt"]
    [old, *_] = [each for each in await shelf.found("特休") if each.source_id == gone.id]
    await shelf.library.remove(gone.id)
    for question in ("特休", "病假規定：一年三十日。"):
        assert await found(shelf, search, question) == ["kept.txt"]
    entry = AccessEntry(AccessAction.PASSAGE, shelf.clock.now(), account_id=OWNER.id)
    with pytest.raises(NotFoundError):
        await search.around(await shelf.scope(), old.id, 1, entry=entry)
    assert await shelf.store.check() == ()


async def test_searches_and_purges_beside_an_ingestion_never_meet_a_locked_database(
    shelf: Shelf,
) -> None:
    """Nothing is raised anywhere, every source is read, and every search is on record."""
    count = 300 if PROVES else 12
    collection = await shelf.collection()
    search, searched = searching(shelf), 0
    sources = [await shelf.add(collection, f"{n}.txt", f"{TEXT}第{n}份") for n in range(count)]

    async def look() -> None:
        nonlocal searched
        while not reading.done():
            await found(shelf, search)
            searched += 1
            await shelf.store.audit.purge(shelf.clock.now() - timedelta(days=1))

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(shelf.ingestion.drain())
        for _ in range(4):
            tasks.create_task(look())
    states = {(await shelf.now(source)).state for source in sources}
    assert states == {SourceState.READY}
    assert searched >= 4
    log = await shelf.store.audit.entries(None, searched + 1)
    assert sum(each.action is AccessAction.SEARCH for each in log) == searched
    assert await shelf.store.check() == ()


async def test_a_large_document_does_not_hold_up_the_event_loop(shelf: Shelf) -> None:
    class Large(FakeExtractor):
        async def extract(self, path: Path, name: str, **_options: object) -> Extracted:
            blocks = tuple(
                Block(f"第{n}條 " + "規定" * 120, Locator(page=n + 1)) for n in range(600)
            )
            return Extracted(blocks, "application/pdf", pages=600)

    shelf.extractor = Large()
    shelf.restart()
    source = await shelf.add(await shelf.collection(), "large.pdf", "PDF")
    longest = 0.0  # processor time of the loop's own thread: whatever else runs here does not count

    async def ping() -> None:
        nonlocal longest
        while not reading.done():
            before = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - before)

    began = time.process_time()
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(shelf.ingestion.drain())
        tasks.create_task(ping())
    took = time.process_time() - began
    assert (await shelf.now(source)).passages >= 300
    assert longest < took / 3, "cut, folded and indexed in other threads"
