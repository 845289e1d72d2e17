"""Section trees on SQLite: read within a scope, made and summarised by background jobs."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection, and_, bindparam, delete, exists, insert, select, update

from gateway.core.documents import Chunk, Section
from gateway.core.outlines import SectionHit
from gateway.core.passages import Locator
from gateway.core.scope import Scope
from gateway.interfaces import OutlineKeeping, Outlines, Readable
from gateway.store.collections import IS_LIVE
from gateway.store.database import Database
from gateway.store.json_text import encoded, json_list
from gateway.store.passage_rows import CURRENT
from gateway.store.revision_texts import unpacked
from gateway.store.statements import Row, Statement, in_integers, in_texts
from gateway.store.tables.library import passages, revisions, sections, sources
from gateway.store.tables.people import collections
from gateway.store.values import clean

_LOCATORS = msgspec.json.Decoder(Locator)

_COLUMNS = (
    sources.c.id,
    sources.c.title,
    sections.c.ordinal,
    sections.c.level,
    sections.c.title,
    sections.c.locator,
    sections.c.summary,
    sections.c.summary_by,
)
_OF_PASSAGES = Statement(
    CURRENT.with_only_columns(passages.c.id, passages.c.locator, *_COLUMNS)
    .outerjoin(
        sections,
        and_(
            sections.c.revision_id == passages.c.revision_id,
            sections.c.ordinal == passages.c.section,
        ),
    )
    .where(in_texts(collections.c.id, "scope"), in_integers(passages.c.id, "ids"))
)
_OF_SOURCE = Statement(
    select(*_COLUMNS)
    .select_from(sources)
    .join(collections, collections.c.id == sources.c.collection_id)
    .outerjoin(sections, sections.c.revision_id == sources.c.revision_id)
    .where(
        IS_LIVE,
        in_texts(collections.c.id, "scope"),
        sources.c.id == bindparam("source_id"),
        sources.c.passages > 0,
    )
    .order_by(sections.c.ordinal)
)
_LACKING = Statement(
    select(sources.c.id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(
        IS_LIVE,
        sources.c.passages > 0,
        sources.c.id > bindparam("after"),
        ~exists().where(
            sections.c.revision_id == sources.c.revision_id, sections.c.summary.is_not(None)
        ),
    )
    .order_by(sources.c.id)
    .limit(bindparam("most"))
)
_READABLE = Statement(
    select(sources.c.revision_id, sources.c.collection_id, revisions.c.body)
    .join(collections, collections.c.id == sources.c.collection_id)
    .join(revisions, revisions.c.id == sources.c.revision_id)
    .where(IS_LIVE, sources.c.id == bindparam("source_id"))
)
_CHUNKS = Statement(
    select(
        passages.c.ordinal,
        passages.c.text,
        passages.c.locator,
        passages.c.section,
        passages.c.is_flagged,
    )
    .where(passages.c.revision_id == bindparam("revision"))
    .order_by(passages.c.ordinal)
)
_SECTIONS = Statement(
    select(
        sections.c.ordinal,
        sections.c.parent,
        sections.c.level,
        sections.c.title,
        sections.c.locator,
        sections.c.summary,
        sections.c.summary_by,
    )
    .where(sections.c.revision_id == bindparam("revision"))
    .order_by(sections.c.ordinal)
)
_IS_CURRENT = Statement(select(sources.c.id).where(sources.c.revision_id == bindparam("revision")))
_DROP = Statement(delete(sections).where(sections.c.revision_id == bindparam("revision")))
_INSERT = Statement(insert(sections), columns=[column.name for column in sections.c])
_PLACE = Statement(
    update(passages)
    .where(passages.c.revision_id == bindparam("revision"), passages.c.ordinal == bindparam("at"))
    .values(section=bindparam("home"))
)
_SUMMARISE = Statement(
    update(sections)
    .where(sections.c.revision_id == bindparam("revision"), sections.c.ordinal == bindparam("at"))
    .values(summary=bindparam("said"), summary_by=bindparam("by"))
)


class SqliteOutlines:
    """Implements Outlines, the scope part of the query, and OutlineKeeping."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_passages(
        self, scope: Scope, passage_ids: Sequence[int]
    ) -> Mapping[int, SectionHit]:
        if scope.is_empty or not passage_ids:
            return {}
        listed, ids = json_list(scope.collections), json_list(passage_ids)
        rows = await self._database.read(lambda c: _OF_PASSAGES.all(c, scope=listed, ids=ids))
        return {row[0]: _hit(row[2:], _LOCATORS.decode(row[1])) for row in rows}

    async def of_source(self, scope: Scope, source_id: str) -> Sequence[SectionHit]:
        if scope.is_empty:
            return ()
        listed = json_list(scope.collections)
        rows = await self._database.read(
            lambda c: _OF_SOURCE.all(c, scope=listed, source_id=source_id)
        )
        return [_hit(row, Locator()) for row in rows]

    # ---------------------------------------------------------------- ingestion only

    async def lacking(self, limit: int, after: str = "") -> Sequence[str]:
        rows = await self._database.read(lambda c: _LACKING.all(c, most=limit, after=after))
        return [row[0] for row in rows]

    async def readable(self, source_id: str) -> Readable | None:
        def unit(connection: Connection) -> tuple[Row, list[Row], list[Row]] | None:
            row = _READABLE.first(connection, source_id=source_id)
            if row is None:
                return None
            chunks = _CHUNKS.all(connection, revision=row[0])
            return row, chunks, _SECTIONS.all(connection, revision=row[0])

        found = await self._database.read(unit)
        return None if found is None else await asyncio.to_thread(_readable, *found)

    async def replace(
        self, revision_id: str, sections: Sequence[Section], homes: Mapping[int, int]
    ) -> bool:
        rows = section_rows(revision_id, sections)
        placed = [{"revision": revision_id, "at": at, "home": home} for at, home in homes.items()]

        def unit(connection: Connection) -> bool:
            if _IS_CURRENT.first(connection, revision=revision_id) is None:
                return False
            _DROP.run(connection, revision=revision_id)
            _INSERT.many(connection, rows)
            _PLACE.many(connection, placed)
            return True

        return await self._database.write(unit)

    async def summarise(self, revision_id: str, ordinal: int, summary: str, by: str) -> bool:
        values = {"revision": revision_id, "at": ordinal, "said": clean(summary), "by": clean(by)}

        def unit(connection: Connection) -> bool:
            if _IS_CURRENT.first(connection, revision=revision_id) is None:
                return False
            return _SUMMARISE.run(connection, **values) > 0

        return await self._database.write(unit)


