"""Adding and removing documents: quotas, doubles, names, and what becomes of the originals."""

import asyncio
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.core.documents import Source, SourceKind, SourceState, SourceWarning
from gateway.core.limits import KnowledgeLimits
from gateway.errors import GatewayError, NotFoundError
from gateway.knowledge.upload_gate import UploadGate
from gateway.operations.library_types import Beside, source_view
from tests.knowledge.shelf import OWNER, Shelf


async def refusal(shelf: Shelf, *args: object, text: bool = False) -> str:
    add = shelf.library.add_text if text else shelf.library.add_file
    with pytest.raises(GatewayError) as raised:
        await add(*args, OWNER)  # type: ignore[arg-type,call-arg]
    return raised.value.code


async def blobs(shelf: Shelf) -> set[str]:
    return {sha256 for sha256, _ in await shelf.store.blobs.list()}


async def test_five_uploads_of_the_same_bytes_are_one_source(shelf: Shelf) -> None:
    one, other = await shelf.collection(), await shelf.collection()
    answers = await asyncio.gather(
        *(shelf.library.add_file(one, f"{n}.txt", io.BytesIO(b"same"), OWNER) for n in range(5)),
        shelf.library.add_file(one, "different.txt", io.BytesIO(b"different"), OWNER),
    )
    assert sorted(is_new for _, is_new in answers) == [False] * 4 + [True] * 2
    assert len({source.id for source, _ in answers}) == 2
    _, is_new = await shelf.library.add_file(other, "0.txt", io.BytesIO(b"same"), OWNER)
    assert is_new


async def test_same_name_with_other_content_is_another_source(shelf: Shelf) -> None:
    collection = await shelf.collection()
    first = await shelf.add(collection, "規則.pdf", "v1")
    second = await shelf.add(collection, "規則.pdf", "v2")
    assert first.id != second.id
    assert first.title == second.title


async def test_names_are_cleaned_and_the_adder_is_kept(shelf: Shelf) -> None:
    source = await shelf.add(await shelf.collection(), "..\\a\u202efdp.exe", "x")
    assert (source.title, source.kind, source.added_by) == ("afdp.exe", SourceKind.FILE, OWNER.id)


async def test_pasted_text_is_a_txt_source(shelf: Shelf) -> None:
    collection = await shelf.collection()
    source, is_new = await shelf.library.add_text(collection, "公告", "明天放假。\ud800", None)
    assert is_new
    assert (source.title, source.kind, source.added_by) == ("公告.txt", SourceKind.PASTE, None)
    assert await refusal(shelf, collection, "公告", " \n", text=True) == "empty_text"
    assert await refusal(shelf, collection, "公告", "字" * 500_001, text=True) == "too_many_chars"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (KnowledgeLimits(max_source_bytes=3), "too_large"),
        (KnowledgeLimits(max_sources_per_collection=1), "quota_sources"),
        (KnowledgeLimits(max_collection_bytes=6), "quota_bytes"),
        (KnowledgeLimits(max_total_bytes=6), "quota_bytes"),
        (KnowledgeLimits(max_chunks_total=1), "quota_chunks"),
    ],
)
async def test_quotas_refuse_what_is_new_and_not_what_is_there(
    shelf: Shelf, limits: KnowledgeLimits, code: str
) -> None:
    collection = await shelf.collection()
    first = await shelf.done(collection, "a.txt", "aaa")
    shelf.limits = limits
    shelf.restart()
    assert await refusal(shelf, collection, "b.txt", io.BytesIO(b"bbbb")) == code
    again, is_new = await shelf.library.add_file(collection, "b.txt", io.BytesIO(b"aaa"), OWNER)
    assert (again.id, is_new) == (first.id, False)


async def test_a_collection_that_went_takes_nothing(shelf: Shelf) -> None:
    collection = await shelf.collection()
    await shelf.store.collections.remove(collection.id)
    with pytest.raises(NotFoundError):
        await shelf.add(collection, "a.txt", "a")


