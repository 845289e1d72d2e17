"""Agents' own collections on SQLite: made once, archived and restored with the agent (A26)."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import Connection, bindparam, select, true, update
from sqlalchemy.dialects.sqlite import insert

from gateway.core.access import BindingRole, Collection, Grant
from gateway.core.audit import Detail, SecurityEvent
from gateway.core.own_documents import (
    OwnCollection,
    first_grants,
    restored,
    stays_archived,
)
from gateway.errors import ConflictError
from gateway.interfaces import Act, OwnCollections
from gateway.store import counters
from gateway.store.agent_changes import editor
from gateway.store.agents import FIND_AGENT, agent_of
from gateway.store.audit_rows import put_event
from gateway.store.collections import (
    COLLECTION_COLUMNS,
    IS_LIVE,
    collection_of,
    live_collection,
    put_collection,
)
from gateway.store.database import Database
from gateway.store.grant_rows import GRANT_COLUMNS, grants_of
from gateway.store.grants import put_grants
from gateway.store.json_text import encoded, json_list
from gateway.store.statements import Row, Statement, in_texts
from gateway.store.tables.people import (
    accounts,
    agent_collections,
    bindings,
    collections,
    grants,
)
from gateway.store.values import micros

SYSTEM = "system"  # who archives and restores: it follows from the agent's state
_WIDTH = 3
_OWN = (
    select(
        agent_collections.c.agent_id,
        agent_collections.c.owes_listing,
        agent_collections.c.removed,
        *COLLECTION_COLUMNS,
    )
    .join(collections, collections.c.id == agent_collections.c.collection_id)
    .where(IS_LIVE)
)
_FIND = Statement(_OWN.where(agent_collections.c.agent_id == bindparam("agent_id")))
_ALL = Statement(_OWN.order_by(agent_collections.c.agent_id))
_new = insert(agent_collections)
_PUT = Statement(  # in place of a deleted one's
    _new.on_conflict_do_update(
        index_elements=[agent_collections.c.agent_id],
        set_={name: _new.excluded[name] for name in ("collection_id", "owes_listing", "removed")},
    ),
    columns=["agent_id", "collection_id", "owes_listing", "removed"],
)
_NOTE_LISTED = Statement(
    update(agent_collections)
    .where(agent_collections.c.agent_id == bindparam("of_agent"))
    .values(owes_listing=bindparam("owed"))
)
_KEEP_REMOVED = Statement(
    update(agent_collections)
    .where(agent_collections.c.agent_id == bindparam("of_agent"))
    .values(removed=bindparam("grants"))
)
_SET_ARCHIVED = Statement(
    update(collections)
    .where(collections.c.id == bindparam("collection"))
    .values(archived_at=bindparam("at"), version=collections.c.version + 1)
)
_BOUND = Statement(
    select(bindings.c.account_id, bindings.c.role)
    .join(accounts, accounts.c.id == bindings.c.account_id)
    .where(bindings.c.agent_id == bindparam("agent_id"), accounts.c.is_active == true())
)
_GRANTS = Statement(
    select(*GRANT_COLUMNS)
    .join(collections, collections.c.id == grants.c.collection_id)
    .where(IS_LIVE, in_texts(collections.c.id, "ids"))
    .order_by(collections.c.no, grants.c.subject_kind, grants.c.subject_id)
)


class SqliteOwnCollections:
    """One row an agent; the writer takes one change at a time, so nothing is made twice."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, agent_id: str) -> OwnCollection | None:
        row = await self._database.read(lambda c: _FIND.first(c, agent_id=agent_id))
        return None if row is None else _own_of(row)

    async def list(self) -> Sequence[OwnCollection]:
        return [_own_of(row) for row in await self._database.read(_ALL.all)]

    async def create(
        self,
        agent_id: str,
        collection: Collection,
        by: Act,
        *,
        with_bound: bool,
        listed: str | None,
        most: int,
    ) -> tuple[OwnCollection, bool]:
        def unit(connection: Connection) -> tuple[OwnCollection, bool]:
            _, agent = editor(connection, agent_id, by)
            row = _FIND.first(connection, agent_id=agent_id)
            if row is not None:
                return _own_of(row), False
            if agent.is_archived:
                raise ConflictError(agent_id, code="agent_archived")
            put_collection(connection, collection, most)
            bound = _bound(connection, agent_id) if with_bound else {}
            shares = first_grants(collection.id, agent_id, by.account_id or "", bound)
            put_grants(connection, collection.id, shares)
            owes = listed is not None
            _PUT.run(
                connection,
                agent_id=agent_id,
                collection_id=collection.id,
                owes_listing=int(owes),
                removed="[]",
            )
            counters.add(connection, counters.GENERATION)
            _tell_made(connection, agent_id, collection, shares, by)
            if listed is not None:
                _tell_listed(connection, agent_id, collection, listed, by)
            return OwnCollection(agent_id, live_collection(connection, collection.id), owes), True

        return await self._database.write(unit)

    async def note_listed(self, agent_id: str) -> None:
        await self._database.write(lambda c: _NOTE_LISTED.run(c, of_agent=agent_id, owed=0))

    async def settle(self, agent_id: str, *, is_present: bool, at: datetime) -> bool:
        def unit(connection: Connection) -> bool:
            row = _FIND.first(connection, agent_id=agent_id)
            found = FIND_AGENT.first(connection, agent_id=agent_id)
            is_away = not is_present or found is None or agent_of(found).is_archived
            if row is None or _own_of(row).collection.is_archived == is_away:
                return False
            change = _archive if is_away else _restore
            change(connection, row, at)
            counters.add(connection, counters.GENERATION)
            return True

        return await self._database.write(unit)

    async def grants(self, collection_ids: frozenset[str]) -> Sequence[Grant]:
        rows = await self._database.read(lambda c: _GRANTS.all(c, ids=json_list(collection_ids)))
        return list(grants_of(rows))


