"""Accounts on SQLite, as they are read and put whole."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, false, select, true, union
from sqlalchemy.dialects.sqlite import insert

from gateway.core.access import Account, AccountRole
from gateway.interfaces import Accounts
from gateway.store import counters
from gateway.store.database import Database
from gateway.store.statements import Row, Statement, literal
from gateway.store.tables.people import accounts, agents, credentials

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
BY_LOGIN = Statement(select(*ACCOUNT_COLUMNS).where(accounts.c.login == bindparam("name")))
_ALL = Statement(select(*ACCOUNT_COLUMNS).order_by(accounts.c.login))
_new_hash = insert(credentials)
SET_HASH = Statement(
    _new_hash.on_conflict_do_update(
        index_elements=[credentials.c.account_id],
        set_={"password_hash": _new_hash.excluded.password_hash},
    ),
    columns=["account_id", "password_hash"],
)
_HASH = Statement(
    select(credentials.c.password_hash).where(credentials.c.account_id == bindparam("account_id"))
)
_DEPARTMENTS = Statement(
    union(
        select(accounts.c.department).where(
            accounts.c.is_active == true(), accounts.c.department != literal("")
        ),
        select(agents.c.department).where(
            agents.c.is_archived == false(), agents.c.department != literal("")
        ),
    ).order_by("department")
)


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
        row = await self._database.read(lambda c: BY_LOGIN.first(c, name=login))
        return None if row is None else account_of(row)

    async def list(self) -> Sequence[Account]:
        return [account_of(row) for row in await self._database.read(_ALL.all)]

    async def set_password_hash(self, account_id: str, password_hash: str) -> None:
        """NotFoundError without the account."""
        await self._database.write(
            lambda c: SET_HASH.run(c, account_id=account_id, password_hash=password_hash)
        )

    async def password_hash(self, account_id: str) -> str | None:
        found: str | None = await self._database.read(
            lambda c: _HASH.scalar(c, account_id=account_id)
        )
        return found

    async def departments(self) -> Sequence[str]:
        return [row[0] for row in await self._database.read(_DEPARTMENTS.all)]


fits: type[Accounts] = SqliteAccounts
