"""What of the access log whom may be shown (FEATURES A24)."""

import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from gateway.core.access import Account
from gateway.core.audit import AccessAction, AccessEntry

HASH_DIGITS = 8
TAIL_CHARS = 6  # of a platform's id of a person
MOST_SKIPPED = 10_000
_IS_SKIP = re.compile("[0-9]{1,5}")
_OF_PASSAGES = frozenset({AccessAction.SEARCH, AccessAction.AUTO_INJECT, AccessAction.PASSAGE})


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a page ended: so many rows of that very moment were on it or before.

    It is made of rows that were shown, not of the log's numbers: those would tell how much
    others read in between.
    """

    at: datetime
    skip: int = 0

    def label(self) -> str:
        """As it goes out, `<RFC 3339>/<skip>`."""
        return f"{self.at.astimezone(UTC).isoformat().replace('+00:00', 'Z')}/{self.skip}"


def mark_of(label: str) -> Mark:
    """Read what `label` wrote, or a plain RFC 3339 time. ValueError for anything else."""
    time, _, skip = label.partition("/")
    try:
        at = datetime.fromisoformat(time)
    except ValueError as error:
        raise ValueError(f"no mark: {label}") from error
    if at.tzinfo is None or not _IS_SKIP.fullmatch(skip or "0"):
        raise ValueError(f"no mark: {label}")
    return Mark(at.astimezone(UTC), min(int(skip or "0"), MOST_SKIPPED))


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of the log, newest first, and where to go on; None: that was all."""

    entries: tuple[AccessEntry, ...]
    next: Mark | None = None


def page_of(entries: tuple[AccessEntry, ...], limit: int, before: Mark | None) -> Page:
    """A page of rows that were read with one row to spare."""
    shown = entries[:limit]
    if not shown or len(entries) <= limit:
        return Page(shown)
    last = shown[-1].at
    same = sum(each.at == last for each in shown)
    known = before.skip if before is not None and before.at == last else 0
    return Page(shown, Mark(last, known + same))


def passages_of(entry: AccessEntry, collection_no: int) -> int:
    """How many passages of that collection were returned; of others nothing is told."""
    if entry.action not in _OF_PASSAGES:
        return 0
    return sum(
        each.isascii() and each.isdecimal() and int(each) >> 32 == collection_no
        for each in entry.results
    )


def question_hash(key: bytes, question: str) -> str | None:
    """The same question has the same hash in this home; without the key it tells nothing."""
    if not question:
        return None
    digest = hmac.new(key, question.encode("utf-8", "surrogatepass"), sha256)
    return digest.hexdigest()[:HASH_DIGITS]


def sees_question(viewer: Account | None, entry: AccessEntry) -> bool:
    """Admins, and who asked. None is the operator at this machine."""
    if viewer is None or viewer.is_admin:
        return True
    return viewer.is_active and entry.account_id is not None and entry.account_id == viewer.id


def sender_shown(viewer: Account | None, entry: AccessEntry) -> str | None:
    """The platform's id of who wrote: whole for admins, its last characters for owners."""
    if entry.sender is None or viewer is None or viewer.is_admin:
        return entry.sender
    return f"…{entry.sender.rpartition('/')[2][-TAIL_CHARS:]}"
