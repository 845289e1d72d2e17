"""What people noted down about documents, on SQLite."""

from collections.abc import Mapping

from sqlalchemy import Connection

from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source
from gateway.core.filters import Value, is_alike
from gateway.errors import ConflictError
from gateway.interfaces import SourceMetadata
from gateway.store.audit_rows import put_event
from gateway.store.database import Database
from gateway.store.source_rows import FIND, set_metadata, source_of


class SqliteSourceMetadata:
    """The metadata of documents of live collections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(
        self,
        source_id: str,
        metadata: Mapping[str, Value],
        *,
        before: Mapping[str, Value] | None = None,
        event: SecurityEvent | None = None,
    ) -> Source | None:
        def unit(connection: Connection) -> Source | None:
            row = FIND.first(connection, source_id=source_id)
            if row is None:
                return None
            stored = source_of(row)
            if before is not None and not is_alike(stored.metadata, before):
                raise ConflictError(f"metadata of {source_id} moved on")
            if is_alike(stored.metadata, metadata):
                return stored
            set_metadata(connection, source_id, metadata)
            if event is not None:
                put_event(connection, event)
            now = FIND.first(connection, source_id=source_id)
            return None if now is None else source_of(now)

        return await self._database.write(unit)


fits: type[SourceMetadata] = SqliteSourceMetadata
