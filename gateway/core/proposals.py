"""Documents that wait for somebody's approval: who may ask, who decides, how many (A22)."""

import codecs
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit

from gateway.core.access import Account, Audience, AudienceKind, Collection, Grant, Role
from gateway.core.documents import SourceKind
from gateway.core.roles import role_on
from gateway.core.scope_kinds import root

PENDING_OF_AGENT = 20
PENDING_OF_PROPOSER = 10
FILES_AT_ONCE = 5
LIFE = timedelta(days=3)
PREVIEW_CHARS = 2_000
PREVIEW_BYTES = 4 * PREVIEW_CHARS + 4  # the most that UTF-8 or UTF-32 takes, with the mark
URL_CHARS = 2_000

IN_CHAT = frozenset({AudienceKind.WEBCHAT, AudienceKind.LINKED})
SIGNED_IN = IN_CHAT | {AudienceKind.ACCOUNT_DOOR, AudienceKind.DASHBOARD}


class ProposalKind(StrEnum):
    """What the kept bytes are: a file's, a text's, or the address of a page."""

    FILE = "file"
    TEXT = "text"
    URL = "url"

    @property
    def source_kind(self) -> SourceKind:
        """What the document will be, once it was approved."""
        return {
            ProposalKind.FILE: SourceKind.FILE,
            ProposalKind.TEXT: SourceKind.PASTE,
            ProposalKind.URL: SourceKind.URL,
        }[self]


class ProposalState(StrEnum):
    """Pending once, then one of the others for ever."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Proposer:
    """For whom the turn was that proposed; `account_id` is None for a system turn."""

    turn_id: str
    agent_id: str
    audience: AudienceKind  # of a dispatch, what it was first
    channel: str
    account_id: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A card. Its bytes lie in a file named by `id`; decided, it keeps neither name nor bytes."""

    id: str
    collection_id: str
    title: str
    kind: ProposalKind
    name: str  # as the channel stored it, or as made from the title; shows what it is
    media_type: str
    size_bytes: int
    sha256: str
    proposer: Proposer
    created_at: datetime
    state: ProposalState = ProposalState.PENDING
    decided_by: str | None = None
    decided_at: datetime | None = None
    source_id: str | None = None

    @property
    def expires_at(self) -> datetime:
        """From this moment on nobody can approve it."""
        return self.created_at + LIFE

    def is_open(self, now: datetime) -> bool:
        """Whether it can still be decided."""
        return self.state is ProposalState.PENDING and now < self.expires_at


@dataclass(frozen=True, slots=True)
class OpenProposal:
    """A pending card as somebody who may decide it sees it."""

    proposal: Proposal
    collection: Collection
    proposer_name: str = ""


def may_propose_in_chat(audience: Audience) -> bool:
    """Signed in to web chat, or a sender linked to an active account; nobody else."""
    return audience.kind in IN_CHAT and audience.account is not None


def may_propose_by_tool(audience: Audience) -> bool:
    """Signed in, linked, or a system turn, also behind a dispatch; never visitors or nobody."""
    person = root(audience)
    if person.kind is AudienceKind.SYSTEM:
        return True
    return person.kind in SIGNED_IN and person.account is not None


def may_follow(proposer: Proposer, agent_id: str | None, account_id: str | None) -> bool:
    """Whose proposal it is: of this agent for this person, or for nobody; without an agent, of
    this person through whichever agent.
    """
    if agent_id is None:
        return account_id is not None and proposer.account_id == account_id
    return (proposer.agent_id, proposer.account_id) == (agent_id, account_id)


def may_decide(account: Account | None, collection_id: str, grants: Iterable[Grant]) -> bool:
    """An admin, or an editor or owner of this collection, by the grants as they are now."""
    if account is None:
        return False
    role = role_on(account, collection_id, grants)
    return role is not None and role.rank >= Role.EDITOR.rank


def limit_broken(of_agent: int, of_proposer: int | None, more: int) -> int | None:
    """The limit that `more` pending cards would break, or None. A system turn is no proposer."""
    if of_agent + more > PENDING_OF_AGENT:
        return PENDING_OF_AGENT
    if of_proposer is not None and of_proposer + more > PENDING_OF_PROPOSER:
        return PENDING_OF_PROPOSER
    return None


# ---------------------------------------------------------------- what a decider is shown

_TEXT_NAMES = (".txt", ".md", ".markdown", ".csv", ".html", ".htm")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# what turns the direction of text would show something else than what is approved
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSEEN = frozenset({"Cc", "Cs", "Cn"})


def has_preview(kind: ProposalKind, name: str) -> bool:
    """Whether its first characters are shown: text, Markdown, CSV and HTML, all as text."""
    return kind is not ProposalKind.FILE or name.lower().endswith(_TEXT_NAMES)


def preview(head: bytes, *, is_whole: bool) -> str | None:
    """The first characters of a text in Unicode; None for bytes of any other kind.

    `head` holds the first PREVIEW_BYTES bytes, or all of them. Nothing is guessed or parsed here:
    what is neither marked nor UTF-8 is read in the sandbox, once it was approved.
    """
    codec = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    try:
        text = codecs.getincrementaldecoder(codec)("strict").decode(head, final=is_whole)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    text = _DIRECTIONS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)
    return "".join(kept)[:PREVIEW_CHARS]


def address_of(url: str) -> str | None:
    """The address without its fragment, or None where it names no page of the web."""
    url = url.strip()
    if not url.isascii() or len(url) > URL_CHARS or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not has_host or "@" in parts.netloc:
        return None
    return parts._replace(fragment="").geturl()
