"""Passwords, browser sessions and API tokens (DESIGN sections 9.1, 9.4)."""

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gateway.core.access import Account
from gateway.core.visitors import Windows
from gateway.errors import GatewayError, InvalidRequestError
from gateway.interfaces import AccountChanges, Accounts, Act, Clock, Session, Sessions

TRIES = 10  # wrong passwords for one login within the window before it has to wait
ADDRESS_TRIES = 50  # the same of one address, whatever the logins: an office may share one
TOKEN_BYTES = 32
MIN_PASSWORD, MAX_PASSWORD = 8, 1_000
MOST_TOKENS = 50  # of one account
WINDOW_S = 300.0
TOUCHED = 10_000  # how many logins, and how many addresses, the throttles remember
MOST_WAITING = 20  # sign-ins at a time: they cost the most of all that a stranger can ask for

A = TypeVar("A")


def secret_sha256(secret: str) -> str:
    """Return what the store keeps of a session's or token's secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session; `secret` goes into the cookie or to the program and is kept nowhere."""

    account: Account
    secret: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"SignedIn(account={self.account.id!r})"


class SignIn:
    """Checks passwords and hands out sessions; throttled by login and by address."""

    def __init__(
        self, accounts: Accounts, changes: AccountChanges, sessions: Sessions, clock: Clock
    ) -> None:
        self._accounts = accounts
        self._changes = changes
        self._sessions = sessions
        self._clock = clock
        self._hasher = PasswordHasher()
        self._logins = Windows(TRIES, WINDOW_S, TOUCHED)
        self._addresses = Windows(ADDRESS_TRIES, WINDOW_S, TOUCHED)
        self._hashing = asyncio.Lock()  # one thread; the others are for those who are signed in
        self._waiting = 0
        self._nobodys_hash = ""  # made on first need: hashing takes its time

    @staticmethod
    def check_password(password: str) -> None:
        """InvalidRequestError unless it is long enough, and no longer than anybody types."""
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            raise InvalidRequestError(
                "password length",
                reason=f"password: {MIN_PASSWORD} to {MAX_PASSWORD} characters",
            )

    async def hashed(self, password: str) -> str:
        """The argon2id hash of a password that was checked."""
        self.check_password(password)
        return await self._alone(self._hasher.hash, password)

    async def set_password(
        self, account_id: str, password: str, by: Act | None = None, *, keep: str | None = None
    ) -> None:
        """Hash and store; ends the account's sessions and tokens but the session with secret
        `keep`. Without `by` it is the operator's doing.
        """
        by = by or Act(None, self._clock.now())
        kept = None if keep is None else secret_sha256(keep)
        await self._changes.set_password(account_id, await self.hashed(password), by, keep=kept)

    async def sign_in(
        self, login: str, password: str, *, valid_for: timedelta, address: str = ""
    ) -> SignedIn:
        """Check the password; wrong login and wrong password answer alike."""
        account = await self.prove(login, password, address)
        return await self.issue(account, kind="session", label="", valid_for=valid_for)

    async def prove(self, login: str, password: str, address: str = "") -> Account:
        """Whose login and password these are. `wrong_credentials`; `too_many_requests`.

        The same reads and one hash, whether the login, the password or the account is wrong.
        `address` is where it is tried from; "" is not counted.
        """
        tried = secret_sha256(login)
        self._throttle(tried, address)
        account = await self._accounts.find_by_login(login)
        stored = await self._accounts.password_hash(account.id if account is not None else "")
        is_right = await self._alone(self._verify, stored, password)
        if account is None or not is_right or not account.is_active:
            if address:
                self._addresses.count(address, self._clock.monotonic())
            raise GatewayError("sign-in refused", code="wrong_credentials")
        self._logins.forget(tried)
        return account

    async def issue_token(
        self, account: Account, label: str, valid_for: timedelta, by: Act
    ) -> tuple[Session, str]:
        """A new API token and its secret, which nobody can look up again."""
        secret = secrets.token_urlsafe(TOKEN_BYTES)
        now = self._clock.now()
        token = Session(secret_sha256(secret), account.id, "token", label, now, now + valid_for)
        await self._sessions.add_token(token, MOST_TOKENS, by)
        return token, secret

    def agent_key(
        self, agent_id: str, label: str, valid_for: timedelta, by: Act
    ) -> tuple[Session, str]:
        """A new key of an agent, not kept yet, and its secret."""
        secret, account_id = secrets.token_urlsafe(TOKEN_BYTES), by.account_id or ""
        until = by.at + valid_for
        key = Session(secret_sha256(secret), account_id, "agent", label, by.at, until, agent_id)
        return key, secret

    async def issue(
        self, account: Account, *, kind: str, label: str, valid_for: timedelta
    ) -> SignedIn:
        """Make a session or token for an account that was already proven."""
        secret = secrets.token_urlsafe(TOKEN_BYTES)
        now = self._clock.now()
        session = Session(secret_sha256(secret), account.id, kind, label, now, now + valid_for)
        await self._sessions.put(session)
        return SignedIn(account, secret, session.expires_at)

    async def account_of(self, secret: str, *, kind: str) -> Account | None:
        """Whose session or token this is, if it still holds and the account is active."""
        held = await self.held(secret)
        return held[1] if held is not None and held[0].kind == kind else None

    async def held(self, secret: str) -> tuple[Session, Account] | None:
        """A session, token or key that still holds, with its account, which is active; an agent's
        key with whoever made it, as whom it does not act.
        """
        session = await self._sessions.find(secret_sha256(secret), self._clock.now())
        account = None if session is None else await self._accounts.find(session.account_id)
        if session is None or account is None or not account.is_active:
            return None
        return session, account

    async def sign_out(self, secret: str) -> None:
        """End this one session."""
        await self._sessions.remove(secret_sha256(secret))

    async def _alone(self, work: Callable[..., A], *args: str | None) -> A:
        """One hash after the other, `too_many_requests` where too many wait."""
        if self._waiting >= MOST_WAITING:
            raise GatewayError("sign-ins wait", code="too_many_requests")
        self._waiting += 1
        try:
            async with self._hashing:
                return await asyncio.to_thread(work, *args)
        finally:
            self._waiting -= 1

    def _verify(self, stored: str | None, password: str) -> bool:
        """Take the same time whether or not the login exists."""
        if not self._nobodys_hash:  # for whoever comes first, known or not
            self._nobodys_hash = self._hasher.hash(secrets.token_urlsafe(TOKEN_BYTES))
        try:
            self._hasher.verify(stored or self._nobodys_hash, password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None

    def _throttle(self, tried: str, address: str) -> None:
        """By login, as a hash: a name may be as long as a request. Its try counts before the
        outcome is known, or tries side by side would all be let in; an address counts what was
        wrong alone, for all of an office may come from one.
        """
        now_s = self._clock.monotonic()
        if self._addresses.is_full(address, now_s) or not self._logins.take(tried, now_s):
            raise GatewayError("sign-in throttled", code="too_many_requests")
