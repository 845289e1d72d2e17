"""Sources as rows: read, written, and found again by what a collection holds once."""

from collections.abc import Mapping

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, select, union_all, update

from gateway.core.documents import Source, SourceKind, SourceState, SourceWarning, StatusDetail
from gateway.core.filters import Value, spelled
from gateway.store.collections import IS_LIVE, live_collection
from gateway.store.job_rows import put_job
from gateway.store.json_text import encoded
from gateway.store.statements import Row, Statement
from gateway.store.tables.library import source_fields, sources
from gateway.store.tables.people import collections
from gateway.store.values import clean, instant, micros

_WARNINGS = msgspec.json.Decoder(tuple[SourceWarning, ...])
_METADATA = msgspec.json.Decoder(dict[str, Value])

LIVE = select(*sources.c).join(collections, collections.c.id == sources.c.collection_id)
FIND = Statement(LIVE.where(IS_LIVE, sources.c.id == bindparam("source_id")))
_SAME = Statement(
    select(*sources.c).where(
        sources.c.collection_id == bindparam("collection_id"),
        sources.c.sha256 == bindparam("identity"),
    )
)
_INSERT = Statement(insert(sources), columns=[column.name for column in sources.c])
_SET_METADATA = Statement(
    update(sources)
    .where(sources.c.id == bindparam("source_id"))
    .values(metadata=bindparam("new_metadata"))
)
_DROP_FIELDS = Statement(
    delete(source_fields).where(source_fields.c.source_id == bindparam("of_source"))
)
_PUT_FIELDS = Statement(insert(source_fields), columns=[column.name for column in source_fields.c])
ORIGINALS = Statement(  # of tombstoned collections too: each goes with its own source
    union_all(
        select(sources.c.sha256).where(sources.c.address.is_(None)),
        select(sources.c.original).where(sources.c.original.is_not(None)),
    )
)
STILL_USED = Statement(
    select(func.count())
    .select_from(sources)
    .where((sources.c.sha256 == bindparam("sha256")) | (sources.c.original == bindparam("sha256")))
)


def source_of(row: Row) -> Source:
    """A row of the sources table."""
    address = row[17] or ""
    return Source(
        id=row[0],
        collection_id=row[1],
        title=row[2],
        kind=SourceKind(row[3]),
        sha256=(row[18] or "") if address else row[4],
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
        address=address,
        names_itself=bool(row[19]),
        metadata=_METADATA.decode(row[20]),
    )


def add_source(
    connection: Connection, source: Source, job_id: str, now: int
) -> tuple[Source, bool]:
    """The source with its job, or the one that holds the same bytes or page there already."""
    live_collection(connection, source.collection_id)
    same = _SAME.first(connection, collection_id=source.collection_id, identity=source.identity)
    if same is not None:
        return source_of(same), False
    _INSERT.run(connection, **_values(source))
    _put_fields(connection, source.id, source.metadata)
    put_job(connection, job_id, "ingest", source.id, now)
    found = FIND.first(connection, source_id=source.id)
    assert found is not None
    return source_of(found), True


def set_metadata(connection: Connection, source_id: str, metadata: Mapping[str, Value]) -> None:
    """In the place of what there is, for people and for filters."""
    _SET_METADATA.run(connection, source_id=source_id, new_metadata=_written(metadata))
    _DROP_FIELDS.run(connection, of_source=source_id)
    _put_fields(connection, source_id, metadata)


def _put_fields(connection: Connection, source_id: str, metadata: Mapping[str, Value]) -> None:
    rows = [
        {"source_id": source_id, "key": key, "value": spelled(value)}
        for key, value in metadata.items()
    ]
    if rows:
        _PUT_FIELDS.many(connection, rows)


def _written(metadata: Mapping[str, Value]) -> str:
    return encoded(dict(metadata)).decode()


def _values(source: Source) -> dict[str, object]:
    return {
        "id": source.id,
        "collection_id": source.collection_id,
        "title": clean(source.title),
        "kind": source.kind.value,
        "sha256": source.identity,
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
        "address": source.address or None,
        "original": None,
        "names_itself": source.names_itself,
        "metadata": _written(source.metadata),
    }
