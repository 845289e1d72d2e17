"""Collections on SQLite; a tombstoned one is absent from every statement here."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, func, insert, null, or_, select, update

from gateway.core.access import Collection, EmbeddingPolicy, Role, Sensitivity, SubjectKind
from gateway.core.audit import SecurityEvent
from gateway.core.documents import IN_PROGRESS
from gateway.core.folders import check_parent
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.interfaces import Clock, Collections, Ids
from gateway.store import counters
from gateway.store.audit_rows import put_event
from gateway.store.database import Database
from gateway.store.grant_rows import INSERT_GRANT
from gateway.store.job_rows import put_job
from gateway.store.json_text import json_list
from gateway.store.statements import Row, Statement, in_texts, literal
from gateway.store.tables.library import source_tombstones, sources
from gateway.store.tables.people import collections
from gateway.store.values import micros

COLLECTION_COLUMNS = (
    collections.c.id,
    collections.c.no,
    collections.c.slug,
    collections.c.name,
    collections.c.sensitivity,
    collections.c.description,
    collections.c.department,
    collections.c.embedding_policy,
    collections.c.version,
    collections.c.archived_at,
    collections.c.parent_id,
)
IS_LIVE = collections.c.removed_at.is_(None)

_INSERT = Statement(
    insert(collections).values(version=1, next_n=1),
    columns=[
        "id",
        "slug",
        "name",
        "description",
        "sensitivity",
        "department",
        "embedding_policy",
        "parent_id",
    ],
)
_FIND = Statement(
    select(*COLLECTION_COLUMNS).where(IS_LIVE, collections.c.id == bindparam("collection_id"))
)
_BY_SLUG = Statement(
    select(*COLLECTION_COLUMNS).where(IS_LIVE, collections.c.slug == bindparam("name"))
)
_LIST = Statement(
    select(*COLLECTION_COLUMNS)
    .where(IS_LIVE, in_texts(collections.c.id, "ids"))
    .order_by(collections.c.no)
)
_COUNTS = Statement(
    select(
        collections.c.id,
        func.count(sources.c.id),
        func.coalesce(func.sum(sources.c.passages), 0),
    )
    .join(sources, sources.c.collection_id == collections.c.id, isouter=True)
    .where(IS_LIVE, in_texts(collections.c.id, "ids"))
    .group_by(collections.c.id)
)
_IN_PROGRESS = Statement(
    select(sources.c.collection_id, func.count())
    .join(collections, collections.c.id == sources.c.collection_id)
    .where(
        IS_LIVE,
        in_texts(collections.c.id, "ids"),
        or_(*(sources.c.state == literal(state.value) for state in sorted(IN_PROGRESS))),
    )
    .group_by(sources.c.collection_id)
)
_LIVE_COUNT = Statement(select(func.count()).select_from(collections).where(IS_LIVE))
_UPDATE = Statement(
    update(collections)
    .where(IS_LIVE, collections.c.id == bindparam("collection_id"))
    .values(
        slug=bindparam("new_slug"),
        name=bindparam("new_name"),
        description=bindparam("new_description"),
        sensitivity=bindparam("new_sensitivity"),
        department=bindparam("new_department"),
        embedding_policy=bindparam("new_embedding_policy"),
        parent_id=bindparam("new_parent_id"),
        version=collections.c.version + 1,
    )
)
_TOMBSTONE = Statement(
    update(collections)
    .where(IS_LIVE, collections.c.id == bindparam("collection_id"))
    .values(removed_at=bindparam("at"))
)
_PARENTS = Statement(select(collections.c.id, collections.c.parent_id).where(IS_LIVE))
_FREE_CHILDREN = Statement(  # whoever loaded one before has to look again
    update(collections)
    .where(IS_LIVE, collections.c.parent_id == bindparam("gone"))
    .values(parent_id=null(), version=collections.c.version + 1)
)
_FORGET_TITLES = Statement(
    update(source_tombstones)
    .where(source_tombstones.c.collection_id == bindparam("gone"))
    .values(title="")
)


def collection_of(row: Row) -> Collection:
    """A row of COLLECTION_COLUMNS."""
    return Collection(
        id=row[0],
        no=row[1],
        slug=row[2],
        name=row[3],
        sensitivity=Sensitivity(row[4]),
        description=row[5],
        department=row[6],
        embedding_policy=EmbeddingPolicy(row[7]),
        version=row[8],
        is_archived=row[9] is not None,
        parent_id=row[10],
    )


def live_collection(connection: Connection, collection_id: str) -> Collection:
    """The collection, or NotFoundError."""
    row = _FIND.first(connection, collection_id=collection_id)
    if row is None:
        raise NotFoundError(f"collection {collection_id}")
    return collection_of(row)


def live_at(connection: Connection, collection_id: str, version: int) -> Collection:
    """The collection, unchanged since `version`; NotFoundError, or ConflictError that tells the
    version it has now.
    """
    collection = live_collection(connection, collection_id)
    if collection.version != version:
        raise ConflictError(
            f"collection {collection_id} moved on from {version}", version=collection.version
        )
    return collection


class SqliteCollections:
    """Collections; each change counts the generation on and may carry its security event."""

    def __init__(self, database: Database, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids

    async def create(
        self,
        collection: Collection,
        owner_id: str,
        *,
        event: SecurityEvent | None = None,
        most: int | None = None,
    ) -> Collection:
        def unit(connection: Connection) -> Collection:
            put_collection(connection, collection, most)
            INSERT_GRANT.run(
                connection,
                collection_id=collection.id,
                subject_kind=SubjectKind.USER.value,
                subject_id=owner_id,
                role=Role.OWNER.value,
            )
            _changed(connection, event)
            return live_collection(connection, collection.id)

        return await self._database.write(unit)

    async def find(self, collection_id: str) -> Collection | None:
        row = await self._database.read(lambda c: _FIND.first(c, collection_id=collection_id))
        return None if row is None else collection_of(row)

    async def find_by_slug(self, slug: str) -> Collection | None:
        row = await self._database.read(lambda c: _BY_SLUG.first(c, name=slug))
        return None if row is None else collection_of(row)

    async def list(self, ids: frozenset[str]) -> Sequence[Collection]:
        rows = await self._database.read(lambda c: _LIST.all(c, ids=json_list(ids)))
        return [collection_of(row) for row in rows]

    async def counts(self, ids: frozenset[str]) -> Mapping[str, tuple[int, int]]:
        rows = await self._database.read(lambda c: _COUNTS.all(c, ids=json_list(ids)))
        return {row[0]: (row[1], row[2]) for row in rows}

    async def in_progress(self, ids: frozenset[str]) -> Mapping[str, int]:
        rows = await self._database.read(lambda c: _IN_PROGRESS.all(c, ids=json_list(ids)))
        return {row[0]: row[1] for row in rows}

    async def replace(
        self, collection: Collection, *, version: int, event: SecurityEvent | None = None
    ) -> Collection:
        values = {f"new_{name}": value for name, value in _values(collection).items()}

        def unit(connection: Connection) -> Collection:
            before = live_at(connection, collection.id, version)
            _refuse_taken(connection, collection)
            _check_place(connection, collection, before.parent_id)
            _UPDATE.run(connection, collection_id=collection.id, **values)
            _changed(connection, event)
            return live_collection(connection, collection.id)

        return await self._database.write(unit)

    async def remove(
        self,
        collection_id: str,
        *,
        version: int | None = None,
        event: SecurityEvent | None = None,
        held_by: frozenset[str] = frozenset(),
    ) -> None:
        """Puts the job `remove_collection` with it; nothing happens when it is gone already."""
        now = micros(self._clock.now())
        job_id = self._ids.new()

        def unit(connection: Connection) -> None:
            row = _FIND.first(connection, collection_id=collection_id)
            if row is not None and version is not None:
                live_at(connection, collection_id, version)
            _free(connection, collection_id, held_by)
            if _TOMBSTONE.run(connection, collection_id=collection_id, at=now):
                _FORGET_TITLES.run(connection, gone=collection_id)
                put_job(connection, job_id, "remove_collection", collection_id, now)
                _changed(connection, event)

        await self._database.write(unit)


def put_collection(connection: Connection, collection: Collection, most: int | None) -> None:
    """A new row; the grants and the generation are the caller's."""
    if most is not None and _LIVE_COUNT.scalar(connection) >= most:
        raise GatewayError("collections", code="quota_collections")
    _refuse_taken(connection, collection)
    _check_place(connection, collection, None)
    _INSERT.run(connection, id=collection.id, **_values(collection))


