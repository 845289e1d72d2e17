"""Vectors on SQLite: one blob a passage and model, and a numbered log of their changes."""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, and_, bindparam, delete, literal_column, select
from sqlalchemy.dialects.sqlite import insert

from gateway.core.passages import Passage
from gateway.interfaces import PassageVectors, VectorStore
from gateway.store import counters
from gateway.store.collections import IS_LIVE
from gateway.store.coverage import IS_FRESH, MAY_EMBED
from gateway.store.database import Database
from gateway.store.passage_rows import CURRENT, log_removals, passage_of
from gateway.store.statements import Row, Statement
from gateway.store.tables.library import passages, vector_removals, vectors
from gateway.store.tables.people import collections

TOLD_AT_ONCE = 5_000  # passages: the vectors of a large library are not in memory twice
_DTYPE = np.dtype("<f4")

_missing = (
    CURRENT.where(
        ~select(vectors.c.seq)
        .where(
            vectors.c.passage_id == passages.c.id,
            vectors.c.model_key == bindparam("model"),
            IS_FRESH,
        )
        .exists(),
        MAY_EMBED,
    )
    .order_by(passages.c.id)
    .limit(bindparam("most"))
)
_MISSING = Statement(_missing)
_MISSING_OF_SOURCE = Statement(_missing.where(passages.c.source_id == bindparam("source_id")))
_new = insert(vectors)
_PUT = Statement(
    _new.from_select(
        ["model_key", "passage_id", "collection_no", "mark", "script", "rows", "data"],
        select(
            bindparam("model"),
            passages.c.id,
            bindparam("no"),
            bindparam("at_mark"),
            bindparam("in_script"),
            bindparam("count"),
            bindparam("blob"),
        ).where(passages.c.id == bindparam("of_passage")),
    ).on_conflict_do_update(
        index_elements=[vectors.c.passage_id, vectors.c.model_key],
        set_={name: _new.excluded[name] for name in ("mark", "script", "rows", "data")},
    )
)
_PUT_SINCE = Statement(
    select(
        vectors.c.passage_id,
        collections.c.id,
        vectors.c.script,
        vectors.c.rows,
        vectors.c.data,
        vectors.c.mark,
    )
    .join(collections, collections.c.no == vectors.c.collection_no)
    .where(
        IS_LIVE,
        vectors.c.model_key == bindparam("model"),
        vectors.c.mark > bindparam("since"),
    )
    .order_by(vectors.c.mark)
    .limit(TOLD_AT_ONCE)
)
_again = vectors.alias()
_GONE_SINCE = Statement(
    select(vector_removals.c.passage_id)
    .distinct()
    .where(
        vector_removals.c.model_key == bindparam("model"),
        vector_removals.c.mark > bindparam("since"),
        ~select(literal_column("1"))
        .where(
            and_(
                _again.c.passage_id == vector_removals.c.passage_id,
                _again.c.model_key == bindparam("model"),
            )
        )
        .exists(),
    )
    .order_by(vector_removals.c.passage_id)
)
_EXCLUDED = Statement(select(collections.c.id).where(IS_LIVE, ~MAY_EMBED))
_OF_MODEL = Statement(
    select(vectors.c.model_key, vectors.c.passage_id)
    .where(vectors.c.model_key == bindparam("model"))
    .order_by(vectors.c.passage_id)
)
_DROP_MODEL = Statement(delete(vectors).where(vectors.c.model_key == bindparam("model")))


class SqliteVectors:
    """Vectors of passages that exist; a mark is a place in the log of changes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def without_vectors(
        self, model_key: str, source_id: str | None, limit: int
    ) -> Sequence[Passage]:
        def unit(connection: Connection) -> list[Row]:
            if source_id is None:
                return _MISSING.all(connection, model=model_key, most=limit)
            return _MISSING_OF_SOURCE.all(
                connection, model=model_key, source_id=source_id, most=limit
            )

        rows = await self._database.read(unit)
        return [passage_of(row) for row in rows]

    async def put(self, model_key: str, rows: Sequence[PassageVectors]) -> int:
        """Rows of a passage that went meanwhile are dropped, not written."""
        written = [_values(model_key, row) for row in rows]

        def unit(connection: Connection) -> int:
            count = 0
            for values in written:
                mark = counters.add(connection, counters.VECTOR_MARK)
                count += _PUT.run(connection, at_mark=mark, **values)
            return count

        return await self._database.write(unit)

    async def changes(
        self, model_key: str, since: int
    ) -> tuple[int, Sequence[PassageVectors], Sequence[int]]:
        """`since` 0 is the beginning. Ids whose vectors came back are in the rows only."""

        def unit(connection: Connection) -> tuple[int, list[Row], list[Row]]:
            mark = counters.value(connection, counters.VECTOR_MARK)
            if mark == since:  # before nearly every search
                return mark, [], []
            put = _PUT_SINCE.all(connection, model=model_key, since=since)
            gone = _GONE_SINCE.all(connection, model=model_key, since=since) if since else []
            return put[-1][5] if len(put) == TOLD_AT_ONCE else mark, put, gone

        mark, put, gone = await self._database.read(unit)
        return mark, [_vectors_of(row) for row in put], [row[0] for row in gone]

    async def remove_model(self, model_key: str) -> int:
        """The log tells of each; how many passages lost their vectors."""

        def unit(connection: Connection) -> int:
            log_removals(connection, _OF_MODEL.all(connection, model=model_key))
            return _DROP_MODEL.run(connection, model=model_key)

        return await self._database.write(unit)

    async def excluded(self, model_key: str) -> frozenset[str]:
        rows = await self._database.read(lambda c: _EXCLUDED.all(c, model=model_key))
        return frozenset(row[0] for row in rows)


def _values(model_key: str, row: PassageVectors) -> dict[str, object]:
    matrix = np.ascontiguousarray(np.atleast_2d(row.vectors), _DTYPE)
    return {
        "model": model_key,
        "no": row.passage_id >> 32,
        "in_script": row.script,
        "count": matrix.shape[0],
        "blob": matrix.tobytes(),
        "of_passage": row.passage_id,
    }


def _vectors_of(row: Row) -> PassageVectors:
    matrix = np.frombuffer(row[4], _DTYPE).reshape(row[3], -1)
    return PassageVectors(row[0], row[1], row[2], matrix)


fits: type[VectorStore] = SqliteVectors
