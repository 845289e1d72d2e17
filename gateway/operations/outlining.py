"""`knowledge.sources.outline`: the sections of a document with their summaries and pages."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.access import Role
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.outlines import SectionHit
from gateway.interfaces import Audit, Clock, Outlines
from gateway.knowledge.desk import Desk
from gateway.operations.library import Keeping, account_of
from gateway.operations.library_types import SourceReference
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section in reading order; `path` from the outermost one down to it.

    `summary_by`: the model that wrote the summary; "" where it is the document's own sentences.
    """

    title: str
    summary: str
    path: Sequence[str]
    level: int
    first_page: int | None
    last_page: int | None
    summary_by: str


class Outlining:
    """What a reader of a document may see of how it is divided."""

    def __init__(
        self, keeping: Keeping, desk: Desk, outlines: Outlines, audit: Audit, clock: Clock
    ) -> None:
        self._keeping = keeping
        self._desk = desk
        self._outlines = outlines
        self._audit = audit
        self._clock = clock

    async def outline(self, caller: Caller, request: SourceReference) -> Sequence[SectionView]:
        """The section tree of the document as it is searched now; empty while it is not read."""
        account = account_of(caller)
        source = await self._keeping.required(caller, request.source_id, Role.VIEWER)
        scope = await self._desk.scope(account)
        sections = await self._outlines.of_source(scope, source.id)
        entry = AccessEntry(
            AccessAction.PASSAGE,
            self._clock.now(),
            account_id=account.id,
            collections=(source.collection_id,),
            results=(source.id,),
        )
        await self._audit.record(entry)
        return [_view(section) for section in sections]


def _view(section: SectionHit) -> SectionView:
    return SectionView(
        section.title,
        section.summary,
        list(section.path),
        section.level,
        section.first_page,
        section.last_page,
        section.summary_by,
    )


def operations(outlining: Outlining) -> tuple[Operation, ...]:
    """The row."""
    return (
        Operation(
            "knowledge.sources.outline",
            "Tell a document's sections.",
            Permission.SIGNED_IN,
            SourceReference,
            outlining.outline,
        ),
    )
