"""`auth.*`: signing in and out, and who one is."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gateway.accounts.sign_in import SignedIn, SignIn
from gateway.core.access import Account
from gateway.errors import NotSignedInError
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class Login:
    """A person's login name and password."""

    login: str
    password: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """An operation without parameters."""


@dataclass(frozen=True, slots=True)
class Me:
    """The account as its owner sees it."""

    id: str
    login: str
    display_name: str
    role: str
    department: str
    language: str | None


@dataclass(frozen=True, slots=True)
class Entered:
    """A new session. The surface puts `secret` into an HttpOnly cookie and leaves it out."""

    me: Me
    secret: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"Entered(me={self.me!r})"


def me_of(account: Account) -> Me:
    """What auth.login and auth.me tell."""
    return Me(
        account.id,
        account.login,
        account.display_name,
        account.role.value,
        account.department,
        account.language,
    )


def operations(sign_in: SignIn, session_days: int) -> tuple[Operation, ...]:
    """The rows of `auth.*`."""

    async def login(caller: Caller, request: Login) -> Entered:
        entered: SignedIn = await sign_in.sign_in(
            request.login,
            request.password,
            valid_for=timedelta(days=session_days),
            address=caller.address,
        )
        return Entered(me_of(entered.account), entered.secret, entered.expires_at)

    async def me(caller: Caller, _request: Nothing) -> Me:
        if caller.account is None:
            raise NotSignedInError
        return me_of(caller.account)

    async def logout(caller: Caller, _request: Nothing) -> None:
        if caller.session_secret is not None:  # a token ends by the operator's word only
            await sign_in.sign_out(caller.session_secret)

    return (
        Operation("auth.login", "Sign in to the page.", Permission.ANYONE, Login, login),
        Operation("auth.logout", "Sign out of the page.", Permission.ANYONE, Nothing, logout),
        Operation("auth.me", "Tell who is signed in.", Permission.SIGNED_IN, Nothing, me),
    )
