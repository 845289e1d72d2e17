"""How many passages of each collection have vectors: counted once, then only what changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, func, select, union

from gateway.core.passages import COLLECTION_SHIFT
from gateway.store import counters
from gateway.store.json_text import json_list
from gateway.store.statements import Statement, in_integers
from gateway.store.tables.library import vector_removals, vectors

_EVERY = Statement(
    select(vectors.c.collection_no, func.count())
    .where(vectors.c.model_key == bindparam("model"))
    .group_by(vectors.c.collection_no)
)
_SOME = Statement(
    select(vectors.c.collection_no, func.count())
    .where(vectors.c.model_key == bindparam("model"), in_integers(vectors.c.collection_no, "nos"))
    .group_by(vectors.c.collection_no)
)
_TOUCHED = Statement(
    union(
        select(vectors.c.collection_no).where(
            vectors.c.model_key == bindparam("model"), vectors.c.mark > bindparam("since")
        ),
        select(vector_removals.c.passage_id.op(">>")(COLLECTION_SHIFT)).where(
            vector_removals.c.model_key == bindparam("model"),
            vector_removals.c.mark > bindparam("since"),
        ),
    )
)


class _Known(NamedTuple):
    """Counts by collection number, as of a place in the log of vector changes."""

    mark: int
    by_no: Mapping[int, int]


class VectorCounts:
    """Equal to counting the rows in the same snapshot; every change to them moves the mark.

    Shared by the readers' threads: what is known is replaced whole, never changed.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def within(self, connection: Connection, model_key: str, nos: Iterable[int]) -> int:
        """Passages of the collections `nos` with vectors of the model, in this snapshot."""
        mark = counters.value(connection, counters.VECTOR_MARK)
        known = self._known.get(model_key)
        if known is None or known.mark > mark:  # this snapshot is older than the other reader's
            known = _Known(mark, dict(_EVERY.all(connection, model=model_key)))
        elif known.mark < mark:
            known = _Known(mark, _brought_up(connection, model_key, known))
        self._known[model_key] = known
        return sum(known.by_no.get(no, 0) for no in nos)


def _brought_up(connection: Connection, model_key: str, known: _Known) -> dict[int, int]:
    rows = _TOUCHED.all(connection, model=model_key, since=known.mark)
    touched: Sequence[int] = [row[0] for row in rows]
    counted: dict[int, int] = dict(_SOME.all(connection, model=model_key, nos=json_list(touched)))
    return {**known.by_no, **{no: counted.get(no, 0) for no in touched}}
