"""Collections and who may do what with them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from gateway.core.access import (
    Account,
    Agent,
    AgentSide,
    Audience,
    Collection,
    Grant,
    ScopeFacts,
    SubjectKind,
)
from gateway.core.audit import SecurityEvent
from gateway.core.messages import InboundMessage
from gateway.core.own_documents import OwnCollection
from gateway.core.scope import Scope
from gateway.core.sharing import Shareable
from gateway.interfaces.people import Act


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
        where there are `most` already. As core/folders.py where it has a parent. Here and below
        `event` goes in the same transaction.
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
        """Optimistic: ConflictError (with `version`) unless the stored version is `version`. As
        core/folders.py where it gets another parent.
        """
        ...

    async def remove(
        self,
        collection_id: str,
        *,
        version: int | None = None,
        event: SecurityEvent | None = None,
        held_by: frozenset[str] = frozenset(),
    ) -> None:
        """Tombstone: hidden at once, its sources go one by one by a job. With `version`
        ConflictError where it moved; `folder_not_empty` where one of `held_by` lies in it. What
        else does has no parent then.
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


class Scopes(Protocol):
    """Gathers facts and applies the rule of core/scope.py."""

    async def audience(self, message: InboundMessage) -> Audience: ...
    async def scope(self, audience: Audience, agent: AgentSide | None) -> Scope: ...
    async def renew(self, first: Scope, agent: AgentSide | None) -> Scope:
        """The scope as it is now, intersected with the first of this turn."""
        ...
