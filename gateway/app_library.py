"""Puts the library together: store, extraction, encoder, ingestion, search."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from gateway.app_reading import NO_MODELS, ReadingModels
from gateway.core.limits import MEBIBYTE, KnowledgeLimits
from gateway.core.passages import NoVectors
from gateway.core.scope import Scope
from gateway.errors import ModelError
from gateway.extract.page_renderer import PageRenderer
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.fetching import GuardedFetch
from gateway.interfaces import (
    Blobs,
    Clock,
    Encoder,
    Ids,
    Jobs,
    PassageIndex,
    Sources,
    Vector,
    VectorStore,
)
from gateway.knowledge.ingestion import Ingestion
from gateway.knowledge.library import Library
from gateway.knowledge.page_images import KeptPageImages
from gateway.knowledge.proposal_files import ProposalFolder
from gateway.knowledge.search import MayLeave, Search
from gateway.knowledge.upkeep_jobs import Upkeep
from gateway.knowledge.upload_gate import UploadGate
from gateway.knowledge_config import EmbeddingSettings
from gateway.store import Store, open_store
from gateway.store.picture_folder import PictureFolder
from models.calibration import own_calibrations
from models.catalogue import MODELS, model_of
from models.cloud.encoder import CloudEncoder
from models.switching import EncoderSwitch, Former
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
    encoder: Encoder  # for questions
    switch: EncoderSwitch
    extractor: ExtractionSupervisor
    ingestion: Ingestion
    library: Library
    search: Search
    proposed: ProposalFolder
    images: KeptPageImages

    async def warm_up(self) -> None:
        """Load the model, so that the first question does not wait for it."""
        if isinstance(self.switch.wanted, LocalEncoder) and not self.switch.is_switching:
            await self.switch.wanted.prewarm()


def build_encoder(settings: EmbeddingSettings, models_dir: Path, clock: Clock) -> Encoder:
    """The local encoder, the cloud's, or one that says why there is none."""
    if settings.provider == "none":
        return NoEncoder(NoVectors.PROVIDER_NONE)
    if settings.cloud is not None:
        return CloudEncoder(settings.cloud, clock)
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


def former_encoders(settings: EmbeddingSettings, models_dir: Path, clock: Clock) -> Former:
    """Opens the local model of a key, to go on with vectors that are there already."""

    def find(key: str) -> Encoder | None:
        model = model_of(key)
        if model is None:
            return None
        wanted = replace(settings, provider="local", local_model=model.name, cloud=None)
        encoder = build_encoder(wanted, models_dir, clock)
        return encoder if encoder.model_key == key else None  # else: another build of it

    return find


def _no_former(_key: str) -> None:
    return None


@asynccontextmanager
async def _switching(
    encoder: Encoder, former: Former, store: Store
) -> AsyncIterator[EncoderSwitch]:
    switch = EncoderSwitch(encoder, former, store.coverage, store.vectors)
    try:
        await switch.begin()
        yield switch
    finally:
        await switch.close()


def _leaving(store: Store) -> MayLeave:
    async def may_leave(scope: Scope) -> frozenset[str]:
        found = await store.collections.list(scope.collections)
        return frozenset(each.id for each in found if each.may_leave)

    return may_leave


def _library(
    store: Store,
    ingestion: Ingestion,
    gate: UploadGate,
    limits: KnowledgeLimits,
    clock: Clock,
    ids: Ids,
) -> Library:
    return Library(
        sources=store.sources,
        blobs=store.blobs,
        jobs=store.jobs,
        clock=clock,
        ids=ids,
        limits=limits,
        gate=gate,
        wake=ingestion.wake,
    )


def _page_images(
    opened: AsyncExitStack, store: Store, folder: Path, limits: KnowledgeLimits
) -> KeptPageImages:
    """What draws pages, beside what reads documents."""
    renderer = PageRenderer(limits)
    opened.push_async_callback(renderer.close)
    kept = PictureFolder(folder, limits.page_cache_mb * MEBIBYTE)
    return KeptPageImages(store.blobs, renderer, kept)


class _OfStore(TypedDict):
    """What the ingestion takes of a store."""

    jobs: Jobs
    sources: Sources
    index: PassageIndex
    vectors: VectorStore
    blobs: Blobs
    upkeep: Upkeep


def _of_store(store: Store) -> _OfStore:
    return {
        "jobs": store.jobs,
        "sources": store.sources,
        "index": store.passages,
        "vectors": store.vectors,
        "blobs": store.blobs,
        "upkeep": store.maintenance,
    }


@asynccontextmanager
async def open_shelves(  # noqa: PLR0913 - one collaborator a seam
    home: Path,
    limits: KnowledgeLimits,
    encoder: Encoder,
    clock: Clock,
    ids: Ids,
    reading: ReadingModels = NO_MODELS,
    *,
    former: Former = _no_former,
) -> AsyncIterator[Shelves]:
    """Open the store of a home and what reads, indexes and searches it."""
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(open_store(home, clock, ids))
        switch = await opened.enter_async_context(_switching(encoder, former, store))
        extractor = ExtractionSupervisor(limits)
        opened.push_async_callback(extractor.close)
        images = _page_images(opened, store, home / "knowledge" / "pages", limits)
        gate = UploadGate()
        ingestion = Ingestion(
            **_of_store(store),
            extractor=extractor,
            encoder=switch.passages,
            embedded=switch.advance,
            clock=clock,
            ids=ids,
            limits=limits,
            gate=gate,
            fetch=GuardedFetch(has_plain_http=True).open,
            keep_only=images.keep_only,
            outlines=reading.outlines(store, clock),
            describing=reading.describing(store, images, limits),
        )
        library = _library(store, ingestion, gate, limits, clock, ids)
        own = await asyncio.to_thread(own_calibrations, home / "models" / "calibration")
        search = Search(store.passages, store.vectors, switch.questions, store.audit, clock, own)
        search.may_leave = _leaving(store)
        proposed = ProposalFolder(home / "knowledge" / "proposals")
        parts = extractor, ingestion, library, search, proposed, images
        yield Shelves(store, switch.questions, switch, *parts)


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
