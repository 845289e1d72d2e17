"""Section trees: which section a passage belongs to, and a document's whole tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.core.documents import Chunk, Section, WholeText
from gateway.core.outlines import SectionHit
from gateway.core.scope import Scope


class Outlines(Protocol):
    """Sections are text of documents: every read takes a Scope, applied inside the query."""

    async def of_passages(
        self, scope: Scope, passage_ids: Sequence[int]
    ) -> Mapping[int, SectionHit]:
        """The innermost section of each; what is absent, superseded or outside the scope is left
        out, alike.
        """
        ...

    async def of_source(self, scope: Scope, source_id: str) -> Sequence[SectionHit]:
        """The tree of the current revision in reading order, parents before their children;
        nothing where the source is absent or outside the scope, alike.
        """
        ...


@dataclass(frozen=True, slots=True)
class Readable:
    """A current revision as its sections and their summaries are made of it."""

    revision_id: str
    collection_id: str
    chunks: tuple[Chunk, ...]  # their folded copies left out
    sections: tuple[Section, ...]
    whole: WholeText | None  # None: of a release that kept passages alone


class OutlineKeeping(Protocol):
    """What the background work on sections reads and writes; ingestion only, for no reader."""

    async def lacking(self, limit: int, after: str = "") -> Sequence[str]:
        """Sources with text whose sections have no summaries yet, by id, from `after` on."""
        ...

    async def readable(self, source_id: str) -> Readable | None:
        """None where the source, or its text, is gone."""
        ...

    async def replace(
        self, revision_id: str, sections: Sequence[Section], homes: Mapping[int, int]
    ) -> bool:
        """All sections of a current revision; `homes`: of passages by ordinal. False: it is not
        the current one any more, and nothing was written.
        """
        ...

    async def summarise(self, revision_id: str, ordinal: int, summary: str, by: str) -> bool:
        """One section's summary by the model `by`. False as for `replace`."""
        ...
