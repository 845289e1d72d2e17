"""One-time link codes on SQLite: offered, redeemed once, guesses counted, one transaction each."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, bindparam, delete, or_, select, true
from sqlalchemy.dialects.sqlite import insert

from gateway.core.link_codes import LIFE, OF_ALL, OF_ONE, Guesses, LinkOutcome, surplus
from gateway.core.messages import Sender
from gateway.interfaces import BoundLink, LinkAttempt, LinkCodes, LinkSecret
from gateway.store.database import Database
from gateway.store.json_text import json_list
from gateway.store.link_rows import bind, holder, key_of, tell
from gateway.store.statements import Statement, in_texts
from gateway.store.tables.people import (
    accounts,
    link_codes,
    link_guesses,
    link_requests,
    link_turns,
)
from gateway.store.values import clean, instant, micros

EVERYBODY = Sender("", "", "")  # the row that counts the guesses of all senders together
KEPT = timedelta(days=2)  # outcomes and guesses; no turn is run again after that long

_OFFER = Statement(insert(link_codes), columns=[column.name for column in link_codes.c])
_EXPIRE = Statement(delete(link_codes).where(link_codes.c.expires_at <= bindparam("now")))
_OPEN = Statement(
    select(link_codes.c.secret_sha256, link_codes.c.created_at).where(
        link_codes.c.account_id == bindparam("account_id"), link_codes.c.kind == bindparam("kind")
    )
)
_DROP = Statement(delete(link_codes).where(in_texts(link_codes.c.secret_sha256, "hashes")))
_usable = and_(
    link_codes.c.secret_sha256 == bindparam("secret"),
    link_codes.c.kind == bindparam("kind"),
    link_codes.c.expires_at > bindparam("now"),
    accounts.c.is_active == true(),
)
_here = and_(
    or_(link_codes.c.channel.is_(None), link_codes.c.channel == bindparam("channel")),
    or_(
        link_codes.c.account_name.is_(None), link_codes.c.account_name == bindparam("account_name")
    ),
)
_OWNER = Statement(
    select(link_codes.c.account_id)
    .join(accounts, accounts.c.id == link_codes.c.account_id)
    .where(_usable, _here)
)
_SHOWN = Statement(
    select(link_codes.c.account_id)
    .join(accounts, accounts.c.id == link_codes.c.account_id)
    .where(_usable)
)
_new_request = insert(link_requests)
_REQUEST = Statement(_new_request, columns=[column.name for column in link_requests.c])
_REPLACE = Statement(
    delete(link_requests).where(
        or_(
            link_requests.c.expires_at <= bindparam("now"),
            and_(
                link_requests.c.account_id == bindparam("account_id"),
                link_requests.c.channel == bindparam("channel"),
                link_requests.c.account_name == bindparam("account_name"),
                link_requests.c.sender_id == bindparam("sender_id"),
            ),
        )
    )
)
_guesser = (
    link_guesses.c.channel == bindparam("channel"),
    link_guesses.c.account_name == bindparam("account_name"),
    link_guesses.c.sender_id == bindparam("sender_id"),
)
_GUESSES = Statement(
    select(link_guesses.c.since, link_guesses.c.count, link_guesses.c.locked_until).where(*_guesser)
)
_new_guess = insert(link_guesses)
_COUNT = Statement(
    _new_guess.on_conflict_do_update(
        index_elements=[
            link_guesses.c.channel,
            link_guesses.c.account_name,
            link_guesses.c.sender_id,
        ],
        set_={name: _new_guess.excluded[name] for name in ("since", "count", "locked_until")},
    ),
    columns=[column.name for column in link_guesses.c],
)
_OLD_GUESSES = Statement(delete(link_guesses).where(link_guesses.c.since < bindparam("before")))
_OLD_TURNS = Statement(delete(link_turns).where(link_turns.c.at < bindparam("before")))
_OUTCOME = Statement(
    select(link_turns.c.outcome).where(link_turns.c.turn_id == bindparam("turn_id"))
)
_REMEMBER = Statement(insert(link_turns), columns=[column.name for column in link_turns.c])
CODE, NONCE = "code", "nonce"
CREATED = {CODE: "link_code_created", NONCE: "link_nonce_created"}


class SqliteLinkCodes:
    """The rules of core/link_codes.py over rows that only one transaction at a time changes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def offer(self, secret: LinkSecret) -> None:
        """NotFoundError without the account."""

        def unit(connection: Connection) -> None:
            _EXPIRE.run(connection, now=micros(secret.created_at))
            rows = _OPEN.all(connection, account_id=secret.account_id, kind=secret.kind)
            gone = surplus([(row[0], instant(row[1])) for row in rows])
            _DROP.run(connection, hashes=json_list(gone))
            _OFFER.run(
                connection,
                secret_sha256=secret.sha256,
                kind=secret.kind,
                account_id=secret.account_id,
                channel=secret.channel,
                account_name=secret.account_name,
                created_at=micros(secret.created_at),
                expires_at=micros(secret.expires_at),
            )
            tell(connection, CREATED[secret.kind], secret.created_at, secret.account_id)

        await self._database.write(unit)

    async def redeem(self, attempt: LinkAttempt) -> LinkOutcome:
        def unit(connection: Connection) -> LinkOutcome:
            before = _OUTCOME.scalar(connection, turn_id=attempt.turn_id)
            if before is not None:
                return LinkOutcome(before)
            outcome = _outcome(connection, attempt)
            _forget(connection, attempt.at)
            at = micros(attempt.at)
            _REMEMBER.run(connection, turn_id=attempt.turn_id, outcome=outcome.value, at=at)
            return outcome

        return await self._database.write(unit)

    async def redeem_nonce(self, sha256: str, sender: Sender, at: datetime) -> str | None:
        def unit(connection: Connection) -> str | None:
            account_id = _take(connection, sha256, NONCE, sender, at)
            if account_id is None or holder(connection, sender) not in (None, account_id):
                return None
            bind(connection, BoundLink(sender, "", account_id, at))
            tell(connection, "link_confirmed", at, account_id, sender)
            return account_id

        return await self._database.write(unit)


