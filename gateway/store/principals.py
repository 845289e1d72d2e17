"""To whom grants can be given, read from accounts and agents on SQLite."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, and_, bindparam, false, or_, select, true, union

from gateway.core.access import Account, Agent, BindingRole
from gateway.core.sharing import Shareable
from gateway.interfaces import Principals
from gateway.store.agents import agent_of
from gateway.store.database import Database
from gateway.store.json_text import json_list
from gateway.store.people import ACCOUNT_COLUMNS, account_of
from gateway.store.statements import Statement, in_texts, literal
from gateway.store.tables.people import accounts, agents, bindings

_ACTIVE = Statement(
    select(accounts.c.id).where(accounts.c.is_active == true(), in_texts(accounts.c.id, "ids"))
)
_PEOPLE = Statement(
    select(*ACCOUNT_COLUMNS)
    .where(accounts.c.is_active == true())
    .order_by(accounts.c.display_name, accounts.c.id)
)
_DEPARTMENTS = Statement(
    union(
        select(accounts.c.department).where(accounts.c.department != ""),
        select(agents.c.department).where(agents.c.department != ""),
    )
)
_AGENTS = Statement(
    select(*agents.c)
    .where(
        agents.c.is_archived == false(),
        or_(
            bindparam("owner").is_(None),
            agents.c.id.in_(
                select(bindings.c.agent_id).where(
                    and_(
                        bindings.c.account_id == bindparam("owner"),
                        bindings.c.role == literal(BindingRole.OWNER.value),
                    )
                )
            ),
        ),
    )
    .order_by(agents.c.id)
)
_NAMED_ACCOUNTS = Statement(select(*ACCOUNT_COLUMNS).where(in_texts(accounts.c.id, "ids")))
_NAMED_AGENTS = Statement(select(*agents.c).where(in_texts(agents.c.id, "ids")))


class SqlitePrincipals:
    """Reads only; each method is one snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def shareable(self, owner_id: str | None, users: frozenset[str]) -> Shareable:
        def read(connection: Connection) -> Shareable:
            return Shareable(
                users=frozenset(row[0] for row in _ACTIVE.all(connection, ids=json_list(users))),
                departments=frozenset(row[0] for row in _DEPARTMENTS.all(connection)),
                agents=frozenset(row[0] for row in _AGENTS.all(connection, owner=owner_id)),
            )

        return await self._database.read(read)

    async def people(self, wanted: Callable[[Account], bool], most: int) -> Sequence[Account]:
        def read(connection: Connection) -> Sequence[Account]:
            everybody = map(account_of, _PEOPLE.all(connection))
            return [account for account in everybody if wanted(account)][:most]

        return await self._database.read(read)

    async def agents(self, owner_id: str | None) -> Sequence[Agent]:
        rows = await self._database.read(lambda c: _AGENTS.all(c, owner=owner_id))
        return [agent_of(row) for row in rows]

    async def named(self, ids: frozenset[str]) -> tuple[Mapping[str, Account], Mapping[str, Agent]]:
        wanted = json_list(ids)
        people, employees = await self._database.read(
            lambda c: (_NAMED_ACCOUNTS.all(c, ids=wanted), _NAMED_AGENTS.all(c, ids=wanted))
        )
        return (
            {row[0]: account_of(row) for row in people},
            {row[0]: agent_of(row) for row in employees},
        )


fits: type[Principals] = SqlitePrincipals
