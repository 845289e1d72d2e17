"""Taking a source out: text, index, vectors, excerpts, jobs, and a tombstone, in one go."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, case, delete, insert, select, union, update

from gateway.store import counters, passage_rows
from gateway.store.job_rows import AFTER_DELETION_US, put_job
from gateway.store.source_rows import STILL_USED
from gateway.store.statements import Statement, literal
from gateway.store.tables.library import jobs, revisions, source_tombstones, sources
from gateway.store.tables.people import collections
from gateway.store.tables.record import turn_citations, turn_rests_on

REPLIES_ON = Statement(  # by their own passages, or by way of earlier answers
    union(
        select(turn_citations.c.turn_id).where(
            turn_citations.c.source_id == bindparam("source_id")
        ),
        select(turn_rests_on.c.turn_id).where(turn_rests_on.c.source_id == bindparam("source_id")),
    )
)
_SOURCE = Statement(
    select(
        sources.c.collection_id,
        sources.c.title,
        case((sources.c.address.is_(None), sources.c.sha256), else_=sources.c.original),
        collections.c.removed_at,
    )
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(sources.c.id == bindparam("source_id"))
)
_WIPE_CITATIONS = Statement(
    update(turn_citations)
    .where(turn_citations.c.source_id == bindparam("of_source"))
    .values(title="", locator="", excerpt="")
)
_DROP_JOBS = Statement(
    delete(jobs).where(
        jobs.c.key == bindparam("of_source"), jobs.c.kind.in_((literal("ingest"), literal("embed")))
    )
)
_DROP_REVISIONS = Statement(
    delete(revisions).where(revisions.c.source_id == bindparam("of_source"))
)
_DROP = Statement(delete(sources).where(sources.c.id == bindparam("of_source")))
_TOMBSTONE = Statement(
    insert(source_tombstones), columns=["id", "collection_id", "title", "deleted_at"]
)
_ONE_OF = Statement(
    select(sources.c.id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(collections.c.removed_at.is_not(None), collections.c.id == bindparam("collection_id"))
    .limit(1)
)
_DROP_COLLECTION = Statement(
    delete(collections).where(
        collections.c.removed_at.is_not(None), collections.c.id == bindparam("collection_id")
    )
)


@dataclass(frozen=True, slots=True)
class Removed:
    """A source that went; its SHA-256 when no source uses those bytes any more."""

    collection_id: str
    sha256: str | None


def remove_source(connection: Connection, source_id: str, job_id: str, at: int) -> Removed | None:
    """None: it was gone already."""
    row = _SOURCE.first(connection, source_id=source_id)
    if row is None:
        return None
    collection_id, title, sha256, collection_removed_at = row
    passage_rows.drop(connection, passage_rows.OF_SOURCE.all(connection, source_id=source_id))
    _WIPE_CITATIONS.run(connection, of_source=source_id)
    _DROP_JOBS.run(connection, of_source=source_id)
    _DROP_REVISIONS.run(connection, of_source=source_id)
    _DROP.run(connection, of_source=source_id)
    _TOMBSTONE.run(
        connection,
        id=source_id,
        collection_id=collection_id,
        title=title if collection_removed_at is None else "",
        deleted_at=at,
    )
    counters.add(connection, counters.GENERATION)
    put_job(connection, job_id, "optimize_index", "", at + AFTER_DELETION_US)
    is_used = sha256 is not None and STILL_USED.scalar(connection, sha256=sha256) > 0
    return Removed(collection_id, None if is_used else sha256)


def source_left(connection: Connection, collection_id: str) -> str | None:
    """A source that a tombstoned collection still holds."""
    found: str | None = _ONE_OF.scalar(connection, collection_id=collection_id)
    return found


def forget_collection(connection: Connection, collection_id: str) -> None:
    """The tombstone itself, once it is empty; its number is never given again."""
    _DROP_COLLECTION.run(connection, collection_id=collection_id)
