"""The documents of one agent: made at the first upload, gone and back with the agent (A26)."""

import asyncio
import dataclasses
from dataclasses import dataclass

import structlog

from gateway.core.access import Account, Agent, Collection, Sensitivity
from gateway.core.agents import AgentKnowledge, ListChange
from gateway.core.audit import SecurityEvent
from gateway.core.binding_rules import AgentAct, may
from gateway.core.own_documents import OwnCollection, own_name
from gateway.core.slugs import slug_of
from gateway.errors import ConflictError, GatewayError, NotFoundError
from gateway.interfaces import (
    Act,
    AgentEditing,
    Agents,
    Audit,
    Clock,
    Collections,
    Ids,
    OwnCollections,
)

log = structlog.get_logger()
SYSTEM = "system"
ARCHIVE_FAILED = "knowledge_own_collection_archived_failed"
RESTORE_FAILED = "knowledge_own_collection_restored_failed"


@dataclass(frozen=True, slots=True)
class Ensured:
    """An agent's own collection; `listed` is what making it did to the agent's own list."""

    own: OwnCollection
    is_new: bool
    listed: ListChange | None = None


@dataclass(frozen=True, slots=True)
class OwnSeams:
    """What it is made of."""

    own: OwnCollections
    agents: Agents
    editing: AgentEditing
    collections: Collections
    audit: Audit
    clock: Clock
    ids: Ids
    most: int  # collections there may be


class OwnDocuments:
    """Makes an agent's collection, and lets it follow the agent.

    The store and `agent.toml` share no transaction: the store goes first and remembers that the
    agent's list is owed the new collection, so that the next upload or start adds it.
    """

    def __init__(self, seams: OwnSeams) -> None:
        self._seams = seams
        self._one_at_a_time = asyncio.Lock()

    async def ensure(
        self, account: Account, agent_id: str, sensitivity: Sensitivity, *, with_bound: bool
    ) -> Ensured:
        """The agent's collection, made where there is none; its owners and admins only.

        NotFoundError for everybody else. ConflictError `agent_archived`, and `agent_file_broken`
        where `[knowledge]` cannot be read: nothing is made then.
        """
        agent = await self._seams.agents.find(agent_id)
        role = (await self._seams.agents.bindings(agent_id)).get(account.id)
        if agent is None or not may(account, role, AgentAct.EDIT):
            raise NotFoundError(agent_id)
        async with self._one_at_a_time:
            own = await self._seams.own.find(agent.id)
            if own is None:
                return await self._made(account, agent, sensitivity, with_bound=with_bound)
            listed = await self._list_if_owed(own)
            return Ensured(own, is_new=False, listed=listed)

    async def settle(self, agent_id: str) -> None:
        """Archive or restore the agent's collection, as the agent is now; a failure is told."""
        try:
            present = await self._seams.editing.present([agent_id])
            await self._seams.own.settle(
                agent_id, is_present=agent_id in present, at=self._seams.clock.now()
            )
        except GatewayError as error:
            log.warning("own collection not settled", agent=agent_id, code=error.code)
            await self._tell_failed(agent_id, error.code)

    async def reconcile(self) -> None:
        """At the start: follow what happened to agents and their folders meanwhile."""
        for own in await self._seams.own.list():
            await self.follow(own.agent_id)

    async def follow(self, agent_id: str) -> None:
        """The same for one agent, whose folder was taken away or is back."""
        await self.settle(agent_id)
        async with self._one_at_a_time:
            now = await self._seams.own.find(agent_id)
            if now is not None:
                await self._list_if_owed(now)

    async def _made(
        self, account: Account, agent: Agent, sensitivity: Sensitivity, *, with_bound: bool
    ) -> Ensured:
        knowledge = await self._seams.editing.knowledge(agent.id)
        if knowledge is None:
            raise ConflictError(agent.id, code="agent_file_broken")
        by = Act(account.id, self._seams.clock.now())
        draft = self._draft(agent, sensitivity)
        try:
            own, is_new = await self._create(agent, draft, by, knowledge, with_bound=with_bound)
        except ConflictError as error:
            if error.code != "slug_taken":
                raise
            draft = _with_other_slug(draft)
            own, is_new = await self._create(agent, draft, by, knowledge, with_bound=with_bound)
        if not own.owes_listing:
            return Ensured(own, is_new, ListChange.NO_LIST if is_new else None)
        try:
            listed = await self._list(own)
        except (ConflictError, NotFoundError):  # broken or taken away in this very moment
            await self._seams.collections.remove(own.collection.id, event=_undone(own, by))
            raise
        return Ensured(own, is_new, listed)

    async def _create(
        self,
        agent: Agent,
        draft: Collection,
        by: Act,
        knowledge: AgentKnowledge,
        *,
        with_bound: bool,
    ) -> tuple[OwnCollection, bool]:
        listed = knowledge.collections
        return await self._seams.own.create(
            agent.id,
            draft,
            by,
            with_bound=with_bound,
            listed=None if listed is None else ",".join(sorted(listed | {draft.slug})),
            most=self._seams.most,
        )

    def _draft(self, agent: Agent, sensitivity: Sensitivity) -> Collection:
        new_id = self._seams.ids.new()
        name = own_name(agent.display_name, agent.id)
        return Collection(new_id, 0, slug_of(name, f"kb-{_short(new_id)}"), name, sensitivity)

    async def _list_if_owed(self, own: OwnCollection) -> ListChange | None:
        """None where nothing was owed, or the file is away or cannot be read: it stays owed."""
        if not own.owes_listing:
            return None
        try:
            return await self._list(own)
        except GatewayError as error:
            log.warning("own collection not listed yet", agent=own.agent_id, code=error.code)
            return None

    async def _list(self, own: OwnCollection) -> ListChange:
        found = await self._seams.editing.list_collection(own.agent_id, own.collection.slug)
        await self._seams.own.note_listed(own.agent_id)
        return found

    async def _tell_failed(self, agent_id: str, code: str) -> None:
        """Which of the two failed is told by how the collection stands."""
        try:
            own = await self._seams.own.find(agent_id)
            is_archived = own is not None and own.collection.is_archived
            event = RESTORE_FAILED if is_archived else ARCHIVE_FAILED
            details = {"agent_id": agent_id, "code": code}
            await self._seams.audit.event(
                SecurityEvent(event, self._seams.clock.now(), SYSTEM, details)
            )
        except GatewayError as error:  # the store itself is what failed; the next start settles it
            log.warning("failure not recorded", agent=agent_id, code=error.code)


def _with_other_slug(draft: Collection) -> Collection:
    return dataclasses.replace(draft, slug=f"{draft.slug[:55].rstrip('-')}-{_short(draft.id)}")


def _short(new_id: str) -> str:
    return new_id.replace("-", "")[-8:]


def _undone(own: OwnCollection, by: Act) -> SecurityEvent:
    details = {
        "agent_id": own.agent_id,
        "collection_id": own.collection.id,
        "slug": own.collection.slug,
    }
    return SecurityEvent("knowledge_collection_deleted", by.at, by.account_id or "", details)
