"""Changes of accounts on SQLite, each with its rule, its generation and its audit row."""

from dataclasses import asdict

from sqlalchemy import Connection, bindparam, delete, func, insert, select, true, update

from gateway.core.access import Account, AccountRole
from gateway.core.audit import Detail, SecurityEvent
from gateway.core.people import AccountChange, changed, may_change, takes_last_admin
from gateway.errors import ConflictError, NotFoundError
from gateway.interfaces import AccountChanges, Act
from gateway.store import counters
from gateway.store.audit_rows import put_event
from gateway.store.database import Database
from gateway.store.people import BY_LOGIN, FIND_ACCOUNT, SET_HASH, account_of
from gateway.store.statements import Statement
from gateway.store.tables.people import accounts, link_codes, link_requests, sessions

_ADD = Statement(insert(accounts), columns=[column.name for column in accounts.c])
_CHANGE = Statement(
    update(accounts)
    .where(accounts.c.id == bindparam("account_id"))
    .values(
        display_name=bindparam("to_display_name"),
        role=bindparam("to_role"),
        department=bindparam("to_department"),
        language=bindparam("to_language"),
        is_active=bindparam("to_is_active"),
    )
)
_OTHER_ADMINS = Statement(
    select(func.count())
    .select_from(accounts)
    .where(
        accounts.c.id != bindparam("account_id"),
        accounts.c.role == AccountRole.ADMIN.value,
        accounts.c.is_active == true(),
    )
)
_END_OTHERS = Statement(
    delete(sessions).where(
        sessions.c.account_id == bindparam("account_id"),
        sessions.c.secret_sha256 != bindparam("keep"),
    )
)
_END = tuple(  # what would let a deactivated person in again once the account is active
    Statement(delete(table).where(table.c.account_id == bindparam("account_id")))
    for table in (sessions, link_codes, link_requests)
)


class SqliteAccountChanges:
    """The last admin stays, whoever asks at the same moment: the writer takes one at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, account: Account, password_hash: str, by: Act) -> None:
        def unit(connection: Connection) -> None:
            actor = active(connection, by)
            if actor is not None and not actor.is_admin:
                raise NotFoundError(account.id)
            if BY_LOGIN.first(connection, name=account.login) is not None:
                raise ConflictError("login", code="login_taken")
            row = asdict(account) | {"role": account.role.value}
            _ADD.run(connection, **row | {"is_active": int(account.is_active)})
            SET_HASH.run(connection, account_id=account.id, password_hash=password_hash)
            counters.add(connection, counters.GENERATION)
            tell(
                connection,
                "account_created",
                by,
                account_id=account.id,
                login=account.login,
                role=account.role.value,
                department=account.department,
            )

        await self._database.write(unit)

    async def change(self, account_id: str, change: AccountChange, by: Act) -> Account:
        def unit(connection: Connection) -> Account:
            actor, before = active(connection, by), find(connection, account_id)
            if actor is not None and not may_change(actor, before, change):
                raise NotFoundError(account_id)
            after = changed(before, change)
            others = _OTHER_ADMINS.scalar(connection, account_id=account_id)
            if takes_last_admin(before, after, others):
                raise ConflictError(account_id, code="last_admin")
            if after != before:
                _write(connection, before, after, by)
            return after

        return await self._database.write(unit)

    async def set_password(
        self, account_id: str, password_hash: str, by: Act, *, keep: str | None = None
    ) -> None:
        def unit(connection: Connection) -> None:
            actor, _ = active(connection, by), find(connection, account_id)
            if actor is not None and not actor.is_admin and actor.id != account_id:
                raise NotFoundError(account_id)
            SET_HASH.run(connection, account_id=account_id, password_hash=password_hash)
            _END_OTHERS.run(connection, account_id=account_id, keep=keep or "")
            tell(connection, "password_changed", by, account_id=account_id)

        await self._database.write(unit)


def active(connection: Connection, by: Act) -> Account | None:
    """Who acts, as they are now; None for the operator. NotFoundError when that is over."""
    if by.account_id is None:
        return None
    actor = find(connection, by.account_id)
    if not actor.is_active:
        raise NotFoundError(by.account_id)
    return actor


def find(connection: Connection, account_id: str) -> Account:
    """NotFoundError without the account."""
    row = FIND_ACCOUNT.first(connection, account_id=account_id)
    if row is None:
        raise NotFoundError(account_id)
    return account_of(row)


def tell(connection: Connection, event: str, by: Act, **details: Detail) -> None:
    """The audit row of a change."""
    put_event(connection, SecurityEvent(event, by.at, by.account_id or "operator", details))


def _write(connection: Connection, before: Account, after: Account, by: Act) -> None:
    _CHANGE.run(
        connection,
        account_id=after.id,
        to_display_name=after.display_name,
        to_role=after.role.value,
        to_department=after.department,
        to_language=after.language,
        to_is_active=int(after.is_active),
    )
    counters.add(connection, counters.GENERATION)
    was, now = asdict(before), asdict(after)
    fields = [name for name in now if now[name] != was[name]]
    if fields != ["is_active"]:
        tell(
            connection,
            "account_updated",
            by,
            account_id=after.id,
            fields=",".join(name for name in fields if name != "is_active"),
            role=after.role.value,
            department=after.department,
        )
    if before.is_active and not after.is_active:
        for end in _END:
            end.run(connection, account_id=after.id)
        tell(connection, "account_deactivated", by, account_id=after.id)
    if after.is_active and not before.is_active:
        tell(connection, "account_activated", by, account_id=after.id)


fits: type[AccountChanges] = SqliteAccountChanges
