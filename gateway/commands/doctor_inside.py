"""What doctor looks at in the home and on this machine; each returns a detail or raises."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from gateway import cloud_config, knowledge_config
from gateway import home as homes
from gateway.commands.operator import is_running
from gateway.commands.output import say
from gateway.config import load
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError, StoreError
from gateway.extract import ocr
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.store import open_store
from gateway.system import SystemClock, Uuid7Ids
from models import install as installing

Check = Callable[[Path], Awaitable[str]]
LOW_DISK_BYTES = 2**30


async def _home(home: Path) -> str:
    homes.require(home)
    return str(home)


async def _config(home: Path) -> str:
    read = knowledge_config.read(load(home / "config.toml"))
    return "; ".join(read.warnings)


async def _store(home: Path) -> str:
    """Only while nobody else has it open: a running gateway checks at its own start."""
    homes.require(home)
    if is_running(home):
        return say("check_gateway")
    with homes.lock(home):
        async with open_store(home, SystemClock(), Uuid7Ids()) as store:
            wrong = await store.check()
    if wrong:
        raise StoreError("; ".join(wrong), code="store_broken")
    return ""


async def _model(home: Path) -> str:
    embedding = knowledge_config.read(load(home / "config.toml")).embedding
    if embedding.cloud is not None:
        return cloud_config.told(embedding.cloud)
    if embedding.provider != "local":
        return embedding.provider
    folder = home / "models" / "embedding"
    await asyncio.to_thread(installing.verify, embedding.local_model, folder)
    return embedding.local_model


async def _sandbox(_home: Path) -> str:
    """Read a small text the way an upload is read."""
    supervisor = ExtractionSupervisor(KnowledgeLimits())
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.txt"
        probe.write_text("Shutten", "utf-8")
        try:
            await supervisor.extract(probe, probe.name)
        finally:
            await supervisor.close()
    return ""


async def _ocr(home: Path) -> str:
    """Only that its package is here; a picture tells the rest."""
    if not knowledge_config.read(load(home / "config.toml")).limits.ocr:
        return say("check_ocr_off")
    if not ocr.is_installed():
        raise ExtractionError("", code="ocr_unavailable")
    return ""


async def _disk(home: Path) -> str:
    homes.require(home)
    free = shutil.disk_usage(home).free
    if free < LOW_DISK_BYTES:
        raise StoreError(f"{free // 2**20} MB", code="store_full")
    return f"{free / 2**30:.1f} GB"


CHECKS: dict[str, Check] = {
    "home": _home,
    "config": _config,
    "store": _store,
    "model": _model,
    "sandbox": _sandbox,
    "ocr": _ocr,
    "disk": _disk,
}
