"""Sources on SQLite: added with their job, removed with all that was made of them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from sqlalchemy import Connection, bindparam, case, func, insert, select, update

from gateway.core.audit import SecurityEvent
from gateway.core.documents import Source, SourceKind, SourceState, SourceWarning, StatusDetail
from gateway.interfaces import Clock, Ids, Sources
from gateway.store.audit_rows import put_event
from gateway.store.collections import IS_LIVE, live_collection
from gateway.store.database import Database
from gateway.store.job_rows import put_job
from gateway.store.json_text import encoded
from gateway.store.outbox import SqliteOutbox
from gateway.store.removal import REPLIES_ON, Removed, remove_source
from gateway.store.statements import Row, Statement
from gateway.store.tables.library import source_tombstones, sources
from gateway.store.tables.people import collections
from gateway.store.values import clean, instant, micros

T = TypeVar("T")

_WARNINGS = msgspec.json.Decoder(tuple[SourceWarning, ...])

_live = select(*sources.c).join(collections, collections.c.id == sources.c.collection_id)
_FIND = Statement(_live.where(IS_LIVE, sources.c.id == bindparam("source_id")))
_SAME = Statement(
    select(*sources.c).where(
        sources.c.collection_id == bindparam("collection_id"),
        sources.c.sha256 == bindparam("sha256"),
    )
)
_LIST = Statement(
    _live.where(IS_LIVE, sources.c.collection_id == bindparam("collection_id")).order_by(
        sources.c.created_at, sources.c.id
    )
)
_INSERT = Statement(insert(sources), columns=[column.name for column in sources.c])
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


def source_of(row: Row) -> Source:
    """A row of the sources table."""
    return Source(
        id=row[0],
        collection_id=row[1],
        title=row[2],
        kind=SourceKind(row[3]),
        sha256=row[4],
        size_bytes=row[5],
        state=SourceState(row[6]),
        status_detail=None if row[7] is None else StatusDetail(row[7]),
        error_code=row[8],
        warnings=_WARNINGS.decode(row[9]),
        media_type=row[10],
        added_by=row[11],
        created_at=instant(row[12]),
        revision_id=row[13],
        passages=row[14],
        attempts=row[15],
        approved_by=row[16],
    )


def add_source(
    connection: Connection, source: Source, job_id: str, now: int
) -> tuple[Source, bool]:
    """The source with its job, or the one that holds the same bytes there already."""
    live_collection(connection, source.collection_id)
    same = _SAME.first(connection, collection_id=source.collection_id, sha256=source.sha256)
    if same is not None:
        return source_of(same), False
    _INSERT.run(connection, **_values(source))
    put_job(connection, job_id, "ingest", source.id, now)
    found = _FIND.first(connection, source_id=source.id)
    assert found is not None
    return source_of(found), True


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
        row = await self._database.read(lambda c: _FIND.first(c, source_id=source_id))
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
            if _FIND.first(connection, source_id=source_id) is None:
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

    async def _forget_replies(self, source_id: str, at: datetime) -> None:
        rows = await self._database.read(lambda c: REPLIES_ON.all(c, source_id=source_id))
        await self._outbox.forget_turns([row[0] for row in rows], at)


def _values(source: Source) -> dict[str, object]:
    return {
        "id": source.id,
        "collection_id": source.collection_id,
        "title": clean(source.title),
        "kind": source.kind.value,
        "sha256": source.sha256,
        "size_bytes": source.size_bytes,
        "state": source.state.value,
        "status_detail": None if source.status_detail is None else source.status_detail.value,
        "error_code": source.error_code,
        "warnings": encoded(source.warnings),
        "media_type": source.media_type,
        "added_by": source.added_by,
        "created_at": micros(source.created_at),
        "revision_id": None,  # none yet, whatever the caller thinks: only `replace` sets it
        "passages": 0,
        "attempts": source.attempts,
        "approved_by": source.approved_by,
    }


fits: type[Sources] = SqliteSources
