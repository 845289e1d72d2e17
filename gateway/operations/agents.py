"""`agents.*`: AI employees, the people bound to them, and where their settings are changed."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gateway.core.access import Account, Agent, AgentSide, Audience, AudienceKind, BindingRole
from gateway.core.agents import AgentKnowledge, AgentSettings, SettingsChange
from gateway.core.audit import Details
from gateway.core.binding_rules import AgentAct, may, may_place, shared_slugs
from gateway.errors import ConflictError, GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import (
    Accounts,
    AgentChanges,
    AgentEditing,
    AgentFiles,
    Agents,
    Clock,
    Grants,
)
from gateway.operations.acting import account_by, act_of, is_admin
from gateway.operations.agent_types import (
    AgentDetails,
    AgentReference,
    AgentUpdate,
    AgentView,
    Binding,
    BindingView,
    HandOver,
    KnowledgeChange,
    KnowledgeView,
    NewAgent,
    knowledge_view,
    merged,
    new_settings,
    settings_change,
)
from gateway.operations.auth import Nothing
from gateway.operations.table import Caller, Operation, Permission

OnAgentChange = Callable[[str], Awaitable[None]]
NOBODY = Audience(AudienceKind.NONE)
LIST_CHANGED = "knowledge_agent_binding_changed"


async def nothing_follows(_agent_id: str) -> None:
    """Where nobody waits for agents to come and go."""


@dataclass(frozen=True, slots=True)
class AgentSeams:
    """What the agents' desk is made of."""

    accounts: Accounts
    agents: Agents
    changes: AgentChanges
    files: AgentFiles
    editing: AgentEditing
    grants: Grants
    clock: Clock
    on_change: OnAgentChange = nothing_follows  # archived, restored or handed over


