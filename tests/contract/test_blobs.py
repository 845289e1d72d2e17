"""Originals: named by hash, whole or not there, capped while they stream."""

import asyncio
import hashlib
import io
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.errors import InvalidRequestError
from gateway.store import Store, open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import Shelf
from tests.stores import lay_databases

ROOT = Path(__file__).parent.parent.parent
EVERY = "1" if os.environ.get("SHUTTEN_PROVE") else "3"  # step is died at


def left_behind(store: Store) -> list[Path]:
    folder = store.blobs.path("0" * 64).parents[1]
    return sorted(each for each in folder.rglob("*") if each.is_file())


async def test_the_same_bytes_at_once_are_one_file(store: Store) -> None:
    data = os.urandom(3_000_000)
    puts = await asyncio.gather(*(store.blobs.put(io.BytesIO(data), 3_000_000) for _ in range(5)))
    sha256 = hashlib.sha256(data).hexdigest()
    assert set(puts) == {(sha256, len(data))}
    path = store.blobs.path(sha256)
    assert path.read_bytes() == data
    assert left_behind(store) == [path]
    assert path.stat().st_mode & 0o077 == 0
    os.utime(path, (0, 0))
    assert await store.blobs.list() == [(sha256, datetime.fromtimestamp(0, UTC))]
    await store.blobs.put(io.BytesIO(data), 3_000_000)
    [(_, put_at)] = await store.blobs.list()
    assert put_at.year > 2000  # an upload again starts the grace of the sweep again
    await store.blobs.remove(sha256)
    await store.blobs.remove(sha256)
    assert await store.blobs.list() == []


async def test_too_large_leaves_nothing_behind(store: Store) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await store.blobs.put(io.BytesIO(b"x" * 1_000_001), 1_000_000)
    assert (refused.value.code, refused.value.params) == ("too_large", {"limit_mb": 1})
    assert left_behind(store) == []


@pytest.mark.parametrize("name", ["../../inbox.db", "a" * 63, "A" * 64, "", "/" + "a" * 63])
async def test_only_a_hash_is_a_name(store: Store, name: str) -> None:
    with pytest.raises(InvalidRequestError):
        store.blobs.path(name)
    with pytest.raises(InvalidRequestError):
        await store.blobs.remove(name)


async def test_a_kill_at_any_step_leaves_no_source_without_its_original(
    home: Path, clock: WoundClock
) -> None:
    await lay_databases(home)
    command = [sys.executable, "-m", "tests.contract.killed_blobs", str(home), EVERY]
    child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    said = (await child.communicate())[0].decode().split()
    ends = [each for each in said if each.lstrip("-").isdigit()]
    assert ends[-1] == "0"
    assert set(ends[:-1]) == {"-9"}
    assert len(ends) > 25 // int(EVERY), "steps of putting three times, and of a sweep"
    clock.wind(days=4_001)  # no claim of the dead holds any more
    async with open_store(home, clock, RealIds()) as store:
        used = await store.sources.originals()
        there = {sha256: store.blobs.path(sha256) for sha256, _ in await store.blobs.list()}
        assert used <= there.keys()
        assert all(hashlib.sha256(there[each].read_bytes()).hexdigest() == each for each in used)
        shelf = Shelf(store, clock)
        await store.jobs.put("sweep_blobs", "", clock.now())
        await shelf.ingestion.drain()
        assert left_behind(store) == sorted(store.blobs.path(each) for each in used)
        assert await store.check() == ()
