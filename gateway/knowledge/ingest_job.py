"""The job `ingest`: fetch or open a source, read it in the sandbox, swap its revision in."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from gateway.core.chunking import chunk
from gateway.core.documents import (
    Chunk,
    Extracted,
    NewRevision,
    Original,
    Section,
    Source,
    SourceState,
    SourceWarning,
    WholeText,
)
from gateway.core.filenames import address_title, one_line
from gateway.core.limits import KnowledgeLimits
from gateway.core.sectioning import with_leads
from gateway.core.summaries import with_summaries
from gateway.core.whole_text import whole_of
from gateway.errors import ExtractionError, GatewayError, StoreError, UpstreamError
from gateway.interfaces import Blobs, Clock, Extractor, Ids, Job, Jobs, PassageIndex, Sources
from gateway.knowledge.describing import MAYBE_PICTURES, Describing
from gateway.knowledge.pages import Fetch, fetched, is_page
from gateway.knowledge.progress import Progress
from gateway.knowledge.quotas import check_growth
from gateway.knowledge.upload_gate import UploadGate

log = structlog.get_logger()
Follow = Callable[[str], Awaitable[None]]

MAX_STOPS = 3  # of the gateway while it works on one source (A9)
INJECTION = "injection_wording"
# what a reader says of a body that is neither HTML nor text, whatever its server called it
NO_PAGE = frozenset({"unsupported_format", "legacy_office", "encrypted", "no_text_layer"})


async def nothing_follows(_source_id: str) -> None:
    """Nobody waits for its text."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """What is to be read: the file, hints for its reader, and what was fetched for it."""

    path: Path
    name: str
    charset: str = ""
    original: Original | None = None


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
    gate: UploadGate
    fetch: Fetch
    progress: Progress
    describing: Describing | None = None  # with a vision model
    follow: Follow = nothing_follows  # told of each source whose text was read
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)  # of passages, until they are in

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
            async with self._opened(source) as opened:
                revision = await self._read(source, opened)
                async with self.counting:
                    await self._check_count(source, revision)
                    if await self.sources.set_state(source.id, SourceState.INDEXING):
                        await self._index(source, revision)
        except StoreError:  # the job is done again later
            raise
        except GatewayError as error:
            code = "url_fetch_failed" if source.address and error.code in NO_PAGE else error.code
            log.info("source_refused", source=source.id, code=code)
            await self._fail(source, code)
        finally:
            self.progress.end(source.id)

    @asynccontextmanager
    async def _opened(self, source: Source) -> AsyncIterator[_Opened]:
        """A page is fetched anew; what was fetched before stays the original until the swap."""
        if not source.address:
            yield _Opened(self.blobs.path(source.sha256), source.title)
            return
        page = await fetched(self.fetch, source.address)
        check_growth(self.limits, source, len(page.body), await self.sources.usage())
        with ExitStack() as held:
            async with self.gate.upload():
                body = io.BytesIO(page.body)
                kept = Original(*await self.blobs.put(body, self.limits.max_source_bytes))
                held.enter_context(self.gate.holding(kept.sha256))
            yield _Opened(self.blobs.path(kept.sha256), page.name, page.charset, kept)

    async def _read(self, source: Source, opened: _Opened) -> NewRevision:
        extracted = await self._extracted(source, opened)
        if source.address and not is_page(extracted.media_type):
            raise UpstreamError("something else that calls itself a page", code="url_fetch_failed")
        chunks, sections, whole = await asyncio.to_thread(_cut, extracted)
        return NewRevision(
            self.ids.new(),
            source.id,
            chunks,
            sections,
            (*extracted.warnings, *_injection(chunks)),
            _title(source, extracted),
            extracted.media_type,
            opened.original,
            whole,
        )

    async def _extracted(self, source: Source, opened: _Opened) -> Extracted:
        """What the file says, and what its pictures show where somebody can tell."""
        note = partial(self.progress.note, source.id)
        try:
            text = await self.extractor.extract(
                opened.path, opened.name, charset=opened.charset, on_progress=note
            )
        except ExtractionError as error:
            if self.describing is None or error.code not in MAYBE_PICTURES:
                raise
            return await self.describing.alone(source, opened.path, error, note)
        if self.describing is None:
            return text
        return await self.describing.complete(source, text, note)

    async def _check_count(self, source: Source, revision: NewRevision) -> None:
        usage = await self.sources.usage()
        others = sum(passages for _, passages, _ in usage.values()) - source.passages
        if others + len(revision.chunks) > self.limits.max_chunks_total:
            raise ExtractionError("too many passages", code="quota_chunks")

    async def _index(self, source: Source, revision: NewRevision) -> None:
        if not await self.index.replace(revision):
            return
        # searchable by its words from here on; EMBEDDING says that the meaning follows
        if await self.sources.set_state(
            source.id, SourceState.EMBEDDING, warnings=revision.warnings
        ):
            await self.jobs.put("embed", source.id, self.clock.now())
            await self.follow(source.id)

    async def _fail(self, source: Source, code: str) -> None:
        """What could be searched before still can be: then the source stays ready."""
        state = SourceState.FAILED if source.revision_id is None else SourceState.READY
        await self.sources.set_state(source.id, state, error_code=code)


def _cut(extracted: Extracted) -> tuple[tuple[Chunk, ...], tuple[Section, ...], WholeText]:
    chunks, sections = with_leads(*chunk(extracted))
    whole = whole_of(extracted.blocks)
    return chunks, with_summaries(whole, chunks, sections), whole


def _title(source: Source, extracted: Extracted) -> str:
    """A page's own, else where it stands; files keep their names."""
    if not source.names_itself:
        return ""
    return one_line(extracted.title) or address_title(source.address)


def _injection(chunks: Sequence[Chunk]) -> Sequence[SourceWarning]:
    flagged = [chunk.locator.page for chunk in chunks if chunk.is_flagged]
    if not flagged:
        return ()
    return (SourceWarning(INJECTION, tuple(sorted({page for page in flagged if page}))),)
