"""Puts together the throw-away library that an evaluation asks of."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from gateway import home as homes
from gateway.accounts.scopes import ScopeService
from gateway.app_library import NoEncoder, Shelves, open_shelves
from gateway.core.access import (
    Account,
    AccountRole,
    Audience,
    AudienceKind,
    Collection,
    Sensitivity,
)
from gateway.core.documents import Source, SourceState
from gateway.core.followups import Wording
from gateway.core.limits import KnowledgeLimits
from gateway.core.passages import NoVectors, SearchMode, SearchResult
from gateway.core.scope import Scope
from gateway.errors import ExtractionError, GatewayError, ModelError
from gateway.evals.library import OpenLibrary
from gateway.interfaces import Vector
from gateway.system import SystemClock, Uuid7Ids
from models.worker_client import LocalEncoder

OWNER = Account("evaluation", "evaluation", "Evaluation", AccountRole.ADMIN)
UNBOUNDED = KnowledgeLimits(max_sources_per_collection=1_000_000, max_chunks_total=10_000_000)
IDLE_S = 3600.0
TELL_S = 0.5
WORKERS = os.cpu_count() or 2


class _HeldBack:
    """The encoder, out of use until every document is read: then its speed can be told."""

    def __init__(self, encoder: NoEncoder | LocalEncoder) -> None:
        self._encoder = encoder
        self.is_open = False

    def forget_questions(self) -> None:
        """Each mode asks the same questions, and a latency includes the question's embedding."""
        if isinstance(self._encoder, LocalEncoder):
            self._encoder.forget_questions()

    @property
    def model_key(self) -> str:
        return self._encoder.model_key

    async def unavailable(self) -> NoVectors | None:
        return await self._encoder.unavailable() if self.is_open else NoVectors.NO_VECTORS_YET

    async def embed_query(self, text: str) -> Vector:
        return await self._encoder.embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return await self._encoder.embed_passages(texts)

    async def close(self) -> None:
        await self._encoder.close()


class EvaluationLibrary:
    """One collection of a new home, read, indexed and searched as the gateway does."""

    def __init__(
        self, shelves: Shelves, collection: Collection, scope: Scope, encoder: _HeldBack
    ) -> None:
        self._shelves = shelves
        self._collection = collection
        self._scope = scope
        self._encoder = encoder

    async def ingest(self, path: Path) -> str:
        """Read and index one document; ExtractionError with the code of A9."""
        source = await self._add(path)
        await self._shelves.ingestion.drain()
        read = await self._shelves.store.sources.find(source.id)
        if read is None or read.state is SourceState.FAILED:
            raise ExtractionError(path.name, code=read.error_code if read else None)
        return source.id

    async def _add(self, path: Path) -> Source:
        with await asyncio.to_thread(path.open, "rb") as file:
            try:
                add = self._shelves.library.add_file
                return (await add(self._collection, path.name, file, OWNER))[0]
            except GatewayError as error:
                if error.code != "too_large":
                    raise
                raise ExtractionError(path.name, code=error.code, **error.params) from error

    async def embed(self) -> AsyncIterator[int]:
        """Make all vectors; yields how many passages have theirs. ModelError."""
        self._encoder.is_open = True
        if await self._encoder.unavailable() is not None:
            raise ModelError("no vectors without a model", code="model_missing")
        await self._shelves.ingestion.backfill()
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(self._shelves.ingestion.drain())
            while not work.done():
                await asyncio.wait([work], timeout=TELL_S)
                yield (await self._searchable())[1]
        total, done = await self._searchable()
        if done < total:
            raise ModelError(f"{total - done} passages without vectors", code="model_unavailable")

    async def size(self) -> tuple[int, int]:
        """Passages, and the bytes of their vectors as they lie in memory."""
        key = self._encoder.model_key
        _mark, rows, _gone = await self._shelves.store.vectors.changes(key, 0)
        return (await self._searchable())[0], sum(row.vectors.nbytes for row in rows)

    async def search(
        self, wordings: Sequence[Wording], limit: int, mode: SearchMode
    ) -> SearchResult:
        """As the gateway searches, without a log row."""
        self._encoder.forget_questions()
        return await self._shelves.search.find_any(wordings, self._scope, limit, mode=mode)

    async def _searchable(self) -> tuple[int, int]:
        return await self._shelves.store.passages.searchable(self._scope, self._encoder.model_key)


def evaluation_library(model: str | None, models_dir: Path) -> OpenLibrary:
    """Opens such a library in an empty folder, with the model named or without one."""

    @asynccontextmanager
    async def open_library(home: Path) -> AsyncIterator[EvaluationLibrary]:
        homes.make(home)
        clock, ids = SystemClock(), Uuid7Ids()
        encoder = _HeldBack(
            NoEncoder(NoVectors.PROVIDER_NONE)
            if model is None
            else LocalEncoder(
                models_dir, model, idle_unload_s=IDLE_S, clock=clock, most_workers=WORKERS
            )
        )
        async with open_shelves(home, UNBOUNDED, encoder, clock, ids) as shelves:
            store = shelves.store
            await store.accounts.put(OWNER)
            draft = Collection(ids.new(), 0, "evaluation", "Evaluation", Sensitivity.INTERNAL)
            collection = await store.collections.create(draft, OWNER.id)
            scopes = ScopeService(store.accounts, store.links, store.grants)
            audience = Audience(AudienceKind.DASHBOARD, OWNER, is_direct=True)
            scope = await scopes.scope(audience, None)
            yield EvaluationLibrary(shelves, collection, scope, encoder)

    return open_library
