"""What the operations of the library take and give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gateway import catalogue
from gateway.core.access import Collection, EmbeddingPolicy, Sensitivity
from gateway.core.documents import Source
from gateway.core.filters import Value
from gateway.core.limits import KnowledgeLimits
from gateway.knowledge.desk import Shelf


@dataclass(frozen=True, slots=True)
class CollectionChange:
    """New settings; what is None stays. `version` is the one the editor loaded.

    `parent_id`: the folder it is to lie in, by id or slug; "" takes it out of any.
    """

    collection: str
    version: int
    name: str | None = None
    description: str | None = None
    sensitivity: Sensitivity | None = None
    department: str | None = None
    embedding_policy: EmbeddingPolicy | None = None
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionReference:
    """A collection by id or slug."""

    collection: str


@dataclass(frozen=True, slots=True)
class CollectionDeletion:
    """A deletion, confirmed by typing the name."""

    collection: str
    confirm_name: str


@dataclass(frozen=True, slots=True)
class CollectionView:
    """A collection in somebody's list, with their role; proposals are counted for editors."""

    id: str
    slug: str
    name: str
    description: str
    sensitivity: str
    department: str
    embedding_policy: str
    version: int
    role: str
    sources: int
    passages: int
    in_progress: int
    pending_proposals: int
    is_archived: bool  # with the agent whose own it is
    parent_id: str | None  # the folder it lies in, where that is listed too


@dataclass(frozen=True, slots=True)
class NewSource:
    """`paste`: a document given as `text`. `url`: a page of the web; untitled, it names itself.

    `metadata`: flat, core/metadata.py; what is there already keeps its own.
    """

    collection: str
    title: str = ""
    text: str = ""
    kind: str = "paste"
    url: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileOnDisk:
    """A file on this machine; the local operator only."""

    collection: str
    path: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceReference:
    """A source by id."""

    source_id: str


@dataclass(frozen=True, slots=True)
class WarningView:
    """A warning with its sentence."""

    code: str
    message: str
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far the step under way is: pages or sheets read, then passages with their vectors."""

    done: int
    of: int


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document as people see it in the list."""

    id: str
    collection_id: str
    title: str
    kind: str
    size_bytes: int
    state: str
    status_detail: str | None
    error_code: str | None
    error_message: str | None
    warnings: list[WarningView]
    passages: int
    created_at: datetime
    url: str = ""  # of a page
    media_type: str = ""  # what it was read as
    progress: ProgressView | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Added:
    """A source, new or already there."""

    source: SourceView
    is_new: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """What is told of a document beside what is stored of it."""

    limits: KnowledgeLimits = field(default_factory=KnowledgeLimits)
    progress: Callable[[str], tuple[int, int] | None] = lambda source_id: None


STORED_ALONE = Beside()


def source_view(source: Source, language: str | None, beside: Beside = STORED_ALONE) -> SourceView:
    """A document with its error and warnings as sentences."""
    limits, progress = beside.limits, beside.progress(source.id)
    sizes = {"limit": limits.max_source_chars, "limit_mb": limits.max_source_bytes // 1_000_000}
    return SourceView(
        source.id,
        source.collection_id,
        source.title,
        source.kind.value,
        source.size_bytes,
        source.state.value,
        source.status_detail,
        source.error_code,
        catalogue.error_text(source.error_code, language, **sizes) if source.error_code else None,
        [
            WarningView(
                warning.code,
                catalogue.text(
                    f"ingest.warning_{warning.code}",
                    language,
                    pages=_pages(warning.pages) or warning.detail,
                ).strip(),
                warning.pages,
            )
            for warning in source.warnings
        ],
        source.passages,
        source.created_at,
        source.address,
        source.media_type,
        None if progress is None else ProgressView(*progress),
        source.metadata,
    )


def _pages(pages: Sequence[int]) -> str:
    shown = ", ".join(str(page) for page in pages[:20])
    return f"{shown}, …" if len(pages) > 20 else shown


def shelf_view(shelf: Shelf) -> CollectionView:
    """A collection in a list, with the role of whoever looks."""
    collection: Collection = shelf.collection
    return CollectionView(
        collection.id,
        collection.slug,
        collection.name,
        collection.description,
        collection.sensitivity.value,
        collection.department,
        collection.embedding_policy.value,
        collection.version,
        shelf.role.value,
        shelf.sources,
        shelf.passages,
        shelf.in_progress,
        shelf.pending,
        collection.is_archived,
        collection.parent_id,
    )