def _outcome(connection: Connection, attempt: LinkAttempt) -> LinkOutcome:
    sender = attempt.sender
    if sender is None or not attempt.is_direct:
        _burn(connection, attempt)
        return LinkOutcome.NOT_DIRECT
    refusal = _refusal(connection, sender, attempt.at)
    if refusal is not None:
        return refusal  # before the code is looked at: it stays its owner's
    account_id = _take(connection, attempt.sha256, CODE, sender, attempt.at)
    if account_id is None:
        _count(connection, sender, attempt.at)
        return LinkOutcome.WRONG
    _request(connection, attempt, sender, account_id)
    return LinkOutcome.REQUESTED


def _refusal(connection: Connection, sender: Sender, at: datetime) -> LinkOutcome | None:
    if holder(connection, sender) is not None:
        return LinkOutcome.LINKED
    if _guesses(connection, sender, at).is_locked(at):
        return LinkOutcome.LOCKED
    return LinkOutcome.BUSY if _guesses(connection, EVERYBODY, at).is_locked(at) else None


def _burn(connection: Connection, attempt: LinkAttempt) -> None:
    """Others have seen it. Whether it was a good one is told to nobody."""
    at = micros(attempt.at)
    account_id = _SHOWN.scalar(connection, secret=attempt.sha256, kind=CODE, now=at)
    if account_id is not None:
        _DROP.run(connection, hashes=json_list([attempt.sha256]))
        tell(connection, "link_code_burned", attempt.at, account_id, attempt.sender)
    elif attempt.sender is not None:
        _count(connection, attempt.sender, attempt.at)


def _take(
    connection: Connection, sha256: str, kind: str, sender: Sender, at: datetime
) -> str | None:
    """Use it up; the account it is of, or None where it is not good for this sender now."""
    found: str | None = _OWNER.scalar(
        connection,
        secret=sha256,
        kind=kind,
        now=micros(at),
        channel=sender.channel,
        account_name=sender.account_name,
    )
    if found is not None:
        _DROP.run(connection, hashes=json_list([sha256]))
    return found


def _request(connection: Connection, attempt: LinkAttempt, sender: Sender, account_id: str) -> None:
    now = micros(attempt.at)
    _REPLACE.run(connection, **key_of(sender), account_id=account_id, now=now)
    _REQUEST.run(
        connection,
        id=attempt.turn_id,
        **key_of(sender),
        account_id=account_id,
        sender_name=clean(attempt.sender_name),
        at=now,
        expires_at=micros(attempt.at + LIFE),
    )
    tell(connection, "link_requested", attempt.at, account_id, sender, actor="sender")


def _guesses(connection: Connection, sender: Sender, now: datetime) -> Guesses:
    row = _GUESSES.first(connection, **key_of(sender))
    return Guesses(now) if row is None else Guesses(instant(row[0]), row[1], instant(row[2]))


def _count(connection: Connection, sender: Sender, at: datetime) -> None:
    for who, limit in ((sender, OF_ONE), (EVERYBODY, OF_ALL)):
        before = _guesses(connection, who, at)
        after = before.and_wrong(at, limit)
        _COUNT.run(
            connection,
            **key_of(who),
            since=micros(after.since),
            count=after.count,
            locked_until=micros(after.locked_until),
        )
        if after.is_locked(at) and not before.is_locked(at):
            tell(connection, "link_guess_locked", at, None, who)


def _forget(connection: Connection, now: datetime) -> None:
    before = micros(now - KEPT)
    _OLD_TURNS.run(connection, before=before)
    _OLD_GUESSES.run(connection, before=before)


fits: type[LinkCodes] = SqliteLinkCodes
