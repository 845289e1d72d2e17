"""Pictures in workspaces and kept answers, on SQLite: of which documents they are."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, exists, insert, or_, select, update

from gateway.core.workspace_files import KeptPicture, picture_path
from gateway.interfaces.workspace import AnswerRecords, PictureRecords
from gateway.store.collections import IS_LIVE
from gateway.store.database import Database
from gateway.store.source_rows import FIND
from gateway.store.statements import Row, Statement, in_texts, literal
from gateway.store.tables.kept_files import answer_files, page_files
from gateway.store.tables.library import sources
from gateway.store.tables.people import collections
from gateway.store.values import instant, micros

NOTHING = ""  # in the place of a document: an answer that quotes none
_THIS = (
    page_files.c.agent_id == bindparam("of_agent"),
    page_files.c.source_id == bindparam("of_source"),
    page_files.c.page == bindparam("of_page"),
)
_PUT = Statement(insert(page_files), columns=[column.name for column in page_files.c])
_DROP = Statement(delete(page_files).where(*_THIS))
_IN_NAMESPACE = Statement(
    select(page_files.c.source_id, page_files.c.page, page_files.c.path).where(
        page_files.c.agent_id == bindparam("of_agent"),
        page_files.c.namespace == bindparam("of_namespace"),
        page_files.c.is_there,
    )
)
_LIVE_COLLECTION = (  # of the document now; none where it or its collection is gone
    select(sources.c.collection_id)
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(IS_LIVE, sources.c.id == page_files.c.source_id)
    .correlate(page_files)
    .scalar_subquery()
)
_KEPT = select(*page_files.c, _LIVE_COLLECTION.label("now_in"))
_OF = Statement(
    _KEPT.where(
        page_files.c.agent_id == bindparam("of_agent"),
        or_(page_files.c.path == bindparam("of_path"), page_files.c.sha256 == bindparam("of_hash")),
    )
)
_LIST = Statement(_KEPT.where(page_files.c.is_there))
_GONE = Statement(update(page_files).where(*_THIS).values(is_there=False))
_FORGET = Statement(
    delete(page_files).where(
        page_files.c.is_there.is_(False), page_files.c.at < bindparam("before")
    )
)

_PUT_ANSWER = Statement(insert(answer_files), columns=[column.name for column in answer_files.c])
_NAMES = Statement(select(answer_files.c.name).distinct())
_LOST = Statement(
    select(answer_files.c.name)
    .where(
        answer_files.c.source_id != literal(NOTHING),
        ~exists()
        .where(IS_LIVE, sources.c.id == answer_files.c.source_id)
        .where(collections.c.id == sources.c.collection_id),
    )
    .distinct()
)
_DROP_ANSWERS = Statement(delete(answer_files).where(in_texts(answer_files.c.name, "names")))
_FORGET_ANSWERS = Statement(delete(answer_files).where(answer_files.c.at < bindparam("before")))


class SqlitePictureRecords:
    """Of two documents that come first at once the writer takes one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(
        self, agent_id: str, namespace: str, source_id: str, page: int, sha256: str, at: datetime
    ) -> str | None:
        def unit(connection: Connection) -> str | None:
            if FIND.first(connection, source_id=source_id) is None:
                return None
            path = _path(connection, agent_id, namespace, source_id, page)
            _DROP.run(connection, of_agent=agent_id, of_source=source_id, of_page=page)
            _PUT.run(
                connection,
                agent_id=agent_id,
                source_id=source_id,
                page=page,
                namespace=namespace,
                path=path,
                sha256=sha256,
                at=micros(at),
                is_there=True,
            )
            return path

        return await self._database.write(unit)

    async def of(self, agent_id: str, path: str, sha256: str) -> Sequence[KeptPicture]:
        values = {"of_agent": agent_id, "of_path": path, "of_hash": sha256}
        return _kept(await self._database.read(lambda c: _OF.all(c, **values)))

    async def list(self) -> Sequence[KeptPicture]:
        return _kept(await self._database.read(_LIST.all))

    async def gone(self, pictures: Collection[KeptPicture]) -> None:
        rows = [
            {"of_agent": each.agent_id, "of_source": each.source_id, "of_page": each.page}
            for each in pictures
        ]
        await self._database.write(lambda c: _GONE.many(c, rows))

    async def forget(self, before: datetime) -> None:
        await self._database.write(lambda c: _FORGET.run(c, before=micros(before)))


class SqliteAnswerRecords:
    """A row a document that an answer quotes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, name: str, source_ids: Collection[str], at: datetime) -> bool:
        def unit(connection: Connection) -> bool:
            if any(FIND.first(connection, source_id=each) is None for each in source_ids):
                return False
            quoted = source_ids or [NOTHING]  # so that its file is known as one of ours
            rows = [{"name": name, "source_id": each, "at": micros(at)} for each in quoted]
            _PUT_ANSWER.many(connection, rows)
            return True

        return await self._database.write(unit)

    async def names(self) -> frozenset[str]:
        return frozenset(row[0] for row in await self._database.read(_NAMES.all))

    async def lost(self) -> Sequence[str]:
        return [row[0] for row in await self._database.read(_LOST.all)]

    async def drop(self, names: Collection[str]) -> None:
        listed = json.dumps(list(names))
        await self._database.write(lambda c: _DROP_ANSWERS.run(c, names=listed))

    async def forget(self, before: datetime) -> None:
        await self._database.write(lambda c: _FORGET_ANSWERS.run(c, before=micros(before)))


def _path(connection: Connection, agent_id: str, namespace: str, source_id: str, page: int) -> str:
    rows = _IN_NAMESPACE.all(connection, of_agent=agent_id, of_namespace=namespace)
    own = [row for row in rows if row[0] == source_id]
    if own:
        is_first = own[0][2] == picture_path(namespace, None, own[0][1])
    else:
        is_first = all(row[2] != picture_path(namespace, None, row[1]) for row in rows)
    return picture_path(namespace, None if is_first else source_id, page)


def _kept(rows: Sequence[Row]) -> list[KeptPicture]:
    return [
        KeptPicture(
            agent_id=row[0],
            source_id=row[1],
            page=row[2],
            namespace=row[3],
            path=row[4],
            sha256=row[5],
            at=instant(row[6]),
            is_there=bool(row[7]),
            collection_id=row[8],
        )
        for row in rows
    ]


pictures_fit: type[PictureRecords] = SqlitePictureRecords
answers_fit: type[AnswerRecords] = SqliteAnswerRecords