class AgentDesk:
    """Owners and admins edit, operators see, viewers talk; absent and forbidden look alike."""

    def __init__(self, seams: AgentSeams) -> None:
        self._seams = seams

    async def list(self, caller: Caller, _request: Nothing) -> Sequence[AgentView]:
        """Agents the caller is bound to, admins all; archived and missing ones say so."""
        return await self._views(caller)

    async def list_all(self, caller: Caller, _request: Nothing) -> Sequence[AgentView]:
        """Every agent."""
        return await self._views(caller)

    async def get(self, caller: Caller, request: AgentReference) -> AgentDetails:
        """Settings and people of an agent; what a viewer may not see is left out."""
        agent, role = await self._required(caller, request.agent_id, AgentAct.TALK)
        settings = await self._seams.files.load(agent.id)
        view = _view(agent, role, is_missing=settings is None)
        account = caller.account
        if settings is None or (account is not None and not may(account, role, AgentAct.SEE)):
            is_seen = account is None or may(account, role, AgentAct.SEE)
            bindings = await self._bindings(agent.id) if is_seen else []
            return AgentDetails(view, [], "", None, bindings)
        knowledge = await self._seams.editing.knowledge(agent.id)
        return AgentDetails(
            view,
            [settings.model, *settings.fallbacks],
            settings.persona,
            knowledge_view(agent.id, knowledge),
            await self._bindings(agent.id),
        )

    async def create(self, caller: Caller, request: NewAgent) -> AgentView:
        """Add an agent: its folder, its record, its creator as owner. Managers and admins."""
        account, settings = caller.account, new_settings(request)
        if account is not None and account.role.value == "member":
            raise NotFoundError(request.id)
        _check_place(account, "", settings.department)
        is_there = await self._seams.editing.present([request.id])
        is_taken = await self._seams.agents.find(request.id) is not None
        if is_taken or (is_there and not is_admin(caller)):  # a folder that somebody else laid
            raise ConflictError(request.id, code="agent_exists")
        await self._seams.files.create(settings)
        agent = Agent(request.id, settings.display_name, settings.department)
        await self._seams.changes.add(agent, act_of(caller, self._seams.clock))
        role = BindingRole.OWNER if account is not None else None
        return _view(agent, role, is_missing=False)

    async def update(self, caller: Caller, request: AgentUpdate) -> AgentView:
        """Change settings: the file before the record, for that is what turns read."""
        agent, role = await self._required(caller, request.agent_id, AgentAct.EDIT)
        change = settings_change(request)
        before = await self._seams.files.load(agent.id)
        if before is None:
            raise NotFoundError(agent.id)
        if change.department is not None:
            _check_place(caller.account, before.department, change.department)
        department = before.department if change.department is None else change.department
        details = {"fields": ",".join(change.fields), "department": department}
        async with self._on_record(caller, agent.id, "agent_updated", details):
            await self._seams.editing.update(agent.id, change)
        after = await self._seams.files.load(agent.id) or before
        named = SettingsChange(after.display_name, after.department)
        await self._seams.changes.save(agent.id, named)
        agent = Agent(agent.id, after.display_name, after.department, agent.is_archived)
        return _view(agent, role, is_missing=False)

    async def bind(self, caller: Caller, request: Binding) -> None:
        """Give an account a role with an agent, or end it; ConflictError `last_owner`."""
        agent, _ = await self._required(caller, request.agent_id, AgentAct.EDIT)
        account = await account_by(self._seams.accounts, request.account)
        by = act_of(caller, self._seams.clock)
        await self._seams.changes.bind(agent.id, account.id, request.role, by)

    async def archive(self, caller: Caller, request: AgentReference) -> AgentView:
        """It answers nobody and reads nothing until it is restored."""
        return await self._set_archived(caller, request, is_archived=True)

    async def restore(self, caller: Caller, request: AgentReference) -> AgentView:
        """Back, with the people it was bound to."""
        return await self._set_archived(caller, request, is_archived=False)

    async def hand_over(self, caller: Caller, request: HandOver) -> AgentView:
        """Another account owns the agent alone; it rests until that one restores it."""
        agent, _ = await self._required(caller, request.agent_id, AgentAct.EDIT)
        account = await account_by(self._seams.accounts, request.to)
        by = act_of(caller, self._seams.clock)
        after = await self._seams.changes.hand_over(
            agent.id, account.id, by, archive=request.archive
        )
        await self._seams.on_change(agent.id)
        return await self._viewed(caller, after)

    async def knowledge(self, caller: Caller, request: AgentReference) -> KnowledgeView:
        """`[knowledge]` as it is now."""
        agent, _ = await self._required(caller, request.agent_id, AgentAct.SEE)
        return knowledge_view(agent.id, await self._seams.editing.knowledge(agent.id))

    async def set_knowledge(self, caller: Caller, request: KnowledgeChange) -> KnowledgeView:
        """Write `[knowledge]`; it holds from the next turn on. Owners and admins.

        ConflictError `agent_file_broken` where what is there cannot be read, without `replace`.
        """
        agent, _ = await self._required(caller, request.agent_id, AgentAct.EDIT)
        before = await self._seams.editing.knowledge(agent.id)
        if before is None and not request.replace:
            raise ConflictError(agent.id, code="agent_file_broken")
        after = merged(before or AgentKnowledge(), request)
        listed = before.collections if before is not None else None
        await self._check_shared(agent.id, _slugs(after.collections) - _slugs(listed))
        told = "*" if after.collections is None else ",".join(sorted(after.collections))
        async with self._on_record(caller, agent.id, LIST_CHANGED, {"collections": told}):
            editing, replace = self._seams.editing, request.replace
            is_new = await editing.set_knowledge(agent.id, after, replace=replace)
            if is_new:
                named = SettingsChange(agent.display_name, agent.department)
                await editing.update(agent.id, named)
        await self._seams.changes.save(agent.id, SettingsChange())
        return knowledge_view(agent.id, after)

    @asynccontextmanager
    async def _on_record(
        self, caller: Caller, agent_id: str, event: str, details: Details
    ) -> AsyncIterator[None]:
        """The file is written inside: told of before, and again where it was not."""
        by = act_of(caller, self._seams.clock)
        await self._seams.changes.announce(agent_id, event, details, by)
        try:
            yield
        except GatewayError as error:
            failed = {**details, "code": error.code}
            await self._seams.changes.failed(agent_id, event, failed, by)
            raise

    async def _set_archived(
        self, caller: Caller, request: AgentReference, *, is_archived: bool
    ) -> AgentView:
        by = act_of(caller, self._seams.clock)
        agent = await self._seams.changes.set_archived(
            request.agent_id, is_archived=is_archived, by=by
        )
        await self._seams.on_change(agent.id)
        return await self._viewed(caller, agent)

    async def _required(
        self, caller: Caller, agent_id: str, act: AgentAct
    ) -> tuple[Agent, BindingRole | None]:
        """The agent and the caller's role with it; one NotFoundError, after the same reads."""
        agent = await self._seams.agents.find(agent_id)
        bindings = await self._seams.agents.bindings(agent_id)
        account = caller.account
        role = bindings.get(account.id) if account is not None else None
        is_allowed = is_admin(caller) if account is None else may(account, role, act)
        if agent is None or not is_allowed:
            raise NotFoundError(agent_id)
        return agent, role

    async def _views(self, caller: Caller) -> Sequence[AgentView]:
        account = caller.account
        roles = await self._seams.agents.roles_of(account.id) if account is not None else {}
        seen = [
            agent
            for agent in await self._seams.agents.list()
            if is_admin(caller) or agent.id in roles
        ]
        present = await self._seams.editing.present(agent.id for agent in seen)
        return [
            _view(agent, roles.get(agent.id), is_missing=agent.id not in present) for agent in seen
        ]

    async def _viewed(self, caller: Caller, agent: Agent) -> AgentView:
        account = caller.account
        bindings = await self._seams.agents.bindings(agent.id)
        role = bindings.get(account.id) if account is not None else None
        present = await self._seams.editing.present([agent.id])
        return _view(agent, role, is_missing=not present)

    async def _bindings(self, agent_id: str) -> Sequence[BindingView]:
        bindings = await self._seams.agents.bindings(agent_id)
        known = {account.id: account for account in await self._seams.accounts.list()}
        return [
            BindingView(who.id, who.login, who.display_name, role, who.is_active)
            for account_id, role in bindings.items()
            if (who := known.get(account_id)) is not None
        ]

    async def _check_shared(self, agent_id: str, added: frozenset[str]) -> None:
        """Only what is shared with the agent can be checked anew; all else is refused alike."""
        settings = await self._seams.files.load(agent_id) or AgentSettings(agent_id, agent_id)
        side = AgentSide(agent_id, settings.department, None)
        shared = shared_slugs(side, await self._seams.grants.facts(NOBODY, side))
        if not added <= shared:
            raise InvalidRequestError("slug", reason="collections: not shared with this agent")


