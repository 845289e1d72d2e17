"""Pictures of pages: drawn once, kept within a bound, gone with their originals."""

import asyncio
import io
import os
from pathlib import Path

import pymupdf
import pytest

from gateway.core.access import Collection
from gateway.core.limits import KnowledgeLimits
from gateway.errors import NotFoundError
from gateway.extract.page_renderer import Lane, PageRenderer
from gateway.knowledge.page_images import KeptPageImages, Key, Renderer
from gateway.store import Store
from gateway.store.picture_folder import PictureFolder
from tests.fakes.page_renderer import FakeRenderer
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import Shelf

MEGABYTE = 1024 * 1024


class Counting:
    """A renderer, and how often it was asked."""

    def __init__(self, inner: Renderer) -> None:
        self.inner = inner
        self.asked: list[tuple[int, int]] = []
        self.at_work = asyncio.Event()
        self.before_it_begins = asyncio.Event()
        self.before_it_begins.set()
        self.before_it_ends = asyncio.Event()
        self.before_it_ends.set()

    async def count(self, path: Path) -> int:
        self.asked.append((0, 0))
        return await self.inner.count(path)

    async def draw(self, path: Path, page: int, dpi: int) -> bytes:
        self.asked.append((page, dpi))
        await self.before_it_begins.wait()
        drawn = await self.inner.draw(path, page, dpi)
        self.at_work.set()
        await self.before_it_ends.wait()
        return drawn


