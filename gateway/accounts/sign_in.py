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
from gateway.errors import GatewayError, InvalidRequestError
from gateway.interfaces import Accounts, Clock, Session, Sessions

TRIES = 10  # wrong passwords for one login within the window before it has to wait
WINDOW = timedelta(minutes=5)
TOKEN_BYTES = 32
MIN_PASSWORD = 8
TOUCHED_LOGINS = 10_000  # how many logins the throttle remembers
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
    """Checks passwords and hands out sessions; throttled by login."""

    def __init__(self, accounts: Accounts, sessions: Sessions, clock: Clock) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._clock = clock
        self._hasher = PasswordHasher()
        self._failures: dict[str, list[datetime]] = {}
        self._hashing = asyncio.Lock()  # one thread; the others are for those who are signed in
        self._waiting = 0
        self._nobodys_hash = ""  # made on first need: hashing takes its time

    @staticmethod
    def check_password(password: str) -> None:
        """InvalidRequestError unless it is long enough."""
        if len(password) < MIN_PASSWORD:
            raise InvalidRequestError(
                "password too short", reason=f"password: at least {MIN_PASSWORD} characters"
            )

    async def set_password(self, account_id: str, password: str) -> None:
        """Hash with argon2id and store; ends the account's sessions."""
        self.check_password(password)
        hashed = await self._alone(self._hasher.hash, password)
        await self._accounts.set_password_hash(account_id, hashed)
        await self._sessions.remove_all_of(account_id)

    async def sign_in(self, login: str, password: str, *, valid_for: timedelta) -> SignedIn:
        """Check the password; wrong login and wrong password answer alike."""
        now = self._clock.now()
        self._throttle(login, now)
        account = await self._accounts.find_by_login(login)
        stored = await self._accounts.password_hash(account.id) if account else None
        is_right = await self._alone(self._verify, stored, password)
        if account is None or not is_right or not account.is_active:
            raise GatewayError("sign-in refused", code="wrong_credentials")
        self._failures.pop(login, None)
        return await self.issue(account, kind="session", label="", valid_for=valid_for)

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
        session = await self._sessions.find(secret_sha256(secret), self._clock.now())
        if session is None or session.kind != kind:
            return None
        account = await self._accounts.find(session.account_id)
        return account if account is not None and account.is_active else None

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
        if stored is None and not self._nobodys_hash:
            self._nobodys_hash = self._hasher.hash(secrets.token_urlsafe(TOKEN_BYTES))
        try:
            self._hasher.verify(stored or self._nobodys_hash, password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None

    def _throttle(self, login: str, now: datetime) -> None:
        """Count the try before its outcome is known, or tries side by side would all be let in."""
        recent = [at for at in self._failures.get(login, []) if now - at < WINDOW]
        self._failures[login] = recent
        if len(recent) >= TRIES:
            raise GatewayError("sign-in throttled", code="too_many_requests")
        recent.append(now)
        if len(self._failures) > TOUCHED_LOGINS:  # somebody tries names: forget the oldest
            self._failures.pop(next(iter(self._failures)))
