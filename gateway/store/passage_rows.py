"""Passages as rows: reading them within a scope, and taking them out with all that hangs on."""

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select

from gateway.core.passages import Locator, Passage
from gateway.store import counters, fulltext
from gateway.store.collections import IS_LIVE
from gateway.store.json_text import json_list
from gateway.store.statements import Row, Statement, in_integers
from gateway.store.tables.library import passages, sources, vector_removals, vectors
from gateway.store.tables.people import collections

_LOCATORS = msgspec.json.Decoder(Locator)

PASSAGE_COLUMNS = (
    passages.c.id,
    sources.c.collection_id,
    passages.c.source_id,
    passages.c.revision_id,
    passages.c.ordinal,
    sources.c.title,
    passages.c.text,
    passages.c.locator,
    passages.c.is_flagged,
)
CURRENT = (
    select(*PASSAGE_COLUMNS)
    .join(sources, sources.c.id == passages.c.source_id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE, sources.c.revision_id == passages.c.revision_id)
)
"""Passages that searches follow: of the current revision, of a live collection."""

_VECTORS_OF = Statement(
    select(vectors.c.model_key, vectors.c.passage_id)
    .where(in_integers(vectors.c.passage_id, "ids"))
    .order_by(vectors.c.model_key, vectors.c.passage_id)
)
_DROP_VECTORS = Statement(delete(vectors).where(in_integers(vectors.c.passage_id, "ids")))
LOG_REMOVAL = Statement(insert(vector_removals), columns=["mark", "model_key", "passage_id"])
_DROP = Statement(delete(passages).where(in_integers(passages.c.id, "ids")))
OF_SOURCE = Statement(
    select(passages.c.id, passages.c.match_text)
    .where(passages.c.source_id == bindparam("source_id"))
    .order_by(passages.c.id)
)


def passage_of(row: Row) -> Passage:
    """A row of PASSAGE_COLUMNS."""
    return Passage(
        id=row[0],
        collection_id=row[1],
        source_id=row[2],
        revision_id=row[3],
        ordinal=row[4],
        title=row[5],
        text=row[6],
        locator=_LOCATORS.decode(row[7]),
        is_flagged=bool(row[8]),
    )


def drop(connection: Connection, gone: Sequence[Row]) -> None:
    """Passages as (id, match text) leave table, index and vectors; the log tells of the latter."""
    ids = json_list(row[0] for row in gone)
    fulltext.remove(connection, gone)
    log_removals(connection, _VECTORS_OF.all(connection, ids=ids))
    _DROP_VECTORS.run(connection, ids=ids)
    _DROP.run(connection, ids=ids)
    counters.add(connection, counters.PASSAGES, -len(gone))


def log_removals(connection: Connection, rows: Iterable[Row]) -> None:
    """Rows of (model key, passage id) whose vectors go."""
    listed = list(rows)
    first = counters.add(connection, counters.VECTOR_MARK, len(listed)) - len(listed) + 1
    LOG_REMOVAL.many(
        connection,
        [
            {"mark": mark, "model_key": model_key, "passage_id": passage_id}
            for mark, (model_key, passage_id) in enumerate(listed, first)
        ],
    )
