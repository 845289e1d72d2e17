"""Whose turn it is, without a process: failed starts, cancelled callers and closing."""

import asyncio
from typing import cast

import pytest

from models.pool import BACKLOG, WorkerPool
from models.worker_process import WorkerLost, WorkerProcess


class IdleWorker:
    """Stands for a process that is never asked anything."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.is_surplus = False
        self.is_running = True

    def dismiss(self) -> None:
        self.is_running = False

    kill = dismiss

    async def ended(self) -> None:
        assert not self.is_running


class Starter:
    """Starts workers when the test says so; the first `failures` starts fail."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.count = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> WorkerProcess:
        await self.gate.wait()
        self.count += 1
        if self.count <= self.failures:
            raise WorkerLost("did not load")
        return cast(WorkerProcess, IdleWorker(self.count))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_failed_start_is_told_and_the_next_caller_tries() -> None:
    pool = WorkerPool(Starter(failures=1), most=1, idle_s=60)
    first, second = await asyncio.gather(
        pool.take(is_urgent=False), pool.take(is_urgent=False), return_exceptions=True
    )
    assert isinstance(first, WorkerLost)
    assert isinstance(second, IdleWorker)
    await pool.close()


async def test_urgent_callers_pass_and_each_kind_keeps_its_order() -> None:
    pool = WorkerPool(Starter(), most=1, idle_s=60)
    order: list[str] = []
    all_wait = asyncio.Event()

    async def turn(name: str, *, is_urgent: bool) -> None:
        worker = await pool.take(is_urgent=is_urgent)
        order.append(name)
        await all_wait.wait()
        pool.give(worker)

    async with asyncio.TaskGroup() as tasks:
        for name in ("p1", "p2", "p3"):
            tasks.create_task(turn(name, is_urgent=False))
        await settle()
        for name in ("q1", "q2"):
            tasks.create_task(turn(name, is_urgent=True))
        await settle()
        all_wait.set()
    assert order == ["p1", "q1", "q2", "p2", "p3"]
    await pool.close()


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_a_cancelled_caller_passes_its_turn_on(cancelled: int) -> None:
    pool = WorkerPool(Starter(), most=1, idle_s=60)
    held = await pool.take(is_urgent=False)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(pool.take(is_urgent=True)) for _ in range(3)]
        await settle()
        pool.give(held)  # wakes the first, which may be cancelled before it runs
        waiting[cancelled].cancel()
        for _ in range(2):
            await settle()
            for task in waiting:
                if task.done() and not task.cancelled():
                    pool.give(task.result())
    assert sum(task.cancelled() for task in waiting) == 1
    await pool.close()


async def test_a_cancelled_start_lets_the_next_one_start() -> None:
    starter = Starter()
    starter.gate.clear()
    pool = WorkerPool(starter, most=1, idle_s=60)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(pool.take(is_urgent=True))
        await settle()
        second = tasks.create_task(pool.take(is_urgent=False))
        await settle()
        first.cancel()
        await settle()
        starter.gate.set()
    assert first.cancelled()
    assert second.result().pid == 1
    await pool.close()


@pytest.mark.parametrize(("waiting", "workers"), [(BACKLOG - 2, 1), (BACKLOG + 8, 2)])
async def test_only_a_backlog_of_passages_brings_a_second_worker(
    waiting: int, workers: int
) -> None:
    pool = WorkerPool(Starter(), most=2, idle_s=60)
    seen: set[int] = set()

    async def turn() -> None:
        worker = await pool.take(is_urgent=False)
        seen.add(worker.pid)
        await settle()
        pool.give(worker)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(waiting):
            tasks.create_task(turn())
    assert len(seen) == workers
    await pool.close()


async def test_closing_ends_every_wait() -> None:
    starter = Starter()
    pool = WorkerPool(starter, most=1, idle_s=60)
    held = await pool.take(is_urgent=False)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_lost(pool))
        await settle()
        await pool.close()
    assert waiting.result()
    assert not held.is_running
    assert await _lost(pool)
    assert not pool.pids


async def test_a_worker_that_starts_after_closing_is_let_go() -> None:
    starter = Starter()
    starter.gate.clear()
    pool = WorkerPool(starter, most=1, idle_s=60)
    async with asyncio.TaskGroup() as tasks:
        late = tasks.create_task(_lost(pool))
        await settle()
        await pool.close()
        starter.gate.set()
    assert late.result()
    assert not pool.pids


async def _lost(pool: WorkerPool) -> bool:
    try:
        await pool.take(is_urgent=True)
    except WorkerLost:
        return True
    return False
