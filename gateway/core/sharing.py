"""To whom a collection may be given, what a save changes, and what to warn of (FEATURES A2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.core.access import Grant, Role, Sensitivity, SubjectKind
from gateway.core.roles import has_user_owner, is_valid_grant
from gateway.core.scope_kinds import OPEN, VISITOR_CHANNELS

MOST_GRANTS = 1_000  # of one collection
SUBJECT_CHARS = 256
# Platforms that a grant may name; a web chat reader is always an account.
PLATFORMS = (
    "line",
    "telegram",
    "slack",
    "discord",
    "whatsapp",
    "widget",
    "odoolivechat",
)
ChannelAccount = tuple[str, str]  # (platform, account name)


@dataclass(frozen=True, slots=True)
class ChannelSubject:
    """A channel grant's subject, taken apart: the whole platform, one account, or one chat."""

    platform: str
    account_name: str | None = None
    chat: str | None = None

    @property
    def is_whole(self) -> bool:
        """Everybody on that platform, or everybody who writes to one of our accounts."""
        return self.chat is None


def channel_subject(subject_id: str) -> ChannelSubject | None:
    """`line`, `line/<account>` or `line:<chat id>`; None for anything else.

    Whichever of `/` and `:` comes first decides, as both may stand in what follows it.
    """
    marks = [subject_id.find(mark) for mark in "/:" if mark in subject_id]
    if not marks:
        return ChannelSubject(subject_id) if subject_id in PLATFORMS else None
    at = min(marks)
    platform, mark, rest = subject_id[:at], subject_id[at], subject_id[at + 1 :]
    if platform not in PLATFORMS or not rest:
        return None
    return ChannelSubject(platform, rest) if mark == "/" else ChannelSubject(platform, chat=rest)


@dataclass(frozen=True, slots=True)
class Shareable:
    """Whom one person may share with at this moment; all else is refused."""

    users: frozenset[str] = frozenset()  # active accounts, of those asked about
    departments: frozenset[str] = frozenset()  # that some account or agent has
    agents: frozenset[str] = frozenset()  # the person owns (admin: any), not archived
    channels: frozenset[ChannelAccount] = frozenset()  # our configured accounts

    def allows(self, grant: Grant) -> bool:
        """Whether the subject may be given anything that it does not have yet."""
        kind, subject = grant.subject_kind, grant.subject_id
        if kind is SubjectKind.CHANNEL:
            return self._allows_channel(channel_subject(subject))
        of_kind = {
            SubjectKind.USER: self.users,
            SubjectKind.DEPARTMENT: self.departments,
            SubjectKind.AGENT: self.agents,
        }
        return subject in of_kind.get(kind, frozenset())

    def _allows_channel(self, subject: ChannelSubject | None) -> bool:
        if subject is None:
            return False
        if subject.account_name is not None:
            return (subject.platform, subject.account_name) in self.channels
        return subject.chat is None or _is_chat_id(subject.chat)


def _is_chat_id(text: str) -> bool:
    return text.isprintable() and not any(char.isspace() for char in text)


def well_formed(grants: Sequence[Grant]) -> bool:
    """What a save may hold at all: valid grants, each subject once, no more than fit a page."""
    subjects = {(grant.subject_kind, grant.subject_id) for grant in grants}
    return (
        len(grants) <= MOST_GRANTS
        and len(subjects) == len(grants)
        and all(is_valid_grant(each) and len(each.subject_id) <= SUBJECT_CHARS for each in grants)
    )


def has_active_owner(grants: Iterable[Grant], active: frozenset[str]) -> bool:
    """At least one person who is there to act stays owner."""
    return has_user_owner(
        grant
        for grant in grants
        if grant.subject_kind is not SubjectKind.USER or grant.subject_id in active
    )


@dataclass(frozen=True, slots=True)
class GrantChange:
    """What one save did to one subject; None: no role."""

    subject_kind: SubjectKind
    subject_id: str
    old: Role | None
    new: Role | None

    @property
    def is_raise(self) -> bool:
        """The subject is new or has more than before."""
        before = 0 if self.old is None else self.old.rank
        return self.new is not None and self.new.rank > before


def changes(before: Iterable[Grant], after: Iterable[Grant]) -> tuple[GrantChange, ...]:
    """Subjects whose role differs, in order of kind and subject; void grants count as none."""
    old, new = _roles(before), _roles(after)
    return tuple(
        GrantChange(SubjectKind(kind), subject, old.get((kind, subject)), new.get((kind, subject)))
        for kind, subject in sorted(old.keys() | new.keys())
        if old.get((kind, subject)) is not new.get((kind, subject))
    )


def refused(
    before: Iterable[Grant], after: Iterable[Grant], shareable: Shareable
) -> tuple[Grant, ...]:
    """New or raised subjects that may not be shared with; the same or lowered ones stay."""
    raised = {(c.subject_kind, c.subject_id) for c in changes(before, after) if c.is_raise}
    return tuple(
        grant
        for grant in after
        if (grant.subject_kind, grant.subject_id) in raised and not shareable.allows(grant)
    )


def _roles(grants: Iterable[Grant]) -> dict[tuple[str, str], Role]:
    return {
        (grant.subject_kind.value, grant.subject_id): grant.role
        for grant in grants
        if is_valid_grant(grant)
    }


class WarningCode(StrEnum):
    """What the person who shares should know; nothing of it is refused."""

    WHOLE_CHANNEL = "whole_channel"
    SEVERAL_ACCOUNTS = "several_accounts"
    NEVER_READABLE = "never_readable"
    DIRECT_ONLY = "direct_only"


@dataclass(frozen=True, slots=True)
class GrantWarning:
    """One warning about one channel grant."""

    code: WarningCode
    subject_id: str


def warnings(
    grants: Iterable[Grant], sensitivity: Sensitivity, channels: Iterable[ChannelAccount]
) -> tuple[GrantWarning, ...]:
    """Warnings about the channel grants among these, in order of subject."""
    accounts = list(channels)
    found = []
    subjects = {g.subject_id for g in grants if g.subject_kind is SubjectKind.CHANNEL}
    for subject_id in sorted(subjects):
        subject = channel_subject(subject_id)
        if subject is not None:
            codes = _codes(subject, sensitivity, accounts)
            found += [GrantWarning(code, subject_id) for code in codes]
    return tuple(found)


def _codes(
    subject: ChannelSubject, sensitivity: Sensitivity, accounts: Sequence[ChannelAccount]
) -> Iterable[WarningCode]:
    if subject.is_whole:
        yield WarningCode.WHOLE_CHANNEL
    is_platform = subject.is_whole and subject.account_name is None
    if is_platform and sum(platform == subject.platform for platform, _ in accounts) > 1:
        yield WarningCode.SEVERAL_ACCOUNTS
    if subject.platform in VISITOR_CHANNELS:
        if sensitivity is not Sensitivity.PUBLIC:
            yield WarningCode.NEVER_READABLE
    elif sensitivity not in OPEN:
        yield WarningCode.DIRECT_ONLY
