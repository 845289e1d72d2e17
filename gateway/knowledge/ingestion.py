"""Runs the library's durable jobs: reading, embedding and upkeep, each in a lane of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import structlog

from gateway.core.documents import Source, SourceState
from gateway.core.limits import KnowledgeLimits
from gateway.errors import GatewayError, NotFoundError, StoreError
from gateway.interfaces import (
    Blobs,
    Clock,
    Encoder,
    Extractor,
    Ids,
    Job,
    Jobs,
    PassageIndex,
    Sources,
    VectorStore,
)
from gateway.knowledge import outline_job
from gateway.knowledge.describing import Describing
from gateway.knowledge.embed_job import EVERY, EmbedJob, nothing_follows
from gateway.knowledge.ingest_job import Follow, IngestJob
from gateway.knowledge.ingest_job import nothing_follows as nobody_follows
from gateway.knowledge.outline_job import OutlineJobs
from gateway.knowledge.page_images import KeepOnly, keeps_nothing
from gateway.knowledge.pages import Fetch
from gateway.knowledge.progress import Progress
from gateway.knowledge.upkeep_jobs import Upkeep, UpkeepJobs
from gateway.knowledge.upload_gate import UploadGate

log = structlog.get_logger()

LEASE = timedelta(seconds=15)  # after a kill, so long until the job is taken up again
RENEW_S = 5.0
LOOK_AGAIN_S = 10.0  # for jobs that become due by time; new ones wake their lane
RETRY = timedelta(seconds=30)
FOLLOW_UP_S = 2.0  # waiters look again even if another process did the work

Handler = Callable[[Job], Awaitable[None]]
READING, EMBEDDING = ("ingest",), ("embed",)
UPKEEP = ("sweep_blobs", "optimize_index", "remove_collection")
EMBED_LANES = 8  # so that many small documents keep every worker busy
OUTLINING = ("outline", "summarise")
READ_LANES = 3  # pictures of one document are read or described beside the text of the next
LANES = (*(READING,) * READ_LANES, UPKEEP, OUTLINING, *(EMBEDDING,) * EMBED_LANES)


class Ingestion:
    """A slow document holds up neither the vectors of others nor the upkeep."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        *,
        jobs: Jobs,
        sources: Sources,
        index: PassageIndex,
        vectors: VectorStore,
        blobs: Blobs,
        extractor: Extractor,
        encoder: Encoder,
        upkeep: Upkeep,
        clock: Clock,
        ids: Ids,
        limits: KnowledgeLimits,
        gate: UploadGate,
        fetch: Fetch,
        embedded: Callable[[], Awaitable[None]] = nothing_follows,
        outlines: OutlineJobs | None = None,
        describing: Describing | None = None,
        keep_only: KeepOnly = keeps_nothing,
    ) -> None:
        """`fetch` is GuardedFetch.open: for pages of the web, asked when their job runs.
        `embedded` is told each time a source has all its vectors, `keep_only` at each sweep which
        originals are still used.
        """
        self.progress = Progress()
        self._jobs = jobs
        self._sources = sources
        self._clock = clock
        self._by = ids.new()
        self._wake = [asyncio.Event() for _ in LANES]
        self._moved = asyncio.Event()
        self._outlines = outlines
        read_by = sources, index, jobs, blobs, extractor, clock, ids, limits, gate, fetch
        ingest = IngestJob(*read_by, self.progress, describing, _follower(outlines))
        embed = EmbedJob(sources, vectors, jobs, encoder, clock, limits, self.progress, embedded)
        chores = UpkeepJobs(sources, blobs, jobs, upkeep, clock, gate, keep_only)
        self._handlers = _handlers(ingest, embed, chores, outlines)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; a job under way then is left to the next start."""
        await self._jobs.put("sweep_blobs", "", self._clock.now())
        if self._outlines is not None:
            await self._jobs.put("outline", outline_job.EVERY, self._clock.now())
        await self.backfill()
        async with asyncio.TaskGroup() as tasks:
            lanes = [tasks.create_task(self._lane(number)) for number in range(len(LANES))]
            await stop.wait()
            for lane in lanes:
                lane.cancel()

    async def backfill(self) -> None:
        """Look for sources without vectors: at a start, and after a model was put in."""
        await self._jobs.put("embed", EVERY, self._clock.now())
        self.wake()

    def wake(self) -> None:
        """A job was put."""
        for event in self._wake:
            event.set()

    async def drain(self) -> None:
        """Do all that is due now, here; for commands that run without a gateway."""
        while await self._until_empty(READING) | await self._embed_all():
            continue
        await self._until_empty(UPKEEP)

    async def _until_empty(self, kinds: tuple[str, ...]) -> bool:
        """Whether there was anything to do."""
        has_worked = False
        while await self._step(kinds):
            has_worked = True
        return has_worked

    async def _embed_all(self) -> bool:
        if not await self._step(EMBEDDING):
            return False
        async with asyncio.TaskGroup() as tasks:
            for _ in range(EMBED_LANES):
                tasks.create_task(self._until_empty(EMBEDDING))
        return True

    async def wait(self, source_id: str) -> Source:
        """The source once it is ready or has failed. NotFoundError when it is deleted."""
        while True:
            moved = self._moved
            source = await self._sources.find(source_id)
            if source is None:
                raise NotFoundError(source_id)
            if _is_settled(source):
                return source
            await _happens(moved, FOLLOW_UP_S)

    async def waiting(self) -> Mapping[str, int]:
        """How many jobs of each kind nobody works on yet; for progress bars."""
        return await self._jobs.waiting()

    # ---------------------------------------------------------------- lanes

    async def _lane(self, number: int) -> None:
        wake = self._wake[number]
        while True:
            wake.clear()
            try:
                has_worked = await self._step(LANES[number])
            except StoreError as error:  # full or locked: its job is taken up again later
                log.warning("jobs_unavailable", code=error.code)
                has_worked = False
                wake.clear()
            if not has_worked:
                await _happens(wake, LOOK_AGAIN_S)

    async def _step(self, kinds: tuple[str, ...]) -> bool:
        """Claim and do one job; whether there was one."""
        now = self._clock.now()
        job = await self._jobs.claim(kinds, self._by, now, now + LEASE)
        if job is None:
            return False
        try:
            failure = await self._held(job)
        except asyncio.CancelledError:
            await self._jobs.release(job.id, self._clock.now())  # an orderly stop: no lease to wait
            raise
        if failure is None:
            await self._jobs.finish(job.id)
        else:
            log.warning("job_failed", job=job.id, kind=job.kind, code=failure.code)
            await self._jobs.release(job.id, self._clock.now() + RETRY * job.attempts)
        self._tell()
        return True

    async def do(self, job: Job) -> None:
        """One job that the caller has claimed. GatewayError; most ends are in the source."""
        await self._handlers[job.kind](job)

    async def _held(self, job: Job) -> GatewayError | None:
        """Do the job, its claim renewed all the while; what went wrong, if it can be named."""
        async with asyncio.TaskGroup() as tasks:
            beating = tasks.create_task(self._beat(job))
            try:
                await self.do(job)
            except GatewayError as error:
                return error
            finally:
                beating.cancel()
        return None

    async def _beat(self, job: Job) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await self._jobs.renew(job.id, self._clock.now() + LEASE)
            except StoreError as error:
                log.warning("claim_not_renewed", job=job.id, code=error.code)

    def _tell(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()
        self.wake()  # a job may have put another one


def _follower(outlines: OutlineJobs | None) -> Follow:
    return nobody_follows if outlines is None else outlines.follow


def _handlers(
    ingest: IngestJob, embed: EmbedJob, chores: UpkeepJobs, outlines: OutlineJobs | None
) -> Mapping[str, Handler]:
    return {
        "ingest": ingest.run,
        "embed": embed.run,
        "sweep_blobs": chores.sweep,
        "optimize_index": chores.optimize,
        "remove_collection": chores.remove_collection,
        **({} if outlines is None else outlines.handlers),
    }


def _is_settled(source: Source) -> bool:
    return source.state in {SourceState.READY, SourceState.FAILED}


async def _happens(event: asyncio.Event, within_s: float) -> None:
    try:
        async with asyncio.timeout(within_s):
            await event.wait()
    except TimeoutError:
        return
