"""The seams: small protocols between the path of a message and everything that does I/O."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from gateway.core.access import (
    Account,
    Agent,
    AgentSide,
    Audience,
    BindingRole,
    Collection,
    Grant,
    ScopeFacts,
    SubjectKind,
)
from gateway.core.access_log import Mark, Page
from gateway.core.agents import AgentKnowledge, AgentSettings, ListChange, SettingsChange
from gateway.core.audit import AccessEntry, SecurityEvent
from gateway.core.chat import ChatMessage, Draft, Tool
from gateway.core.documents import (
    Extracted,
    NewRevision,
    Source,
    SourceState,
    SourceWarning,
    StatusDetail,
)
from gateway.core.forgetting import ForgetPlan, Planned, PlanState
from gateway.core.link_codes import LinkOutcome
from gateway.core.messages import (
    Attachment,
    ChannelState,
    Check,
    Conversation,
    InboundMessage,
    Limits,
    OutboundCall,
    Reply,
    Sender,
    SendMethod,
    SendOutcome,
)
from gateway.core.own_documents import OwnCollection
from gateway.core.passages import NoVectors, Passage, SearchResult
from gateway.core.people import AccountChange
from gateway.core.proposals import OpenProposal, Proposal
from gateway.core.scope import Scope
from gateway.core.sharing import Shareable
from gateway.core.turns import Exchange, TurnRecord

Vector = NDArray[np.float32]
OnDelta = Callable[[str], Awaitable[None]]
Accept = Callable[[Sequence[InboundMessage]], Awaitable[object]]  # durable when it returns
Generation = Callable[[], int]  # of all that decides who reads what, as of the newest commit


class Preview(Protocol):
    """Where a draft is shown; an `OnDelta` that asks again before anything goes out."""

    async def __call__(self, text: str) -> None:
        """The next piece."""
        ...

    def only_while(self, may_show: Callable[[], Awaitable[bool]]) -> None:
        """Ask this right before each time; after a no, nothing more is shown."""
        ...


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds, for measuring and waiting."""
        ...


class Ids(Protocol):
    """New UUIDv7 strings."""

    def new(self) -> str: ...


# ---------------------------------------------------------------- people


class Accounts(Protocol):
    """People who can sign in."""

    async def put(self, account: Account) -> None: ...
    async def find(self, account_id: str) -> Account | None: ...
    async def find_by_login(self, login: str) -> Account | None: ...
    async def list(self) -> Sequence[Account]: ...
    async def set_password_hash(self, account_id: str, password_hash: str) -> None: ...
    async def password_hash(self, account_id: str) -> str | None: ...
    async def departments(self) -> Sequence[str]:
        """Names in use by active accounts and by agents that are not archived."""
        ...


@dataclass(frozen=True, slots=True)
class Act:
    """Who makes a change, and when. `account_id` None: the operator at this machine."""

    account_id: str | None
    at: datetime


class AccountChanges(Protocol):
    """Changes of accounts. Each is one transaction: rule, change, generation, audit row."""

    async def add(self, account: Account, password_hash: str, by: Act) -> None:
        """ConflictError when the login is taken; NotFoundError unless `by` is an admin now."""
        ...

    async def change(self, account_id: str, change: AccountChange, by: Act) -> Account:
        """NotFoundError: absent, or not for `by` to change. ConflictError `last_admin`.

        Deactivation removes sessions, tokens and open link codes: they do not come back.
        """
        ...

    async def set_password(
        self, account_id: str, password_hash: str, by: Act, *, keep: str | None = None
    ) -> None:
        """Ends sessions and tokens but the session whose secret's SHA-256 is `keep`.
        NotFoundError as above.
        """
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """A browser session or an API token; only the SHA-256 of its secret is kept."""

    secret_sha256: str
    account_id: str
    kind: str  # "session" | "token"
    label: str
    created_at: datetime
    expires_at: datetime

    @property
    def id(self) -> str:
        """What people name it by: half of the hash, which opens nothing."""
        return self.secret_sha256[:32]


