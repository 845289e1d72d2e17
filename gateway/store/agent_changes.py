"""Changes of agents on SQLite, each with its rule, its generation and its audit row."""

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, delete, func, insert, select, true, update

from gateway.core.access import Account, Agent, BindingRole
from gateway.core.agents import SettingsChange
from gateway.core.audit import Detail, Details
from gateway.core.binding_rules import AgentAct, keeps_owner, may
from gateway.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.interfaces import Act, AgentChanges
from gateway.store import counters
from gateway.store.account_changes import active, find, tell
from gateway.store.agents import BIND, BINDINGS, FIND_AGENT, UNBIND, agent_of
from gateway.store.database import Database
from gateway.store.statements import Statement
from gateway.store.tables.people import accounts, agents, bindings, sessions

_ADD = Statement(insert(agents), columns=[column.name for column in agents.c])
_SET = Statement(
    update(agents)
    .where(agents.c.id == bindparam("agent_id"))
    .values(
        display_name=bindparam("to_display_name"),
        department=bindparam("to_department"),
        is_archived=bindparam("to_is_archived"),
    )
)
_NAME = Statement(
    update(agents)
    .where(agents.c.id == bindparam("agent_id"))
    .values(
        display_name=func.coalesce(bindparam("to_display_name"), agents.c.display_name),
        department=func.coalesce(bindparam("to_department"), agents.c.department),
    )
)
_ACTIVE = Statement(
    select(accounts.c.id)
    .join(bindings, bindings.c.account_id == accounts.c.id)
    .where(bindings.c.agent_id == bindparam("agent_id"), accounts.c.is_active == true())
)
_END_KEYS = Statement(delete(sessions).where(sessions.c.agent_id == bindparam("agent_id")))


