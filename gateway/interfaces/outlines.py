"""Section trees: which section a passage belongs to, and a document's whole tree."""

from collections.abc import Mapping, Sequence
from typing import Protocol

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
