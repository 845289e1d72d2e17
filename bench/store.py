"""Time the store: durable messages a second, and the storage work of one turn.

Usage: python -m bench.store [--passages N] [--seconds S] [--folder DIR]

Each figure stands beside bare sqlite3 doing the same statements on the same disk, round by round
in turn, so that the ratio means something on a busy machine. DIR should be on the disk that counts.
"""

import argparse
import asyncio
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gateway.core.access import AccountRole
from gateway.core.matching import query_terms
from gateway.core.passages import Passage
from gateway.core.scope import Scope
from gateway.core.turns import TurnCitation
from gateway.store import open_store
from tests.contract.world import IDS, World
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

T = TypeVar("T")

BODIES_AT_ONCE = 32
ROUNDS = 5
LANE_LIMIT = 20
TURNS = 60
TERMS = 15
PASSAGE_CHARS = 450
FIRST_LETTER, LETTERS = 0x4E00, 3000  # pairs as rare as in real text: weights fall like 1/n
WEIGHTS = [1 / (n + 10) for n in range(LETTERS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        asyncio.run(measure(Path(folder), options.passages, options.seconds))


async def measure(folder: Path, passages: int, seconds: float) -> None:
    clock = WoundClock()
    async with open_store(folder / "home", clock, RealIds()) as store:
        world = World(store, clock)
        await measure_inbox(world, folder, seconds)
        await measure_turns(world, folder, passages)


# ---------------------------------------------------------------- messages


async def measure_inbox(world: World, folder: Path, seconds: float) -> None:
    ours, alone, ideal = [], [], []
    for _ in range(ROUNDS):
        ours.append(await stored_a_second(world, seconds))
        alone.append(bare_a_second(folder / "bare.db", seconds, 1))
        ideal.append(bare_a_second(folder / "bare.db", seconds, BODIES_AT_ONCE))
    print(f"inbox, {BODIES_AT_ONCE} bodies at once, synchronous FULL, one event a body")
    print(f"  store                        {statistics.median(ours):8.0f} events/s")
    print(f"  sqlite3, a commit an event   {statistics.median(alone):8.0f}   {ratio(ours, alone)}")
    print(f"  sqlite3, 32 events a commit  {statistics.median(ideal):8.0f}   {ratio(ours, ideal)}")


async def stored_a_second(world: World, seconds: float) -> float:
    end, count = time.perf_counter() + seconds, 0

    async def deliver() -> None:
        nonlocal count
        while time.perf_counter() < end:
            message = world.message("到職滿一年的特休有幾天？", chat=IDS.new())
            await world.store.inbox.put([(IDS.new(), message)], LANE_LIMIT)
            count += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(BODIES_AT_ONCE):
            group.create_task(deliver())
    return count / seconds


def bare_a_second(file: Path, seconds: float, events: int) -> float:
    """The same four statements an event, nothing else."""
    with closing(sqlite3.connect(file, isolation_level=None)) as bare:
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY)")
        bare.execute("CREATE TABLE IF NOT EXISTS rows (id TEXT UNIQUE, lane TEXT, payload BLOB)")
        bare.execute("CREATE INDEX IF NOT EXISTS lanes ON rows (lane)")
        end, count = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            bare.execute("BEGIN IMMEDIATE")
            for _ in range(events):
                key = IDS.new()
                bare.execute("INSERT OR IGNORE INTO seen VALUES (?)", ("d" + key,))
                bare.execute("INSERT OR IGNORE INTO seen VALUES (?)", ("m" + key,))
                bare.execute("SELECT count(*) FROM rows WHERE lane = ?", (key,)).fetchone()
                bare.execute("INSERT INTO rows VALUES (?, ?, ?)", (key, key, b"x" * 500))
            bare.execute("COMMIT")
            count += events
    return count / seconds


# ---------------------------------------------------------------- turns


async def measure_turns(world: World, folder: Path, passages: int) -> None:
    boss = await world.account("boss", AccountRole.ADMIN)
    started = time.perf_counter()
    await fill(world, passages)
    print(f"turn, {passages} passages (written in {time.perf_counter() - started:.1f} s)")
    ken = await world.account("ken")
    await world.text(await world.collection(ken), "別的文件")
    database, scratch = folder / "home" / "knowledge" / "knowledge.db", folder / "bare.db"
    steps: dict[str, list[float]] = {}
    whole: list[float] = []
    bare: list[float] = []
    scope = await world.scope(boss)
    with closing(sqlite3.connect(database)) as file, closing(sqlite3.connect(scratch)) as other:
        for _ in range(TURNS):
            question = passage_text()[: TERMS + 1]
            whole.append(await one_turn(world, scope, question, steps))
            bare.append(bare_turn(file, other, question))
    for name, times in steps.items():
        print(f"  {name:28} {statistics.median(times):8.2f} ms p50")
    print(f"  {'all of it':28} {statistics.median(whole):8.2f} ms p50")
    print(f"  {'sqlite3, same work':28} {statistics.median(bare):8.2f}   {ratio(whole, bare)}")


async def fill(world: World, passages: int) -> None:
    boss = await world.store.accounts.find_by_login("boss")
    assert boss is not None
    for number in range(10):
        collection = await world.collection(boss, f"c{number}")
        for _ in range(max(1, passages // 1000)):
            await world.text(collection, *(passage_text() for _ in range(100)))


def passage_text() -> str:
    drawn = random.choices(range(LETTERS), WEIGHTS, k=PASSAGE_CHARS)
    return "".join(chr(FIRST_LETTER + each) for each in drawn)


async def one_turn(
    world: World, scope: Scope, question: str, steps: dict[str, list[float]]
) -> float:
    """What the turn asks of the store; milliseconds."""
    store, turn = world.store, world.turn()
    await store.inbox.put([(turn.id, world.message(question, chat=turn.id))], LANE_LIMIT)
    terms = query_terms(question).terms
    started = time.perf_counter()

    async def timed(name: str, work: Awaitable[T]) -> T:
        before = time.perf_counter()
        result = await work
        steps.setdefault(name, []).append((time.perf_counter() - before) * 1000)
        return result

    await timed("facts", store.grants.facts(scope.audience, None, everything=True))
    await timed("recent", store.turns.recent("hana", turn.conversation, 10))
    hits = await timed("lexical", store.passages.lexical(scope, terms, 50))
    found = await timed("load 50", store.passages.load(scope, [hit[0] for hit in hits.hits]))
    record = replace(turn, citations=tuple(map(cited, range(1, 6), found[:5])))
    await timed("record", store.turns.record(record))
    call = world.call(turn.id)
    await timed("answered (FULL)", store.inbox.answered(turn.id, [call], world.clock.now()))
    took = (time.perf_counter() - started) * 1000
    await store.outbox.sent(call.id, world.clock.now())
    return took


def cited(n: int, passage: Passage) -> TurnCitation:
    return TurnCitation(
        n,
        passage.id,
        passage.source_id,
        passage.collection_id,
        passage.title,
        passage.locator.label(),
        passage.text[:40],
        is_cited=True,
    )


def bare_turn(knowledge: sqlite3.Connection, scratch: sqlite3.Connection, question: str) -> float:
    """The same work without scope, threads or types; milliseconds."""
    terms = query_terms(question).terms
    match = " OR ".join(f'"{term}"' for term in terms)
    marks = ",".join("?" * len(terms))
    started = time.perf_counter()
    knowledge.execute("SELECT * FROM collections JOIN grants ON id = collection_id").fetchall()
    knowledge.execute("SELECT * FROM turns ORDER BY id DESC LIMIT 30").fetchall()
    ids = knowledge.execute(
        "SELECT rowid FROM passage_index WHERE passage_index MATCH ? "
        "ORDER BY bm25(passage_index) LIMIT 50",
        (match,),
    ).fetchall()
    knowledge.execute(f"SELECT * FROM passage_terms WHERE term IN ({marks})", terms).fetchall()
    for each in ids:
        knowledge.execute("SELECT * FROM passages WHERE id = ?", each).fetchone()
    for synchronous in ("NORMAL", "FULL"):  # the record, then the answer
        scratch.execute(f"PRAGMA synchronous = {synchronous}")
        with scratch:
            scratch.execute("INSERT INTO rows VALUES (?, '', ?)", (IDS.new(), b"x" * 1000))
    return (time.perf_counter() - started) * 1000


def ratio(ours: list[float], others: list[float]) -> str:
    rounds = [a / b for a, b in zip(ours, others, strict=True)]
    return f"store / sqlite3 = {statistics.median(rounds):.2f}"


if __name__ == "__main__":
    main()