def _values(collection: Collection) -> dict[str, str | None]:
    return {
        "slug": collection.slug,
        "name": collection.name,
        "description": collection.description,
        "sensitivity": collection.sensitivity.value,
        "department": collection.department,
        "embedding_policy": collection.embedding_policy.value,
        "parent_id": collection.parent_id,
    }


def _check_place(connection: Connection, collection: Collection, before: str | None) -> None:
    """One that stays where it is asks for nothing."""
    if collection.parent_id is not None and collection.parent_id != before:
        check_parent(dict(_PARENTS.all(connection)), collection.id, collection.parent_id)


def _free(connection: Connection, collection_id: str, held_by: frozenset[str]) -> None:
    """What lies in a folder that goes lies at the top from now on, unless it holds the folder."""
    inside = {child for child, parent in _PARENTS.all(connection) if parent == collection_id}
    if inside & held_by:
        raise ConflictError(f"collection {collection_id} has folders", code="folder_not_empty")
    if inside:
        _FREE_CHILDREN.run(connection, gone=collection_id)


def _refuse_taken(connection: Connection, collection: Collection) -> None:
    row = _BY_SLUG.first(connection, name=collection.slug)
    if row is not None and row[0] != collection.id:
        raise ConflictError(f"slug {collection.slug} is taken", code="slug_taken")


def _changed(connection: Connection, event: SecurityEvent | None) -> None:
    counters.add(connection, counters.GENERATION)
    if event is not None:
        put_event(connection, event)


fits: type[Collections] = SqliteCollections
