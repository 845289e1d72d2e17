"""Chores of a running gateway: forget what need not be kept, write out the security audit."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path

import structlog

from gateway.errors import GatewayError
from gateway.interfaces import Clock
from gateway.store import Store

log = structlog.get_logger()
Chore = Callable[[], Awaitable[None]]
DEDUPE_KEPT = timedelta(days=14)  # platforms redeliver for days at most; 7 is the promise
FORGET_EVERY_S = 600.0
EXPORT_EVERY_S = 5.0
OTHERS_EVERY_S = 60.0


async def keep_up(
    store: Store, home: Path, clock: Clock, access_log_days: int, others: Mapping[str, Chore]
) -> None:
    """Run until cancelled; a chore that fails is told and tried again, and ends nothing."""

    async def forget() -> None:
        now = clock.now()
        await store.inbox.purge(now - DEDUPE_KEPT)
        await store.audit.purge(now - timedelta(days=access_log_days))

    async def export() -> None:
        while await store.audit.export(home / "security_audit.jsonl"):
            continue  # a batch at a time

    async with asyncio.TaskGroup() as chores:
        chores.create_task(_again_and_again("forget", forget, FORGET_EVERY_S))
        chores.create_task(_again_and_again("export_audit", export, EXPORT_EVERY_S))
        for name, chore in others.items():
            chores.create_task(_again_and_again(name, chore, OTHERS_EVERY_S))


async def _again_and_again(name: str, chore: Chore, every_s: float) -> None:
    while True:
        try:
            await chore()
        except (GatewayError, OSError) as error:
            log.warning("chore failed", chore=name, error=type(error).__name__, reason=str(error))
        await asyncio.sleep(every_s)
