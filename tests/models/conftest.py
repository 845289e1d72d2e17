"""The real model, installed once and kept: tests and the demo share it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from models.catalogue import E5_SMALL
from models.install import install
from models.worker_client import LocalEncoder
from tests.fakes.times import RealClock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """A models folder with multilingual-e5-small in it; never changed by a test."""
    folder = Path(os.environ.get("SHUTTEN_TEST_MODELS", ROOT / ".demo" / "models"))
    install(E5_SMALL, folder)
    return folder


@pytest.fixture
async def encoder(models_dir: Path) -> AsyncIterator[LocalEncoder]:
    """Starts without a worker and leaves none."""
    encoder = LocalEncoder(models_dir, E5_SMALL, idle_unload_s=60, clock=RealClock())
    yield encoder
    await encoder.close()
