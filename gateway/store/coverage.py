"""How far the vectors of each model are, on SQLite; a rebuild begins with all as missing."""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, func, or_, select
from sqlalchemy.dialects.sqlite import insert

from gateway.core.access import EmbeddingPolicy, Sensitivity
from gateway.core.documents import StatusDetail
from gateway.core.redaction import CLOUD_KEY
from gateway.interfaces import VectorCoverage
from gateway.store import counters
from gateway.store.collections import IS_LIVE
from gateway.store.database import Database
from gateway.store.passage_rows import CURRENT
from gateway.store.statements import Statement
from gateway.store.tables.library import passages, sources, vectors
from gateway.store.tables.people import collections
from gateway.store.tables.people import counters as counted

_REBUILD = "vector_rebuild"  # the mark up to which vectors are to be made again; absent: none
_SINCE = func.coalesce(
    select(counted.c.value).where(counted.c.name == _REBUILD).scalar_subquery(), 0
)
IS_FRESH: ColumnElement[bool] = vectors.c.mark > _SINCE
"""Not to be made again. Those that are serve the searches until then."""

MAY_EMBED: ColumnElement[bool] = or_(
    bindparam("model").op("NOT LIKE")(f"{CLOUD_KEY}%"),
    and_(
        collections.c.sensitivity != Sensitivity.RESTRICTED.value,
        collections.c.embedding_policy != EmbeddingPolicy.LOCAL_ONLY.value,
    ),
)
"""Texts of these never leave this machine (FEATURES A14), so a cloud's model never lacks them."""

_ROWS = Statement(select(vectors.c.model_key, func.count()).group_by(vectors.c.model_key))
_TOTAL = Statement(
    select(func.coalesce(func.sum(sources.c.passages), 0))
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE, MAY_EMBED)
)
_FRESH = Statement(
    select(func.count())
    .select_from(vectors)
    .where(vectors.c.model_key == bindparam("model"), IS_FRESH)
)
_of = vectors.alias()
_waiting = CURRENT.where(
    ~select(vectors.c.seq)
    .where(
        vectors.c.passage_id == passages.c.id,
        vectors.c.model_key == bindparam("model"),
        IS_FRESH,
    )
    .exists(),
    MAY_EMBED,
).limit(1)
_LACKING = Statement(
    _waiting.where(
        select(_of.c.seq)
        .where(_of.c.passage_id == passages.c.id, _of.c.model_key == bindparam("former"))
        .exists()
    )
)
_UNDONE = Statement(
    _waiting.where(
        func.coalesce(sources.c.status_detail, "") != StatusDetail.VECTOR_LIMIT.value,
    )
)
_IS_RESTRICTED = collections.c.sensitivity == Sensitivity.RESTRICTED.value
_IS_LOCAL = collections.c.embedding_policy == EmbeddingPolicy.LOCAL_ONLY.value
_KEPT_HERE = Statement(
    select(
        func.count(),
        func.coalesce(func.sum(case((_IS_RESTRICTED, 1), else_=0)), 0),
        func.coalesce(func.sum(case((and_(~_IS_RESTRICTED, _IS_LOCAL), 1), else_=0)), 0),
    )
    .select_from(collections)
    .where(IS_LIVE)
)
_new = insert(counted)
_BEGIN = Statement(
    _new.values(name=bindparam("which"), value=bindparam("at_mark")).on_conflict_do_update(
        index_elements=[counted.c.name], set_={"value": _new.excluded.value}
    )
)


class SqliteCoverage:
    """Counts over all live collections, whoever may read them; no text leaves."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self) -> Mapping[str, int]:
        return await self._database.read(lambda c: {row[0]: row[1] for row in _ROWS.all(c)})

    async def of(self, model_key: str) -> tuple[int, int]:
        def unit(connection: Connection) -> tuple[int, int]:
            total = int(_TOTAL.scalar(connection, model=model_key))
            return total, min(int(_FRESH.scalar(connection, model=model_key)), total)

        return await self._database.read(unit)

    async def covers(self, model_key: str, former: str) -> bool:
        def unit(connection: Connection) -> bool:
            return _LACKING.first(connection, model=model_key, former=former) is None

        return await self._database.read(unit)

    async def is_whole(self, model_key: str) -> bool:
        return await self._database.read(lambda c: _UNDONE.first(c, model=model_key) is None)

    async def kept_here(self) -> tuple[int, int, int]:
        def unit(connection: Connection) -> tuple[int, int, int]:
            ((everything, restricted, local_only),) = _KEPT_HERE.all(connection)
            return int(everything), int(restricted), int(local_only)

        return await self._database.read(unit)

    async def begin_rebuild(self) -> None:
        def unit(connection: Connection) -> None:
            mark = counters.value(connection, counters.VECTOR_MARK)
            _BEGIN.run(connection, which=_REBUILD, at_mark=mark)

        await self._database.write(unit)


fits: type[VectorCoverage] = SqliteCoverage
