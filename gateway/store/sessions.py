"""Browser sessions, API tokens and agents' keys on SQLite."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, exists, false, func, insert, or_, select, true

from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import Act, Session, Sessions
from gateway.store.account_changes import active, tell
from gateway.store.database import Database
from gateway.store.statements import Row, Statement
from gateway.store.tables.people import accounts, agents, sessions
from gateway.store.values import instant, micros

SESSION_COLUMNS = tuple(sessions.c)
_PUT = Statement(insert(sessions), columns=[column.name for column in sessions.c])
_holds = (sessions.c.expires_at > bindparam("now"), accounts.c.is_active == true())
_agent_is_there = or_(  # an agent's key ends with its agent
    sessions.c.agent_id.is_(None),
    exists().where(agents.c.id == sessions.c.agent_id, agents.c.is_archived == false()),
)
_of_people = sessions.join(accounts, accounts.c.id == sessions.c.account_id)
_FIND = Statement(
    select(*SESSION_COLUMNS)
    .select_from(_of_people)
    .where(sessions.c.secret_sha256 == bindparam("secret"), *_holds, _agent_is_there)
)
_LIST = Statement(
    select(*SESSION_COLUMNS)
    .select_from(_of_people)
    .where(
        sessions.c.kind == bindparam("kind"),
        or_(bindparam("account_id").is_(None), sessions.c.account_id == bindparam("account_id")),
        *_holds,
    )
    .order_by(sessions.c.created_at.desc(), sessions.c.secret_sha256)
)
_BY_ID = Statement(  # a range of the key: what starts with the id
    select(
        sessions.c.secret_sha256, sessions.c.account_id, sessions.c.label, sessions.c.agent_id
    ).where(
        sessions.c.secret_sha256 >= bindparam("first"),
        sessions.c.secret_sha256 < bindparam("last"),
        sessions.c.kind == bindparam("kind"),
    )
)
_COUNT = Statement(
    select(func.count())
    .select_from(sessions)
    .where(sessions.c.account_id == bindparam("account_id"), sessions.c.kind == bindparam("kind"))
)
_FORGET = Statement(
    delete(sessions).where(
        sessions.c.account_id == bindparam("account_id"), sessions.c.expires_at <= bindparam("now")
    )
)
REMOVE_SESSION = Statement(delete(sessions).where(sessions.c.secret_sha256 == bindparam("secret")))
_REMOVE_ALL = Statement(delete(sessions).where(sessions.c.account_id == bindparam("account_id")))
ID_CHARS = 32


class SqliteSessions:
    """Those of an inactive account are not found, and expired ones go with the next."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, session: Session) -> None:
        """NotFoundError without the account; ConflictError when the secret is taken."""
        await self._database.write(lambda connection: put_session(connection, session))

    async def add_token(self, session: Session, most: int, by: Act) -> None:
        def unit(connection: Connection) -> None:
            active(connection, by)
            put_session(connection, session)
            of_account = {"account_id": session.account_id, "kind": session.kind}
            if _COUNT.scalar(connection, **of_account) > most:
                raise ConflictError(session.account_id, code="too_many_tokens")
            tell(
                connection,
                "token_created",
                by,
                account_id=session.account_id,
                token_id=session.id,
                label=session.label,
                expires_at=session.expires_at.isoformat(),
            )

        await self._database.write(unit)

    async def find(self, secret_sha256: str, now: datetime) -> Session | None:
        at = micros(now)
        row = await self._database.read(lambda c: _FIND.first(c, secret=secret_sha256, now=at))
        return None if row is None else session_of(row)

    async def list(self, kind: str, account_id: str | None, now: datetime) -> Sequence[Session]:
        at = micros(now)
        rows = await self._database.read(
            lambda c: _LIST.all(c, kind=kind, account_id=account_id, now=at)
        )
        return [session_of(row) for row in rows]

    async def revoke(self, session_id: str, kind: str, by: Act) -> None:
        def unit(connection: Connection) -> None:
            actor, row = active(connection, by), session_by_id(connection, session_id, kind)
            may = actor is None or actor.is_admin or (row is not None and row[1] == actor.id)
            if row is None or not may:
                raise NotFoundError(session_id)
            REMOVE_SESSION.run(connection, secret=row[0])
            details = {"account_id": row[1], f"{kind}_id": session_id}
            tell(connection, f"{kind}_revoked", by, **details)

        await self._database.write(unit)

    async def remove(self, secret_sha256: str) -> None:
        await self._database.write(lambda c: REMOVE_SESSION.run(c, secret=secret_sha256))

    async def remove_all_of(self, account_id: str) -> None:
        await self._database.write(lambda c: _REMOVE_ALL.run(c, account_id=account_id))


def session_by_id(connection: Connection, session_id: str, kind: str) -> Row | None:
    """Its secret's SHA-256, account, label and agent."""
    if len(session_id) != ID_CHARS:  # anything shorter would name many
        return None
    return _BY_ID.first(connection, first=session_id, last=f"{session_id}g", kind=kind)


def put_session(connection: Connection, session: Session) -> None:
    """Keep it; the account's expired ones go."""
    _FORGET.run(connection, account_id=session.account_id, now=micros(session.created_at))
    _PUT.run(
        connection,
        secret_sha256=session.secret_sha256,
        account_id=session.account_id,
        kind=session.kind,
        label=session.label,
        created_at=micros(session.created_at),
        expires_at=micros(session.expires_at),
        agent_id=session.agent_id,
    )


def session_of(row: Row) -> Session:
    """The row in the order of SESSION_COLUMNS."""
    return Session(row[0], row[1], row[2], row[3], instant(row[4]), instant(row[5]), row[6])


fits: type[Sessions] = SqliteSessions
