"""What the operations of an agent's documents take and give."""

from dataclasses import dataclass

from gateway.core.access import Sensitivity


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """An agent's own collection, made where there is none; shared with nobody unless asked."""

    agent_id: str
    sensitivity: Sensitivity = Sensitivity.INTERNAL
    share_chat_users: bool = False


@dataclass(frozen=True, slots=True)
class OwnView:
    """An agent's own collection and what making it did to the agent's list, with a notice."""

    collection_id: str
    slug: str
    name: str
    sensitivity: str
    is_new: bool
    is_archived: bool
    list_change: str | None
    notice: str | None


@dataclass(frozen=True, slots=True)
class ReaderView:
    """Somebody else who may read it, for its owners."""

    kind: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class ReaderCounts:
    """How many others may read it, the agent itself and whoever asks aside."""

    people: int
    departments: int
    agents: int
    channels: int


@dataclass(frozen=True, slots=True)
class DataSourceView:
    """A collection that an agent was given; `role` is the asker's, `readers` for owners alone."""

    collection_id: str
    slug: str
    name: str
    sensitivity: str
    is_own: bool
    is_archived: bool
    is_used: bool  # shared with the agent, and in its list or it has none
    sources: int
    passages: int
    in_progress: int
    role: str | None
    counts: ReaderCounts
    readers: list[ReaderView] | None


@dataclass(frozen=True, slots=True)
class DataSourcesView:
    """What an agent answers from; `may_create`: the asker's upload would make its own."""

    agent_id: str
    is_archived: bool
    may_create: bool
    sources: list[DataSourceView]
