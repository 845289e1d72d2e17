"""What the operations of reading take and give."""

from dataclasses import dataclass, field
from typing import Any

from gateway.operations.decision import DecisionView


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """`collections` (ids or slugs) only narrows; one that is missing or forbidden finds nothing.

    `filters`: only documents with all of these values (core/metadata.py), null where there is none.
    """

    query: str
    collections: list[str] = field(default_factory=list)
    limit: int = 5
    filters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HitView:
    """One passage found. Raw scores, and what they could be reckoned from, go to admins only.

    DESIGN section 8.9.
    """

    chunk_id: str
    source_id: str
    collection_id: str
    title: str
    locator: str
    text: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    lexical_score: float | None
    cosine: float | None


@dataclass(frozen=True, slots=True)
class SearchView:
    """Hits best first and how they were found."""

    hits: list[HitView]
    mode: str
    coverage: float
    vector_unavailable: str | None
    scan_capped: bool
    is_relevant: bool
    relevance: float
    decision: DecisionView | None = None  # for admins, like raw scores


@dataclass(frozen=True, slots=True)
class PassageRequest:
    """A passage's id on the wire and how many neighbours to show each side."""

    chunk_id: str
    context: int = 1


@dataclass(frozen=True, slots=True)
class PassageView:
    """A passage with the text around it."""

    chunk_id: str
    source_id: str
    title: str
    locator: str
    text: str
    is_asked_for: bool
    page: int | None = None  # of a PDF or a scan: it can be shown as a picture, too


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A web chat conversation of the caller."""

    conversation_id: str


@dataclass(frozen=True, slots=True)
class RestoredCitation:
    """A citation of an old reply: whole, or its title marked deleted, or nothing but n."""

    turn_id: str
    n: int
    chunk_id: str | None = None
    source_id: str | None = None
    title: str | None = None
    locator: str | None = None
    excerpt: str | None = None
    is_deleted: bool = False