class Sessions(Protocol):
    """Browser sessions and API tokens."""

    async def put(self, session: Session) -> None: ...
    async def add_token(self, session: Session, most: int, by: Act) -> None:
        """With its audit row. ConflictError `too_many_tokens`: the account has `most` that hold."""
        ...

    async def list(self, kind: str, account_id: str | None, now: datetime) -> Sequence[Session]:
        """Those that hold, newest first; without an account everybody's."""
        ...

    async def revoke(self, session_id: str, kind: str, by: Act) -> None:
        """With its audit row. NotFoundError: absent, or another's and `by` is no admin."""
        ...

    async def find(self, secret_sha256: str, now: datetime) -> Session | None: ...
    async def remove(self, secret_sha256: str) -> None: ...
    async def remove_all_of(self, account_id: str) -> None: ...


class Agents(Protocol):
    """AI employees and the people bound to them."""

    async def put(self, agent: Agent) -> None: ...
    async def find(self, agent_id: str) -> Agent | None: ...
    async def list(self) -> Sequence[Agent]: ...
    async def bind(self, agent_id: str, account_id: str, role: BindingRole | None) -> None: ...
    async def bindings(self, agent_id: str) -> Mapping[str, BindingRole]: ...
    async def roles_of(self, account_id: str) -> Mapping[str, BindingRole]:
        """Agent id -> the account's role with it."""
        ...


class AgentChanges(Protocol):
    """Changes of agents. Each is one transaction: rule, change, generation, audit row.

    NotFoundError: absent, or `by` neither owns the agent nor is an admin at that moment.
    """

    async def add(self, agent: Agent, by: Act) -> None:
        """Whoever adds it owns it; the operator's belongs to the admins. ConflictError: exists."""
        ...

    async def bind(self, agent_id: str, account_id: str, role: BindingRole | None, by: Act) -> None:
        """None unbinds. ConflictError `last_owner`: none who can sign in would be left, and `by`
        is no admin.
        """
        ...

    async def set_archived(self, agent_id: str, *, is_archived: bool, by: Act) -> Agent: ...
    async def hand_over(self, agent_id: str, account_id: str, by: Act, *, archive: bool) -> Agent:
        """The account owns the agent from now on, alone; `archive` puts it away until the new
        owner restores it.
        """
        ...

    async def save(self, agent: Agent, fields: str, by: Act) -> None:
        """Keep name and department as `agent.toml` has them; `fields` names what changed."""
        ...

    async def note_list(self, agent_id: str, listed: str, by: Act) -> None:
        """`[knowledge]` was written; `listed`: its collections as the audit shows them."""
        ...


class AgentFiles(Protocol):
    """`agents/<id>/agent.toml` and `persona.md`; a broken [knowledge] reads as `[]`."""

    async def load(self, agent_id: str) -> AgentSettings | None: ...
    async def create(self, settings: AgentSettings) -> None: ...


class AgentEditing(Protocol):
    """Changes of an agent's files: atomic, comments kept.

    NotFoundError without the folder; ConflictError `agent_file_broken` where what is there cannot
    be read.
    """

    async def present(self, agent_ids: Iterable[str]) -> frozenset[str]:
        """Those that have their folder with an `agent.toml`."""
        ...

    async def knowledge(self, agent_id: str) -> AgentKnowledge | None:
        """`[knowledge]` as it is now; None where it cannot be read, which a turn takes for `[]`."""
        ...

    async def update(self, agent_id: str, change: SettingsChange) -> None: ...
    async def set_knowledge(
        self, agent_id: str, knowledge: AgentKnowledge, *, replace: bool = False
    ) -> bool:
        """`replace` writes over what cannot be read; True where that was the whole file, which is
        new now and knows neither name nor department.
        """
        ...

    async def list_collection(self, agent_id: str, slug: str) -> ListChange:
        """Add a slug to the agent's own list, where it has one."""
        ...


class Links(Protocol):
    """Verified bindings sender -> account, keyed by channel, account name and sender."""

    async def bind(self, sender: Sender, account_id: str, at: datetime) -> None: ...
    async def find(self, sender: Sender) -> str | None: ...
    async def remove(self, sender: Sender) -> bool: ...
    async def list(self, account_id: str | None = None) -> Sequence[tuple[Sender, str]]: ...


