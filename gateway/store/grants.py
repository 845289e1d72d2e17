"""Grants on SQLite, and all that the scope rule looks at in one snapshot."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, bindparam, delete, or_, select, update

from gateway.core.access import (
    AgentSide,
    Audience,
    AudienceKind,
    Collection,
    Grant,
    ScopeFacts,
    SubjectKind,
)
from gateway.core.audit import SecurityEvent
from gateway.core.own_documents import effective
from gateway.core.roles import has_user_owner
from gateway.core.scope_kinds import root
from gateway.core.scope_rules import channel_subjects
from gateway.errors import ConflictError
from gateway.interfaces import Grants
from gateway.store import counters
from gateway.store.audit_rows import put_event
from gateway.store.collections import (
    COLLECTION_COLUMNS,
    IS_LIVE,
    collection_of,
    live_at,
)
from gateway.store.database import Database
from gateway.store.grant_rows import GRANT_COLUMNS, INSERT_GRANT, grants_of
from gateway.store.json_text import json_list
from gateway.store.people import FIND_ACCOUNT, account_of
from gateway.store.statements import Statement, in_texts, literal
from gateway.store.tables.people import collections, grants, links

_NAMED = Statement(
    select(*GRANT_COLUMNS)
    .join(collections, collections.c.id == grants.c.collection_id)
    .where(
        IS_LIVE,
        or_(
            *(
                and_(
                    grants.c.subject_kind == literal(kind.value),
                    in_texts(grants.c.subject_id, kind.value),
                )
                for kind in SubjectKind
            )
        ),
    )
    .order_by(collections.c.no, grants.c.subject_kind, grants.c.subject_id)
)
_OF_IDS = Statement(
    select(*COLLECTION_COLUMNS)
    .where(IS_LIVE, in_texts(collections.c.id, "ids"))
    .order_by(collections.c.no)
)
_ALL_LIVE = Statement(select(*COLLECTION_COLUMNS).where(IS_LIVE).order_by(collections.c.no))
_LINK_HOLDS = Statement(
    select(links.c.sender_id)
    .where(
        links.c.channel == bindparam("channel"),
        links.c.account_name == bindparam("account_name"),
        links.c.account_id == bindparam("account_id"),
        or_(bindparam("sender_id").is_(None), links.c.sender_id == bindparam("sender_id")),
    )
    .limit(1)
)
_OF_COLLECTION = Statement(
    select(*GRANT_COLUMNS)
    .join(collections, collections.c.id == grants.c.collection_id)
    .where(IS_LIVE, collections.c.id == bindparam("collection_id"))
    .order_by(grants.c.subject_kind, grants.c.subject_id)
)
_BY_REFERENCE = Statement(
    select(*COLLECTION_COLUMNS)
    .where(
        IS_LIVE,
        or_(
            collections.c.id == bindparam("reference"), collections.c.slug == bindparam("reference")
        ),
    )
    # a slug may look like the id of another collection: the id is meant
    .order_by((collections.c.id == bindparam("reference")).desc())
    .limit(1)
)
_CLEAR = Statement(delete(grants).where(grants.c.collection_id == bindparam("collection")))
_COUNT_VERSION = Statement(
    update(collections)
    .where(collections.c.id == bindparam("collection"))
    .values(version=collections.c.version + 1)
)
_SUBJECTS = Statement(
    select(grants.c.subject_id)
    .distinct()
    .join(collections, collections.c.id == grants.c.collection_id)
    .where(IS_LIVE, grants.c.subject_kind == bindparam("which"))
    .order_by(grants.c.subject_id)
)


class SqliteGrants:
    """Grants of live collections; a replaced batch counts the generation on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def facts(
        self, audience: Audience, agent: AgentSide | None, *, everything: bool = False
    ) -> ScopeFacts:
        return await self._database.read(
            lambda c: _facts(c, audience, agent, everything=everything)
        )

    async def of_collection(self, collection_id: str) -> Sequence[Grant]:
        rows = await self._database.read(
            lambda c: _OF_COLLECTION.all(c, collection_id=collection_id)
        )
        return list(grants_of(rows))

    async def of_reference(self, reference: str) -> tuple[Collection | None, Sequence[Grant]]:
        def both(connection: Connection) -> tuple[Collection | None, Sequence[Grant]]:
            row = _BY_REFERENCE.first(connection, reference=reference)
            found = None if row is None else collection_of(row)
            of_it = _OF_COLLECTION.all(connection, collection_id=found.id if found else "")
            return found, list(grants_of(of_it))

        return await self._database.read(both)

    async def replace(
        self,
        collection_id: str,
        grants: Sequence[Grant],
        *,
        version: int,
        event: SecurityEvent | None = None,
    ) -> int:
        """NotFoundError without the collection. `event` goes in the same transaction."""

        def unit(connection: Connection) -> int:
            collection = live_at(connection, collection_id, version)
            if not has_user_owner(grants):
                raise ConflictError(f"collection {collection_id}", code="last_owner")
            put_grants(connection, collection_id, effective(collection, grants))
            _COUNT_VERSION.run(connection, collection=collection_id)
            counters.add(connection, counters.GENERATION)
            if event is not None:
                put_event(connection, event)
            return version + 1

        return await self._database.write(unit)

    async def subjects(self, kind: SubjectKind) -> Sequence[str]:
        rows = await self._database.read(lambda c: _SUBJECTS.all(c, which=kind.value))
        return [row[0] for row in rows]


def put_grants(connection: Connection, collection_id: str, grants: Sequence[Grant]) -> None:
    """Instead of those there are."""
    _CLEAR.run(connection, collection=collection_id)
    INSERT_GRANT.many(connection, [_row(collection_id, grant) for grant in grants])


def _row(collection_id: str, grant: Grant) -> dict[str, str]:
    return {
        "collection_id": collection_id,
        "subject_kind": grant.subject_kind.value,
        "subject_id": grant.subject_id,
        "role": grant.role.value,
    }


def _facts(
    connection: Connection, audience: Audience, agent: AgentSide | None, *, everything: bool
) -> ScopeFacts:
    person = root(audience)
    row = None
    if person.account is not None:
        row = FIND_ACCOUNT.first(connection, account_id=person.account.id)
    account = None if row is None else account_of(row)
    departments = {account.department} if account is not None else set()
    departments |= {agent.department} if agent is not None else set()
    rows = _NAMED.all(
        connection,
        user=json_list([] if account is None else [account.id]),
        department=json_list(departments - {""}),
        agent=json_list([] if agent is None else [agent.agent_id]),
        channel=json_list(channel_subjects(person.address)),
    )
    if everything:
        found = _ALL_LIVE.all(connection)
    else:
        found = _OF_IDS.all(connection, ids=json_list({row[0] for row in rows}))
    return ScopeFacts(
        collections=tuple(collection_of(row) for row in found),
        grants=tuple(grants_of(rows)),
        generation=counters.value(connection, counters.GENERATION),
        account=account,
        is_link_valid=_is_link_valid(connection, person),
    )


def _is_link_valid(connection: Connection, person: Audience) -> bool:
    if person.kind is not AudienceKind.LINKED:
        return True
    if person.account is None or person.address is None:
        return False
    row = _LINK_HOLDS.first(
        connection,
        channel=person.address.channel,
        account_name=person.address.account_name,
        account_id=person.account.id,
        sender_id=person.sender_id,
    )
    return row is not None


fits: type[Grants] = SqliteGrants