def section_rows(revision_id: str, listed: Sequence[Section]) -> list[dict[str, object]]:
    """Sections as the table has them."""
    return [
        {
            "revision_id": revision_id,
            "ordinal": section.ordinal,
            "parent": section.parent,
            "level": section.level,
            "title": clean(section.title),
            "locator": encoded(section.locator),
            "summary": clean(section.summary),
            "summary_by": clean(section.summary_by) or None,
        }
        for section in listed
    ]


def _hit(row: Row, place: Locator) -> SectionHit:
    """A row of _COLUMNS; `place` is the passage's, for a document without sections as yet."""
    source_id, document, ordinal, level, title, locator, summary, by = row
    if ordinal is None:
        last = place.page_end or place.page
        return SectionHit(source_id, -1, document, "", (document,), 1, place.page, last)
    where = _LOCATORS.decode(locator)
    return SectionHit(
        source_id=source_id,
        ordinal=ordinal,
        title=title or document,
        summary=summary or "",
        path=where.heading or (document,),
        level=level,
        first_page=where.page,
        last_page=where.page_end or where.page,
        summary_by=by or "",
    )


def _readable(row: Row, chunks: Sequence[Row], sections: Sequence[Row]) -> Readable:
    return Readable(
        revision_id=row[0],
        collection_id=row[1],
        chunks=tuple(
            Chunk(each[0], each[1], "", _LOCATORS.decode(each[2]), each[3], bool(each[4]))
            for each in chunks
        ),
        sections=tuple(_section(each) for each in sections),
        whole=None if row[2] is None else unpacked(row[2]),
    )


def _section(row: Row) -> Section:
    ordinal, parent, level, title, locator, summary, by = row
    return Section(
        ordinal, parent, level, title, _LOCATORS.decode(locator), summary or "", by or ""
    )


fits: tuple[type[Outlines], type[OutlineKeeping]] = (SqliteOutlines, SqliteOutlines)
