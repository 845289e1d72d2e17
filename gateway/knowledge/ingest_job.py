"""The job `ingest`: read a source in the sandbox, cut it, swap its revision in."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from gateway.core.chunking import chunk
from gateway.core.documents import (
    Chunk,
    NewRevision,
    Source,
    SourceState,
    SourceWarning,
)
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.interfaces import Blobs, Clock, Extractor, Ids, Job, Jobs, PassageIndex, Sources

log = structlog.get_logger()

MAX_STOPS = 3  # of the gateway while it works on one source (A9)
INJECTION = "injection_wording"


@dataclass(frozen=True, slots=True)
class IngestJob:
    """One reading of one source. Each step notices when the source is gone meanwhile."""

    sources: Sources
    index: PassageIndex
    jobs: Jobs
    blobs: Blobs
    extractor: Extractor
    clock: Clock
    ids: Ids
    limits: KnowledgeLimits

    async def run(self, job: Job) -> None:
        """Repeatable: a second run after a stop ends like one that was never stopped."""
        source = await self.sources.find(job.key)
        if source is None:
            return
        if job.attempts > MAX_STOPS:
            await self._fail(source, "retry_exhausted")
            return
        if not await self.sources.set_state(source.id, SourceState.EXTRACTING):
            return
        try:
            revision = await self._read(source)
        except ExtractionError as error:
            log.info("extraction_refused", source=source.id, code=error.code)
            await self._fail(source, error.code)
            return
        if await self.sources.set_state(source.id, SourceState.INDEXING):
            await self._index(source, revision)

    async def _read(self, source: Source) -> NewRevision:
        extracted = await self.extractor.extract(self.blobs.path(source.sha256), source.title)
        chunks, sections = await asyncio.to_thread(chunk, extracted)
        usage = await self.sources.usage()
        others = sum(passages for _, passages, _ in usage.values()) - source.passages
        if others + len(chunks) > self.limits.max_chunks_total:
            raise ExtractionError("too many passages", code="quota_chunks")
        warnings = (*extracted.warnings, *_injection(chunks))
        return NewRevision(self.ids.new(), source.id, chunks, sections, warnings)

    async def _index(self, source: Source, revision: NewRevision) -> None:
        if not await self.index.replace(revision):
            return
        # searchable by its words from here on; EMBEDDING says that the meaning follows
        if await self.sources.set_state(
            source.id, SourceState.EMBEDDING, warnings=revision.warnings
        ):
            await self.jobs.put("embed", source.id, self.clock.now())

    async def _fail(self, source: Source, code: str) -> None:
        """What could be searched before still can be: then the source stays ready."""
        state = SourceState.FAILED if source.revision_id is None else SourceState.READY
        await self.sources.set_state(source.id, state, error_code=code)


def _injection(chunks: Sequence[Chunk]) -> Sequence[SourceWarning]:
    flagged = [chunk.locator.page for chunk in chunks if chunk.is_flagged]
    if not flagged:
        return ()
    return (SourceWarning(INJECTION, tuple(sorted({page for page in flagged if page}))),)