@dataclass(frozen=True, slots=True)
class LinkSecret:
    """A one-time code, or the nonce of LINE's own flow; only its SHA-256 is kept."""

    sha256: str
    kind: str  # "code" | "nonce"
    account_id: str
    created_at: datetime
    expires_at: datetime
    channel: str | None = None  # None: good in every channel
    account_name: str | None = None


@dataclass(frozen=True, slots=True)
class LinkAttempt:
    """A code that was sent in a chat; the request it may become has the turn's id."""

    turn_id: str
    sha256: str
    sender: Sender | None
    sender_name: str
    is_direct: bool  # a proven 1:1 with a proven sender
    at: datetime


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """A sender that waits for the account to confirm it."""

    id: str
    account_id: str
    sender: Sender
    sender_name: str
    at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class BoundLink:
    """A verified binding, as people see it listed."""

    sender: Sender
    sender_name: str
    account_id: str
    at: datetime


class LinkCodes(Protocol):
    """One-time codes and nonces. Each method is one transaction, its audit rows with it."""

    async def offer(self, secret: LinkSecret) -> None:
        """Keep it; expired ones go, and the account's oldest beyond MOST_OPEN."""
        ...

    async def redeem(self, attempt: LinkAttempt) -> LinkOutcome:
        """Once a code, once a turn: a turn that is run again has the outcome it had."""
        ...

    async def redeem_nonce(self, sha256: str, sender: Sender, at: datetime) -> str | None:
        """Bind at once; the account's id, or None for a nonce that is not good here and now."""
        ...


class LinkRequests(Protocol):
    """Bindings to be confirmed and bindings that hold, with their audit rows."""

    async def pending(self, account_id: str, now: datetime) -> Sequence[LinkRequest]: ...
    async def confirm(self, request_id: str, account_id: str, now: datetime) -> BoundLink:
        """NotFoundError: not this account's, or expired. ConflictError: linked elsewhere."""
        ...

    async def reject(self, request_id: str, account_id: str, now: datetime) -> None:
        """NotFoundError as above."""
        ...

    async def bind(self, link: BoundLink, actor: str) -> None:
        """By the operator's word; the newest holds."""
        ...

    async def remove(self, sender: Sender, owner: str | None, actor: str, at: datetime) -> bool:
        """End a binding; with `owner` only where it is that account's."""
        ...

    async def bound(self, account_id: str | None = None) -> Sequence[BoundLink]: ...


class Collections(Protocol):
    """Collections; a tombstoned one is absent everywhere at once."""

    async def create(
        self,
        collection: Collection,
        owner_id: str,
        *,
        event: SecurityEvent | None = None,
        most: int | None = None,
    ) -> Collection:
        """Assign `no`, add the owner's grant; ConflictError `slug_taken`. `quota_collections`
        where there are `most` already. Here and below `event` goes in the same transaction.
        """
        ...

    async def find(self, collection_id: str) -> Collection | None: ...
    async def find_by_slug(self, slug: str) -> Collection | None: ...
    async def list(self, ids: frozenset[str]) -> Sequence[Collection]: ...
    async def counts(self, ids: frozenset[str]) -> Mapping[str, tuple[int, int]]:
        """Sources and passages of each collection."""
        ...

    async def in_progress(self, ids: frozenset[str]) -> Mapping[str, int]:
        """How many sources of each collection are still being read; none: left out."""
        ...

    async def replace(
        self, collection: Collection, *, version: int, event: SecurityEvent | None = None
    ) -> Collection:
        """Optimistic: ConflictError (with `version`) unless the stored version is `version`."""
        ...

    async def remove(
        self,
        collection_id: str,
        *,
        version: int | None = None,
        event: SecurityEvent | None = None,
    ) -> None:
        """Tombstone: hidden at once, its sources go one by one by a job. With `version`
        ConflictError where it moved.
        """
        ...


