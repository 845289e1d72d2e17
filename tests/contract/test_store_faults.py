"""What may go wrong with files: broken, full, killed in mid-write, deleted text that lingers."""

import asyncio
import contextlib
import io
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.store import Store, open_store
from tests.contract.test_vectors import vectors_of
from tests.contract.world import IDS, World, citation
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def no_file_over(limit: int) -> Iterator[None]:
    """The file system refuses writes past `limit` bytes of a file, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["inbox.db", "knowledge/knowledge.db"])
@pytest.mark.parametrize(
    "content",
    [b"not a database" * 400, b"SQLite format 3\0" + b"\xff" * 8176],
    ids=["text", "header"],
)
async def test_a_broken_file_stops_the_start_with_its_name(
    home: Path, clock: WoundClock, name: str, content: bytes
) -> None:
    (home / "knowledge").mkdir(parents=True)
    (home / name).write_bytes(content)
    with pytest.raises(StoreError) as refused:
        async with open_store(home, clock, RealIds()):
            pass
    assert refused.value.code == "store_broken"
    assert Path(name).name in str(refused.value)
    assert (home / name).read_bytes() == content  # nobody "repaired" it


async def test_a_folder_that_cannot_be_written_is_unavailable(
    tmp_path: Path, clock: WoundClock
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError) as refused:
        async with open_store(tmp_path / "file", clock, RealIds()):
            pass
    assert refused.value.code == "store_unavailable"


async def test_damage_in_the_middle_is_reported(home: Path, clock: WoundClock) -> None:
    async with new_store(home, clock, RealIds()) as store:
        world = World(store, clock)
        await world.text(await world.collection(await world.account()), *["特休" * 200] * 160)
        assert await store.check() == ()
    file = home / "knowledge" / "knowledge.db"
    data = bytearray(file.read_bytes())
    for page in range(len(data) // 4096 * 2 // 3, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = b"\xa5" * 200
    file.write_bytes(data)
    async with open_store(home, clock, RealIds()) as store:
        found = await store.check()
    assert found
    assert all(each.startswith("knowledge.db: ") for each in found)


async def test_a_full_disk_is_named_and_nothing_acknowledged_is_lost(
    world: World, store: Store
) -> None:
    acknowledged: list[str] = []

    async def fill() -> None:
        for _ in range(1000):
            row_id = IDS.new()
            await store.inbox.put([(row_id, world.message("字" * 3000, chat=row_id))], 9)
            acknowledged.append(row_id)

    with no_file_over(400_000), pytest.raises(StoreError) as refused:
        await fill()
    assert refused.value.code == "store_full"
    assert acknowledged
    after = IDS.new()
    assert await store.inbox.put([(after, world.message(chat=after))], 9) == ["new"]
    now = world.clock.now()
    claimed = await store.inbox.claim("w", now + timedelta(hours=1), now, 2000)
    assert [each.id for each in claimed] == [*acknowledged, after]
    assert await store.check() == ()


async def test_a_revision_that_does_not_fit_leaves_the_old_one(world: World, store: Store) -> None:
    ken = await world.account("ken")
    source = await world.text(await world.collection(ken), "舊的特休")
    scope = await world.scope(ken)
    with no_file_over(600_000), pytest.raises(StoreError) as refused:
        await world.read(source, *[f"新的特休 {n} " + "字" * 500 for n in range(500)])
    assert refused.value.code == "store_full"
    assert [each.text for each in await world.found(scope, "特休")] == ["舊的特休"]
    assert await world.read(source, "新的特休")
    assert await store.check() == ()


async def test_an_original_that_does_not_fit_leaves_nothing(store: Store) -> None:
    with no_file_over(100_000), pytest.raises(StoreError) as refused:
        await store.blobs.put(io.BytesIO(os.urandom(200_000)), 1_000_000)
    assert refused.value.code == "store_full"
    folder = store.blobs.path("0" * 64).parents[1]
    assert [each for each in folder.rglob("*") if each.is_file()] == []


async def test_every_acknowledged_message_survives_a_kill(home: Path, clock: WoundClock) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.contract.endless_writer", str(home), cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    acknowledged = [(await child.stdout.readline()).decode().split() for _ in range(60)]
    os.kill(child.pid, signal.SIGKILL)
    rest = (await child.stdout.read()).decode()
    acknowledged += [line.split() for line in rest.splitlines() if len(line.split()) == 3]
    await child.wait()
    async with open_store(home, clock, RealIds()) as store:
        now = clock.now()
        claimed = await store.inbox.claim("w", now + timedelta(hours=1), now, 100_000)
        assert await store.check() == ()
    found = [each.id for each in claimed]
    assert {row_id for body in acknowledged for row_id in body} <= set(found)
    assert len(found) % 3 == 0  # each body whole or not at all


async def test_deleted_text_leaves_the_files(home: Path, clock: WoundClock) -> None:
    """SQLite 3.40 alone leaves index terms behind; the optimise job takes them out."""
    async with new_store(home, clock, RealIds()) as store:
        world = World(store, clock)
        ken = await world.account("ken")
        hr = await world.collection(ken)
        kept = await world.text(hr, *[f"keepsake{n} 保留的文字" for n in range(30)])
        words = [f"zq{n}secretword" for n in range(40)]
        gone = await world.text(hr, *[f"{word} 機密薪資{word}" for word in words], title="zqtitle")
        again = await world.text(hr, "zqoldrevision 舊版")
        await world.read(again, "newrevision 新版")
        [some] = await store.vectors.without_vectors("m", gone.id, 1)
        await store.vectors.put("m", [vectors_of(some, 0.123)])
        turn = world.turn(citations=[citation(gone, 1, "zqexcerpt")])
        await store.inbox.put([(turn.id, world.message("hello zqmessage"))], 9)
        await store.turns.record(turn)
        reply = world.call(turn.id, text="zqreply")
        await store.inbox.answered(turn.id, [reply], clock.now())
        probes = [*words, "機密薪資", "zqexcerpt", "zqreply", "zqoldrevision", "zqmessage"]
        assert on_disk(home, probes) == set(probes)  # the test would see them
        for each in (gone, again):  # its old revision was still to be read by address
            await store.sources.remove(each.id, clock.now())
        assert on_disk(home, probes)
        assert await store.maintenance.optimize()
        assert on_disk(home, probes) == set()
        assert not any(vectors_of(some, 0.123).vectors.tobytes() in data for data in contents(home))
        assert len(await world.found(await world.scope(ken), "保留", 99)) == 30
        assert await store.sources.find(kept.id)
        assert await store.check() == ()


def contents(home: Path) -> list[bytes]:
    return [each.read_bytes() for each in home.rglob("*") if each.is_file()]


def on_disk(home: Path, probes: list[str]) -> set[str]:
    files = contents(home)
    return {each for each in probes if any(each.encode() in data for data in files)}


async def test_another_tokeniser_rebuilds_the_index_at_the_start(
    home: Path, clock: WoundClock
) -> None:
    async with new_store(home, clock, RealIds()) as store:
        world = World(store, clock)
        ken = await world.account("ken")
        hr = await world.collection(ken)
        source = await world.text(hr, "特休七日", "病假")
    with contextlib.closing(sqlite3.connect(home / "knowledge" / "knowledge.db")) as file, file:
        file.execute("UPDATE passages SET tokeniser = 0")
        file.execute("INSERT INTO passage_index(passage_index) VALUES ('delete-all')")
        file.execute("INSERT INTO passage_index(rowid, tokens) VALUES (4294967297, 'oldtoken')")
    async with open_store(home, clock, RealIds()) as store:
        world = World(store, clock)
        scope = await world.scope(ken)
        assert [each.text for each in await world.found(scope, "特休")] == ["特休七日"]
        assert (await store.passages.lexical(scope, ["oldtoken"], 9)).hits == ()
        assert await store.check() == ()
        await store.sources.remove(source.id, clock.now())
        assert await store.check() == ()
        assert await store.maintenance.reindex() is False
