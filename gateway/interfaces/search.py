"""Passages, their words and their vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.core.audit import AccessEntry
from gateway.core.documents import NewRevision, WholeText
from gateway.core.filters import Filter
from gateway.core.followups import Wording
from gateway.core.passages import NoVectors, Passage, SearchResult
from gateway.core.scope import Scope
from gateway.interfaces.common import Vector


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Passages by bm25 (higher is better) and the document frequencies behind it."""

    hits: tuple[tuple[int, float], ...]
    passages_total: int
    document_frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """All vectors of one passage (the passage and its pieces), float32, shape (k, d)."""

    passage_id: int
    collection_id: str
    script: str  # of the passage: "zh" | "ja" | "en", for centring per language
    vectors: Vector


class PassageIndex(Protocol):
    """Text and lexical index. Every read of text takes a Scope, applied inside the query."""

    async def replace(self, revision: NewRevision) -> bool:
        """Swap a source's revision in one transaction; unchanged passages keep their vectors.
        False when the source is gone.
        """
        ...

    async def lexical(
        self, scope: Scope, terms: Sequence[str], limit: int, phrases: Sequence[Sequence[str]] = ()
    ) -> LexicalHits:
        """OR of index terms (core/matching.py), every phrase required; ties by passage id."""
        ...

    async def load(self, scope: Scope, passage_ids: Sequence[int]) -> Sequence[Passage]:
        """Those that exist, in a current revision, within the scope; in the order asked."""
        ...

    async def around(self, scope: Scope, passage_id: int, context: int) -> Sequence[Passage]:
        """The passage with up to `context` neighbours each side, in reading order; one of a
        superseded revision too, while that is kept.
        """
        ...

    async def of_revision(
        self, scope: Scope, source_id: str, revision_id: str
    ) -> Sequence[Passage]:
        """All of a revision's text in reading order, current or kept; nothing where it is not."""
        ...

    async def searchable(self, scope: Scope, model_key: str) -> tuple[int, int]:
        """Passages in the scope, and how many of them have vectors of this model."""
        ...


class RevisionTexts(Protocol):
    """The whole text of each revision that is kept; it never changes (FEATURES C2)."""

    async def find(self, scope: Scope, source_id: str, revision_id: str) -> WholeText | None:
        """None: not there, outside the scope, or read by a release that kept passages alone."""
        ...


class SourcePassages(Protocol):
    """The part of the index that some documents make up; the scope holds inside it as well."""

    async def of_filter(self, scope: Scope, within: Filter) -> Sequence[int]:
        """Ids of all passages of the documents that are meant, current revisions, ascending.

        A field is what is noted down under its name (core/metadata.py); where nothing is, `id`,
        `title`, `kind`, `media_type` and `address` are what the program knows.
        """
        ...

    async def lexical(
        self,
        scope: Scope,
        terms: Sequence[str],
        limit: int,
        phrases: Sequence[Sequence[str]] = (),
        among: Sequence[int] | None = None,
    ) -> LexicalHits:
        """As of PassageIndex; where `among` is given nothing but these passages is scored."""
        ...


class VectorStore(Protocol):
    """Vectors on disk; numpy blocks in memory are built from it and follow `changes`."""

    async def without_vectors(
        self, model_key: str, source_id: str | None, limit: int
    ) -> Sequence[Passage]:
        """Passages of current revisions that still need vectors; ingestion only."""
        ...

    async def put(self, model_key: str, rows: Sequence[PassageVectors]) -> int:
        """Write those whose passage still exists; how many."""
        ...

    async def changes(
        self, model_key: str, since: int
    ) -> tuple[int, Sequence[PassageVectors], Sequence[int]]:
        """(new mark, rows put after `since`, passage ids gone after `since`).

        Many rows come in parts: ask again from the new mark until there are none.
        """
        ...

    async def remove_model(self, model_key: str) -> int: ...

    async def excluded(self, model_key: str) -> frozenset[str]:
        """Collections whose texts this model may not be given (FEATURES A14)."""
        ...


class VectorCoverage(Protocol):
    """How far the vectors of each model are, over the whole library."""

    async def rows(self) -> Mapping[str, int]:
        """Passages with vectors, by model key."""
        ...

    async def of(self, model_key: str) -> tuple[int, int]:
        """Passages that this model may be given, and those that have their vectors of it."""
        ...

    async def covers(self, model_key: str, former: str) -> bool:
        """Whether no passage that has vectors of `former` waits for those of `model_key`."""
        ...

    async def is_whole(self, model_key: str) -> bool:
        """Whether no passage waits for its vectors of `model_key`; over the limit none does."""
        ...

    async def kept_here(self) -> tuple[int, int, int]:
        """Collections in all, those that are restricted, and others that are local only."""
        ...

    async def begin_rebuild(self) -> None:
        """From now on all vectors are made again; the old ones are found until replaced."""
        ...


class Encoder(Protocol):
    """Turns text into unit vectors, outside the event loop's process."""

    @property
    def model_key(self) -> str:
        """Model, revision, prefix and pooling in one string."""
        ...

    async def unavailable(self) -> NoVectors | None:
        """Why it cannot be used now, or None."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Shape (d,). Goes before any passage that waits. Raises ModelError."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """For each text its unit vector, shape (d,); over-long texts are averaged over windows."""
        ...

    async def close(self) -> None: ...


class Retriever(Protocol):
    """Search and reading within a scope; writes the access log itself."""

    async def search(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        entry: AccessEntry,
        wordings: Sequence[Wording] = (),
    ) -> SearchResult:
        """`wordings`: what `query`, a follow-up question, may mean; the log keeps `query`."""
        ...

    async def around(
        self, scope: Scope, passage_id: int, context: int, *, entry: AccessEntry
    ) -> Sequence[Passage]:
        """NotFoundError for absent and forbidden alike."""
        ...


class FilteringRetriever(Retriever, Protocol):
    """Search of the documents that a filter means."""

    async def search(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        entry: AccessEntry,
        wordings: Sequence[Wording] = (),
        within: Filter | None = None,
    ) -> SearchResult:
        """As of Retriever; `within` only narrows, and before anything is ranked."""
        ...
