"""The jobs that clean up: unused originals, deleted text in the files, removed collections."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from gateway.interfaces import Blobs, Clock, Job, Jobs, Sources
from gateway.knowledge.page_images import KeepOnly, keeps_nothing
from gateway.knowledge.upload_gate import UploadGate

log = structlog.get_logger()

GRACE = timedelta(minutes=10)  # an upload of the same bytes may be under way (A30)
SWEEP_EVERY = timedelta(minutes=9)  # with the grace: gone within 20 minutes
ABANDONED = timedelta(days=1)  # no upload takes that long, of whichever process
SOON = timedelta(minutes=1)


class Drained(Protocol):
    """One step of emptying a removed collection."""

    @property
    def is_done(self) -> bool: ...


class Upkeep(Protocol):
    """What the store offers for it (Store.maintenance)."""

    async def optimize(self) -> bool:
        """Deleted text leaves the files; False when it has to be done again soon."""
        ...

    async def drain(self, collection_id: str, at: datetime) -> Drained:
        """Remove one source of a removed collection, or the empty tombstone at the end."""
        ...


@dataclass(frozen=True, slots=True)
class UpkeepJobs:
    """One method a kind of job; each is repeatable."""

    sources: Sources
    blobs: Blobs
    jobs: Jobs
    upkeep: Upkeep
    clock: Clock
    gate: UploadGate
    keep_only: KeepOnly = keeps_nothing  # of the pictures of pages

    async def sweep(self, _job: Job) -> None:
        """Remove originals that no source uses, ten minutes after they were last stored.

        Pictures of their pages go at once.
        """
        async with self.gate.sweep() as is_alone:
            if is_alone:
                await self._sweep()
        await self.keep_only(await self.sources.originals())  # without a grace: drawn again soon
        await self.jobs.put(
            "sweep_blobs", "", self.clock.now() + (SWEEP_EVERY if is_alone else SOON)
        )

    async def _sweep(self) -> None:
        before = self.clock.now() - GRACE
        used = await self.sources.originals()
        for sha256, stored_at in await self.blobs.list():
            if sha256 not in used and stored_at < before and not self.gate.is_held(sha256):
                await self.blobs.remove(sha256)
                log.info("blob_swept", sha256=sha256)
        await self.blobs.sweep_partial(self.clock.now() - ABANDONED)

    async def optimize(self, _job: Job) -> None:
        """Again in a minute while a reader still holds the old state."""
        if not await self.upkeep.optimize():
            await self.jobs.put("optimize_index", "", self.clock.now() + SOON)

    async def remove_collection(self, job: Job) -> None:
        """Source by source, so that nothing waits long for the writer."""
        while not (await self.upkeep.drain(job.key, self.clock.now())).is_done:
            continue
        await self.jobs.put("sweep_blobs", "", self.clock.now())
