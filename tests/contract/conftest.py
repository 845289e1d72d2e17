"""The store under test: one suite, every implementation."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.store import Store
from tests.contract.world import World
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(params=["sqlite"])
async def store(
    request: pytest.FixtureRequest, home: Path, clock: WoundClock
) -> AsyncIterator[Store]:
    assert request.param == "sqlite"
    async with new_store(home, clock, RealIds()) as opened:
        yield opened


@pytest.fixture
def world(store: Store, clock: WoundClock) -> World:
    return World(store, clock)
