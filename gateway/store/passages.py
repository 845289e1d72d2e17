"""The passage index on SQLite: every read of text applies its scope inside the query."""

import asyncio
from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, select

from gateway.core.documents import NewRevision
from gateway.core.filters import Filter
from gateway.core.passages import COLLECTION_SHIFT, Passage
from gateway.core.scope import Scope
from gateway.interfaces import Clock, Ids, LexicalHits, PassageIndex, SourcePassages
from gateway.store import counters, filtering, fulltext, old_revisions, passage_scores, revisions
from gateway.store.collections import IS_LIVE
from gateway.store.database import Database
from gateway.store.job_rows import AFTER_DELETION_US, AFTER_GROWTH_US, put_job
from gateway.store.json_text import json_list
from gateway.store.passage_rows import CURRENT, passage_of
from gateway.store.statements import Row, Statement, in_integers, in_texts
from gateway.store.tables.library import passages, sources
from gateway.store.tables.people import collections
from gateway.store.values import micros
from gateway.store.vector_counts import VectorCounts

_WITHIN = CURRENT.where(in_texts(collections.c.id, "scope"))
_NOS = Statement(
    select(collections.c.no)
    .where(IS_LIVE, in_texts(collections.c.id, "scope"))
    .order_by(collections.c.no)
)
_LOAD = Statement(_WITHIN.where(in_integers(passages.c.id, "ids")))
_AROUND = Statement(
    _WITHIN.where(
        passages.c.revision_id == bindparam("revision"),
        passages.c.ordinal.between(bindparam("first"), bindparam("last")),
    ).order_by(passages.c.ordinal)
)
_WHOLE = Statement(
    _WITHIN.where(
        passages.c.source_id == bindparam("source_id"),
        passages.c.revision_id == bindparam("revision"),
    ).order_by(passages.c.ordinal)
)
_COUNT = Statement(
    select(func.coalesce(func.sum(sources.c.passages), 0))
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE, in_texts(collections.c.id, "scope"))
)
_NOTHING = LexicalHits((), 0, {})


class SqlitePassages:
    """Text by id, by neighbourhood and by words; nothing outside the scope is even scored."""

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._with_vectors = VectorCounts()

    async def replace(self, revision: NewRevision) -> bool:
        """Sets the source's warnings to the revision's; puts the job `optimize_index`."""
        now = micros(self._clock.now())
        prepared = await asyncio.to_thread(revisions.prepare, revision, now)
        job_id = self._ids.new()

        def unit(connection: Connection) -> bool:
            is_done, has_left = revisions.swap(connection, prepared)
            if is_done:
                delay = AFTER_DELETION_US if has_left else AFTER_GROWTH_US
                put_job(connection, job_id, "optimize_index", "", now + delay)
            return is_done

        return await self._database.write(unit)

    async def lexical(
        self,
        scope: Scope,
        terms: Sequence[str],
        limit: int,
        phrases: Sequence[Sequence[str]] = (),
        among: Sequence[int] | None = None,
    ) -> LexicalHits:
        """Frequencies and total are the whole table's (DESIGN section 8.9)."""
        if scope.is_empty or fulltext.match_query(terms, phrases) is None or limit < 1:
            return _NOTHING
        listed = json_list(scope.collections)

        def unit(connection: Connection) -> LexicalHits:
            nos = [row[0] for row in _NOS.all(connection, scope=listed)]
            if not nos:
                return _NOTHING
            total = counters.value(connection, counters.PASSAGES)
            words = fulltext.words(terms)
            having = fulltext.frequencies(connection, words)
            telling = fulltext.telling(words, having, total)
            rare, common = fulltext.rarest(telling, having)
            rows = fulltext.search(
                connection, nos, fulltext.match_query(rare, phrases) or "", limit, among
            )
            if common:
                left_out = {term: having[term] for term in common}
                rows = passage_scores.completed(connection, rows, left_out, total)
            hits = tuple((passage_id, -score) for passage_id, score in rows)
            return LexicalHits(hits, total, having)

        return await self._database.read(unit)

    async def of_filter(self, scope: Scope, within: Filter) -> Sequence[int]:
        if scope.is_empty:
            return ()
        listed, (statement, bound) = json_list(scope.collections), filtering.passages_of(within)
        rows = await self._database.read(lambda c: statement.all(c, scope=listed, **bound))
        return sorted(row[0] for row in rows)

    async def load(self, scope: Scope, passage_ids: Sequence[int]) -> Sequence[Passage]:
        if scope.is_empty or not passage_ids:
            return ()
        listed, ids = json_list(scope.collections), json_list(passage_ids)
        rows = await self._database.read(lambda c: _LOAD.all(c, scope=listed, ids=ids))
        found = {row[0]: passage_of(row) for row in rows}
        return [found[each] for each in passage_ids if each in found]

    async def around(self, scope: Scope, passage_id: int, context: int) -> Sequence[Passage]:
        """Also one that left the index: as it stood in the newest revision that is kept."""
        if scope.is_empty:
            return ()
        listed = json_list(scope.collections)

        def unit(connection: Connection) -> list[Row]:
            rows = _LOAD.all(connection, scope=listed, ids=json_list([passage_id]))
            if not rows:
                return old_revisions.around(connection, scope.collections, passage_id, context)
            revision, ordinal = rows[0][3], rows[0][4]
            return _AROUND.all(
                connection,
                scope=listed,
                revision=revision,
                first=ordinal - context,
                last=ordinal + context,
            )

        return [passage_of(row) for row in await self._database.read(unit)]

    async def of_revision(
        self, scope: Scope, source_id: str, revision_id: str
    ) -> Sequence[Passage]:
        if scope.is_empty:
            return ()
        listed = json_list(scope.collections)

        def unit(connection: Connection) -> list[Row]:
            now = _WHOLE.all(connection, scope=listed, source_id=source_id, revision=revision_id)
            return now or old_revisions.whole(connection, scope.collections, source_id, revision_id)

        return [passage_of(row) for row in await self._database.read(unit)]

    async def searchable(self, scope: Scope, model_key: str) -> tuple[int, int]:
        if scope.is_empty:
            return 0, 0
        listed = json_list(scope.collections)

        def unit(connection: Connection) -> tuple[int, int]:
            nos = [row[0] for row in _NOS.all(connection, scope=listed)]
            return (
                _COUNT.scalar(connection, scope=listed),
                self._with_vectors.within(connection, model_key, nos),
            )

        return await self._database.read(unit)


def collection_no(passage_id: int) -> int:
    """The collection's number in the high half of a passage id (DESIGN section 8.3)."""
    return passage_id >> COLLECTION_SHIFT


fits: tuple[type[PassageIndex], type[SourcePassages]] = (SqlitePassages, SqlitePassages)
