"""Passwords and sessions: argon2id, throttled, expiring, revocable; secrets never print."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from gateway.accounts.sign_in import ADDRESS_TRIES, MOST_WAITING, TOUCHED, TRIES, SignIn
from gateway.core.access import Account, AccountRole
from gateway.errors import GatewayError, InvalidRequestError
from gateway.interfaces import Accounts
from gateway.store import Store
from tests.fakes.wound_clock import WoundClock

ANNA = Account("a1", "anna", "Anna", AccountRole.MEMBER)
PASSWORD = "correct horse"
DAY = timedelta(days=1)


@pytest.fixture
async def sign_in(store: Store, clock: WoundClock) -> SignIn:
    await store.accounts.put(ANNA)
    made = SignIn(store.accounts, store.account_changes, store.sessions, clock)
    await made.set_password(ANNA.id, PASSWORD)
    return made


async def refused(sign_in: SignIn, login: str, password: str) -> str:
    with pytest.raises(GatewayError) as caught:
        await sign_in.sign_in(login, password, valid_for=DAY)
    return caught.value.code


async def test_the_right_password_opens_a_session_that_ends(
    sign_in: SignIn, clock: WoundClock
) -> None:
    entered = await sign_in.sign_in("anna", PASSWORD, valid_for=DAY)
    assert entered.secret not in repr(entered)
    assert await sign_in.account_of(entered.secret, kind="session") == ANNA
    assert await sign_in.account_of(entered.secret, kind="token") is None
    clock.wind(hours=25)
    assert await sign_in.account_of(entered.secret, kind="session") is None


async def test_wrong_login_and_wrong_password_answer_alike(sign_in: SignIn) -> None:
    assert await refused(sign_in, "anna", "wrong password") == "wrong_credentials"
    assert await refused(sign_in, "nobody", PASSWORD) == "wrong_credentials"
    assert await refused(sign_in, "\ud800", "\ud800") == "invalid_request"


class Watched:
    """The store's accounts, with each read written down."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self.reads: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.reads.append(name)
        return getattr(self._accounts, name)


async def test_known_and_unknown_logins_cost_the_same_reads_and_one_hash(
    store: Store, clock: WoundClock, sign_in: SignIn
) -> None:
    for is_active in (True, False):
        await store.accounts.put(replace(ANNA, is_active=is_active))
        for login in ("anna", "nobody"):
            watched = Watched(store.accounts)
            made = SignIn(watched, store.account_changes, store.sessions, clock)
            hashes = made._hasher = CountingHasher()
            assert await refused(made, login, "wrong password") == "wrong_credentials"
            assert watched.reads == ["find_by_login", "password_hash"]
            assert (hashes.made, hashes.verified) == (1, 1)  # nobody's hash, then this one


class CountingHasher(PasswordHasher):
    made = verified = 0

    def hash(self, *args: Any, **options: Any) -> str:
        self.made += 1
        return super().hash(*args, **options)

    def verify(self, *args: Any) -> Literal[True]:
        self.verified += 1
        return super().verify(*args)


async def test_the_throttle_remembers_no_name_however_long(sign_in: SignIn) -> None:
    assert await refused(sign_in, "x" * 1_000_000, "wrong password") == "wrong_credentials"
    assert sum(len(each) for each in sign_in._logins._events) < 1_000


async def test_guessing_is_throttled_and_the_throttle_ends(
    sign_in: SignIn, clock: WoundClock
) -> None:
    for _ in range(TRIES):
        assert await refused(sign_in, "anna", "wrong password") == "wrong_credentials"
    assert await refused(sign_in, "anna", PASSWORD) == "too_many_requests"
    clock.wind(minutes=6)
    assert (await sign_in.sign_in("anna", PASSWORD, valid_for=DAY)).account == ANNA


async def test_guesses_side_by_side_are_no_more_than_one_after_the_other(sign_in: SignIn) -> None:
    codes = await asyncio.gather(*(refused(sign_in, "anna", f"guess {n}") for n in range(15)))
    assert Counter(codes) == {"wrong_credentials": TRIES, "too_many_requests": 15 - TRIES}


class Instant(PasswordHasher):
    """No password is right, at once."""

    def verify(self, *args: Any) -> Literal[True]:
        raise VerifyMismatchError


async def test_one_address_cannot_try_login_after_login(sign_in: SignIn, clock: WoundClock) -> None:
    plain, there = sign_in._hasher, "203.0.113.9"

    async def tried(login: str, address: str) -> str:
        with pytest.raises(GatewayError) as caught:
            await sign_in.sign_in(login, PASSWORD, valid_for=DAY, address=address)
        return caught.value.code

    sign_in._hasher = Instant()
    codes = [await tried(f"w{n}", there) for n in range(ADDRESS_TRIES + 1)]
    assert codes == ["wrong_credentials"] * ADDRESS_TRIES + ["too_many_requests"]
    assert await tried("w0", "203.0.113.10") == "wrong_credentials"
    assert await tried("w0", "") == "wrong_credentials"  # this machine, or a proxy on it
    for n in range(TOUCHED + 5):
        sign_in._addresses.count(f"more {n}", clock.monotonic())
    assert len(sign_in._addresses._events) == TOUCHED
    sign_in._addresses.count(there, clock.monotonic())
    clock.wind(minutes=6)
    sign_in._hasher = plain
    for _ in range(3):  # right ones count for nothing
        await sign_in.sign_in("anna", PASSWORD, valid_for=DAY, address=there)
    assert len(sign_in._addresses._events[there]) <= 1


async def test_strangers_cannot_fill_the_machine_with_sign_ins(sign_in: SignIn) -> None:
    codes = await asyncio.gather(*(refused(sign_in, f"w{n}", "guess") for n in range(25)))
    assert Counter(codes) == {
        "wrong_credentials": MOST_WAITING,
        "too_many_requests": 25 - MOST_WAITING,
    }
    assert (await sign_in.sign_in("anna", PASSWORD, valid_for=DAY)).account == ANNA


async def test_signing_out_and_a_new_password_end_sessions(sign_in: SignIn) -> None:
    one = await sign_in.sign_in("anna", PASSWORD, valid_for=DAY)
    await sign_in.sign_out(one.secret)
    assert await sign_in.account_of(one.secret, kind="session") is None
    other = await sign_in.sign_in("anna", PASSWORD, valid_for=DAY)
    await sign_in.set_password(ANNA.id, "another password")
    assert await sign_in.account_of(other.secret, kind="session") is None


async def test_an_inactive_account_is_out_at_once(sign_in: SignIn, store: Store) -> None:
    entered = await sign_in.sign_in("anna", PASSWORD, valid_for=DAY)
    await store.accounts.put(Account("a1", "anna", "Anna", AccountRole.MEMBER, is_active=False))
    assert await sign_in.account_of(entered.secret, kind="session") is None
    assert await refused(sign_in, "anna", PASSWORD) == "wrong_credentials"


async def test_short_passwords_are_refused(sign_in: SignIn) -> None:
    with pytest.raises(InvalidRequestError):
        await sign_in.set_password(ANNA.id, "short")
