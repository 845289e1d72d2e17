"""Takes away what documents leave in files beside the library: soon after access changed, and by
age.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from gateway.errors import GatewayError
from gateway.interfaces import Clock
from gateway.knowledge.call_log import CallLog
from gateway.knowledge.page_pictures import PagePictures

log = structlog.get_logger()
LOOK_EVERY_S = 60.0  # also for agent.toml that is edited by hand
GATHERED_S = 0.2  # changes that come together are one
PURGE_EVERY_S = 600.0
Chore = Callable[[], Awaitable[None]]


class LeftBehind:
    """Pictures in workspaces and kept answers; a sweep that fails is told and tried again."""

    def __init__(
        self, pictures: PagePictures, calls: CallLog, clock: Clock, kept_days: int
    ) -> None:
        """`kept_days` is that of the access log."""
        self._pictures = pictures
        self._calls = calls
        self._clock = clock
        self._kept = timedelta(days=kept_days)
        self._wake = asyncio.Event()

    def note(self) -> None:
        """Who reads what, or what there is, has changed; on the event loop."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        await self._tried("start", self._calls.start)
        purged_at = -PURGE_EVERY_S
        while True:
            self._wake.clear()
            await self._tried("sweep", self._sweep)
            if self._clock.monotonic() - purged_at >= PURGE_EVERY_S:
                purged_at = self._clock.monotonic()
                await self._tried("purge", self._purge)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._wake.wait()
            await asyncio.sleep(GATHERED_S)

    async def sweep(self, before: datetime) -> None:
        """What nobody may read any more from there, and pages that are older."""
        await self._pictures.sweep(before)
        await self._calls.sweep()

    async def _sweep(self) -> None:
        await self.sweep(self._clock.now() - self._kept)

    async def _purge(self) -> None:
        await self._calls.purge(self._clock.now() - self._kept)

    async def _tried(self, name: str, chore: Chore) -> None:
        try:
            await chore()
        except (GatewayError, OSError) as error:
            log.warning("chore failed", chore=name, error=type(error).__name__)
