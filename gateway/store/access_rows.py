"""Rows of the access log: each with the set of collections that could be read then."""

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    insert,
    not_,
    or_,
    select,
)

from gateway.core.audit import QUERY_KEPT_CHARS, AccessAction, AccessEntry
from gateway.store.json_text import json_list, tuple_of
from gateway.store.statements import Row, Statement, literal
from gateway.store.tables.record import access_log, home_keys, read_scope_collections, read_scopes
from gateway.store.values import clean, instant, micros

_INSERT = Statement(
    insert(access_log), columns=[column.name for column in access_log.c if column.name != "seq"]
)
_SCOPE = Statement(
    select(read_scopes.c.id).where(read_scopes.c.collections == bindparam("collections"))
)
_NEW_SCOPE = Statement(insert(read_scopes), columns=["collections"])
_NEW_MEMBER = Statement(insert(read_scope_collections), columns=["collection_id", "scope_id"])

_IS_DENIED = access_log.c.action == literal(AccessAction.DENIED.value)
_COLUMNS = (
    access_log.c.action,
    access_log.c.at,
    access_log.c.account_id,
    access_log.c.agent_id,
    access_log.c.channel,
    access_log.c.sender,
    access_log.c.turn_id,
    access_log.c.query,
    access_log.c.results,
    read_scopes.c.collections,
)
_logged = select(*_COLUMNS).select_from(
    access_log.join(read_scopes, read_scopes.c.id == access_log.c.scope_id, isouter=True)
)


def _scopes_with(collection: ColumnElement[str]) -> ColumnElement[bool]:
    return access_log.c.scope_id.in_(
        select(read_scope_collections.c.scope_id).where(
            read_scope_collections.c.collection_id == collection
        )
    )


ENTRIES = Statement(
    _logged.where(
        or_(bindparam("collection").is_(None), _scopes_with(bindparam("collection"))),
        or_(bindparam("denied_only") == 0, _IS_DENIED),
    )
    .order_by(access_log.c.seq.desc())
    .limit(bindparam("most"))
)


def _page(*conditions: ColumnElement[bool]) -> Statement:
    """The numbers first, from an index alone; then the rows of the page."""
    numbers = (
        select(access_log.c.seq)
        .where(access_log.c.at <= bindparam("before"), *conditions)
        .order_by(access_log.c.at.desc(), access_log.c.seq.desc())
        .limit(bindparam("most"))
        .offset(bindparam("skip"))
    )
    return Statement(
        _logged.where(access_log.c.seq.in_(numbers)).order_by(
            access_log.c.at.desc(), access_log.c.seq.desc()
        )
    )


READS_OF = _page(_scopes_with(bindparam("collection")), not_(_IS_DENIED))
DENIED = _page(_IS_DENIED)

_oldest = (
    select(access_log.c.seq).where(access_log.c.at < bindparam("before")).limit(bindparam("most"))
)
PURGE = Statement(delete(access_log).where(access_log.c.seq.in_(_oldest)))
DROP_UNUSED_SCOPES = Statement(
    delete(read_scopes).where(
        ~select(access_log.c.seq).where(access_log.c.scope_id == read_scopes.c.id).exists()
    )
)
KEY = Statement(select(home_keys.c.value).where(home_keys.c.name == bindparam("which")))


def put_entry(connection: Connection, entry: AccessEntry) -> None:
    _INSERT.run(
        connection,
        action=entry.action.value,
        at=micros(entry.at),
        account_id=entry.account_id,
        agent_id=entry.agent_id,
        channel=entry.channel,
        sender=None if entry.sender is None else clean(entry.sender),
        turn_id=entry.turn_id,
        query=clean(entry.query[:QUERY_KEPT_CHARS]),
        results=json_list(entry.results),
        scope_id=_scope_of(connection, entry.collections),
    )


def _scope_of(connection: Connection, collections: tuple[str, ...]) -> int | None:
    """The number of this set of collections; a few sets repeat in all the rows."""
    if not collections:
        return None
    text = json_list(collections)
    found: int | None = _SCOPE.scalar(connection, collections=text)
    if found is not None:
        return found
    _NEW_SCOPE.run(connection, collections=text)
    number: int = _SCOPE.scalar(connection, collections=text)
    rows = [
        {"collection_id": clean(each), "scope_id": number} for each in dict.fromkeys(collections)
    ]
    _NEW_MEMBER.many(connection, rows)
    return number


def entry_of(row: Row) -> AccessEntry:
    """A row of the statements above."""
    return AccessEntry(
        action=AccessAction(row[0]),
        at=instant(row[1]),
        account_id=row[2],
        agent_id=row[3],
        channel=row[4],
        sender=row[5],
        turn_id=row[6],
        query=row[7],
        results=tuple_of(row[8]),
        collections=() if row[9] is None else tuple_of(row[9]),
    )