class OwnCollections(Protocol):
    """Each agent's own collection (FEATURES A26); a deleted one is none."""

    async def find(self, agent_id: str) -> OwnCollection | None: ...
    async def list(self) -> Sequence[OwnCollection]: ...
    async def create(
        self,
        agent_id: str,
        collection: Collection,
        by: Act,
        *,
        with_bound: bool,
        listed: str | None,
        most: int,
    ) -> tuple[OwnCollection, bool]:
        """The one there is, or a new one with its grants and events; True: new.

        `with_bound`: shared with the people bound to the agent whose accounts are active.
        `listed`: the agent's list with it, as the audit shows it; None: the agent has no list.
        NotFoundError: `by` may not edit the agent. ConflictError `agent_archived`, `slug_taken`;
        `quota_collections`.
        """
        ...

    async def note_listed(self, agent_id: str) -> None:
        """The agent's own list is no longer owed."""
        ...

    async def settle(self, agent_id: str, *, is_present: bool, at: datetime) -> bool:
        """Archive it where the agent is archived, gone from the store or not `is_present`, else
        restore it; one transaction with the event. False: it was so already.
        """
        ...

    async def grants(self, collection_ids: frozenset[str]) -> Sequence[Grant]:
        """All grants of these collections."""
        ...


class Grants(Protocol):
    """Who may do what with which collection."""

    async def facts(
        self, audience: Audience, agent: AgentSide | None, *, everything: bool = False
    ) -> ScopeFacts:
        """All that the scope rule looks at, in one snapshot and one hop.

        `everything` returns all live collections (admin override, and `explain`).
        """
        ...

    async def of_collection(self, collection_id: str) -> Sequence[Grant]: ...
    async def of_reference(self, reference: str) -> tuple[Collection | None, Sequence[Grant]]:
        """A live collection by id, else by slug, and its grants in the same snapshot; the same
        two statements whether it is there or not.
        """
        ...

    async def replace(
        self,
        collection_id: str,
        grants: Sequence[Grant],
        *,
        version: int,
        event: SecurityEvent | None = None,
    ) -> int:
        """One batch; returns the new version. ConflictError: version moved; last_owner. `event`
        goes in the same transaction.
        """
        ...

    async def subjects(self, kind: SubjectKind) -> Sequence[str]: ...


class Principals(Protocol):
    """To whom grants can be given, as the store knows it at this moment."""

    async def shareable(self, owner_id: str | None, users: frozenset[str]) -> Shareable:
        """In one snapshot: the active ones of `users`, every department, and the agents that
        are not archived and that `owner_id` owns (None: all). `channels` stays empty.
        """
        ...

    async def people(self, wanted: Callable[[Account], bool], most: int) -> Sequence[Account]:
        """Active accounts for which `wanted` holds, by display name."""
        ...

    async def agents(self, owner_id: str | None) -> Sequence[Agent]:
        """Not archived, owned by this account (None: by anybody), by id."""
        ...

    async def named(self, ids: frozenset[str]) -> tuple[Mapping[str, Account], Mapping[str, Agent]]:
        """Those of the ids that are accounts or agents, inactive and archived ones too."""
        ...


# ---------------------------------------------------------------- documents


class Blobs(Protocol):
    """Originals by SHA-256."""

    async def put(self, data: BinaryIO, max_bytes: int) -> tuple[str, int]:
        """Copy, fsync, name by hash; (sha256, size). `too_large` leaves nothing behind."""
        ...

    def path(self, sha256: str) -> Path: ...
    async def remove(self, sha256: str) -> None: ...
    async def list(self) -> Sequence[tuple[str, datetime]]: ...


class Sources(Protocol):
    """Documents and their states."""

    async def add(self, source: Source) -> tuple[Source, bool]:
        """Insert with its ingest job in one transaction; (source, is_new). Same bytes in the
        same collection: the existing source and False.
        """
        ...

    async def find(self, source_id: str) -> Source | None: ...
    async def list(self, collection_id: str) -> Sequence[Source]: ...
    async def set_state(
        self,
        source_id: str,
        state: SourceState,
        *,
        status_detail: StatusDetail | None = None,
        error_code: str | None = None,
        warnings: Sequence[SourceWarning] | None = None,
    ) -> bool:
        """False when the source is gone, so that a job notices and writes nothing."""
        ...

    async def remove(
        self, source_id: str, at: datetime, *, event: SecurityEvent | None = None
    ) -> str | None:
        """Text, index, vectors and excerpts in one transaction; the SHA-256 if now unused."""
        ...

    async def title_of(self, source_id: str) -> tuple[str, str, bool] | None:
        """(title, collection id, is_deleted), also of a removed source's tombstone."""
        ...

    async def usage(self) -> Mapping[str, tuple[int, int, int]]:
        """Collection id -> sources, passages, bytes; for the quotas."""
        ...