async def test_originals_nobody_uses_go_after_the_grace(shelf: Shelf) -> None:
    collection = await shelf.collection()
    kept = await shelf.done(collection, "kept.txt", "kept")
    gone = await shelf.done(collection, "gone.txt", "gone")
    await shelf.library.remove(gone.id)
    shelf.clock.wind(days=400)  # files carry the machine's time; all are old now
    async with shelf.gate.upload():
        await shelf.ingestion.drain()
        assert await blobs(shelf) == {kept.sha256, gone.sha256}
    shelf.clock.wind(minutes=2)
    await shelf.ingestion.drain()
    assert await blobs(shelf) == {kept.sha256}


async def test_fresh_originals_stay_for_the_source_that_may_come(shelf: Shelf) -> None:
    sha256, _ = await shelf.store.blobs.put(io.BytesIO(b"under way"), 99)
    stored_at = dict(await shelf.store.blobs.list())[sha256]
    shelf.clock.wind(seconds=(stored_at - shelf.clock.now()).total_seconds() + 9 * 60)
    await shelf.store.jobs.put("sweep_blobs", "", shelf.clock.now())
    await shelf.ingestion.drain()
    assert await blobs(shelf) == {sha256}
    shelf.clock.wind(minutes=10)  # the next sweep, within 20 minutes in all
    await shelf.ingestion.drain()
    assert await blobs(shelf) == set()


async def test_what_a_killed_process_left_half_written_goes_without_a_restart(
    shelf: Shelf,
) -> None:
    folder = shelf.store.blobs.path("0" * 64).parents[1]
    left = folder / ".partial-of-a-killed-one"
    left.write_bytes(b"half a salary table")
    written_at = datetime.fromtimestamp(left.stat().st_mtime, UTC)
    for waited, is_left in ((timedelta(hours=23), True), (timedelta(hours=25), False)):
        shelf.clock.wind(seconds=(written_at + waited - shelf.clock.now()).total_seconds())
        await shelf.store.jobs.put("sweep_blobs", "", shelf.clock.now())
        await shelf.ingestion.drain()
        assert left.exists() is is_left


async def test_a_removed_collection_is_emptied_source_by_source(shelf: Shelf) -> None:
    collection = await shelf.collection()
    sources = [await shelf.done(collection, f"{n}.txt", f"特休 {n}") for n in range(3)]
    await shelf.store.collections.remove(collection.id)
    await shelf.ingestion.drain()
    assert await shelf.store.sources.list(collection.id) == []
    assert await shelf.vectors() == {}
    shelf.clock.wind(days=400)
    await shelf.ingestion.drain()
    assert await blobs(shelf) == set()
    assert await shelf.store.check() == ()
    assert all([await shelf.store.sources.find(each.id) is None for each in sources])


