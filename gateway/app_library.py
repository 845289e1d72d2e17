"""Puts the library together: store, extraction, encoder, ingestion, search."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.core.limits import KnowledgeLimits
from gateway.core.passages import NoVectors
from gateway.errors import ModelError
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.fetching import GuardedFetch
from gateway.interfaces import Clock, Encoder, Ids, Vector
from gateway.knowledge.ingestion import Ingestion
from gateway.knowledge.library import Library
from gateway.knowledge.proposal_files import ProposalFolder
from gateway.knowledge.search import Search
from gateway.knowledge.upload_gate import UploadGate
from gateway.knowledge_config import EmbeddingSettings
from gateway.store import Store, open_store
from models.calibration import find_calibration
from models.catalogue import MODELS
from models.worker_client import LocalEncoder


class NoEncoder:
    """Stands where no model is set; every search says why it used words alone."""

    model_key = "none"

    def __init__(self, reason: NoVectors) -> None:
        self._reason = reason

    async def unavailable(self) -> NoVectors | None:
        """The reason."""
        return self._reason

    async def embed_query(self, text: str) -> Vector:
        """Nothing to embed with."""
        raise ModelError(self._reason, code="model_unavailable")

    async def embed_passages(self, texts: object) -> list[Vector]:
        """Nothing to embed with."""
        raise ModelError(self._reason, code="model_unavailable")

    async def close(self) -> None:
        """Nothing to end."""


@dataclass(frozen=True, slots=True)
class Shelves:
    """The library's working parts."""

    store: Store
    encoder: Encoder
    extractor: ExtractionSupervisor
    ingestion: Ingestion
    library: Library
    search: Search
    proposed: ProposalFolder

    async def warm_up(self) -> None:
        """Load the model, so that the first question does not wait for it."""
        if isinstance(self.encoder, LocalEncoder):
            await self.encoder.prewarm()


def build_encoder(settings: EmbeddingSettings, models_dir: Path, clock: Clock) -> Encoder:
    """The local encoder, or one that says why there is none."""
    if settings.provider == "none":
        return NoEncoder(NoVectors.PROVIDER_NONE)
    if settings.provider != "local" or settings.local_model not in MODELS:
        return NoEncoder(NoVectors.UNKNOWN_PROVIDER)
    workers = settings.threads or max(1, (os.cpu_count() or 2) // 2)
    return LocalEncoder(
        models_dir,
        settings.local_model,
        idle_unload_s=settings.idle_unload_minutes * 60.0,
        clock=clock,
        most_workers=1 + workers,
    )


@asynccontextmanager
async def open_shelves(
    home: Path, limits: KnowledgeLimits, encoder: Encoder, clock: Clock, ids: Ids
) -> AsyncIterator[Shelves]:
    """Open the store of a home and what reads, indexes and searches it."""
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(open_store(home, clock, ids))
        opened.push_async_callback(encoder.close)
        extractor = ExtractionSupervisor(limits)
        opened.push_async_callback(extractor.close)
        gate = UploadGate()
        ingestion = Ingestion(
            jobs=store.jobs,
            sources=store.sources,
            index=store.passages,
            vectors=store.vectors,
            blobs=store.blobs,
            extractor=extractor,
            encoder=encoder,
            upkeep=store.maintenance,
            clock=clock,
            ids=ids,
            limits=limits,
            gate=gate,
            fetch=GuardedFetch(has_plain_http=True).open,
        )
        library = Library(
            sources=store.sources,
            blobs=store.blobs,
            jobs=store.jobs,
            clock=clock,
            ids=ids,
            limits=limits,
            gate=gate,
            wake=ingestion.wake,
        )
        search = Search(
            store.passages, store.vectors, encoder, store.audit, clock, find_calibration
        )
        proposed = ProposalFolder(home / "knowledge" / "proposals")
        yield Shelves(store, encoder, extractor, ingestion, library, search, proposed)


@asynccontextmanager
async def working(shelves: Shelves) -> AsyncIterator[None]:
    """Let the ingestion's jobs run meanwhile; one under way is taken up at the next start."""
    stop = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(shelves.ingestion.run(stop))
            try:
                yield
            finally:
                stop.set()
    except BaseExceptionGroup as group:  # what the body raised comes out as it was
        raise _only(group) from None


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception of a group, or the group."""
    if len(group.exceptions) > 1:
        return group
    inner = group.exceptions[0]
    return _only(inner) if isinstance(inner, BaseExceptionGroup) else inner
