"""Passages, where they stand in a document, and what a search returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.core.calibration import Logistic

COLLECTION_SHIFT = 32  # passage id = collection_no << 32 | n (DESIGN section 8.3)


@dataclass(frozen=True, slots=True)
class Locator:
    """Where in the document a passage stands; every part is optional."""

    page: int | None = None
    page_end: int | None = None
    slide: int | None = None
    sheet: str | None = None
    row: int | None = None
    row_end: int | None = None
    heading: tuple[str, ...] = ()
    is_described: bool = False  # a model's words about the page, none of the document's

    def label(self) -> str:
        """Short, the same in every language: `p. 3–4`, `slide 2`, `Sheet1 row 3–8`, `A › B`."""
        if self.page is not None:
            by = " (described)" if self.is_described else ""
            return f"p. {_span(self.page, self.page_end)}{by}"
        if self.slide is not None:
            return f"slide {self.slide}"
        if self.row is not None:
            rows = f"row {_span(self.row, self.row_end)}"
            return f"{self.sheet} {rows}" if self.sheet else rows
        if self.sheet is not None:
            return self.sheet
        return " › ".join(self.heading[-2:])


def _span(first: int, last: int | None) -> str:
    return f"{first}–{last}" if last is not None and last != first else str(first)


@dataclass(frozen=True, slots=True)
class Passage:
    """About 500 characters of one revision of a source, with the original characters kept."""

    id: int
    collection_id: str
    source_id: str
    revision_id: str
    ordinal: int  # place within the revision, from 0
    title: str  # of the source
    text: str
    locator: Locator
    is_flagged: bool = False  # holds wording that looks like an instruction to a model


class SearchMode(StrEnum):
    """Which evidence a search used (vocabulary of the result, FEATURES A12)."""

    HYBRID = "hybrid"
    KEYWORD_ONLY = "keyword_only"
    VECTOR_ONLY = "vector_only"


class NoVectors(StrEnum):
    """Why a search used no vectors; stable codes (FEATURES A12)."""

    MODEL_MISSING = "model_missing"
    VERIFICATION_FAILED = "verification_failed"
    UNSUPPORTED_PLATFORM = "unsupported_platform"
    NO_CONSENT = "no_consent"
    REDACTION_OFF = "redaction_off"
    NO_KEY = "no_key"
    CLOUD_ERROR = "cloud_error"
    ALL_EXCLUDED = "all_excluded"
    PROVIDER_NONE = "provider_none"
    UNKNOWN_PROVIDER = "unknown_provider"
    ENCODER_FAILED = "encoder_failed"
    NO_VECTORS_YET = "no_vectors_yet"


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage found, with the evidence for it."""

    passage: Passage
    score: float
    lexical_rank: int | None = None
    vector_rank: int | None = None
    lexical_score: float | None = None  # raw; shown to admins only (DESIGN section 8.9)
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Relevance:
    """The calibrated decision whether the best hits answer the question at all."""

    is_relevant: bool
    probability: float
    features: Mapping[str, float] = field(default_factory=dict)
    rule: Logistic | None = None  # what weighed them


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits best first, at most three a source, and how they were found."""

    hits: tuple[Hit, ...]
    mode: SearchMode
    coverage: float  # share of the searchable passages that have vectors
    relevance: Relevance
    vector_unavailable: NoVectors | None = None
    scan_capped: bool = False
