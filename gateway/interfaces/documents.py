"""Originals, documents, what is proposed, and the jobs that read them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol

from gateway.core.audit import SecurityEvent
from gateway.core.documents import Extracted, Source, SourceState, SourceWarning, StatusDetail
from gateway.core.filters import Value
from gateway.core.proposals import OpenProposal, Proposal


class Blobs(Protocol):
    """Originals by SHA-256."""

    async def put(self, data: BinaryIO, max_bytes: int) -> tuple[str, int]:
        """Copy, fsync, name by hash; (sha256, size). `too_large` leaves nothing behind."""
        ...

    def path(self, sha256: str) -> Path: ...
    async def remove(self, sha256: str) -> None: ...
    async def list(self) -> Sequence[tuple[str, datetime]]: ...
    async def sweep_partial(self, before: datetime) -> None:
        """Remove what a killed process left half-written, last touched before then."""
        ...


class Sources(Protocol):
    """Documents and their states."""

    async def add(self, source: Source) -> tuple[Source, bool]:
        """Insert with its ingest job in one transaction; (source, is_new). Same bytes (or the
        same page) in the same collection: the existing source and False.
        """
        ...

    async def find(self, source_id: str) -> Source | None: ...
    async def list(self, collection_id: str) -> Sequence[Source]: ...
    async def set_state(
        self,
        source_id: str,
        state: SourceState,
        *,
        status_detail: StatusDetail | None = None,
        error_code: str | None = None,
        warnings: Sequence[SourceWarning] | None = None,
    ) -> bool:
        """False when the source is gone, so that a job notices and writes nothing."""
        ...

    async def remove(
        self, source_id: str, at: datetime, *, event: SecurityEvent | None = None
    ) -> str | None:
        """Text, index, vectors and excerpts in one transaction; the SHA-256 if now unused."""
        ...

    async def title_of(self, source_id: str) -> tuple[str, str, bool] | None:
        """(title, collection id, is_deleted), also of a removed source's tombstone."""
        ...

    async def usage(self) -> Mapping[str, tuple[int, int, int]]:
        """Collection id -> sources, passages, bytes; for the quotas."""
        ...

    async def originals(self) -> frozenset[str]:
        """SHA-256 of every blob that a source refers to."""
        ...


class SourceMetadata(Protocol):
    """What people noted down about documents."""

    async def set(
        self,
        source_id: str,
        metadata: Mapping[str, Value],
        *,
        before: Mapping[str, Value] | None = None,
        event: SecurityEvent | None = None,
    ) -> Source | None:
        """In the place of all there is, found from then on; None when the source is gone.

        `before`: what it replaces; ConflictError where it is another by now. `event` goes in the
        same transaction, where anything changed.
        """
        ...


class ProposalCards(Protocol):
    """Documents that wait for approval (FEATURES A22). Each method is one transaction, its
    security events with it; who may decide is asked for within it.
    """

    async def put(self, cards: Sequence[Proposal]) -> Sequence[Proposal]:
        """All of them or none: GatewayError `proposal_limit`, NotFoundError when the collection
        went. What this turn, or the same proposer in a pending card, proposed already stands for
        itself: then the stored card comes back, with another id.
        """
        ...

    async def of_turn(self, turn_id: str) -> Sequence[Proposal]: ...
    async def decidable(self, account_id: str, now: datetime) -> Sequence[OpenProposal]:
        """Open cards of the collections where this account may decide, oldest first."""
        ...

    async def find(self, proposal_id: str, account_id: str, now: datetime) -> OpenProposal:
        """NotFoundError for what is absent or not this account's to decide, alike; ConflictError
        `proposal_decided`, `proposal_expired`.
        """
        ...

    async def approve(
        self, proposal_id: str, account_id: str, source: Source, now: datetime
    ) -> tuple[Source, bool]:
        """As `find`; the decision and the source with its job in one go. (source, is_new)."""
        ...

    async def reject(
        self, proposal_id: str, account_id: str, now: datetime, *, reason: str | None = None
    ) -> None:
        """As `find`. `reason`: an approval that failed for good, by its code."""
        ...

    async def expire(self, now: datetime) -> Sequence[str]:
        """End those that are too old, or whose collection is gone; their ids."""
        ...

    async def pending(self) -> frozenset[str]:
        """Ids of all cards that are not decided: the files to be kept."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """A durable piece of background work; claims expire."""

    id: str
    kind: str  # "ingest" | "embed" | "sweep_blobs" | "optimize_index" | "remove_collection"
    key: str
    attempts: int


class Jobs(Protocol):
    """Durable background work with claims (DESIGN section 8.13)."""

    async def put(self, kind: str, key: str, not_before: datetime) -> None:
        """Once per (kind, key) while it is waiting."""
        ...

    async def claim(
        self, kinds: Sequence[str], by: str, now: datetime, until: datetime
    ) -> Job | None:
        """Oldest due job that nobody holds; counts an attempt."""
        ...

    async def renew(self, job_id: str, until: datetime) -> None:
        """Keep holding a claimed job; a short lease ends soon after its holder was killed."""
        ...

    async def finish(self, job_id: str) -> None: ...
    async def release(self, job_id: str, not_before: datetime) -> None: ...
    async def waiting(self) -> Mapping[str, int]: ...


OnProgress = Callable[[int, int], None]


class Extractor(Protocol):
    """Reads a file in the sandboxed child. Raises ExtractionError with the code of A9."""

    async def extract(
        self, path: Path, name: str, *, charset: str = "", on_progress: OnProgress = ...
    ) -> Extracted:
        """`name` and `charset` are hints. `on_progress`: (pages or sheets done, all), called in
        the event loop, now and then.
        """
        ...

    async def close(self) -> None: ...