class ProposalCards(Protocol):
    """Documents that wait for approval (FEATURES A22). Each method is one transaction, its
    security events with it; who may decide is asked for within it.
    """

    async def put(self, cards: Sequence[Proposal]) -> Sequence[Proposal]:
        """All of them or none: GatewayError `proposal_limit`, NotFoundError when the collection
        went. What this turn, or the same proposer in a pending card, proposed already stands for
        itself: then the stored card comes back, with another id.
        """
        ...

    async def of_turn(self, turn_id: str) -> Sequence[Proposal]: ...
    async def decidable(self, account_id: str, now: datetime) -> Sequence[OpenProposal]:
        """Open cards of the collections where this account may decide, oldest first."""
        ...

    async def find(self, proposal_id: str, account_id: str, now: datetime) -> OpenProposal:
        """NotFoundError for what is absent or not this account's to decide, alike; ConflictError
        `proposal_decided`, `proposal_expired`.
        """
        ...

    async def approve(
        self, proposal_id: str, account_id: str, source: Source, now: datetime
    ) -> tuple[Source, bool]:
        """As `find`; the decision and the source with its job in one go. (source, is_new)."""
        ...

    async def reject(
        self, proposal_id: str, account_id: str, now: datetime, *, reason: str | None = None
    ) -> None:
        """As `find`. `reason`: an approval that failed for good, by its code."""
        ...

    async def expire(self, now: datetime) -> Sequence[str]:
        """End those that are too old, or whose collection is gone; their ids."""
        ...

    async def pending(self) -> frozenset[str]:
        """Ids of all cards that are not decided: the files to be kept."""
        ...


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Passages by bm25 (higher is better) and the document frequencies behind it."""

    hits: tuple[tuple[int, float], ...]
    passages_total: int
    document_frequency: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """All vectors of one passage (the passage and its pieces), float32, shape (k, d)."""

    passage_id: int
    collection_id: str
    script: str  # of the passage: "zh" | "ja" | "en", for centring per language
    vectors: Vector


class PassageIndex(Protocol):
    """Text and lexical index. Every read of text takes a Scope, applied inside the query."""

    async def replace(self, revision: NewRevision) -> bool:
        """Swap a source's revision in one transaction; unchanged passages keep their vectors.
        False when the source is gone.
        """
        ...

    async def lexical(
        self, scope: Scope, terms: Sequence[str], limit: int, phrases: Sequence[Sequence[str]] = ()
    ) -> LexicalHits:
        """OR of index terms (core/matching.py), every phrase required; ties by passage id."""
        ...

    async def load(self, scope: Scope, passage_ids: Sequence[int]) -> Sequence[Passage]:
        """Those that exist, in a current revision, within the scope; in the order asked."""
        ...

    async def around(self, scope: Scope, passage_id: int, context: int) -> Sequence[Passage]:
        """The passage with up to `context` neighbours each side, in reading order."""
        ...

    async def searchable(self, scope: Scope, model_key: str) -> tuple[int, int]:
        """Passages in the scope, and how many of them have vectors of this model."""
        ...


class VectorStore(Protocol):
    """Vectors on disk; numpy blocks in memory are built from it and follow `changes`."""

    async def without_vectors(
        self, model_key: str, source_id: str | None, limit: int
    ) -> Sequence[Passage]:
        """Passages of current revisions that still need vectors; ingestion only."""
        ...

    async def put(self, model_key: str, rows: Sequence[PassageVectors]) -> int:
        """Write those whose passage still exists; how many."""
        ...

    async def changes(
        self, model_key: str, since: int
    ) -> tuple[int, Sequence[PassageVectors], Sequence[int]]:
        """(new mark, rows put after `since`, passage ids gone after `since`)."""
        ...

    async def remove_model(self, model_key: str) -> int: ...


@dataclass(frozen=True, slots=True)
class Job:
    """A durable piece of background work; claims expire."""

    id: str
    kind: str  # "ingest" | "embed" | "sweep_blobs" | "optimize_index" | "remove_collection"
    key: str
    attempts: int


class Jobs(Protocol):
    """Durable background work with claims (DESIGN section 8.13)."""

    async def put(self, kind: str, key: str, not_before: datetime) -> None:
        """Once per (kind, key) while it is waiting."""
        ...

    async def claim(
        self, kinds: Sequence[str], by: str, now: datetime, until: datetime
    ) -> Job | None:
        """Oldest due job that nobody holds; counts an attempt."""
        ...

    async def renew(self, job_id: str, until: datetime) -> None:
        """Keep holding a claimed job; a short lease ends soon after its holder was killed."""
        ...

    async def finish(self, job_id: str) -> None: ...
    async def release(self, job_id: str, not_before: datetime) -> None: ...
    async def waiting(self) -> Mapping[str, int]: ...


class Extractor(Protocol):
    """Reads a file in the sandboxed child. Raises ExtractionError with the code of A9."""

    async def extract(self, path: Path, name: str) -> Extracted: ...
    async def close(self) -> None: ...


class Encoder(Protocol):
    """Turns text into unit vectors, outside the event loop's process."""

    @property
    def model_key(self) -> str:
        """Model, revision, prefix and pooling in one string."""
        ...

    async def unavailable(self) -> NoVectors | None:
        """Why it cannot be used now, or None."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Shape (d,). Goes before any passage that waits. Raises ModelError."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        """For each text its unit vector, shape (d,); over-long texts are averaged over windows."""
        ...

    async def close(self) -> None: ...


class Retriever(Protocol):
    """Search and reading within a scope; writes the access log itself."""

    async def search(
        self, query: str, scope: Scope, limit: int, *, entry: AccessEntry
    ) -> SearchResult: ...
    async def around(
        self, scope: Scope, passage_id: int, context: int, *, entry: AccessEntry
    ) -> Sequence[Passage]:
        """NotFoundError for absent and forbidden alike."""
        ...


# ---------------------------------------------------------------- turns


class Scopes(Protocol):
    """Gathers facts and applies the rule of core/scope.py."""

    async def audience(self, message: InboundMessage) -> Audience: ...
    async def scope(self, audience: Audience, agent: AgentSide | None) -> Scope: ...
    async def renew(self, first: Scope, agent: AgentSide | None) -> Scope:
        """The scope as it is now, intersected with the first of this turn."""
        ...


class LanguageModel(Protocol):
    """DESIGN section 5. `on_delta` gets text as it comes. Raises LanguageModelError."""

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft: ...


class LanguageModels(Protocol):
    """Finds the model an agent names; raises LanguageModelError for an unknown one."""

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        """With fallbacks: the first that answers, in this order."""
        ...


class Turns(Protocol):
    """What is kept of turns; history and citations."""

    async def record(self, turn: TurnRecord) -> None:
        """Idempotent by turn id: a re-run replaces what the first run wrote."""
        ...

    async def find(self, turn_id: str) -> TurnRecord | None: ...
    async def recent(
        self, agent_id: str | None, conversation: str, limit: int
    ) -> Sequence[Exchange]:
        """Newest last, for the prompt; only those whose reply went out."""
        ...

    async def of_conversation(
        self, conversation: str, limit: int, after_turn_id: str | None = None
    ) -> Sequence[TurnRecord]:
        """Oldest first, for restoring web chat."""
        ...

    async def conversations(self, account_id: str, limit: int) -> Sequence[TurnRecord]:
        """The newest turn of each of the account's web chat conversations."""
        ...

    async def forget_questions(self, turn_ids: Sequence[str]) -> None:
        """Wipe what these turns were asked, in the access log too; idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Claimed:
    """An inbox row being worked on; the turn's id is the row's id."""

    id: str
    message: InboundMessage
    attempts: int
    preview: str | None = None  # the platform's id of the message that shows the draft


class Inbox(Protocol):
    """Durable inbox rows; synchronous FULL, group commit."""

    async def put(
        self, rows: Sequence[tuple[str, InboundMessage]], lane_limit: int
    ) -> Sequence[str]:
        """Per row "new" | "duplicate" | "busy" (lane full: stored, to be answered with the
        busy sentence). Durable on return; all rows of one webhook body in one transaction.
        """
        ...

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> Sequence[Claimed]:
        """The oldest waiting row of each lane that has none running."""
        ...

    async def answered(self, row_id: str, calls: Sequence[OutboundCall], now: datetime) -> None:
        """Row done and its outbox rows written, in one transaction; idempotent by id."""
        ...

    async def release(self, row_id: str, *, failed: bool) -> int:
        """Give the claim back, counting the failure; returns failures so far."""
        ...

    async def recover(self, now: datetime) -> int:
        """At start: claims of a dead process are free again."""
        ...

    async def shown(self, row_id: str, preview: str) -> None:
        """Remember the message that shows the draft, for a re-run after a crash."""
        ...

    async def renew(self, row_ids: Sequence[str], until: datetime) -> None:
        """Keep holding claimed rows."""
        ...

    async def retract(self, conversation: Conversation, keys: Sequence[str]) -> Sequence[str]:
        """Wipe these messages of the chat: waiting ones are done without an answer, ones that
        come later than their retraction are duplicates. The turn ids of those we had.
        """
        ...

    async def purge(self, before: datetime) -> int:
        """Forget finished rows and dedupe keys older than `before` (kept >= 7 days)."""
        ...


class Retractions(Protocol):
    """The inbox's part in messages that are taken back."""

    async def retract(self, conversation: Conversation, keys: Sequence[str]) -> Sequence[str]:
        """As in Inbox."""
        ...

    async def retracted(self, turn_ids: Sequence[str] | None = None) -> Sequence[str]:
        """Turns whose message was taken back, as long as the inbox knows; or those of these."""
        ...


