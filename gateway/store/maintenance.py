"""Upkeep: optimising the index after deletions, emptying removed collections, checking files."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from sqlalchemy import Connection, bindparam, func, select, update

from gateway.core.matching import TOKENISER_VERSION, index_tokens
from gateway.errors import StoreError
from gateway.store import counters, fulltext
from gateway.store.database import Database
from gateway.store.json_text import json_list
from gateway.store.removal import forget_collection, source_left
from gateway.store.sources import SqliteSources
from gateway.store.statements import Statement, in_texts, literal, raw
from gateway.store.tables.inbox import inbox, outbox
from gateway.store.tables.library import passages
from gateway.store.values import micros

_log = structlog.get_logger()
MICROS = 1_000_000

_OUTDATED = Statement(
    select(passages.c.id).where(passages.c.tokeniser != bindparam("version")).limit(1)
)
_TEXTS = select(passages.c.id, passages.c.match_text).order_by(passages.c.id)
_RENEWED = Statement(
    update(passages)
    .where(passages.c.tokeniser != bindparam("version"))
    .values(tokeniser=bindparam("version"))
)
_COUNT = "SELECT count(*) FROM passages"
_OPEN = Statement(  # state, lanes, messages, oldest; rows that are done have left the index
    select(
        inbox.c.state,
        func.count(inbox.c.lane.distinct()),
        func.count(),
        func.min(inbox.c.received_at),
    )
    .where(inbox.c.state != literal("done"))
    .group_by(inbox.c.state)
)
_UNSETTLED = Statement(
    select(outbox.c.state, func.count())
    .where(in_texts(outbox.c.state, "states"))
    .group_by(outbox.c.state)
)


@dataclass(frozen=True, slots=True)
class Drained:
    """One step of emptying a removed collection; `sha256` is a blob that nothing uses now."""

    is_done: bool
    sha256: str | None = None


class Maintenance:
    """What jobs call; long work goes in steps, so that it never holds the writer for long."""

    def __init__(self, knowledge: Database, inbox: Database, sources: SqliteSources) -> None:
        self._knowledge = knowledge
        self._inbox = inbox
        self._sources = sources

    async def optimize(self) -> bool:
        """Deleted text leaves the files (DESIGN section 8.9). False: a reader held the log on."""
        await self._knowledge.write(fulltext.begin_merge)
        while await self._knowledge.write(fulltext.merge):
            pass  # others' units go in between
        emptied = [await each.alone(_truncate_log) for each in (self._knowledge, self._inbox)]
        return all(emptied)

    async def drain(self, collection_id: str, at: datetime) -> Drained:
        """Remove one source of a removed collection, or the empty tombstone at the end."""
        source_id = await self._knowledge.read(lambda c: source_left(c, collection_id))
        if source_id is not None:
            return Drained(is_done=False, sha256=await self._sources.remove(source_id, at))
        await self._knowledge.write(lambda c: forget_collection(c, collection_id))
        return Drained(is_done=True)

    async def reindex(self) -> bool:
        """Rebuild the index when it was made by another tokeniser; whether it was."""
        version = TOKENISER_VERSION

        def is_outdated(connection: Connection) -> bool:
            return _OUTDATED.first(connection, version=version) is not None

        if not await self._knowledge.read(is_outdated):
            return False
        _log.info("index_rebuild", tokeniser=version)
        await self._knowledge.write(_rebuild)
        return True

    async def depths(self, now: datetime) -> Mapping[str, Mapping[str, float]]:
        """What is under way, as figures: lanes, messages and calls by state, the oldest's age."""
        states = json_list(["pending", "sending", "unknown", "dead"])
        opened = await self._inbox.read(_OPEN.all)
        owed = await self._inbox.read(lambda c: _UNSETTLED.all(c, states=states))
        return {
            "lanes": {row[0]: float(row[1]) for row in opened},
            "messages": {row[0]: float(row[2]) for row in opened},
            "oldest_message_seconds": {
                row[0]: max(0.0, (micros(now) - row[3]) / MICROS) for row in opened
            },
            "outbox_calls": {row[0]: float(row[1]) for row in owed},
        }

    async def check(self) -> tuple[str, ...]:
        """What is wrong with the files, one sentence each; empty when all is well."""
        return (
            *await _listed(self._inbox.path, self._inbox.read(_integrity)),
            *await _listed(self._knowledge.path, self._knowledge.read(_integrity)),
            *await _listed(self._knowledge.path, self._knowledge.write(_index_faults)),
        )


async def _listed(file: Path, finding: Awaitable[list[str]]) -> list[str]:
    """A file too broken to be checked is a finding too."""
    try:
        faults = await finding
    except StoreError as error:
        faults = [str(error)]
    return [f"{file.name}: {each}" for each in faults]


def _integrity(connection: Connection) -> list[str]:
    driver = raw(connection)
    faults = [row[0] for row in driver.execute("PRAGMA integrity_check") if row[0] != "ok"]
    broken = driver.execute("PRAGMA foreign_key_check").fetchall()
    return faults + [f"{row[0]} row {row[1]} points at nothing in {row[2]}" for row in broken]


def _index_faults(connection: Connection) -> list[str]:
    fulltext.check(connection)
    stored = raw(connection).execute(_COUNT).fetchone()[0]
    counted = counters.value(connection, counters.PASSAGES)
    indexed = fulltext.rows(connection)
    if stored == counted == indexed:
        return []
    return [f"{stored} passages, {counted} counted, {indexed} indexed"]


def _truncate_log(connection: Connection) -> bool:
    is_busy: int = raw(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return not is_busy


def _rebuild(connection: Connection) -> None:
    fulltext.empty(connection)
    rows = raw(connection).execute(str(_TEXTS))
    fulltext.add(connection, ((row, index_tokens(text)) for row, text in rows))
    _RENEWED.run(connection, version=TOKENISER_VERSION)
