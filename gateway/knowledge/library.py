"""Adding documents to a collection and taking them out: quotas, original, source, job."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import BinaryIO

from gateway.core.access import Account, Collection
from gateway.core.documents import Source, SourceKind, SourceState
from gateway.core.filenames import title_of
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError, GatewayError, NotFoundError
from gateway.interfaces import Blobs, Clock, Ids, Jobs, Sources
from gateway.knowledge.upload_gate import UploadGate

PutSource = Callable[[Source], Awaitable[tuple[Source, bool]]]  # as Sources.add
_NO_PATH = str.maketrans("/\\", "／＼")  # a pasted title, `2026/01`, has no folders to leave out


class Library:
    """Whether the caller may do it was decided before (operations and Desk)."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        *,
        sources: Sources,
        blobs: Blobs,
        jobs: Jobs,
        clock: Clock,
        ids: Ids,
        limits: KnowledgeLimits,
        gate: UploadGate,
        wake: Callable[[], None],
    ) -> None:
        """`wake` is Ingestion.wake; `gate` is the one the Ingestion has."""
        self._sources = sources
        self._blobs = blobs
        self._jobs = jobs
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._gate = gate
        self._wake = wake
        self._adding = asyncio.Lock()  # quotas are checked and used up by one at a time

    async def add_file(
        self, collection: Collection, name: str, stream: BinaryIO, account: Account | None
    ) -> tuple[Source, bool]:
        """(source, is_new); the same bytes in the same collection give the existing one.

        GatewayError: `too_large`, `quota_sources`, `quota_bytes`, `store_full`; NotFoundError
        when the collection went meanwhile.
        """
        return await self._add(collection, title_of(name), SourceKind.FILE, stream, account)

    async def add_text(
        self, collection: Collection, title: str, text: str, account: Account | None
    ) -> tuple[Source, bool]:
        """A pasted text, kept as a `.txt` source. Also `too_many_chars` and `empty_text`."""
        if len(text) > self._limits.max_source_chars:
            raise _refused("too_many_chars", limit=self._limits.max_source_chars)
        if not text.strip():
            raise ExtractionError("nothing was pasted", code="empty_text")
        name = title_of(title.translate(_NO_PATH))
        name = name if name.lower().endswith(".txt") else f"{name}.txt"
        stream = io.BytesIO(text.encode("utf-8", "replace"))
        return await self._add(collection, name, SourceKind.PASTE, stream, account)

    async def add_approved(
        self, draft: Source, stream: BinaryIO, put: PutSource
    ) -> tuple[Source, bool]:
        """What was proposed (FEATURES A22); `put` keeps the source together with the decision.

        As `add_file`, and `proposal_changed` where the draft names other bytes than came.
        """
        async with self._gate.upload():
            sha256, size = await self._blobs.put(stream, self._limits.max_source_bytes)
            if draft.sha256 not in ("", sha256):
                raise _refused("proposal_changed")
            whole = replace(draft, sha256=sha256, size_bytes=size)
            async with self._adding:
                source, is_new = await self._put(whole, put)
        if is_new:
            self._wake()
        return source, is_new

    async def read_again(self, source_id: str) -> None:
        """Re-index: what is searched now stays until the new reading is whole. NotFoundError."""
        if not await self._sources.set_state(source_id, SourceState.QUEUED):
            raise NotFoundError(source_id)
        await self._jobs.put("ingest", source_id, self._clock.now())
        self._wake()

    async def remove(self, source_id: str) -> None:
        """Text, index and vectors at once; the original, if unused, by the next sweep."""
        await self._sources.remove(source_id, self._clock.now())
        await self.removed()

    async def removed(self) -> None:
        """A source went: its original is looked at by the next sweep."""
        await self._jobs.put("sweep_blobs", "", self._clock.now())
        self._wake()

    async def _add(
        self,
        collection: Collection,
        title: str,
        kind: SourceKind,
        stream: BinaryIO,
        account: Account | None,
    ) -> tuple[Source, bool]:
        async with self._gate.upload():
            sha256, size = await self._blobs.put(stream, self._limits.max_source_bytes)
            draft = Source(
                id=self._ids.new(),
                collection_id=collection.id,
                title=title,
                kind=kind,
                sha256=sha256,
                size_bytes=size,
                state=SourceState.QUEUED,
                created_at=self._clock.now(),
                added_by=account.id if account else None,
            )
            async with self._adding:
                source, is_new = await self._put(draft, self._sources.add)
        if is_new:
            self._wake()
        return source, is_new

    async def _put(self, draft: Source, put: PutSource) -> tuple[Source, bool]:
        """No quota stands in the way of what is there already."""
        same = [
            s for s in await self._sources.list(draft.collection_id) if s.sha256 == draft.sha256
        ]
        if not same:
            self._check(draft, await self._sources.usage())
        return await put(draft)

    def _check(self, draft: Source, usage: Mapping[str, tuple[int, int, int]]) -> None:
        limits = self._limits
        count, _, size = usage.get(draft.collection_id, (0, 0, 0))
        total = sum(each[2] for each in usage.values())
        if count >= limits.max_sources_per_collection:
            raise _refused("quota_sources", limit=limits.max_sources_per_collection)
        if (
            size + draft.size_bytes > limits.max_collection_bytes
            or total + draft.size_bytes > limits.max_total_bytes
        ):
            raise _refused("quota_bytes", limit_mb=limits.max_collection_bytes // 1_000_000)
        if sum(each[1] for each in usage.values()) >= limits.max_chunks_total:
            raise _refused("quota_chunks", limit=limits.max_chunks_total)


def _refused(code: str, **params: int) -> GatewayError:
    return GatewayError(code, code=code, **params)
