"""The writer's thread: savepoints, group commit, and a life after every kind of failure."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection

from gateway.errors import ConflictError, StoreError
from gateway.store.database import Database
from gateway.store.statements import raw

READ = "SELECT account FROM dedupe ORDER BY account"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / "inbox.db", "inbox", "FULL")
    yield opened
    await opened.close()


def insert(name: str, then: Callable[[], object] = lambda: None) -> Callable[[Connection], str]:
    def unit(connection: Connection) -> str:
        raw(connection).execute("INSERT INTO dedupe (account, key, at) VALUES (?, '', 0)", (name,))
        then()
        return name

    return unit


def rows(database: Database) -> list[str]:
    """As another process sees them: only what is committed."""
    with contextlib.closing(sqlite3.connect(database.path)) as file:
        return [row[0] for row in file.execute(READ)]


async def in_one_batch(database: Database, *units: Callable[[Connection], str]) -> list[object]:
    """Results of units that wait together while the writer is held up."""
    gate = threading.Event()
    held = asyncio.ensure_future(database.alone(lambda _: gate.wait(10)))
    waiting = [asyncio.ensure_future(database.write(unit)) for unit in units]
    await asyncio.sleep(0)
    gate.set()
    await held
    return list(await asyncio.gather(*waiting, return_exceptions=True))


def fail() -> None:
    raise ValueError("a bug in the unit")


async def test_a_failing_unit_takes_only_its_own_writes_back(database: Database) -> None:
    a, bad, twice, c = await in_one_batch(
        database, insert("a"), insert("bad", fail), insert("a"), insert("c")
    )
    assert (a, c) == ("a", "c")
    assert isinstance(bad, ValueError)
    assert isinstance(twice, ConflictError)
    assert rows(database) == ["a", "c"]


async def test_nothing_is_acknowledged_before_it_is_committed(database: Database) -> None:
    seen: list[list[str]] = []
    units = [insert(f"{n:03}", lambda: seen.append(rows(database))) for n in range(3)]
    await in_one_batch(database, *units)
    assert seen == [[], [], []]  # one transaction for the three of them
    assert rows(database) == ["000", "001", "002"]


async def test_a_batch_has_an_end(database: Database) -> None:
    seen: list[int] = []
    units = [insert(f"{n:03}", lambda: seen.append(len(rows(database)))) for n in range(250)]
    await in_one_batch(database, *units)
    assert max(seen) >= 100  # those after the hundredth saw it committed
    assert len(rows(database)) == 250


async def test_a_full_database_fails_the_one_that_does_not_fit(database: Database) -> None:
    pages = await database.alone(lambda c: raw(c).execute("PRAGMA page_count").fetchone()[0])
    await database.alone(lambda c: raw(c).execute(f"PRAGMA max_page_count = {pages + 2}"))
    small, big, last = await in_one_batch(database, insert("a"), insert("x" * 99_999), insert("z"))
    assert isinstance(big, StoreError)
    assert big.code == "store_full"
    assert (small, last) == ("a", "z")
    assert rows(database) == ["a", "z"]
    await database.alone(lambda c: raw(c).execute("PRAGMA max_page_count = 99999"))
    assert await database.write(insert("y" * 99_999))


async def test_a_locked_database_is_unavailable_and_then_well(database: Database) -> None:
    await database.alone(lambda c: raw(c).execute("PRAGMA busy_timeout = 10"))
    with contextlib.closing(sqlite3.connect(database.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as refused:
            await database.write(insert("a"))
        assert refused.value.code == "store_unavailable"
        assert await database.read(lambda c: raw(c).execute(READ).fetchall()) == []
    assert await database.write(insert("a")) == "a"


async def test_who_is_cancelled_harms_nobody(database: Database) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await database.write(insert("a"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await database.read(lambda c: raw(c).execute(READ).fetchall())
    assert await database.write(insert("b")) == "b"
    assert "b" in rows(database)


async def test_readers_see_one_snapshot_and_cannot_write(database: Database) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[object, object]:
        first = raw(connection).execute(READ).fetchall()
        entered.set()
        go_on.wait(10)
        return first, raw(connection).execute(READ).fetchall()

    reading = asyncio.ensure_future(database.read(twice))
    await asyncio.to_thread(entered.wait, 10)
    await database.write(insert("a"))
    go_on.set()
    assert await reading == ([], [])
    assert await database.read(lambda c: raw(c).execute(READ).fetchall()) == [("a",)]
    with pytest.raises(StoreError):
        await database.read(insert("b"))


async def test_closing_finishes_what_was_queued_and_refuses_the_rest(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "inbox.db", "inbox", "FULL")
    queued = [asyncio.ensure_future(database.write(insert(f"{n}"))) for n in range(5)]
    await asyncio.sleep(0)
    await database.close()
    assert await asyncio.gather(*queued) == ["0", "1", "2", "3", "4"]
    assert rows(database) == ["0", "1", "2", "3", "4"]
    for call in (database.write, database.read, database.alone):
        with pytest.raises(StoreError):
            await call(insert("late"))
