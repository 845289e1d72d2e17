"""Who and what the scope rule speaks of: accounts, agents, collections, grants, audiences."""

from dataclasses import dataclass
from enum import StrEnum


class AccountRole(StrEnum):
    """What an account may do in the whole program."""

    ADMIN = "admin"
    MANAGER = "manager"
    MEMBER = "member"


class Sensitivity(StrEnum):
    """How far a collection may travel (FEATURES A1, A4)."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    RESTRICTED = "restricted"


class Role(StrEnum):
    """What a grant allows on one collection; each includes the ones before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """1 viewer, 2 editor, 3 owner."""
        return ("viewer", "editor", "owner").index(self.value) + 1


class SubjectKind(StrEnum):
    """To whom a grant can be given."""

    USER = "user"
    DEPARTMENT = "department"
    AGENT = "agent"
    CHANNEL = "channel"


class EmbeddingPolicy(StrEnum):
    """Whether a collection's text may go to a cloud embedding provider."""

    ANY = "any"
    LOCAL_ONLY = "local_only"


@dataclass(frozen=True, slots=True)
class Account:
    """A person who can sign in."""

    id: str
    login: str
    display_name: str
    role: AccountRole
    department: str = ""
    language: str | None = None
    is_active: bool = True

    @property
    def is_admin(self) -> bool:
        """An inactive admin is nobody."""
        return self.is_active and self.role is AccountRole.ADMIN


@dataclass(frozen=True, slots=True)
class Agent:
    """An AI employee, as the store knows it; its settings lie in `agents/<id>/agent.toml`."""

    id: str
    display_name: str
    department: str = ""
    is_archived: bool = False


class BindingRole(StrEnum):
    """What an account may do with an agent."""

    OWNER = "owner"
    OPERATOR = "operator"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class Collection:
    """A set of documents and the rules that hold for all of them."""

    id: str
    no: int  # high half of its passages' ids
    slug: str
    name: str
    sensitivity: Sensitivity
    description: str = ""
    department: str = ""  # a label, grants nothing
    embedding_policy: EmbeddingPolicy = EmbeddingPolicy.ANY
    version: int = 1  # counts saved changes of settings and grants
    is_archived: bool = False  # with the agent whose own it is (A26): only owners have a share
    parent_id: str | None = None  # the folder it lies in (core/folders.py), grants nothing

    @property
    def may_leave(self) -> bool:
        """Its text may go to a cloud embedding provider (FEATURES A14)."""
        is_restricted = self.sensitivity is Sensitivity.RESTRICTED
        return not is_restricted and self.embedding_policy is EmbeddingPolicy.ANY


@dataclass(frozen=True, slots=True)
class Grant:
    """One subject's role on one collection. `subject_id` forms: FEATURES A2 with its ruling."""

    collection_id: str
    subject_kind: SubjectKind
    subject_id: str
    role: Role


@dataclass(frozen=True, slots=True)
class AgentSide:
    """What the agent brings to the intersection.

    `slugs` is `[knowledge] collections` of agent.toml: None = no list, so all that is granted;
    an empty set = none (also when the section could not be parsed).
    """

    agent_id: str
    department: str
    slugs: frozenset[str] | None
    is_archived: bool = False


class AudienceKind(StrEnum):
    """For whom a turn is (DESIGN section 3)."""

    DASHBOARD = "dashboard"  # an account without an agent: dashboard, API token, --as
    WEBCHAT = "webchat"  # an account signed in to web chat, asking an agent
    ACCOUNT_DOOR = "account_door"  # an account asking an agent through a key, MCP or ask --agent
    LINKED = "linked"  # messaging app, sender linked to an active account
    UNLINKED = "unlinked"  # messaging app, any other sender with a proven identity
    VISITOR = "visitor"  # widget or website live chat
    SYSTEM = "system"
    DELEGATED = "delegated"  # a dispatch from a chat turn: the upstream audience, never 1:1
    NONE = "none"  # unregistered turn, no identity, unknown upstream: reads nothing


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """Where a message came from, as channel grants name it."""

    channel: str
    account_name: str
    conversation_id: str
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Audience:
    """The person side of a turn, fixed once; it never widens afterwards."""

    kind: AudienceKind
    account: Account | None = None
    address: ChatAddress | None = None
    is_direct: bool = False
    upstream: "Audience | None" = None  # DELEGATED only
    sender_id: str | None = None  # LINKED: whose link must still hold; None: any of that account
    turn_id: str | None = None  # DELEGATED: the turn it was dispatched from


@dataclass(frozen=True, slots=True)
class ScopeFacts:
    """All that the rule looks at, read from the store in one snapshot.

    `collections` holds every live collection that one of `grants` names, or all of them when the
    audience has the admin override. `generation` counts changes to anything in here.
    `account` is the audience's account as it is *now* (None: gone); `is_link_valid` tells whether
    a linked sender is still linked to that account.
    """

    collections: tuple[Collection, ...]
    grants: tuple[Grant, ...]
    generation: int
    account: Account | None = None
    is_link_valid: bool = True
