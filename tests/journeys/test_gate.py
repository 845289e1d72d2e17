"""What is worked on side by side: bounded, in order, and after what a platform waits for."""

import asyncio

import pytest

from gateway.gate import PATIENCE_S, Gate, Urgency


async def test_so_many_at_a_time_first_come_first_served() -> None:
    gate, inside, most, order = Gate(3), 0, 0, list[int]()

    async def work(n: int) -> None:
        nonlocal inside, most
        async with gate:
            inside += 1
            most = max(most, inside)
            order.append(n)
            await asyncio.sleep(0.001)
            inside -= 1

    await asyncio.gather(*(work(n) for n in range(20)))
    assert (most, order) == (3, list(range(20)))


async def test_nobody_is_let_in_while_something_urgent_is_at_work() -> None:
    urgency = Urgency()
    gate = Gate(1, urgency)
    is_in = asyncio.Event()

    async def enter() -> None:
        async with gate:
            is_in.set()

    async with asyncio.TaskGroup() as tasks:
        with urgency.at_work(), urgency.at_work():
            tasks.create_task(enter())
            for _ in range(10):
                await asyncio.sleep(0)
            assert not is_in.is_set()
        await is_in.wait()


async def test_patience_ends() -> None:
    urgency = Urgency()
    loop = asyncio.get_running_loop()
    with urgency.at_work():
        begun = loop.time()
        async with Gate(1, urgency):
            waited = loop.time() - begun
    assert PATIENCE_S <= waited + 0.01 < PATIENCE_S + 5.0


async def test_who_gives_up_waiting_takes_no_place_along() -> None:
    urgency = Urgency()
    gate = Gate(1, urgency)
    with urgency.at_work(), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), gate:
            pytest.fail("let in")
    async with asyncio.timeout(5), gate:
        pass