def _slugs(collections: frozenset[str] | None) -> frozenset[str]:
    return collections or frozenset()


def _check_place(account: Account | None, before: str, after: str) -> None:
    if account is not None and not may_place(account, before, after):
        raise InvalidRequestError("department", reason="department: your own, or none")


def _view(agent: Agent, role: BindingRole | None, *, is_missing: bool) -> AgentView:
    return AgentView(
        agent.id,
        agent.display_name,
        agent.department,
        agent.is_archived,
        None if role is None else role.value,
        is_missing,
    )


def operations(desk: AgentDesk) -> tuple[Operation, ...]:
    """The rows of `agents.*`; what one may do with which agent is looked at inside."""
    either = Permission.SIGNED_IN_OR_LOCAL
    admin, manager = Permission.ADMIN, Permission.MANAGER
    rows: tuple[tuple[str, str, Permission, type[Any], Any], ...] = (
        ("list", "List the agents one works with.", either, Nothing, desk.list),
        ("list_all", "List all agents.", admin, Nothing, desk.list_all),
        ("get", "Tell of an agent.", either, AgentReference, desk.get),
        ("create", "Add an agent.", manager, NewAgent, desk.create),
        ("update", "Change an agent's settings.", either, AgentUpdate, desk.update),
        ("bind", "Bind a person to an agent.", either, Binding, desk.bind),
        ("archive", "Put an agent away.", either, AgentReference, desk.archive),
        ("restore", "Take an agent back.", either, AgentReference, desk.restore),
        ("hand_over", "Give an agent to another owner.", either, HandOver, desk.hand_over),
        ("knowledge.get", "Tell its `[knowledge]`.", either, AgentReference, desk.knowledge),
        ("knowledge.set", "Write it.", either, KnowledgeChange, desk.set_knowledge),
    )
    return tuple(Operation(f"agents.{name}", *rest) for name, *rest in rows)
