"""The job `embed`: the vectors a source lacks, batch by batch, while its words are searchable."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import structlog

from gateway.core.chunking import pieces
from gateway.core.documents import Source, SourceState, SourceWarning, StatusDetail
from gateway.core.limits import KnowledgeLimits
from gateway.core.matching import script
from gateway.core.passages import NoVectors, Passage
from gateway.errors import ModelError
from gateway.interfaces import Clock, Encoder, Job, Jobs, PassageVectors, Sources, VectorStore
from gateway.knowledge.ingest_job import MAX_STOPS
from gateway.knowledge.progress import Progress

log = structlog.get_logger()

FAILED = "embedding_failed"
RETRY = timedelta(minutes=10)
REST = timedelta(minutes=1)  # the encoder itself tries a new start at least this often; also
# after the first failure of a source
EVERY = ""  # the key of the job that looks for all sources whose vectors are incomplete
BATCHES_A_TURN = 8  # of one source, before other sources have theirs
LOOKED_AT = 2_000  # passages without vectors


async def nothing_follows() -> None:
    """Nobody waits for vectors to be whole."""


@dataclass(frozen=True, slots=True)
class EmbedJob:
    """Vectors of one source, or (key "") the search for sources that lack some."""

    sources: Sources
    vectors: VectorStore
    jobs: Jobs
    encoder: Encoder
    clock: Clock
    limits: KnowledgeLimits
    progress: Progress
    embedded: Callable[[], Awaitable[None]] = nothing_follows  # after a source's last vectors

    async def run(self, job: Job) -> None:
        """Repeatable: vectors that are stored are not made again."""
        if job.key == EVERY:
            await self._find_all()
            return
        source = await self.sources.find(job.key)
        if source is None or source.revision_id is None:
            return
        reason = await self.encoder.unavailable()
        if reason is NoVectors.ENCODER_FAILED:  # it rests after a failed start: this passes
            await self._later(source, REST)
        elif reason is not None:
            await self._settle(source, StatusDetail.KEYWORD_ONLY)
        elif source.collection_id in await self.vectors.excluded(self.encoder.model_key):
            await self._settle(source, StatusDetail.KEYWORD_ONLY)  # its text does not leave
        elif job.attempts > MAX_STOPS:
            await self._settle(source, StatusDetail.KEYWORD_ONLY, is_failed=True)
        elif await self._is_over_limit(source):
            await self._settle(source, StatusDetail.VECTOR_LIMIT)
        else:
            await self._embed(source)

    async def _embed(self, source: Source) -> None:
        if not await self.sources.set_state(
            source.id, SourceState.EMBEDDING, error_code=source.error_code
        ):
            return
        model_key = self.encoder.model_key
        try:
            is_done = await self._embed_some(source)
        except ModelError as error:
            if self.encoder.model_key != model_key:  # another model was chosen: no failure
                await self.jobs.put("embed", source.id, self.clock.now())
                return
            log.warning("embedding_failed", source=source.id, code=error.code)
            is_first = all(warning.code != FAILED for warning in source.warnings)
            await self._later(source, REST if is_first else RETRY)  # a killed worker is back soon
            return
        if is_done:
            await self._settle(source, StatusDetail.HYBRID)
            await self.embedded()
        else:  # a long document lets those that wait go first
            await self.jobs.put("embed", source.id, self.clock.now())

    async def _embed_some(self, source: Source) -> bool:
        """A turn of batches; whether nothing is left."""
        for _ in range(BATCHES_A_TURN):
            batch = await self.vectors.without_vectors(
                self.encoder.model_key, source.id, self.limits.batch_size
            )
            if not batch:
                return True
            await self._put(batch)
            done, _ = self.progress.of(source.id) or (0, 0)
            self.progress.note(source.id, done + len(batch), source.passages)
        return False

    async def _later(self, source: Source, pause: timedelta) -> None:
        await self._settle(source, StatusDetail.KEYWORD_ONLY, is_failed=True)
        await self.jobs.put("embed", source.id, self.clock.now() + pause)

    async def _put(self, batch: Sequence[Passage]) -> None:
        """The passage itself first, then its pieces (retrieval: the best of them counts)."""
        model_key = self.encoder.model_key
        texts = [(passage.text, *pieces(passage.text)) for passage in batch]
        found = iter(await self.encoder.embed_passages([text for each in texts for text in each]))
        rows = [
            PassageVectors(
                passage.id,
                passage.collection_id,
                script(passage.text),
                np.stack([next(found) for _ in each]),
            )
            for passage, each in zip(batch, texts, strict=True)
        ]
        await self.vectors.put(model_key, rows)

    async def _settle(
        self, source: Source, detail: StatusDetail, *, is_failed: bool = False
    ) -> None:
        """Ready, with the failure among the warnings or no longer there; other errors stay."""
        self.progress.end(source.id)
        now = await self.sources.find(source.id)
        if now is None:
            return
        warnings = [warning for warning in now.warnings if warning.code != FAILED]
        if is_failed:
            warnings.append(SourceWarning(FAILED))
        if now.state in {SourceState.EMBEDDING, SourceState.READY}:  # else it is read again
            await self.sources.set_state(
                source.id,
                SourceState.READY,
                status_detail=detail,
                error_code=now.error_code,
                warnings=warnings,
            )

    async def _is_over_limit(self, source: Source) -> bool:
        """Sources with all their vectors keep them; this one fits beside them or not."""
        usage = await self.sources.usage()
        if sum(passages for _, passages, _ in usage.values()) <= self.limits.max_vector_rows:
            return False
        listed = [other for key in usage for other in await self.sources.list(key)]
        taken = sum(other.passages for other in listed if _goes_before(other, source))
        return taken + source.passages > self.limits.max_vector_rows

    async def _find_all(self) -> None:
        """After a start, a new model or a repair: one job for each source that lacks something."""
        lacking: set[str] = set()
        excluded: frozenset[str] = frozenset()
        is_cut = False
        if await self.encoder.unavailable() is None:
            missing = await self.vectors.without_vectors(self.encoder.model_key, None, LOOKED_AT)
            lacking = {passage.source_id for passage in missing}
            is_cut = len(missing) == LOOKED_AT  # then every source is asked for itself
            excluded = await self.vectors.excluded(self.encoder.model_key)
        for collection_id in await self.sources.usage():
            for source in await self.sources.list(collection_id):
                is_out = collection_id in excluded
                if is_cut or source.id in lacking or _is_unsettled(source, is_out=is_out):
                    await self.jobs.put("embed", source.id, self.clock.now())


def _goes_before(other: Source, source: Source) -> bool:
    """It has its vectors, or it is being embedded now and came earlier."""
    if other.id == source.id:
        return False
    is_under_way = other.state is SourceState.EMBEDDING and other.id < source.id
    return other.status_detail is StatusDetail.HYBRID or is_under_way


def _is_unsettled(source: Source, *, is_out: bool) -> bool:
    """`is_out`: the model may not be given its text, so that words alone find it."""
    settled = StatusDetail.KEYWORD_ONLY if is_out else StatusDetail.HYBRID
    return source.revision_id is not None and source.status_detail is not settled