@dataclass(frozen=True, slots=True)
class DueCall:
    """An outbox row to be sent now. `method` is set when a repeat must use the same one."""

    call: OutboundCall
    attempts: int
    method: SendMethod | None = None


class Outbox(Protocol):
    """Durable outbox rows: pending -> sending -> sent | unknown | dead."""

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> Sequence[DueCall]:
        """Due rows whose conversation has no earlier unsent row."""
        ...

    async def sending(self, call_id: str, method: SendMethod) -> None:
        """Durable before the socket is written to."""
        ...

    async def sent(self, call_id: str, now: datetime) -> None:
        """Wipes the text (DESIGN section 8.8)."""
        ...

    async def postpone(
        self,
        call_id: str,
        until: datetime,
        reason: str,
        *,
        without_handle: bool = False,
        uncounted: bool = False,
    ) -> None:
        """Due again at `until`; `without_handle` drops the one-time way and the method chosen,
        `uncounted` gives the attempt back (nothing was written to a socket).
        """
        ...

    async def give_up(self, call_id: str, state: str, reason: str, now: datetime) -> None:
        """`state` is "unknown" or "dead"."""
        ...

    async def recover(self, now: datetime) -> Sequence[str]:
        """At start: "sending" rows become pending when their method is idempotent, else
        "unknown"; returns ids of the latter.
        """
        ...

    async def listed(self, states: Sequence[str], limit: int) -> Sequence[Mapping[str, Any]]:
        """Dead letters and unknown outcomes, for people."""
        ...

    async def replay(
        self, call_id: str, now: datetime, states: Sequence[str] = ("dead", "unknown")
    ) -> None:
        """A dead or unknown call is due once more, by a person's decision; NotFoundError when it
        is in none of these states, or its text is gone.
        """
        ...


