"""One-time codes that link a sender to an account: their form, what is kept, the limits (A32)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from unicodedata import category, normalize

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: no I, L, O, U
CODE_CHARS = 10  # of 5 bits each
LIFE = timedelta(minutes=10)
MOST_OPEN = 3  # of one account; the newest replaces the oldest
TAIL_CHARS = 6
NAME_CHARS = 60
_READ_AS = str.maketrans("OIL", "011", "\u30fc")  # \u30fc: a Japanese keyboard's dash, a letter


def code_of(entropy: int) -> str:
    """The code of a random number of at least 50 bits, in its canonical form."""
    return "".join(ALPHABET[entropy >> (5 * at) & 31] for at in range(CODE_CHARS))


def shown(code: str) -> str:
    """As people read it: two groups of five."""
    return f"{code[:5]}-{code[5:]}"


def normalise(text: str) -> str:
    """What a person typed in the canonical form: case, width, blanks, dashes and quotes aside."""
    letters = "".join(letter for letter in normalize("NFKC", text).upper() if letter.isalnum())
    return letters.translate(_READ_AS)


def sha256_of(secret: str) -> str:
    """All that is kept of a code or nonce."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def tail(sender_id: str) -> str:
    """The last characters of a platform's id, by which a person tells one from another."""
    return sender_id[-TAIL_CHARS:]


def shown_name(name: str | None) -> str:
    """A sender's own name for people to recognise: one line, nothing invisible, not long."""
    kept = (letter for letter in " ".join((name or "").split()) if category(letter)[0] != "C")
    return "".join(kept)[:NAME_CHARS].strip()


class LinkOutcome(StrEnum):
    """What became of a code that was sent in a chat."""

    REQUESTED = "requested"  # waits for the account to confirm
    WRONG = "wrong"  # unknown, expired, used, or meant for another channel: never told apart
    LOCKED = "locked"  # this sender guessed too often
    BUSY = "busy"  # all senders together did
    LINKED = "linked"  # this sender belongs to an account already
    NOT_DIRECT = "not_direct"  # shown to others: refused, and void from then on


@dataclass(frozen=True, slots=True)
class Guessing:
    """How many wrong guesses are let through, within what time, and how long none is after."""

    most: int
    within: timedelta
    locked_for: timedelta


OF_ONE = Guessing(5, timedelta(hours=24), timedelta(hours=1))  # sender
OF_ALL = Guessing(100, timedelta(minutes=1), timedelta(minutes=1))


@dataclass(frozen=True, slots=True)
class Guesses:
    """Wrong guesses since the first that counts; `locked_until` once they were too many."""

    since: datetime
    count: int = 0
    locked_until: datetime | None = None

    def is_locked(self, now: datetime) -> bool:
        """Whether even a right code is refused."""
        return self.locked_until is not None and now < self.locked_until

    def and_wrong(self, now: datetime, limit: Guessing) -> "Guesses":
        """With one more wrong guess; the guess that makes them too many locks."""
        was_locked = self.locked_until is not None and now >= self.locked_until
        is_over = was_locked or now - self.since >= limit.within
        before = Guesses(now) if is_over else self
        after = replace(before, count=before.count + 1)
        if after.count >= limit.most and after.locked_until is None:
            return replace(after, locked_until=now + limit.locked_for)
        return after


def surplus(created: Sequence[tuple[str, datetime]], most: int = MOST_OPEN) -> tuple[str, ...]:
    """Of an account's open codes those that go when one more is made: the oldest."""
    newest_first = sorted(created, key=lambda code: code[1], reverse=True)
    return tuple(key for key, _ in newest_first[most - 1 :])