class Watched(PictureFolder):
    """Tells of each look for a kept picture, once it is over."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, MEGABYTE)
        self.looks: asyncio.Queue[Key] = asyncio.Queue()

    async def find(self, key: Key) -> bytes | None:
        found = await super().find(key)
        self.looks.put_nowait(key)
        return found


@pytest.fixture
def renderer() -> Counting:
    return Counting(FakeRenderer())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "knowledge" / "pages"


@pytest.fixture
def images(store: Store, renderer: Counting, folder: Path) -> KeptPageImages:
    return KeptPageImages(store.blobs, renderer, PictureFolder(folder, MEGABYTE))


@pytest.fixture
def shelf(store: Store, clock: WoundClock, images: KeptPageImages) -> Shelf:
    return Shelf(store, clock, keep_only=images.keep_only)


def pdf(pages: int, mark: str = "") -> bytes:
    return f"pages: {pages}\n{mark}".encode()


def real_pdf(pages: int) -> bytes:
    made = pymupdf.open()
    for page in range(1, pages + 1):
        made.new_page(width=120, height=80).insert_text((10, 40), str(page))
    return bytes(made.tobytes())


async def kept(store: Store, data: bytes) -> str:
    sha256, _ = await store.blobs.put(io.BytesIO(data), 10**8)
    return sha256


def files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file())


def folders(folder: Path) -> list[Path]:
    return [folder, *(each for each in folder.rglob("*") if each.is_dir())]


async def test_a_page_is_drawn_once(
    store: Store, images: KeptPageImages, renderer: Counting, folder: Path
) -> None:
    sha256 = await kept(store, pdf(3))
    assert await images.count(sha256) == await images.count(sha256) == 3
    first = await images.png(sha256, 2)
    assert await images.png(sha256, 2) == first
    assert await images.png(sha256, 3) != first
    assert await images.png(sha256, 2, dpi=72) != first
    assert await images.png(sha256, 2, dpi=10_000) == await images.png(sha256, 2, dpi=200)
    assert renderer.asked == [(0, 0), (2, 144), (3, 144), (2, 72), (2, 200)]
    assert {each.stat().st_mode & 0o777 for each in files(folder)} == {0o600}
    assert {each.stat().st_mode & 0o777 for each in folders(folder)} == {0o700}
    later = KeptPageImages(store.blobs, renderer, PictureFolder(folder, MEGABYTE))
    assert await later.png(sha256, 2) == first  # after a restart, too
    assert len(renderer.asked) == 5


@pytest.mark.parametrize("page", [0, -1, 4, 10**12])
async def test_a_page_that_is_not_there(store: Store, images: KeptPageImages, page: int) -> None:
    sha256 = await kept(store, pdf(3))
    for _ in range(2):  # the second time the count is known
        with pytest.raises(NotFoundError):
            await images.png(sha256, page)
        await images.count(sha256)


@pytest.mark.parametrize("name", ["", "0" * 64, "../../inbox.db", "A" * 64])
async def test_an_original_that_is_not_there(images: KeptPageImages, name: str) -> None:
    with pytest.raises(NotFoundError):
        await images.png(name, 1)
    with pytest.raises(NotFoundError):
        await images.count(name)
    await images.forget(name)


async def test_a_hundred_at_once_for_the_same_page_are_one_drawing(
    store: Store, images: KeptPageImages, renderer: Counting
) -> None:
    sha256 = await kept(store, pdf(1))
    found = await asyncio.gather(*(images.png(sha256, 1) for _ in range(100)))
    assert len(set(found)) == 1
    counted = await asyncio.gather(*(images.count(sha256) for _ in range(100)))
    assert set(counted) == {1}
    assert renderer.asked == [(1, 144), (0, 0)]


async def test_a_hundred_at_once_for_different_pages_are_drawn_or_told_to_wait(
    store: Store, folder: Path
) -> None:
    real = PageRenderer(KnowledgeLimits(), lane=Lane(most_waiting=19))
    images = KeptPageImages(store.blobs, real, PictureFolder(folder, MEGABYTE))
    sha256 = await kept(store, real_pdf(100))
    asked = (images.png(sha256, page, dpi=36) for page in range(1, 101))
    found = await asyncio.gather(*asked, return_exceptions=True)
    drawn = {each for each in found if isinstance(each, bytes)}
    refused = [getattr(each, "code", each) for each in found if not isinstance(each, bytes)]
    assert len(drawn) == 20  # one at work, the others waiting
    assert refused == ["pages_busy"] * 80
    assert await images.png(sha256, 100, dpi=36)  # the queue is empty again
    await real.close()


async def test_who_stops_waiting_stops_nobody_else(
    store: Store, images: KeptPageImages, renderer: Counting
) -> None:
    sha256 = await kept(store, pdf(1))
    renderer.before_it_ends.clear()
    async with asyncio.TaskGroup() as group:
        first, second = [group.create_task(images.png(sha256, 1)) for _ in range(2)]
        await renderer.at_work.wait()
        first.cancel()
        renderer.before_it_ends.set()
    assert first.cancelled()
    assert second.result().startswith(b"\x89PNG")


async def test_a_failure_is_everyones_and_is_tried_again(
    store: Store, renderer: Counting, folder: Path
) -> None:
    watched = Watched(folder)
    images = KeptPageImages(store.blobs, renderer, watched)
    sha256 = await kept(store, b"broken")
    for _ in range(2):
        renderer.before_it_begins.clear()
        asked = asyncio.gather(*(images.png(sha256, 1) for _ in range(3)), return_exceptions=True)
        for _ in range(3):
            await watched.looks.get()
        renderer.before_it_begins.set()
        found = await asked
        assert [getattr(each, "code", each) for each in found] == ["extract_crashed"] * 3
    assert len(renderer.asked) == 2


# ---------------------------------------------------------------- deleted is deleted


async def added(shelf: Shelf, data: bytes) -> tuple[Collection, str, str]:
    collection = await shelf.collection()
    source = await shelf.add(collection, "手冊.pdf", data)
    return collection, source.id, source.sha256


async def test_pictures_go_with_the_source_and_before_its_original(
    shelf: Shelf, store: Store, images: KeptPageImages, folder: Path, clock: WoundClock
) -> None:
    _, source_id, sha256 = await added(shelf, pdf(2))
    _, other_id, other = await added(shelf, pdf(2, "other"))
    for page in (1, 2):
        await images.png(sha256, page)
        await images.png(other, page)
    await shelf.ingestion.drain()
    assert len(files(folder)) == 4
    await shelf.library.remove(source_id)
    await shelf.ingestion.drain()
    assert [each.parent.name for each in files(folder)] == [other] * 2
    assert store.blobs.path(sha256).is_file()  # it has its ten minutes
    await shelf.library.remove(other_id)
    os.utime(store.blobs.path(sha256), (0, 0))
    os.utime(store.blobs.path(other), (0, 0))
    clock.wind(minutes=20)
    await shelf.ingestion.drain()
    assert files(folder) == []
    assert [each for each in folders(folder) if len(each.name) == 64] == []
    with pytest.raises(NotFoundError):
        await images.png(sha256, 1)
    with pytest.raises(NotFoundError):
        await images.count(sha256)


async def test_an_original_that_another_source_has_keeps_its_pictures(
    shelf: Shelf, images: KeptPageImages, folder: Path
) -> None:
    _, one, sha256 = await added(shelf, pdf(1))
    await added(shelf, pdf(1))
    await images.png(sha256, 1)
    await shelf.library.remove(one)
    await shelf.ingestion.drain()
    assert len(files(folder)) == 1


async def test_a_removed_collection_takes_its_pictures_along(
    shelf: Shelf, store: Store, images: KeptPageImages, folder: Path
) -> None:
    collection, _, sha256 = await added(shelf, pdf(1))
    await images.png(sha256, 1)
    await store.collections.remove(collection.id, version=collection.version)
    await shelf.ingestion.drain()
    assert files(folder) == []


async def test_a_start_removes_what_a_dead_process_left(
    shelf: Shelf, store: Store, renderer: Counting, folder: Path
) -> None:
    _, _, used = await added(shelf, pdf(1))
    before = KeptPageImages(store.blobs, renderer, PictureFolder(folder, MEGABYTE))
    lost = await kept(store, pdf(1, "lost"))
    await before.png(used, 1)
    await before.png(lost, 1)
    (folder / ".partial-x").write_bytes(b"half")
    await store.blobs.remove(lost)
    await store.jobs.put("sweep_blobs", "", shelf.clock.now())
    await shelf.ingestion.drain()
    assert [each.parent.name for each in files(folder)] == [used]


async def test_nothing_is_kept_or_given_of_what_went_while_it_was_drawn(
    store: Store, images: KeptPageImages, renderer: Counting, folder: Path
) -> None:
    sha256 = await kept(store, pdf(1))
    renderer.before_it_ends.clear()
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(refused(images, sha256))
        await renderer.at_work.wait()
        await store.blobs.remove(sha256)
        await images.forget(sha256)
        renderer.before_it_ends.set()
    assert asked.result()
    assert files(folder) == []


async def refused(images: KeptPageImages, sha256: str) -> bool:
    with pytest.raises(NotFoundError):
        await images.png(sha256, 1)
    return True


# ---------------------------------------------------------------- bounds of the folder


async def test_what_was_not_looked_at_for_longest_makes_room(tmp_path: Path) -> None:
    pictures = PictureFolder(tmp_path / "pages", 1_000)
    keys = [(f"{number:064x}", 144, 1) for number in range(5)]
    for key in keys[:4]:
        await pictures.put(key, bytes(250))
    assert await pictures.find(keys[0]) == bytes(250)  # looked at again
    await pictures.put(keys[4], bytes(250))
    assert [await pictures.find(key) is not None for key in keys] == [True, False, True, True, True]
    await pictures.put(keys[1], bytes(1_001))  # never fits, and pushes nothing out
    assert sum(each.stat().st_size for each in files(tmp_path / "pages")) == 1_000
    await pictures.put(keys[4], bytes(10))  # a shorter one in its place
    assert sum(each.stat().st_size for each in files(tmp_path / "pages")) == 760
    for number, key in enumerate(keys):
        for path in (tmp_path / "pages").glob(f"*/{key[0]}/*"):
            os.utime(path, (number, number))
    smaller = PictureFolder(tmp_path / "pages", 300)  # the setting was lowered
    assert await smaller.originals() == {keys[3][0], keys[4][0]}
    assert sum(each.stat().st_size for each in files(tmp_path / "pages")) == 260


async def test_no_room_at_all_is_no_error(store: Store, renderer: Counting, folder: Path) -> None:
    images = KeptPageImages(store.blobs, renderer, PictureFolder(folder, 0))
    sha256 = await kept(store, pdf(1))
    assert await images.png(sha256, 1) == await images.png(sha256, 1)
    assert len(renderer.asked) == 2
    assert files(folder) == []


async def test_a_folder_that_takes_nothing_is_no_error(tmp_path: Path) -> None:
    pictures = PictureFolder(tmp_path / "pages", 1_000)
    assert await pictures.find(("a" * 64, 144, 1)) is None
    (tmp_path / "pages" / "aa").write_bytes(b"in the way")
    await pictures.put(("a" * 64, 144, 1), b"png")
    assert await pictures.find(("a" * 64, 144, 1)) is None
    assert await pictures.originals() == frozenset()
    await pictures.put(("b" * 64, 144, 1), b"png")
    (path,) = (tmp_path / "pages" / "bb").rglob("*.png")
    path.unlink()  # by somebody else
    assert await pictures.find(("b" * 64, 144, 1)) is None
