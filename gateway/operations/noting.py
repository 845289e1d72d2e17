"""`knowledge.sources.set_metadata`: what people note down about a document (FEATURES D2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.core.access import Account, Role
from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source
from gateway.core.filters import Value
from gateway.core.metadata import changed_keys, checked_metadata
from gateway.errors import NotFoundError
from gateway.interfaces import Clock, SourceMetadata
from gateway.operations.library import Keeping, account_of
from gateway.operations.library_types import SourceView
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """All metadata of a document from now on; `before` is what the editor loaded, where it is
    to be held against what is there.
    """

    source_id: str
    metadata: dict[str, Any]
    before: dict[str, Any] | None = None


class Noting:
    """What this operation needs."""

    def __init__(self, keeping: Keeping, metadata: SourceMetadata, clock: Clock) -> None:
        self._keeping = keeping
        self._metadata = metadata
        self._clock = clock

    async def set(self, caller: Caller, request: MetadataChange) -> SourceView:
        """Editors; the next search goes by it. ConflictError when somebody saved meanwhile."""
        account = account_of(caller)
        source = await self._keeping.required(caller, request.source_id, Role.EDITOR)
        noted = checked_metadata(request.metadata)
        before = None if request.before is None else checked_metadata(request.before)
        event = self._event(account, source, noted)
        saved = await self._metadata.set(source.id, noted, before=before, event=event)
        if saved is None:
            raise NotFoundError(source.id)
        return self._keeping.view(saved, caller)

    def _event(self, account: Account, source: Source, noted: Mapping[str, Value]) -> SecurityEvent:
        """Which keys changed; what they say is a document's own."""
        keys = changed_keys(source.metadata, noted)
        return SecurityEvent(
            "knowledge_source_metadata_changed",
            self._clock.now(),
            account.id,
            {
                "source_id": source.id,
                "collection_id": source.collection_id,
                "changes": [{"key": key} for key in keys],
            },
        )


def operations(noting: Noting) -> tuple[Operation, ...]:
    """The row of noting down."""
    return (
        Operation(
            "knowledge.sources.set_metadata",
            "Replace a document's metadata.",
            Permission.SIGNED_IN,
            MetadataChange,
            noting.set,
        ),
    )