async def test_a_sweep_gets_its_turn_and_lets_uploads_wait() -> None:
    gate, ended = UploadGate(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(_upload(gate, ended))
        await asyncio.sleep(0)
        sweeping = tasks.create_task(_sweep(gate))
        await asyncio.sleep(0)
        later = tasks.create_task(_upload(gate))  # there is always another one
        assert not await _sweep(gate)  # one at a time
        assert [each.done() for each in (first, sweeping, later)] == [False] * 3
        ended.set()
    assert sweeping.result()
    async with gate.sweep() as is_alone, asyncio.TaskGroup() as tasks:
        assert is_alone
        given_up = tasks.create_task(_upload(gate))
        await asyncio.sleep(0)
        assert not given_up.done()
        given_up.cancel()
    await _upload(gate)
    hasty = UploadGate(turn_s=0.0)
    async with hasty.upload():
        assert not await _sweep(hasty)
    await _upload(hasty)


async def _sweep(gate: UploadGate) -> bool:
    async with gate.sweep() as is_alone:
        return is_alone


async def _upload(gate: UploadGate, until: asyncio.Event | None = None) -> None:
    async with gate.upload():
        if until is not None:
            await until.wait()


async def test_a_new_source_waits_for_its_turn(shelf: Shelf) -> None:
    source = await shelf.add(await shelf.collection(), "a.txt", "a")
    assert source.state is SourceState.QUEUED
    assert await shelf.ingestion.waiting() == {"ingest": 1}


@pytest.mark.parametrize(
    ("limits", "code", "places"),
    [
        (KnowledgeLimits(max_sources_per_collection=3), "quota_sources", 3),
        (KnowledgeLimits(max_collection_bytes=30), "quota_bytes", 3),
        (KnowledgeLimits(max_total_bytes=20), "quota_bytes", 2),
    ],
    ids=["sources", "bytes of the collection", "bytes in all"],
)
async def test_uploads_side_by_side_never_overdraw_and_what_is_refused_is_never_kept(
    shelf: Shelf, limits: KnowledgeLimits, code: str, places: int
) -> None:
    shelf.limits = limits
    shelf.restart()
    collection = await shelf.collection()

    async def one(n: int) -> str:
        stream = io.BytesIO(b"%010d" % (n // 2))  # each twice: doubles share their room
        try:
            _, is_new = await shelf.library.add_file(collection, f"{n}.txt", stream, OWNER)
        except GatewayError as error:
            return error.code
        return "added" if is_new else "existing"

    said = await asyncio.gather(*(one(n) for n in range(20)))
    assert sorted(said) == sorted(
        ["added"] * places + ["existing"] * places + [code] * (20 - 2 * places)
    )
    assert len(await blobs(shelf)) == places  # before any sweep
    source = (await shelf.store.sources.list(collection.id))[0]
    await shelf.library.remove(source.id)  # room that was given back is room again
    assert await one(99) == "added"


async def test_a_file_that_changes_while_it_is_taken_is_refused(shelf: Shelf) -> None:
    class Growing(io.BytesIO):
        def seek(self, *args: int) -> int:
            self.write(b"more")
            return super().seek(*args)

    collection = await shelf.collection()
    assert await refusal(shelf, collection, "log.txt", Growing(b"log")) == "invalid_request"
    assert await shelf.store.sources.list(collection.id) == []


async def test_no_quota_of_bytes_stands_before_a_page_that_was_not_fetched(shelf: Shelf) -> None:
    shelf.limits = KnowledgeLimits(max_sources_per_collection=2)
    shelf.restart()
    collection = await shelf.collection()
    pages = [f"https://a.example/{n}" for n in (1, 2)]
    for url in (*pages, pages[0]):
        await shelf.page(collection, url)
    with pytest.raises(GatewayError) as refused:
        await shelf.page(collection, "https://a.example/3")
    assert refused.value.code == "quota_sources"


PLAIN = Source(
    "s", "c", "手冊", SourceKind.FILE, "", 1, SourceState.READY, datetime(2026, 3, 2, tzinfo=UTC)
)


@pytest.mark.parametrize("language", ["zh-TW", "ja", "en"])
@pytest.mark.parametrize(
    "code",
    [
        "uncached_formula", "hidden_content_skipped", "pages_without_text", "garbled_text",
        "injection_wording", "ocr_text", "embedding_failed", "extract_unsandboxed",
    ],
)  # fmt: skip
def test_every_warning_is_a_sentence_with_its_pages_or_sheets(code: str, language: str) -> None:
    warnings = (SourceWarning(code, tuple(range(1, 31))), SourceWarning(code, (), "表一, 表二"))
    pages, sheets = source_view(replace(PLAIN, warnings=warnings), language).warnings
    assert pages.pages == tuple(range(1, 31))
    assert len(pages.message) > 10
    assert "{" not in pages.message
    if "20, …" in pages.message:  # where it names pages, it names as many as can be read
        assert "21" not in pages.message
        assert "表一, 表二" in sheets.message


def test_an_error_of_a_document_names_the_limit_it_broke() -> None:
    source = replace(PLAIN, state=SourceState.FAILED, error_code="too_many_chars")
    beside = Beside(KnowledgeLimits(max_source_chars=1_234), lambda _: (3, 9))
    view = source_view(source, "en", beside)
    assert view.error_message is not None
    assert "1234" in view.error_message
    assert view.progress is not None
    assert (view.progress.done, view.progress.of) == (3, 9)
