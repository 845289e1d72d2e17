"""Sources, their states, and what extraction makes of bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gateway.core.filters import Value
from gateway.core.passages import Locator
from gateway.core.urls import same_page


class SourceState(StrEnum):
    """The state machine of FEATURES A9; FAILED carries a code."""

    QUEUED = "queued"
    EXTRACTING = "extracting"
    INDEXING = "indexing"
    EMBEDDING = "embedding"
    READY = "ready"
    FAILED = "failed"


IN_PROGRESS = frozenset(
    {SourceState.QUEUED, SourceState.EXTRACTING, SourceState.INDEXING, SourceState.EMBEDDING}
)


class StatusDetail(StrEnum):
    """How far a search of this source reaches."""

    HYBRID = "hybrid"
    KEYWORD_ONLY = "keyword_only"
    VECTOR_LIMIT = "vector_limit"


class SourceKind(StrEnum):
    """How a source came in."""

    FILE = "file"
    PASTE = "paste"
    URL = "url"


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """Something the uploader should know about a source that is ready all the same."""

    code: str
    pages: tuple[int, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One document of one collection, with the state of its newest revision."""

    id: str
    collection_id: str
    title: str
    kind: SourceKind
    sha256: str  # of the original; "" while none was fetched
    size_bytes: int
    state: SourceState
    created_at: datetime
    revision_id: str | None = None  # the revision that searches follow
    status_detail: StatusDetail | None = None
    error_code: str | None = None
    warnings: tuple[SourceWarning, ...] = ()
    media_type: str = ""
    added_by: str | None = None
    approved_by: str | None = None  # of a proposal (A22): who let in what `added_by` proposed
    passages: int = 0
    attempts: int = 0
    address: str = ""  # of a page (core/urls.py): it is fetched at every reading
    names_itself: bool = False  # its title is that of the page
    metadata: Mapping[str, Value] = field(default_factory=dict, hash=False)  # core/metadata.py

    @property
    def identity(self) -> str:
        """What a collection holds once (A8): these bytes, or the page at this address."""
        if not self.address:
            return self.sha256
        return hashlib.sha256(same_page(self.address).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text as the reader found it: paragraph, heading, table row; never a whole page.

    `heading_level` 1 to 6 marks a heading. `row` blocks carry `header`, the header row's text,
    which each passage made of them repeats.
    """

    text: str
    locator: Locator
    heading_level: int | None = None
    is_row: bool = False
    header: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What the sandboxed reader made of a file: untrusted text with places."""

    blocks: tuple[Block, ...]
    media_type: str
    title: str = ""
    warnings: tuple[SourceWarning, ...] = ()
    pages: int | None = None
    is_sandboxed: bool = True
    pictured: tuple[int, ...] = ()  # pages that say most by pictures: little text beside them


@dataclass(frozen=True, slots=True)
class Section:
    """A node of the section tree; `parent` is an ordinal, `locator` has its pages and its path.

    Below 0: what stands before the first heading (core/sectioning.py).
    """

    ordinal: int
    parent: int | None
    level: int
    title: str
    locator: Locator
    summary: str = ""  # core/summaries.py, or a model's
    summary_by: str = ""  # that model


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage before it has an id: original text, its folded match copy, its place."""

    ordinal: int
    text: str
    match_text: str  # the folded copy, one for matching only
    locator: Locator
    section: int | None = None
    is_flagged: bool = False


@dataclass(frozen=True, slots=True)
class Original:
    """Bytes that are kept: their hash and how many they are."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class WholeText:
    """A revision's text from the first character to the last, nothing repeated, nothing cut.

    `places`: from which character on (by code points) text stands where.
    """

    text: str
    places: tuple[tuple[int, Locator], ...] = ()


@dataclass(frozen=True, slots=True)
class NewRevision:
    """All of one reading of a source, swapped in as one transaction.

    `title`: what the document calls itself, taken over where it names itself. `original`: what
    was fetched for this reading; None keeps the original there is. `whole`: None only for a
    reading that kept no text beside its passages.
    """

    id: str
    source_id: str
    chunks: tuple[Chunk, ...]
    sections: tuple[Section, ...] = ()
    warnings: tuple[SourceWarning, ...] = ()
    title: str = ""
    media_type: str = ""
    original: Original | None = None
    whole: WholeText | None = None
