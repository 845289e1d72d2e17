"""`knowledge.access_log.*`: who read what, for owners; who was refused, for admins (A24)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gateway.core.access import Account, Audience, AudienceKind, Collection, Role
from gateway.core.access_log import (
    Mark,
    mark_of,
    passages_of,
    question_hash,
    sees_question,
    sender_shown,
)
from gateway.core.audit import AccessEntry
from gateway.errors import GatewayError, InvalidRequestError
from gateway.interfaces import AccessLog, Grants, Principals
from gateway.knowledge.desk import Desk
from gateway.operations.library import account_of
from gateway.operations.table import Caller, Operation, Permission

MOST_ROWS = 200
NOBODY = Audience(AudienceKind.NONE)


@dataclass(frozen=True, slots=True)
class ReadsRequest:
    """A collection, by id or slug; `before` is the `next` of the page before, or a time."""

    collection: str
    limit: int = 50
    before: str | None = None


@dataclass(frozen=True, slots=True)
class DeniedRequest:
    """Of all collections; `before` as above."""

    limit: int = 50
    before: str | None = None


@dataclass(frozen=True, slots=True)
class ReadView:
    """One read. `account` and `agent` are display names; `passages` counts this collection's.

    `question` is there for admins and for who asked; the hash is the same for the same question.
    """

    at: datetime
    action: str
    account_id: str | None
    account: str
    agent_id: str | None
    agent: str
    channel: str | None
    sender: str | None
    passages: int
    question_hash: str | None
    question: str | None


@dataclass(frozen=True, slots=True)
class DeniedView:
    """One refused read, and the collection it was for; none where there is no such thing."""

    at: datetime
    account_id: str | None
    account: str
    agent_id: str | None
    agent: str
    channel: str | None
    sender: str | None
    collection_id: str | None
    collection: str
    question: str | None


@dataclass(frozen=True, slots=True)
class ReadsPage:
    """Newest first; `next` is None at the end."""

    rows: list[ReadView]
    next: str | None


@dataclass(frozen=True, slots=True)
class DeniedPage:
    """Newest first; `next` is None at the end."""

    rows: list[DeniedView]
    next: str | None


class LogReading:
    """What these operations share."""

    def __init__(
        self,
        desk: Desk,
        log: AccessLog,
        grants: Grants,
        principals: Principals,
        *,
        is_open: bool = True,
    ) -> None:
        self._desk = desk
        self._log = log
        self._grants = grants
        self._principals = principals
        self._is_open = is_open

    async def reads(self, caller: Caller, request: ReadsRequest) -> ReadsPage:
        """Owners; a collection that is missing or another's is the same NotFoundError."""
        account = account_of(caller)
        limit, before = _bounds(request.limit, request.before)
        collection = await self._desk.require(account, request.collection, Role.OWNER)
        page = await self._log.reads_of(collection.id, limit, before)
        key = await self._log.question_key()
        names = await self._names(page.entries)
        rows = [_read_view(each, account, collection, key, names) for each in page.entries]
        return ReadsPage(rows, None if page.next is None else page.next.label())

    async def denied(self, caller: Caller, request: DeniedRequest) -> DeniedPage:
        """Every refusal, whoever owns what was asked for."""
        if not self._is_open:
            raise GatewayError("knowledge is off", code="knowledge_disabled")
        limit, before = _bounds(request.limit, request.before)
        page = await self._log.denied(limit, before)
        names = await self._names(page.entries)
        facts = await self._grants.facts(NOBODY, None, everything=True)
        known = {str(each.no): each for each in facts.collections}
        known |= {each.id: each for each in facts.collections}
        rows = [_denied_view(each, caller.account, known, names) for each in page.entries]
        return DeniedPage(rows, None if page.next is None else page.next.label())

    async def _names(self, entries: Iterable[AccessEntry]) -> dict[str, str]:
        ids = {each for entry in entries for each in (entry.account_id, entry.agent_id) if each}
        accounts, agents = await self._principals.named(frozenset(ids))
        names = {key: agent.display_name for key, agent in agents.items()}
        return names | {key: account.display_name for key, account in accounts.items()}


def _bounds(limit: int, before: str | None) -> tuple[int, Mark | None]:
    if not 1 <= limit <= MOST_ROWS:
        raise InvalidRequestError("limit", reason=f"limit: 1 to {MOST_ROWS}")
    try:
        return limit, None if before is None else mark_of(before)
    except ValueError as error:
        reason = "before: the next of the page before, or a time"
        raise InvalidRequestError("before", reason=reason) from error


def _read_view(
    entry: AccessEntry,
    viewer: Account,
    collection: Collection,
    key: bytes,
    names: dict[str, str],
) -> ReadView:
    return ReadView(
        entry.at,
        entry.action.value,
        entry.account_id,
        names.get(entry.account_id or "", ""),
        entry.agent_id,
        names.get(entry.agent_id or "", ""),
        entry.channel,
        sender_shown(viewer, entry),
        passages_of(entry, collection.no),
        question_hash(key, entry.query),
        entry.query if entry.query and sees_question(viewer, entry) else None,
    )


def _denied_view(
    entry: AccessEntry,
    viewer: Account | None,
    known: dict[str, Collection],
    names: dict[str, str],
) -> DeniedView:
    found = next((known[key] for key in _targets(entry) if key in known), None)
    return DeniedView(
        entry.at,
        entry.account_id,
        names.get(entry.account_id or "", ""),
        entry.agent_id,
        names.get(entry.agent_id or "", ""),
        entry.channel,
        sender_shown(viewer, entry),
        found.id if found is not None else None,
        found.name if found is not None else "",
        entry.query if entry.query and sees_question(viewer, entry) else None,
    )


def _targets(entry: AccessEntry) -> Iterable[str]:
    """What the refused ids point at: a collection, or that of a passage (by its number)."""
    for each in entry.results:
        is_passage = each.isascii() and each.isdecimal()
        yield str(int(each) >> 32) if is_passage else each


def operations(reading: LogReading) -> tuple[Operation, ...]:
    """The rows of reading the log."""
    return (
        Operation(
            "knowledge.access_log.list",
            "Tell its owners who read what of a collection.",
            Permission.SIGNED_IN,
            ReadsRequest,
            reading.reads,
        ),
        Operation(
            "knowledge.access_log.denied",
            "List refused reads of all collections.",
            Permission.ADMIN,
            DeniedRequest,
            reading.denied,
        ),
    )
