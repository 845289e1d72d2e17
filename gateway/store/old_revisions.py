"""Superseded revisions: their text is kept for a while, to be read by address (FEATURES C2)."""

from sqlalchemy import Connection, bindparam, delete, insert, select

from gateway.store.collections import IS_LIVE
from gateway.store.json_text import json_list
from gateway.store.statements import Row, Statement, in_texts
from gateway.store.tables.library import old_passages, passages, revisions, sources
from gateway.store.tables.people import collections

KEPT = 3  # of one source, the newest; older ones are forgotten

_COLUMNS = (
    "revision_id", "ordinal", "passage_id", "section", "is_flagged", "locator", "text",
)  # fmt: skip
_KEEP = Statement(
    insert(old_passages).from_select(
        _COLUMNS,
        select(
            passages.c.revision_id,
            passages.c.ordinal,
            passages.c.id,
            passages.c.section,
            passages.c.is_flagged,
            passages.c.locator,
            passages.c.text,
        ).where(
            passages.c.source_id == bindparam("of_source"),
            passages.c.revision_id != bindparam("new_revision"),
        ),
    )
)
_newest = (
    select(revisions.c.id)
    .where(
        revisions.c.source_id == bindparam("of_source"),
        revisions.c.superseded_at.is_not(None),
        revisions.c.id != bindparam("current"),
    )
    .order_by(
        revisions.c.superseded_at.desc(), revisions.c.created_at.desc(), revisions.c.id.desc()
    )
    .limit(KEPT)
)
_FORGET = Statement(  # their passages and sections go with them
    delete(revisions).where(
        revisions.c.source_id == bindparam("of_source"),
        revisions.c.id != bindparam("current"),
        revisions.c.id.not_in(_newest),
    )
)
_OLD = (
    select(
        old_passages.c.passage_id,
        sources.c.collection_id,
        sources.c.id,
        old_passages.c.revision_id,
        old_passages.c.ordinal,
        sources.c.title,
        old_passages.c.text,
        old_passages.c.locator,
        old_passages.c.is_flagged,
    )
    .join(revisions, revisions.c.id == old_passages.c.revision_id)
    .join(sources, sources.c.id == revisions.c.source_id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE, in_texts(collections.c.id, "scope"))
)
_ONE = Statement(
    _OLD.where(old_passages.c.passage_id == bindparam("passage"))
    .order_by(revisions.c.superseded_at.desc(), revisions.c.id.desc(), old_passages.c.ordinal)
    .limit(1)
)
_AROUND = Statement(
    _OLD.where(
        old_passages.c.revision_id == bindparam("revision"),
        old_passages.c.ordinal.between(bindparam("first"), bindparam("last")),
    ).order_by(old_passages.c.ordinal)
)
_WHOLE = Statement(
    _OLD.where(
        sources.c.id == bindparam("source_id"),
        old_passages.c.revision_id == bindparam("revision"),
    ).order_by(old_passages.c.ordinal)
)


def keep(connection: Connection, source_id: str, new_revision: str) -> None:
    """Copy what is about to be superseded; nothing where `new_revision` is in already."""
    _KEEP.run(connection, of_source=source_id, new_revision=new_revision)


def forget(connection: Connection, source_id: str, current: str) -> None:
    """Only the newest KEPT stay."""
    _FORGET.run(connection, of_source=source_id, current=current)


def around(
    connection: Connection, scope: frozenset[str], passage_id: int, context: int
) -> list[Row]:
    """A passage that left the index, with its neighbours in the newest revision that had it."""
    listed = json_list(scope)
    row = _ONE.first(connection, scope=listed, passage=passage_id)
    if row is None:
        return []
    return _AROUND.all(
        connection, scope=listed, revision=row[3], first=row[4] - context, last=row[4] + context
    )


def whole(
    connection: Connection, scope: frozenset[str], source_id: str, revision_id: str
) -> list[Row]:
    """All passages of one superseded revision, in reading order."""
    return _WHOLE.all(connection, scope=json_list(scope), source_id=source_id, revision=revision_id)
