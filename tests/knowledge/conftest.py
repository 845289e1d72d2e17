"""The real store in a new home, and a library over it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.store import Store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import Shelf
from tests.stores import new_store


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
