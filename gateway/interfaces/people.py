"""Accounts, sessions, agents, and whose sender is whose account."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from gateway.core.access import Account, Agent, BindingRole
from gateway.core.agents import AgentKnowledge, AgentSettings, ListChange, SettingsChange
from gateway.core.audit import Details
from gateway.core.link_codes import LinkOutcome
from gateway.core.messages import Sender
from gateway.core.people import AccountChange


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
    """A browser session, an API token or an agent's key; only its secret's SHA-256 is kept."""

    secret_sha256: str
    account_id: str  # of an agent's key: who made it
    kind: str  # "session" | "token" | "agent"
    label: str
    created_at: datetime
    expires_at: datetime
    agent_id: str | None = None  # of an agent's key alone

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


class AgentKeys(Protocol):
    """Keys that let a program ask one agent. NotFoundError: no such agent, or not for `by` to
    change.
    """

    async def add(self, key: Session, most: int, by: Act) -> None:
        """With its audit row. ConflictError `agent_archived`; `too_many_tokens`: `most` hold."""
        ...

    async def list(self, agent_id: str, by: Act) -> Sequence[Session]:
        """Those that hold, newest first."""
        ...

    async def revoke(self, key_id: str, by: Act) -> None:
        """With its audit row."""
        ...


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

    async def announce(self, agent_id: str, event: str, details: Details, by: Act) -> None:
        """The audit row of a change of `agent.toml`, before it is written: a file that differs
        has its row, whatever ends the process.
        """
        ...

    async def failed(self, agent_id: str, event: str, details: Details, by: Act) -> None:
        """The row that takes it back: the file is as it was."""
        ...

    async def save(self, agent_id: str, named: SettingsChange) -> None:
        """`agent.toml` was written: keep the name and department given; scopes are looked at
        anew.
        """
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
