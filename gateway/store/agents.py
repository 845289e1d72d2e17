"""Agents with their bindings, and links from senders to accounts, on SQLite."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, or_, select
from sqlalchemy.dialects.sqlite import insert

from gateway.core.access import Agent, BindingRole
from gateway.core.messages import Sender
from gateway.interfaces import Agents, Links
from gateway.store import counters
from gateway.store.database import Database
from gateway.store.statements import Row, Statement
from gateway.store.tables.people import agents, bindings, links
from gateway.store.values import micros

_new = insert(agents)
_PUT = Statement(
    _new.on_conflict_do_update(
        index_elements=[agents.c.id],
        set_={column.name: _new.excluded[column.name] for column in agents.c},
    ),
    columns=[column.name for column in agents.c],
)
FIND_AGENT = Statement(select(*agents.c).where(agents.c.id == bindparam("agent_id")))
_ALL = Statement(select(*agents.c).order_by(agents.c.id))
_new_binding = insert(bindings)
BIND = Statement(
    _new_binding.on_conflict_do_update(
        index_elements=[bindings.c.agent_id, bindings.c.account_id],
        set_={"role": _new_binding.excluded.role},
    ),
    columns=["agent_id", "account_id", "role"],
)
UNBIND = Statement(
    delete(bindings).where(
        bindings.c.agent_id == bindparam("agent_id"),
        bindings.c.account_id == bindparam("account_id"),
    )
)
BINDINGS = Statement(
    select(bindings.c.account_id, bindings.c.role)
    .where(bindings.c.agent_id == bindparam("agent_id"))
    .order_by(bindings.c.account_id)
)
_ROLES_OF = Statement(
    select(bindings.c.agent_id, bindings.c.role).where(
        bindings.c.account_id == bindparam("account_id")
    )
)

_sender = (
    links.c.channel == bindparam("channel"),
    links.c.account_name == bindparam("account_name"),
    links.c.sender_id == bindparam("sender_id"),
)
_new_link = insert(links)
_LINK = Statement(
    _new_link.on_conflict_do_update(
        index_elements=[links.c.channel, links.c.account_name, links.c.sender_id],
        set_={"account_id": _new_link.excluded.account_id, "at": _new_link.excluded.at},
    ),
    columns=["channel", "account_name", "sender_id", "account_id", "at"],
)
_LINKED = Statement(select(links.c.account_id).where(*_sender))
_UNLINK = Statement(delete(links).where(*_sender))
_LINKS = Statement(
    select(links.c.channel, links.c.account_name, links.c.sender_id, links.c.account_id)
    .where(or_(bindparam("account_id").is_(None), links.c.account_id == bindparam("account_id")))
    .order_by(links.c.channel, links.c.account_name, links.c.sender_id)
)


class SqliteAgents:
    """Agents and bindings; every change counts the generation on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, agent: Agent) -> None:
        def unit(connection: Connection) -> None:
            _PUT.run(
                connection,
                id=agent.id,
                display_name=agent.display_name,
                department=agent.department,
                is_archived=int(agent.is_archived),
            )
            counters.add(connection, counters.GENERATION)

        await self._database.write(unit)

    async def find(self, agent_id: str) -> Agent | None:
        row = await self._database.read(lambda c: FIND_AGENT.first(c, agent_id=agent_id))
        return None if row is None else agent_of(row)

    async def list(self) -> Sequence[Agent]:
        return [agent_of(row) for row in await self._database.read(_ALL.all)]

    async def bind(self, agent_id: str, account_id: str, role: BindingRole | None) -> None:
        """None unbinds. NotFoundError when either is not there."""

        def unit(connection: Connection) -> None:
            if role is None:
                UNBIND.run(connection, agent_id=agent_id, account_id=account_id)
            else:
                BIND.run(connection, agent_id=agent_id, account_id=account_id, role=role.value)
            counters.add(connection, counters.GENERATION)

        await self._database.write(unit)

    async def bindings(self, agent_id: str) -> Mapping[str, BindingRole]:
        rows = await self._database.read(lambda c: BINDINGS.all(c, agent_id=agent_id))
        return {account_id: BindingRole(role) for account_id, role in rows}

    async def roles_of(self, account_id: str) -> Mapping[str, BindingRole]:
        rows = await self._database.read(lambda c: _ROLES_OF.all(c, account_id=account_id))
        return {agent_id: BindingRole(role) for agent_id, role in rows}


def agent_of(row: Row) -> Agent:
    """A row of agents.c."""
    return Agent(row[0], row[1], row[2], bool(row[3]))


class SqliteLinks:
    """Links keyed by (channel, account name, sender); every change counts the generation on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def bind(self, sender: Sender, account_id: str, at: datetime) -> None:
        """A sender has one account at most: the newest binding. NotFoundError without it."""

        def unit(connection: Connection) -> None:
            _LINK.run(connection, **_key(sender), account_id=account_id, at=micros(at))
            counters.add(connection, counters.GENERATION)

        await self._database.write(unit)

    async def find(self, sender: Sender) -> str | None:
        found: str | None = await self._database.read(lambda c: _LINKED.scalar(c, **_key(sender)))
        return found

    async def remove(self, sender: Sender) -> bool:
        def unit(connection: Connection) -> bool:
            is_removed = _UNLINK.run(connection, **_key(sender)) > 0
            counters.add(connection, counters.GENERATION, int(is_removed))
            return is_removed

        return await self._database.write(unit)

    async def list(self, account_id: str | None = None) -> Sequence[tuple[Sender, str]]:
        rows = await self._database.read(lambda c: _LINKS.all(c, account_id=account_id))
        return [(Sender(row[0], row[1], row[2]), row[3]) for row in rows]


def _key(sender: Sender) -> dict[str, str]:
    return {
        "channel": sender.channel,
        "account_name": sender.account_name,
        "sender_id": sender.id,
    }


fits_agents: type[Agents] = SqliteAgents
fits_links: type[Links] = SqliteLinks