class Audit(Protocol):
    """The access log and the security audit."""

    async def record(self, entry: AccessEntry) -> None: ...
    async def event(self, event: SecurityEvent) -> None: ...
    async def entries(
        self, collection_id: str | None, limit: int, *, denied_only: bool = False
    ) -> Sequence[AccessEntry]: ...
    async def purge(self, before: datetime) -> int: ...


class Forgetting(Protocol):
    """Sources that go, and plans to forget what was said with their help (FEATURES A23)."""

    async def remove_source(
        self, source_id: str, at: datetime, event: SecurityEvent, *, plans: bool
    ) -> Planned | None:
        """As Sources.remove, with its plans and all audit rows in the same transaction; the
        event's actor has planned. None: it was gone already, and nothing was planned.
        """
        ...

    async def plans(self, states: Iterable[PlanState], limit: int) -> Sequence[ForgetPlan]:
        """Newest first."""
        ...

    async def decide(self, plan_id: str, by: str, at: datetime, *, approve: bool) -> ForgetPlan:
        """NotFoundError; ConflictError where it was decided otherwise before."""
        ...

    async def apply(self, plan_id: str, by: str, at: datetime) -> int:
        """Wipe question, answer and excerpts of its turns; how many had any. NotFoundError;
        ConflictError `not_approved`. A repeat finds nothing left.
        """
        ...


