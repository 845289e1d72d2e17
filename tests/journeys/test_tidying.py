"""The search for cycles: not while turns run, in the next quiet moment, and not never."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gateway.tidying import ANEW_EVERY_S, LATEST_S, keep_tidy
from tests.fakes.wound_clock import WoundClock


class Ring:
    """Refers to itself: only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


def ring() -> Callable[[], Ring | None]:
    return weakref.ref(Ring())


@pytest.fixture(autouse=True)
def as_before() -> object:
    gc.collect()
    gc.disable()  # nobody else collects meanwhile
    yield
    gc.unfreeze()
    gc.enable()


@asynccontextmanager
async def tidied(is_quiet: Callable[[], bool], clock: WoundClock) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        tidying = tasks.create_task(keep_tidy(is_quiet, clock, 0.001))
        yield
        tidying.cancel()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.001)


async def test_it_waits_for_a_quiet_moment() -> None:
    looks, is_quiet = 0, False

    def quiet() -> bool:
        nonlocal looks
        looks += 1
        return is_quiet

    async with tidied(quiet, WoundClock()):
        lost = ring()
        await until(lambda: looks > 5)
        assert lost() is not None
        is_quiet = True
        await until(lambda: lost() is None)


async def test_it_does_not_wait_for_ever() -> None:
    clock, looks = WoundClock(), 0

    def quiet() -> bool:
        nonlocal looks
        looks += 1
        return False

    async with tidied(quiet, clock):
        lost = ring()
        await until(lambda: looks > 0)
        clock.wind(seconds=LATEST_S)
        await until(lambda: lost() is None)


async def test_what_once_was_alive_is_looked_at_again_later() -> None:
    clock, looks = WoundClock(), 0

    def quiet() -> bool:
        nonlocal looks
        looks += 1
        return True

    ours = [Ring()]
    lost = weakref.ref(ours[0])
    async with tidied(quiet, clock):
        await until(lambda: gc.get_freeze_count() > 0)
        ours.clear()
        so_far = looks
        await until(lambda: looks > so_far + 5)
        assert lost() is not None
        clock.wind(seconds=ANEW_EVERY_S)
        await until(lambda: lost() is None)
