"""The access log and the security events on SQLite, and the one writer of the .jsonl file."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from sqlalchemy import (
    bindparam,
    delete,
    false,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from gateway.core.audit import QUERY_KEPT_CHARS, AccessAction, AccessEntry, SecurityEvent
from gateway.interfaces import Audit
from gateway.store.audit_rows import put_event
from gateway.store.database import Database
from gateway.store.json_text import encoded, json_list, tuple_of
from gateway.store.statements import Row, Statement, in_integers
from gateway.store.tables.record import access_log, security_events
from gateway.store.values import clean, instant, micros

_EXPORT_BATCH = 500

_INSERT = Statement(
    insert(access_log), columns=[column.name for column in access_log.c if column.name != "seq"]
)
_ENTRIES = Statement(
    select(*access_log.c)
    .where(
        or_(
            bindparam("collection").is_(None),
            func.instr(access_log.c.collections, bindparam("collection")) > 0,
        ),
        or_(
            bindparam("denied_only") == 0,
            access_log.c.action == AccessAction.DENIED.value,
        ),
    )
    .order_by(access_log.c.seq.desc())
    .limit(bindparam("most"))
)
_PURGE = Statement(delete(access_log).where(access_log.c.at < bindparam("before")))
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
        values = {
            "action": entry.action.value,
            "at": micros(entry.at),
            "account_id": entry.account_id,
            "agent_id": entry.agent_id,
            "channel": entry.channel,
            "sender": entry.sender,
            "turn_id": entry.turn_id,
            "query": clean(entry.query[:QUERY_KEPT_CHARS]),
            "collections": json_list(entry.collections),
            "results": json_list(entry.results),
        }
        await self._database.write(lambda c: _INSERT.run(c, **values))

    async def event(self, event: SecurityEvent) -> None:
        await self._database.write(lambda c: put_event(c, event))

    async def entries(
        self, collection_id: str | None, limit: int, *, denied_only: bool = False
    ) -> Sequence[AccessEntry]:
        """Newest first; of a collection: those where it was readable at that moment."""
        wanted = None if collection_id is None else encoded(collection_id).decode()
        rows = await self._database.read(
            lambda c: _ENTRIES.all(c, collection=wanted, denied_only=int(denied_only), most=limit)
        )
        return [_entry_of(row) for row in rows]

    async def purge(self, before: datetime) -> int:
        """Access log only; security events stay."""
        at = micros(before)
        return await self._database.write(lambda c: _PURGE.run(c, before=at))

    async def export(self, file: Path) -> int:
        """Append waiting security events to the .jsonl, with fsync; how many lines.

        One caller at a time. A crash between the file and the mark repeats lines; their `seq`
        tells.
        """
        rows = await self._database.read(lambda c: _OPEN_EVENTS.all(c, most=_EXPORT_BATCH))
        if rows:
            await asyncio.to_thread(_append, file, b"".join(_line(row) for row in rows))
            seqs = json_list(row[0] for row in rows)
            await self._database.write(lambda c: _EXPORTED.run(c, seqs=seqs))
        return len(rows)


def _entry_of(row: Row) -> AccessEntry:
    return AccessEntry(
        action=AccessAction(row[1]),
        at=instant(row[2]),
        account_id=row[3],
        agent_id=row[4],
        channel=row[5],
        sender=row[6],
        turn_id=row[7],
        query=row[8],
        collections=tuple_of(row[9]),
        results=tuple_of(row[10]),
    )


def _line(row: Row) -> bytes:
    at = instant(row[2]).astimezone(UTC).isoformat().replace("+00:00", "Z")
    details = msgspec.json.decode(row[4])
    line = {"seq": row[0], "event": row[1], "at": at, "actor": row[3], "details": details}
    return encoded(line) + b"\n"


def _append(file: Path, lines: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as opened:
        opened.write(lines)
        opened.flush()
        os.fsync(descriptor)


fits: type[Audit] = SqliteAudit
