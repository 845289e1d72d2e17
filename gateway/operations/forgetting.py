"""`knowledge.sources.delete` and `memory.*`: deleting a document, and forgetting with it (A23)."""

from dataclasses import dataclass, field
from datetime import datetime

from gateway.core.access import Role
from gateway.core.forgetting import ForgetPlan, Planned, PlanState
from gateway.errors import NotFoundError
from gateway.interfaces import Agents, Sources
from gateway.knowledge.forgetting import Oblivion
from gateway.operations.library import Keeping, account_of
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class SourceDeletion:
    """The document; with `also_forget_memories` plans for the conversations that cited it."""

    source_id: str
    also_forget_memories: bool = False


@dataclass(frozen=True, slots=True)
class PlansRequest:
    """States to list; none: those that wait for a decision or for their application."""

    states: list[PlanState] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """A plan and what is to become of it."""

    id: str
    approve: bool


@dataclass(frozen=True, slots=True)
class PlanReference:
    """A plan by its id."""

    id: str


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan, with the title that the deleted document left, if it left one."""

    id: str
    state: str
    source_id: str
    title: str
    collection_id: str
    agent_id: str | None
    agent: str
    conversation: str
    turns: int
    planned_by: str
    planned_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    applied_at: datetime | None
    wiped: int | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A plan that was applied, and how many turns lost their text by it this time."""

    id: str
    turns: int


class Forgetting:
    """What these operations share."""

    def __init__(
        self, keeping: Keeping, oblivion: Oblivion, sources: Sources, agents: Agents
    ) -> None:
        self._keeping = keeping
        self._oblivion = oblivion
        self._sources = sources
        self._agents = agents

    async def delete(self, caller: Caller, request: SourceDeletion) -> Planned:
        """Editors; text, index, vectors and excerpts go at once."""
        source = await self._keeping.required(caller, request.source_id, Role.EDITOR)
        return await self._oblivion.delete(
            source, account_of(caller), also_forget_memories=request.also_forget_memories
        )

    async def plans(self, _caller: Caller, request: PlansRequest) -> list[PlanView]:
        """Newest first."""
        states = request.states or [PlanState.PENDING, PlanState.APPROVED]
        names = {agent.id: agent.display_name for agent in await self._agents.list()}
        return [await self._view(plan, names) for plan in await self._oblivion.plans(states)]

    async def decide(self, caller: Caller, request: PlanDecision) -> PlanView:
        """A person decides: an admin's account is needed, at this machine too."""
        account = account_of(caller)
        if not account.is_admin:
            raise NotFoundError(request.id)
        plan = await self._oblivion.decide(request.id, account, approve=request.approve)
        names = {agent.id: agent.display_name for agent in await self._agents.list()}
        return await self._view(plan, names)

    async def apply(self, caller: Caller, request: PlanReference) -> Forgotten:
        """Approved plans only; a repeat forgets nothing more."""
        return Forgotten(request.id, await self._oblivion.apply(request.id, caller.account))

    async def _view(self, plan: ForgetPlan, names: dict[str, str]) -> PlanView:
        known = await self._sources.title_of(plan.source_id)
        return PlanView(
            plan.id,
            plan.state.value,
            plan.source_id,
            known[0] if known is not None else "",
            plan.collection_id,
            plan.agent_id,
            names.get(plan.agent_id or "", plan.agent_id or ""),
            plan.conversation,
            plan.turns,
            plan.planned_by,
            plan.planned_at,
            plan.decided_by,
            plan.decided_at,
            plan.applied_at,
            plan.wiped,
        )


def operations(forgetting: Forgetting) -> tuple[Operation, ...]:
    """The rows of deleting and forgetting."""
    admin = Permission.ADMIN
    return (
        Operation(
            "knowledge.sources.delete",
            "Delete a document, and plan to forget what was said with its help if asked to.",
            Permission.SIGNED_IN,
            SourceDeletion,
            forgetting.delete,
        ),
        Operation(
            "memory.plans.list",
            "List plans to forget what was said with the help of deleted documents.",
            admin,
            PlansRequest,
            forgetting.plans,
        ),
        Operation(
            "memory.plans.decide",
            "Approve or reject a plan to forget.",
            admin,
            PlanDecision,
            forgetting.decide,
        ),
        Operation(
            "memory.forget.apply",
            "Apply an approved plan: question, answer and excerpts of its turns are wiped.",
            admin,
            PlanReference,
            forgetting.apply,
        ),
    )