class SqliteAgentChanges:
    """Who may change an agent is looked at in the transaction that changes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, agent: Agent, by: Act) -> None:
        def unit(connection: Connection) -> None:
            owner = active(connection, by)
            if FIND_AGENT.first(connection, agent_id=agent.id) is not None:
                raise ConflictError(agent.id, code="agent_exists")
            _ADD.run(
                connection,
                id=agent.id,
                display_name=agent.display_name,
                department=agent.department,
                is_archived=int(agent.is_archived),
            )
            if owner is not None:
                BIND.run(
                    connection,
                    agent_id=agent.id,
                    account_id=owner.id,
                    role=BindingRole.OWNER.value,
                )
            _told(connection, "agent_created", by, agent.id, department=agent.department)

        await self._database.write(unit)

    async def bind(self, agent_id: str, account_id: str, role: BindingRole | None, by: Act) -> None:
        def unit(connection: Connection) -> None:
            actor, _ = editor(connection, agent_id, by)
            account = find(connection, account_id)
            if role is not None and not account.is_active:
                raise InvalidRequestError("inactive", reason="account: not active")
            before = _bindings(connection, agent_id)
            after = {who: what for who, what in before.items() if who != account_id}
            after |= {} if role is None else {account_id: role}
            _check_owner(connection, agent_id, actor, before, after)
            if after != before:
                _write_binding(connection, agent_id, account_id, role)
                _told(
                    connection,
                    "agent_binding_changed",
                    by,
                    agent_id,
                    account_id=account_id,
                    role=role.value if role is not None else None,
                )

        await self._database.write(unit)

    async def set_archived(self, agent_id: str, *, is_archived: bool, by: Act) -> Agent:
        def unit(connection: Connection) -> Agent:
            _, agent = editor(connection, agent_id, by)
            return _archive(connection, agent, by, is_archived=is_archived)

        return await self._database.write(unit)

    async def hand_over(self, agent_id: str, account_id: str, by: Act, *, archive: bool) -> Agent:
        def unit(connection: Connection) -> Agent:
            _, agent = editor(connection, agent_id, by)
            if not find(connection, account_id).is_active:
                raise InvalidRequestError("inactive", reason="to: not active")
            owners = [
                who
                for who, role in _bindings(connection, agent_id).items()
                if role is BindingRole.OWNER and who != account_id
            ]
            for owner in owners:
                _write_binding(connection, agent_id, owner, None)
            _write_binding(connection, agent_id, account_id, BindingRole.OWNER)
            details = {"account_id": account_id, "before": ",".join(owners)}
            _told(connection, "agent_handed_over", by, agent_id, **details)
            return _archive(connection, agent, by, is_archived=archive or agent.is_archived)

        return await self._database.write(unit)

    async def announce(self, agent_id: str, event: str, details: Details, by: Act) -> None:
        def unit(connection: Connection) -> None:
            editor(connection, agent_id, by)
            _told(connection, event, by, agent_id, **details)

        await self._database.write(unit)

    async def failed(self, agent_id: str, event: str, details: Details, by: Act) -> None:
        await self._database.write(
            lambda c: _told(c, f"{event}_failed", by, agent_id, **details),
        )

    async def save(self, agent_id: str, named: SettingsChange) -> None:
        def unit(connection: Connection) -> None:
            _NAME.run(
                connection,
                agent_id=agent_id,
                to_display_name=named.display_name,
                to_department=named.department,
            )
            counters.add(connection, counters.GENERATION)

        await self._database.write(unit)


def editor(connection: Connection, agent_id: str, by: Act) -> tuple[Account | None, Agent]:
    """Who acts and the agent; one NotFoundError for absent and forbidden, by the same reads."""
    actor = active(connection, by)
    row = FIND_AGENT.first(connection, agent_id=agent_id)
    role = None if actor is None else _bindings(connection, agent_id).get(actor.id)
    if row is None or (actor is not None and not may(actor, role, AgentAct.EDIT)):
        raise NotFoundError(agent_id)
    return actor, agent_of(row)


def _check_owner(
    connection: Connection,
    agent_id: str,
    actor: Account | None,
    before: Mapping[str, BindingRole],
    after: Mapping[str, BindingRole],
) -> None:
    """Owners leave an owner; admins and the operator may leave the agent to the admins."""
    if actor is None or actor.is_admin:
        return
    can_sign_in = {row[0] for row in _ACTIVE.all(connection, agent_id=agent_id)}
    can_sign_in |= after.keys() - before.keys()  # looked at above
    if not keeps_owner(before, after, can_sign_in):
        raise ConflictError(agent_id, code="last_owner")


def _bindings(connection: Connection, agent_id: str) -> dict[str, BindingRole]:
    rows = BINDINGS.all(connection, agent_id=agent_id)
    return {account_id: BindingRole(role) for account_id, role in rows}


def _write_binding(
    connection: Connection, agent_id: str, account_id: str, role: BindingRole | None
) -> None:
    if role is None:
        UNBIND.run(connection, agent_id=agent_id, account_id=account_id)
    else:
        BIND.run(connection, agent_id=agent_id, account_id=account_id, role=role.value)


def _archive(connection: Connection, agent: Agent, by: Act, *, is_archived: bool) -> Agent:
    if agent.is_archived == is_archived:
        return agent
    after = Agent(agent.id, agent.display_name, agent.department, is_archived)
    _put(connection, after)
    if is_archived:  # they do not come back with the agent
        _END_KEYS.run(connection, agent_id=agent.id)
    _told(connection, "agent_archived" if is_archived else "agent_restored", by, agent.id)
    return after


def _put(connection: Connection, agent: Agent) -> None:
    _SET.run(
        connection,
        agent_id=agent.id,
        to_display_name=agent.display_name,
        to_department=agent.department,
        to_is_archived=int(agent.is_archived),
    )


def _told(connection: Connection, event: str, by: Act, agent_id: str, **details: Detail) -> None:
    counters.add(connection, counters.GENERATION)
    tell(connection, event, by, agent_id=agent_id, **details)


fits: type[AgentChanges] = SqliteAgentChanges
