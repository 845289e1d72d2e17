"""`accounts.*`: the people who can sign in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.accounts.sign_in import SignIn
from gateway.catalogue import LANGUAGES
from gateway.core.access import Account, AccountRole
from gateway.core.people import NAME_CHARS, AccountChange, is_line
from gateway.errors import ConflictError, InvalidRequestError
from gateway.interfaces import AccountChanges, Accounts, Clock, Ids
from gateway.operations.acting import account_by, act_of, is_admin, person_of, require_session
from gateway.operations.auth import Nothing
from gateway.operations.table import Caller, Operation, Permission

LOGIN_CHARS = 64


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A person to be. The password is hashed at once."""

    login: str
    display_name: str
    password: str = field(repr=False)
    role: AccountRole = AccountRole.MEMBER
    department: str = ""
    language: str | None = None


@dataclass(frozen=True, slots=True)
class AccountReference:
    """An account by id or login; without one the caller's own."""

    account: str | None = None


@dataclass(frozen=True, slots=True)
class OtherAccount:
    """An account by id or login."""

    account: str


@dataclass(frozen=True, slots=True)
class AccountUpdate:
    """New values; None leaves one as it is. `language` "" takes it away."""

    account: str
    display_name: str | None = None
    role: AccountRole | None = None
    department: str | None = None
    language: str | None = None
    active: bool | None = None


@dataclass(frozen=True, slots=True)
class NewPassword:
    """One's own needs the old one; an administrator sets anybody else's without."""

    password: str = field(repr=False)
    account: str | None = None
    old_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account as administrators and its owner see it."""

    id: str
    login: str
    display_name: str
    role: str
    department: str
    language: str | None
    is_active: bool


def view_of(account: Account) -> AccountView:
    """What these operations tell of an account."""
    return AccountView(
        account.id,
        account.login,
        account.display_name,
        account.role.value,
        account.department,
        account.language,
        account.is_active,
    )


class People:
    """What the operations about people share."""

    def __init__(
        self, accounts: Accounts, changes: AccountChanges, sign_in: SignIn, clock: Clock, ids: Ids
    ) -> None:
        self._accounts = accounts
        self._changes = changes
        self._sign_in = sign_in
        self._clock = clock
        self._ids = ids

    async def list(self, _caller: Caller, _request: Nothing) -> Sequence[AccountView]:
        """Everybody, inactive ones too."""
        return [view_of(account) for account in await self._accounts.list()]

    async def get(self, caller: Caller, request: AccountReference) -> AccountView:
        """One's own account, or by an administrator anybody's."""
        return view_of(await person_of(self._accounts, caller, request.account))

    async def departments(self, _caller: Caller, _request: Nothing) -> Sequence[str]:
        """Names in use, by people or agents."""
        return await self._accounts.departments()

    async def create(self, caller: Caller, request: NewAccount) -> AccountView:
        """Add a person; ConflictError `login_taken`."""
        require_session(caller)
        login = _checked_login(request.login)
        given = _checked(AccountChange(request.display_name or login, None, request.department))
        _check_language(request.language)
        if await self._accounts.find_by_login(login) is not None:
            raise ConflictError("login", code="login_taken")
        account = Account(
            self._ids.new(),
            login,
            given.display_name or login,
            request.role,
            given.department or "",
            request.language or None,
        )
        hashed = await self._sign_in.hashed(request.password)
        await self._changes.add(account, hashed, act_of(caller, self._clock))
        return view_of(account)

    async def update(self, caller: Caller, request: AccountUpdate) -> AccountView:
        """Change what is given; ConflictError `last_admin`. A role is not a token's to give."""
        if request.role is not None:
            require_session(caller)
        _check_language(request.language)
        change = _checked(
            AccountChange(
                request.display_name,
                request.role,
                request.department,
                request.language,
                request.active,
            )
        )
        return await self._change(caller, request.account, change)

    async def deactivate(self, caller: Caller, request: OtherAccount) -> AccountView:
        """Out at once, with all sessions and tokens; they stay ended."""
        return await self._change(caller, request.account, AccountChange(is_active=False))

    async def activate(self, caller: Caller, request: OtherAccount) -> AccountView:
        """May sign in again."""
        return await self._change(caller, request.account, AccountChange(is_active=True))

    async def set_password(self, caller: Caller, request: NewPassword) -> None:
        """Set a password; the other sessions and all tokens of the account end."""
        require_session(caller)
        account = await person_of(self._accounts, caller, request.account)
        is_own = caller.account is not None and caller.account.id == account.id
        if is_own and not caller.is_local:
            await self._sign_in.prove(account.login, request.old_password or "")
        await self._sign_in.set_password(
            account.id,
            request.password,
            act_of(caller, self._clock),
            keep=caller.session_secret if is_own else None,
        )

    async def _change(self, caller: Caller, reference: str, change: AccountChange) -> AccountView:
        if is_admin(caller):
            account = await account_by(self._accounts, reference)
        else:
            account = await person_of(self._accounts, caller, reference)
        by = act_of(caller, self._clock)
        return view_of(await self._changes.change(account.id, change, by))


def _checked_login(login: str) -> str:
    login = login.strip()
    is_name = login.isprintable() and not any(char.isspace() for char in login)
    if not 1 <= len(login) <= LOGIN_CHARS or not is_name:
        reason = f"login: 1 to {LOGIN_CHARS} characters, no spaces"
        raise InvalidRequestError("login", reason=reason)
    return login


def _check_language(language: str | None) -> None:
    if language not in (None, "", *LANGUAGES):
        raise InvalidRequestError("language", reason=f"language: {', '.join(LANGUAGES)}")


def _checked(change: AccountChange) -> AccountChange:
    """With names trimmed: a department's grants are for exactly that name."""
    name, department = change.display_name, change.department
    if name is not None and (not name.strip() or not is_line(name, NAME_CHARS)):
        reason = f"display_name: one line, 1 to {NAME_CHARS} characters"
        raise InvalidRequestError("name", reason=reason)
    if department is not None and not is_line(department, NAME_CHARS):
        reason = f"department: one line, up to {NAME_CHARS} characters"
        raise InvalidRequestError("department", reason=reason)
    return AccountChange(
        None if name is None else name.strip(),
        change.role,
        None if department is None else department.strip(),
        change.language,
        change.is_active,
    )


def operations(people: People) -> tuple[Operation, ...]:
    """The rows of `accounts.*`."""
    admin, person = Permission.ADMIN, Permission.SIGNED_IN_OR_LOCAL
    rows: tuple[tuple[str, str, Permission, type[Any], Any], ...] = (
        ("list", "List people.", admin, Nothing, people.list),
        ("get", "Tell of an account.", person, AccountReference, people.get),
        ("departments", "List departments.", person, Nothing, people.departments),
        ("create", "Add a person.", admin, NewAccount, people.create),
        ("update", "Change an account.", person, AccountUpdate, people.update),
        ("deactivate", "Lock an account.", admin, OtherAccount, people.deactivate),
        ("activate", "Unlock an account.", admin, OtherAccount, people.activate),
        ("set_password", "Set a password.", person, NewPassword, people.set_password),
    )
    return tuple(Operation(f"accounts.{name}", *rest) for name, *rest in rows)
