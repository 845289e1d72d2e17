"""`doctor`: what works here and what does not, each with a sentence."""

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gateway import home as homes
from gateway import knowledge_config
from gateway.catalogue import STRINGS
from gateway.commands.doctor_outside import outside_checks
from gateway.commands.operator import is_running
from gateway.commands.output import DONE, FAILED, say, show
from gateway.commands.tree import Commands
from gateway.config import home_folder, load
from gateway.core.limits import KnowledgeLimits
from gateway.errors import GatewayError, StoreError
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.store import open_store
from gateway.system import SystemClock, Uuid7Ids
from models import install as installing

Check = Callable[[Path], Awaitable[str]]
LOW_DISK_BYTES = 2**30


def register(commands: Commands) -> None:
    """Add this command."""
    commands.add("doctor", run_doctor)


async def run_doctor(options: argparse.Namespace) -> int:
    home = home_folder(options.home)
    rows: list[dict[str, Any]] = []
    for name, check in CHECKS.items():
        try:
            rows.append({"check": name, "ok": True, "detail": await check(home)})
        except GatewayError as error:
            rows.append({"check": name, "ok": False, "detail": f"{error} ({error.code})"})
    rows += [_told(view) for view in await outside_checks(home)]
    lines = [
        f"{'✓' if row['ok'] else '✗'} {_named(row)}: {row['detail'] or say('check_ok')}"
        for row in rows
    ]
    show(options, rows, lines)
    return DONE if all(row["ok"] for row in rows) else FAILED


def _told(view: dict[str, Any]) -> dict[str, Any]:
    return {
        "check": view["kind"],
        "name": view["name"],
        "what": view["check"],
        "ok": view["is_ok"],
        "detail": view["detail"],
    }


def _named(row: dict[str, Any]) -> str:
    """The row's head: our own checks by name, the others also whose and what."""
    if "what" not in row:
        return say(f"check_{row['check']}")
    key = f"what_{row['what']}"
    what = say(key) if f"cli.{key}" in STRINGS else row["what"]
    return say(f"check_{row['check']}", name=row["name"], what=what)


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
    "disk": _disk,
}
