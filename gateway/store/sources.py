"""Sources on SQLite: added with their job, removed with all that was made of them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection, bindparam, case, func, select, update

from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source, SourceState, SourceWarning, StatusDetail
from gateway.interfaces import Clock, Ids, Sources
from gateway.store.audit_rows import put_event
from gateway.store.collections import IS_LIVE
from gateway.store.database import Database
from gateway.store.json_text import encoded
from gateway.store.outbox import SqliteOutbox
from gateway.store.removal import REPLIES_ON, Removed, remove_source
from gateway.store.source_rows import FIND, LIVE, ORIGINALS, add_source, source_of
from gateway.store.statements import Statement
from gateway.store.tables.library import source_tombstones, sources
from gateway.store.tables.people import collections
from gateway.store.values import micros

T = TypeVar("T")

_LIST = Statement(
    LIVE.where(IS_LIVE, sources.c.collection_id == bindparam("collection_id")).order_by(
        sources.c.created_at, sources.c.id
    )
)
_SET_STATE = Statement(
    update(sources)
    .where(sources.c.id == bindparam("source_id"))
    .values(
        state=bindparam("new_state"),
        status_detail=func.coalesce(bindparam("detail"), sources.c.status_detail),
        error_code=bindparam("code"),
        warnings=func.coalesce(bindparam("notes"), sources.c.warnings),
        attempts=case(
            (bindparam("new_state") == SourceState.EXTRACTING.value, sources.c.attempts + 1),
            else_=sources.c.attempts,
        ),
    )
)
_TITLE = Statement(
    select(sources.c.title, sources.c.collection_id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE, sources.c.id == bindparam("source_id"))
)
_TOMBSTONE = Statement(
    select(source_tombstones.c.title, source_tombstones.c.collection_id)
    .join(collections, collections.c.id == source_tombstones.c.collection_id)
    .where(IS_LIVE, source_tombstones.c.id == bindparam("source_id"))
)
_USAGE = Statement(
    select(
        sources.c.collection_id,
        func.count(),
        func.sum(sources.c.passages),
        func.sum(sources.c.size_bytes),
    )
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE)
    .group_by(sources.c.collection_id)
)


class SqliteSources:
    """Documents of live collections; what a removed one leaves is its tombstone."""

    def __init__(self, database: Database, outbox: SqliteOutbox, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._ids = ids

    async def add(self, source: Source) -> tuple[Source, bool]:
        """NotFoundError without the collection. The job is `ingest`, its key the source id."""
        job_id, now = self._ids.new(), micros(self._clock.now())
        return await self._database.write(lambda c: add_source(c, source, job_id, now))

    async def find(self, source_id: str) -> Source | None:
        row = await self._database.read(lambda c: FIND.first(c, source_id=source_id))
        return None if row is None else source_of(row)

    async def list(self, collection_id: str) -> Sequence[Source]:
        rows = await self._database.read(lambda c: _LIST.all(c, collection_id=collection_id))
        return [source_of(row) for row in rows]

    async def set_state(
        self,
        source_id: str,
        state: SourceState,
        *,
        status_detail: StatusDetail | None = None,
        error_code: str | None = None,
        warnings: Sequence[SourceWarning] | None = None,
    ) -> bool:
        """No detail or warnings given: the old ones stay; no code given: it is cleared.

        EXTRACTING counts an attempt.
        """
        notes = None if warnings is None else encoded(tuple(warnings))
        values = {
            "new_state": state.value,
            "detail": None if status_detail is None else status_detail.value,
            "code": error_code,
            "notes": notes,
        }

        def unit(connection: Connection) -> bool:
            if FIND.first(connection, source_id=source_id) is None:
                return False
            return _SET_STATE.run(connection, source_id=source_id, **values) > 0

        return await self._database.write(unit)

    async def remove(
        self, source_id: str, at: datetime, *, event: SecurityEvent | None = None
    ) -> str | None:
        """Unsent replies that rest on it go too; puts the job `optimize_index`."""

        def also(connection: Connection, removed: Removed) -> str | None:
            if event is not None:
                put_event(connection, event)
            return removed.sha256

        return await self.remove_with(source_id, at, also)

    async def remove_with(
        self, source_id: str, at: datetime, also: Callable[[Connection, Removed], T]
    ) -> T | None:
        """Remove it and do something more in the same transaction; None: it was gone already."""
        job_id, now = self._ids.new(), micros(at)

        def unit(connection: Connection) -> T | None:
            removed = remove_source(connection, source_id, job_id, now)
            return None if removed is None else also(connection, removed)

        await self._forget_replies(source_id, at)  # before: a crash here leaves the source to retry
        result = await self._database.write(unit)
        await self._forget_replies(source_id, at)  # and those recorded meanwhile
        return result

    async def title_of(self, source_id: str) -> tuple[str, str, bool] | None:
        """None when its collection is gone: that leaves no titles."""

        def unit(connection: Connection) -> tuple[str, str, bool] | None:
            row = _TITLE.first(connection, source_id=source_id)
            if row is not None:
                return row[0], row[1], False
            row = _TOMBSTONE.first(connection, source_id=source_id)
            return None if row is None else (row[0], row[1], True)

        return await self._database.read(unit)

    async def usage(self) -> Mapping[str, tuple[int, int, int]]:
        rows = await self._database.read(_USAGE.all)
        return {row[0]: (row[1], row[2], row[3]) for row in rows}

    async def originals(self) -> frozenset[str]:
        """Of all sources that have a row, also those of a collection that is being emptied."""
        return frozenset(row[0] for row in await self._database.read(ORIGINALS.all))

    async def _forget_replies(self, source_id: str, at: datetime) -> None:
        rows = await self._database.read(lambda c: REPLIES_ON.all(c, source_id=source_id))
        await self._outbox.forget_turns([row[0] for row in rows], at)


fits: type[Sources] = SqliteSources
