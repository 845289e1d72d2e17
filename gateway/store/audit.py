"""The access log and the security events on SQLite, and the one writer of the .jsonl file."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import bindparam, false, literal_column, select, update

from gateway.core.access_log import Mark, Page, page_of
from gateway.core.audit import AccessEntry, SecurityEvent
from gateway.interfaces import AccessLog, Audit
from gateway.store import access_rows, audit_file
from gateway.store.access_rows import entry_of
from gateway.store.audit_rows import line_of, put_event
from gateway.store.database import Database
from gateway.store.json_text import json_list
from gateway.store.statements import Statement, in_integers
from gateway.store.tables.record import security_events
from gateway.store.values import clean, micros

_EXPORT_BATCH = 500
_PURGE_BATCH = 500  # others' writes go in between
_END_OF_TIME = 2**62

_OPEN_EVENTS = Statement(
    select(*security_events.c)
    .where(security_events.c.is_exported.is_(false()))
    .order_by(security_events.c.seq)
    .limit(bindparam("most"))
)
_EXPORTED = Statement(
    update(security_events)
    .where(in_integers(security_events.c.seq, "seqs"))
    .values(is_exported=literal_column("1"))
)


class SqliteAudit:
    """One row a read of the library; security events wait here for the exporter."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, entry: AccessEntry) -> None:
        await self._database.write(lambda c: access_rows.put_entry(c, entry))

    async def event(self, event: SecurityEvent) -> None:
        await self._database.write(lambda c: put_event(c, event))

    async def entries(
        self, collection_id: str | None, limit: int, *, denied_only: bool = False
    ) -> Sequence[AccessEntry]:
        """Newest first; of a collection: those where it was readable at that moment."""
        wanted = None if collection_id is None else clean(collection_id)
        rows = await self._database.read(
            lambda c: access_rows.ENTRIES.all(
                c, collection=wanted, denied_only=int(denied_only), most=limit
            )
        )
        return [entry_of(row) for row in rows]

    async def reads_of(self, collection_id: str, limit: int, before: Mark | None) -> Page:
        return await self._page(access_rows.READS_OF, limit, before, collection=collection_id)

    async def denied(self, limit: int, before: Mark | None) -> Page:
        return await self._page(access_rows.DENIED, limit, before)

    async def question_key(self) -> bytes:
        found: bytes = await self._database.read(
            lambda c: access_rows.KEY.scalar(c, which="questions")
        )
        return found

    async def purge(self, before: datetime) -> int:
        """Access log only, some rows at a time; security events stay."""
        at, gone = micros(before), 0
        while purged := await self._database.write(
            lambda c: access_rows.PURGE.run(c, before=at, most=_PURGE_BATCH)
        ):
            gone += purged
        if gone:
            await self._database.write(access_rows.DROP_UNUSED_SCOPES.run)
        return gone

    async def export(self, file: Path) -> int:
        """Append waiting security events to the .jsonl, with fsync; how many lines.

        One caller at a time. A crash between the file and the mark neither loses nor repeats a
        line: see audit_file.append.
        """
        rows = await self._database.read(lambda c: _OPEN_EVENTS.all(c, most=_EXPORT_BATCH))
        if rows:
            await asyncio.to_thread(audit_file.append, file, [line_of(row) for row in rows])
            seqs = json_list(row[0] for row in rows)
            await self._database.write(lambda c: _EXPORTED.run(c, seqs=seqs))
        return len(rows)

    async def _page(
        self, statement: Statement, limit: int, before: Mark | None, **values: str
    ) -> Page:
        at = _END_OF_TIME if before is None else micros(before.at)
        skip = 0 if before is None else before.skip
        rows = await self._database.read(
            lambda c: statement.all(c, before=at, skip=skip, most=limit + 1, **values)
        )
        return page_of(tuple(entry_of(row) for row in rows), limit, before)


fits: type[Audit] = SqliteAudit
fits_log: type[AccessLog] = SqliteAudit
