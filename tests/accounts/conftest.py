"""A real store in a temporary home."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.store import Store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock()


@pytest.fixture
async def store(tmp_path: Path, clock: WoundClock) -> AsyncIterator[Store]:
    async with new_store(tmp_path, clock, RealIds()) as opened:
        yield opened
