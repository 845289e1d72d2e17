"""`auth.sessions.*`, `auth.tokens.*`: what lets a browser or a program in, and its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gateway.accounts.sign_in import SignIn, secret_sha256
from gateway.core.people import LABEL_CHARS, is_line
from gateway.errors import InvalidRequestError, NotSignedInError
from gateway.interfaces import Accounts, Clock, Session, Sessions
from gateway.operations.acting import act_of, person_of, require_session
from gateway.operations.people import AccountReference
from gateway.operations.table import Caller, Operation, Permission

SESSION, TOKEN = "session", "token"
MOST_DAYS = 365


@dataclass(frozen=True, slots=True)
class NewToken:
    """What the token is for, and for how long it holds."""

    label: str
    expires_in_days: int = 90


@dataclass(frozen=True, slots=True)
class SessionReference:
    """A session or token by the id that its list shows."""

    id: str


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token; `secret` is told this once and is kept nowhere."""

    id: str
    label: str
    secret: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token that holds, as its owner and administrators see it."""

    id: str
    account_id: str
    label: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SessionView:
    """A browser that is signed in; `is_current`: the one that asks."""

    id: str
    account_id: str
    created_at: datetime
    expires_at: datetime
    is_current: bool


class Keys:
    """What these operations share."""

    def __init__(
        self, accounts: Accounts, sessions: Sessions, sign_in: SignIn, clock: Clock
    ) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._sign_in = sign_in
        self._clock = clock

    async def create(self, caller: Caller, request: NewToken) -> IssuedToken:
        """Make a token for the caller's own account; not by a token."""
        require_session(caller)
        if caller.account is None:
            raise NotSignedInError
        label = checked(request.label, request.expires_in_days)
        days, by = timedelta(days=request.expires_in_days), act_of(caller, self._clock)
        token, secret = await self._sign_in.issue_token(caller.account, label, days, by)
        return IssuedToken(token.id, label, secret, token.expires_at)

    async def tokens(self, caller: Caller, request: AccountReference) -> Sequence[TokenView]:
        """Those that hold: one's own, an account's by an administrator, all by the operator."""
        return [
            TokenView(each.id, each.account_id, each.label, each.created_at, each.expires_at)
            for each in await self._listed(caller, request, TOKEN)
        ]

    async def sessions(self, caller: Caller, request: AccountReference) -> Sequence[SessionView]:
        """Browsers that are signed in, whose as above."""
        secret = caller.session_secret
        own = None if secret is None else secret_sha256(secret)
        return [
            SessionView(
                each.id,
                each.account_id,
                each.created_at,
                each.expires_at,
                each.secret_sha256 == own,
            )
            for each in await self._listed(caller, request, SESSION)
        ]

    async def revoke_token(self, caller: Caller, request: SessionReference) -> None:
        """End a token at once; another's looks like one that is not there."""
        await self._sessions.revoke(request.id, TOKEN, act_of(caller, self._clock))

    async def revoke_session(self, caller: Caller, request: SessionReference) -> None:
        """Sign a browser out; another's as above."""
        await self._sessions.revoke(request.id, SESSION, act_of(caller, self._clock))

    async def _listed(
        self, caller: Caller, request: AccountReference, kind: str
    ) -> Sequence[Session]:
        if request.account is None and caller.account is None:
            act_of(caller, self._clock)  # the operator, or not signed in
            return await self._sessions.list(kind, None, self._clock.now())
        account = await person_of(self._accounts, caller, request.account)
        return await self._sessions.list(kind, account.id, self._clock.now())


def checked(label: str, days: int) -> str:
    """The label without blanks around it; InvalidRequestError names what does not fit."""
    label = label.strip()
    if not label or not is_line(label, LABEL_CHARS):
        reason = f"label: one line, 1 to {LABEL_CHARS} characters"
        raise InvalidRequestError("label", reason=reason)
    if not 1 <= days <= MOST_DAYS:
        raise InvalidRequestError("days", reason=f"expires_in_days: 1 to {MOST_DAYS}")
    return label


def operations(keys: Keys) -> tuple[Operation, ...]:
    """The rows of sessions and tokens."""
    person, either = Permission.SIGNED_IN, Permission.SIGNED_IN_OR_LOCAL
    rows: tuple[tuple[str, str, Permission, type[Any], Any], ...] = (
        ("tokens.create", "Make an API token.", person, NewToken, keys.create),
        ("tokens.list", "List API tokens.", either, AccountReference, keys.tokens),
        ("tokens.revoke", "End an API token.", either, SessionReference, keys.revoke_token),
        ("sessions.list", "List signed-in browsers.", either, AccountReference, keys.sessions),
        ("sessions.revoke", "Sign a browser out.", either, SessionReference, keys.revoke_session),
    )
    return tuple(Operation(f"auth.{name}", *rest) for name, *rest in rows)