def _own_of(row: Row) -> OwnCollection:
    return OwnCollection(row[0], collection_of(row[_WIDTH:]), bool(row[1]))


def _bound(connection: Connection, agent_id: str) -> Mapping[str, BindingRole]:
    """The people bound to the agent at this moment who can sign in."""
    rows = _BOUND.all(connection, agent_id=agent_id)
    return {account_id: BindingRole(role) for account_id, role in rows}


def _archive(connection: Connection, row: Row, at: datetime) -> None:
    own = _own_of(row)
    now = _grants_of(connection, own)
    kept = [each for each in now if stays_archived(each)]
    removed = [each for each in now if not stays_archived(each)]
    put_grants(connection, own.collection.id, kept)
    _KEEP_REMOVED.run(connection, of_agent=own.agent_id, grants=encoded(removed).decode())
    _SET_ARCHIVED.run(connection, collection=own.collection.id, at=micros(at))
    _tell_settled(connection, "knowledge_own_collection_archived", own, removed, at)


def _restore(connection: Connection, row: Row, at: datetime) -> None:
    own = _own_of(row)
    removed = msgspec.json.decode(row[2], type=list[Grant])
    put_grants(connection, own.collection.id, restored(_grants_of(connection, own), removed))
    _KEEP_REMOVED.run(connection, of_agent=own.agent_id, grants="[]")
    _SET_ARCHIVED.run(connection, collection=own.collection.id, at=None)
    _tell_settled(connection, "knowledge_own_collection_restored", own, removed, at)


def _grants_of(connection: Connection, own: OwnCollection) -> Sequence[Grant]:
    return list(grants_of(_GRANTS.all(connection, ids=json_list([own.collection.id]))))


def _named(agent_id: str, collection: Collection) -> dict[str, Detail]:
    return {"agent_id": agent_id, "collection_id": collection.id, "slug": collection.slug}


def _lines(shares: Sequence[Grant], *, is_new: bool) -> list[dict[str, str | None]]:
    return [
        {
            "subject_kind": each.subject_kind.value,
            "subject_id": each.subject_id,
            "old": None if is_new else each.role.value,
            "new": each.role.value if is_new else None,
        }
        for each in shares
    ]


def _tell_made(
    connection: Connection,
    agent_id: str,
    collection: Collection,
    shares: Sequence[Grant],
    by: Act,
) -> None:
    actor, named = by.account_id or "operator", _named(agent_id, collection)
    made = named | {"own_collection": True}
    put_event(connection, SecurityEvent("knowledge_collection_created", by.at, actor, made))
    shared = named | {"changes": _lines(shares, is_new=True)}
    put_event(connection, SecurityEvent("knowledge_acl_changed", by.at, actor, shared))


def _tell_listed(
    connection: Connection, agent_id: str, collection: Collection, listed: str, by: Act
) -> None:
    details = _named(agent_id, collection) | {"collections": listed}
    actor = by.account_id or "operator"
    put_event(connection, SecurityEvent("knowledge_agent_binding_changed", by.at, actor, details))


def _tell_settled(
    connection: Connection, event: str, own: OwnCollection, moved: Sequence[Grant], at: datetime
) -> None:
    is_new = event.endswith("restored")
    details = _named(own.agent_id, own.collection) | {"changes": _lines(moved, is_new=is_new)}
    put_event(connection, SecurityEvent(event, at, SYSTEM, details))


fits: type[OwnCollections] = SqliteOwnCollections