class AccessLog(Protocol):
    """The access log as people read it, newest first."""

    async def reads_of(self, collection_id: str, limit: int, before: Mark | None) -> Page:
        """Reads (not refusals) within whose scope the collection was."""
        ...

    async def denied(self, limit: int, before: Mark | None) -> Page:
        """Refused reads, of every collection and of none."""
        ...

    async def question_key(self) -> bytes:
        """Of this home alone; for `question_hash`."""
        ...


# ---------------------------------------------------------------- channels


class Channel(Protocol):
    """One platform account we run. Messages enter through `inbox.accept` only."""

    @property
    def name(self) -> str:
        """The platform: `line`, `webchat`."""
        ...

    @property
    def account_name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def state(self) -> ChannelState: ...

    async def run(self, accept: Accept) -> None:
        """Keep the connection by which messages come (polling, socket) until cancelled; returns
        at once where webhooks bring everything. Reconnects by itself; its troubles are `state`.
        """
        ...

    async def check(self) -> Sequence[Check]:
        """Ask the platform whether credentials and webhook are right; for doctor."""
        ...

    def challenge(self, body: bytes) -> str | None:
        """What a verified body wants echoed (Slack's url_verification), else None."""
        ...

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """Verify the raw bytes, then decode; SignatureError, InvalidRequestError."""
        ...

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        """How this call would go out at this moment."""
        ...

    def reserve(self, conversation: Conversation) -> float:
        """Seconds until the platform's rates let a call to this chat go out; 0.0 takes the turn."""
        ...

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome: ...
    async def show_typing(self, message: InboundMessage) -> None:
        """Called again every `limits.typing_every_s` while the turn runs. ChannelError."""
        ...

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """`text` is the next piece of the draft. A channel that cannot show drafts does nothing;
        one that posts a message for it names that in `preview`. ChannelError.
        """
        ...

    def preview(self, turn_id: str) -> str | None:
        """The platform's id of the message that shows the turn's draft, if there is one."""
        ...

    def adopt_preview(self, turn_id: str, preview: str) -> None:
        """Go on with a message that showed the draft before a crash."""
        ...

    async def link_token(self, user_id: str) -> str | None:
        """A token of the platform's own linking flow for a user in a 1:1 chat; None where the
        platform has no such flow. ChannelError.
        """
        ...

    def link_dialog(self, token: str, nonce: str) -> str | None:
        """Where that flow goes on once our page knows the account; None as above."""
        ...

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The file's bytes as they come; whoever reads counts them and stops. Only from the
        platform's own hosts. ChannelError `attachment_unavailable`.
        """
        ...

    async def close(self) -> None: ...


class Replies(Protocol):
    """The durable way out, as the turn sees it."""

    async def put(
        self, turn_id: str, message: InboundMessage, reply: Reply, channel: Channel | None = None
    ) -> None:
        """`channel`: the one that ran the turn, should another have its place by now."""
        ...


class Meter(Protocol):
    """Where figures about the running program go; names are those of docs/operating.md."""

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None: ...
    def observe(self, name: str, value: float, **labels: str) -> None:
        """A duration in seconds."""
        ...


class Unmetered:
    """Implements Meter where nobody measures: tests, and commands that end at once."""

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Nothing is kept."""

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Nothing is kept."""
