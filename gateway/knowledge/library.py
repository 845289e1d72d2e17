"""Adding documents to a collection and taking them out: quotas, original, source, job."""

import asyncio
import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import BinaryIO

from gateway.core.access import Account, Collection
from gateway.core.documents import Source, SourceKind, SourceState
from gateway.core.filenames import address_title, one_line, title_of
from gateway.core.limits import KnowledgeLimits
from gateway.core.metadata import checked_metadata
from gateway.core.urls import page_address
from gateway.errors import ExtractionError, InvalidRequestError, NotFoundError
from gateway.interfaces import Blobs, Clock, Ids, Jobs, Sources
from gateway.knowledge.embed_job import EVERY
from gateway.knowledge.quotas import PutSource, Room, refused
from gateway.knowledge.upload_gate import UploadGate

Noted = Mapping[str, object]  # metadata before it was checked
NOTHING_NOTED: Noted = MappingProxyType({})
_NO_PATH = str.maketrans("/\\", "／＼")  # a pasted title, `2026/01`, has no folders to leave out
_CHUNK_BYTES = 1 << 20


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
        self._room = Room(sources, limits)

    async def add_file(
        self,
        collection: Collection,
        name: str,
        stream: BinaryIO,
        account: Account | None,
        *,
        metadata: Noted = NOTHING_NOTED,
    ) -> tuple[Source, bool]:
        """(source, is_new); the same bytes in the same collection give the existing one as it is.

        `metadata` as core/metadata.py, here and below.

        GatewayError: `too_large`, `quota_sources`, `quota_bytes`, `quota_chunks`, `store_full`;
        NotFoundError when the collection went meanwhile.
        """
        draft = self._draft(collection, title_of(name), SourceKind.FILE, account, metadata=metadata)
        return await self._add(draft, stream, self._sources.add)

    async def add_text(
        self,
        collection: Collection,
        title: str,
        text: str,
        account: Account | None,
        *,
        metadata: Noted = NOTHING_NOTED,
    ) -> tuple[Source, bool]:
        """A pasted text, kept as a `.txt` source. Also `too_many_chars` and `empty_text`."""
        if len(text) > self._limits.max_source_chars:
            raise refused("too_many_chars", limit=self._limits.max_source_chars)
        if not text.strip():
            raise ExtractionError("nothing was pasted", code="empty_text")
        name = title_of(title.translate(_NO_PATH))
        name = name if name.lower().endswith(".txt") else f"{name}.txt"
        stream = io.BytesIO(text.encode("utf-8", "replace"))
        draft = self._draft(collection, name, SourceKind.PASTE, account, metadata=metadata)
        return await self._add(draft, stream, self._sources.add)

    async def add_page(
        self,
        collection: Collection,
        url: str,
        account: Account | None,
        title: str = "",
        *,
        metadata: Noted = NOTHING_NOTED,
    ) -> tuple[Source, bool]:
        """A page of the web; nothing is asked of it before its job runs (FEATURES A6).

        (source, is_new), False for an address of the same page. Without a title the page's own is
        taken once it was read. `url_wrong` where it is no address of a page; quotas.
        """
        draft = self._draft(collection, title, SourceKind.URL, account, metadata=metadata)
        return await self._add_page(_of_page(draft, url), self._sources.add)

    async def add_approved(
        self, draft: Source, stream: BinaryIO, put: PutSource
    ) -> tuple[Source, bool]:
        """What was proposed (FEATURES A22); `put` keeps the source together with the decision.

        As `add_file`, and `proposal_changed` where the draft names other bytes than came.
        """
        return await self._add(draft, stream, put)

    async def add_approved_page(
        self, draft: Source, url: str, put: PutSource
    ) -> tuple[Source, bool]:
        """As `add_page`, together with the decision."""
        return await self._add_page(_of_page(draft, url), put)

    async def read_again(self, source_id: str) -> None:
        """Re-index: what is searched now stays until the new reading is whole. NotFoundError."""
        if not await self._sources.set_state(source_id, SourceState.QUEUED):
            raise NotFoundError(source_id)
        await self._jobs.put("ingest", source_id, self._clock.now())
        self._wake()

    async def look_for_vectors(self) -> None:
        """After a change of what may leave: make those that lack, settle those that may not."""
        await self._jobs.put("embed", EVERY, self._clock.now())
        self._wake()

    async def remove(self, source_id: str) -> None:
        """Text, index and vectors at once; the original, if unused, by the next sweep."""
        await self._sources.remove(source_id, self._clock.now())
        await self.removed()

    async def removed(self) -> None:
        """A source went: its original is looked at by the next sweep."""
        await self._jobs.put("sweep_blobs", "", self._clock.now())
        self._wake()

    def _draft(
        self,
        collection: Collection,
        title: str,
        kind: SourceKind,
        account: Account | None,
        *,
        metadata: Noted,
    ) -> Source:
        return Source(
            id=self._ids.new(),
            collection_id=collection.id,
            title=title,
            kind=kind,
            sha256="",
            size_bytes=0,
            state=SourceState.QUEUED,
            created_at=self._clock.now(),
            added_by=account.id if account else None,
            metadata=checked_metadata(metadata),
        )

    async def _add(self, draft: Source, stream: BinaryIO, put: PutSource) -> tuple[Source, bool]:
        most = self._limits.max_source_bytes
        sha256, size = await asyncio.to_thread(_measured, stream, most)
        if draft.sha256 not in ("", sha256):
            raise refused("proposal_changed")

        async def keep() -> None:
            if await self._blobs.put(stream, most) != (sha256, size):
                raise InvalidRequestError("file", reason="file: changed while it was read")

        async with self._gate.upload():
            whole = replace(draft, sha256=sha256, size_bytes=size)
            source, is_new = await self._room.add(whole, keep, put)
        if is_new:
            self._wake()
        return source, is_new

    async def _add_page(self, draft: Source, put: PutSource) -> tuple[Source, bool]:
        source, is_new = await self._room.add(draft, _nothing, put)
        if is_new:
            self._wake()
        return source, is_new


def _of_page(draft: Source, url: str) -> Source:
    address = page_address(url)
    if address is None:
        raise InvalidRequestError("not the address of a page", code="url_wrong")
    given = one_line(draft.title)
    title = given or address_title(address)
    return replace(
        draft, title=title, address=address, names_itself=not given, sha256="", size_bytes=0
    )


async def _nothing() -> None:
    return


def _measured(stream: BinaryIO, most_bytes: int) -> tuple[str, int]:
    """Hash and size, before anything is kept; the stream is at its start again."""
    digest, size = hashlib.sha256(), 0
    while chunk := stream.read(_CHUNK_BYTES):
        size += len(chunk)
        if size > most_bytes:
            raise InvalidRequestError(
                f"over {most_bytes} bytes", code="too_large", limit_mb=most_bytes // 1_000_000
            )
        digest.update(chunk)
    stream.seek(0)
    return digest.hexdigest(), size
