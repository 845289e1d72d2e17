"""Keys of agents on SQLite: the rule, the change and its audit row in one transaction."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, select, true

from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import Act, AgentKeys, Session
from gateway.store.account_changes import tell
from gateway.store.agent_changes import editor
from gateway.store.database import Database
from gateway.store.sessions import (
    REMOVE_SESSION,
    SESSION_COLUMNS,
    put_session,
    session_by_id,
    session_of,
)
from gateway.store.statements import Statement
from gateway.store.tables.people import accounts, sessions
from gateway.store.values import micros

KIND = "agent"
NO_AGENT = ""  # asked for where the key is missing: refused by the same reads
_HOLDS = (
    sessions.c.agent_id == bindparam("agent_id"),
    sessions.c.kind == KIND,
    sessions.c.expires_at > bindparam("now"),
    accounts.c.is_active == true(),
)
_of_people = sessions.join(accounts, accounts.c.id == sessions.c.account_id)
_LIST = Statement(
    select(*SESSION_COLUMNS)
    .select_from(_of_people)
    .where(*_HOLDS)
    .order_by(sessions.c.created_at.desc(), sessions.c.secret_sha256)
)
_COUNT = Statement(select(func.count()).select_from(_of_people).where(*_HOLDS))


class SqliteAgentKeys:
    """Of an agent's owners and administrators; another's agent looks like one that is missing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: Session, most: int, by: Act) -> None:
        agent_id = key.agent_id or NO_AGENT

        def unit(connection: Connection) -> None:
            _, agent = editor(connection, agent_id, by)
            if agent.is_archived:
                raise ConflictError(agent_id, code="agent_archived")
            put_session(connection, key)
            held = _COUNT.scalar(connection, agent_id=agent_id, now=micros(by.at))
            if held > most:
                raise ConflictError(agent_id, code="too_many_tokens")
            tell(
                connection,
                "agent_key_created",
                by,
                agent_id=agent_id,
                key_id=key.id,
                label=key.label,
                expires_at=key.expires_at.isoformat(),
            )

        await self._database.write(unit)

    async def list(self, agent_id: str, by: Act) -> Sequence[Session]:
        def unit(connection: Connection) -> list[Session]:
            _, agent = editor(connection, agent_id, by)
            if agent.is_archived:  # none of them opens anything
                return []
            rows = _LIST.all(connection, agent_id=agent_id, now=micros(by.at))
            return [session_of(row) for row in rows]

        return await self._database.read(unit)

    async def revoke(self, key_id: str, by: Act) -> None:
        def unit(connection: Connection) -> None:
            row = session_by_id(connection, key_id, KIND)
            agent_id = NO_AGENT if row is None else str(row[3])
            editor(connection, agent_id, by)
            if row is None:
                raise NotFoundError(key_id)
            REMOVE_SESSION.run(connection, secret=row[0])
            tell(connection, "agent_key_revoked", by, agent_id=agent_id, key_id=key_id)

        await self._database.write(unit)


fits: type[AgentKeys] = SqliteAgentKeys
