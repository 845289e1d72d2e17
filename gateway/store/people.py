"""Accounts and their sessions on SQLite."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select, true
from sqlalchemy.dialects.sqlite import insert

from gateway.core.access import Account, AccountRole
from gateway.interfaces import Accounts, Session, Sessions
from gateway.store import counters
from gateway.store.database import Database
from gateway.store.statements import Row, Statement
from gateway.store.tables.people import accounts, credentials, sessions
from gateway.store.values import instant, micros

ACCOUNT_COLUMNS = tuple(accounts.c)
_new = insert(accounts)
_PUT = Statement(
    _new.on_conflict_do_update(
        index_elements=[accounts.c.id],
        set_={column.name: _new.excluded[column.name] for column in accounts.c},
    ),
    columns=[column.name for column in accounts.c],
)
FIND_ACCOUNT = Statement(select(*ACCOUNT_COLUMNS).where(accounts.c.id == bindparam("account_id")))
_BY_LOGIN = Statement(select(*ACCOUNT_COLUMNS).where(accounts.c.login == bindparam("name")))
_ALL = Statement(select(*ACCOUNT_COLUMNS).order_by(accounts.c.login))
_new_hash = insert(credentials)
_SET_HASH = Statement(
    _new_hash.on_conflict_do_update(
        index_elements=[credentials.c.account_id],
        set_={"password_hash": _new_hash.excluded.password_hash},
    ),
    columns=["account_id", "password_hash"],
)
_HASH = Statement(
    select(credentials.c.password_hash).where(credentials.c.account_id == bindparam("account_id"))
)

SESSION_COLUMNS = tuple(sessions.c)
_PUT_SESSION = Statement(insert(sessions), columns=[column.name for column in sessions.c])
_FIND_SESSION = Statement(
    select(*SESSION_COLUMNS)
    .join(accounts, accounts.c.id == sessions.c.account_id)
    .where(
        sessions.c.secret_sha256 == bindparam("secret"),
        sessions.c.expires_at > bindparam("now"),
        accounts.c.is_active == true(),
    )
)
_REMOVE_SESSION = Statement(delete(sessions).where(sessions.c.secret_sha256 == bindparam("secret")))
_REMOVE_ALL = Statement(delete(sessions).where(sessions.c.account_id == bindparam("account_id")))


def account_of(row: Row) -> Account:
    """A row of ACCOUNT_COLUMNS."""
    return Account(
        id=row[0],
        login=row[1],
        display_name=row[2],
        role=AccountRole(row[3]),
        department=row[4],
        language=row[5],
        is_active=bool(row[6]),
    )


class SqliteAccounts:
    """Accounts; every change counts the generation on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, account: Account) -> None:
        """ConflictError when another account has this login."""

        def unit(connection: Connection) -> None:
            _PUT.run(
                connection,
                id=account.id,
                login=account.login,
                display_name=account.display_name,
                role=account.role.value,
                department=account.department,
                language=account.language,
                is_active=int(account.is_active),
            )
            counters.add(connection, counters.GENERATION)

        await self._database.write(unit)

    async def find(self, account_id: str) -> Account | None:
        row = await self._database.read(lambda c: FIND_ACCOUNT.first(c, account_id=account_id))
        return None if row is None else account_of(row)

    async def find_by_login(self, login: str) -> Account | None:
        row = await self._database.read(lambda c: _BY_LOGIN.first(c, name=login))
        return None if row is None else account_of(row)

    async def list(self) -> Sequence[Account]:
        return [account_of(row) for row in await self._database.read(_ALL.all)]

    async def set_password_hash(self, account_id: str, password_hash: str) -> None:
        """NotFoundError without the account."""
        await self._database.write(
            lambda c: _SET_HASH.run(c, account_id=account_id, password_hash=password_hash)
        )

    async def password_hash(self, account_id: str) -> str | None:
        found: str | None = await self._database.read(
            lambda c: _HASH.scalar(c, account_id=account_id)
        )
        return found


class SqliteSessions:
    """Browser sessions and API tokens; those of an inactive account are not found."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, session: Session) -> None:
        """NotFoundError without the account; ConflictError when the secret is taken."""
        await self._database.write(
            lambda c: _PUT_SESSION.run(
                c,
                secret_sha256=session.secret_sha256,
                account_id=session.account_id,
                kind=session.kind,
                label=session.label,
                created_at=micros(session.created_at),
                expires_at=micros(session.expires_at),
            )
        )

    async def find(self, secret_sha256: str, now: datetime) -> Session | None:
        at = micros(now)
        row = await self._database.read(
            lambda c: _FIND_SESSION.first(c, secret=secret_sha256, now=at)
        )
        if row is None:
            return None
        return Session(row[0], row[1], row[2], row[3], instant(row[4]), instant(row[5]))

    async def remove(self, secret_sha256: str) -> None:
        await self._database.write(lambda c: _REMOVE_SESSION.run(c, secret=secret_sha256))

    async def remove_all_of(self, account_id: str) -> None:
        await self._database.write(lambda c: _REMOVE_ALL.run(c, account_id=account_id))


fits_accounts: type[Accounts] = SqliteAccounts
fits_sessions: type[Sessions] = SqliteSessions
