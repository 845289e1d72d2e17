"""`knowledge.scope.explain`: why a turn could or could not read, as decided then and as of now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway import catalogue
from gateway.accounts.delegation import Delegation
from gateway.accounts.scopes import ScopeService
from gateway.core.access import AgentSide, Collection, Role
from gateway.core.scope import Reason
from gateway.core.scope_origin import Decision
from gateway.core.scope_reasons import Why
from gateway.core.turns import TurnRecord
from gateway.errors import NotFoundError
from gateway.interfaces import AgentFiles, Turns
from gateway.knowledge.desk import Desk
from gateway.operations.library import account_of
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class TurnReference:
    """A turn, and the collection asked about (id or slug); without one, all that one owns."""

    turn_id: str
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One reason with its sentence."""

    is_readable: bool
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CollectionVerdicts:
    """`then` is None where no reasons were kept: the turn ended before it read anything."""

    collection_id: str
    slug: str
    name: str
    then: Verdict | None
    now: Verdict


@dataclass(frozen=True, slots=True)
class TurnExplanation:
    """For whom the turn was, and the reasons: none of a turn kept by an older release.

    The question is for admins and for who asked it.
    """

    turn_id: str
    asked_at: datetime
    audience: str
    agent_id: str | None
    is_direct: bool
    question: str | None
    generation: int | None  # of the access rules when the turn began
    collections: list[CollectionVerdicts]


@dataclass(frozen=True, slots=True)
class Explaining:
    """What is needed to judge a turn once more, from nothing but its record."""

    desk: Desk
    turns: Turns
    scopes: ScopeService
    delegation: Delegation
    files: AgentFiles

    async def explain(self, caller: Caller, request: TurnReference) -> TurnExplanation:
        """NotFoundError: no such turn, no such collection, not an owner of it; all look alike."""
        owned = await self._owned(caller, request.collection)
        turn = await self.turns.find(request.turn_id)
        if turn is None or not owned:
            raise NotFoundError(request.turn_id)
        now = {each.collection_id: each for each in await self._reasons_now(turn)}
        decision = turn.provenance.decision if turn.provenance is not None else None
        account = account_of(caller)
        return TurnExplanation(
            turn.id,
            turn.asked_at,
            turn.audience.value,
            turn.agent_id,
            turn.is_direct,
            turn.question if account.is_admin or account.id == turn.account_id else None,
            None if decision is None else decision.generation,
            [_verdicts(each, decision, now[each.id], caller) for each in owned if each.id in now],
        )

    async def _owned(self, caller: Caller, reference: str | None) -> Sequence[Collection]:
        """The collections the caller may ask about: one by name, or all that they own."""
        account = account_of(caller)
        if reference is not None:
            return [await self.desk.require(account, reference, Role.OWNER)]
        shelves = await self.desk.shelves(account)
        return [shelf.collection for shelf in shelves if shelf.role is Role.OWNER]

    async def _reasons_now(self, turn: TurnRecord) -> Sequence[Reason]:
        origin = turn.provenance.origin if turn.provenance is not None else None
        if origin is None:
            return []
        audience = await self.delegation.audience(origin)
        return await self.scopes.explain(audience, await self._side(turn.agent_id))

    async def _side(self, agent_id: str | None) -> AgentSide | None:
        """An agent whose folder is gone reads what an archived one does: nothing."""
        if agent_id is None:
            return None
        settings = await self.files.load(agent_id)
        gone = AgentSide(agent_id, "", frozenset(), is_archived=True)
        return gone if settings is None else settings.side


def _verdicts(
    collection: Collection, decision: Decision | None, now: Reason, caller: Caller
) -> CollectionVerdicts:
    then = None if decision is None else _verdict(decision.code_of(collection.id), caller)
    of_now = _verdict(now.code, caller)
    return CollectionVerdicts(collection.id, collection.slug, collection.name, then, of_now)


def _verdict(code: str, caller: Caller) -> Verdict:
    return Verdict(Why(code).is_readable, code, catalogue.text(code, caller.language))


def operations(explaining: Explaining) -> tuple[Operation, ...]:
    """The row of explaining."""
    return (
        Operation(
            "knowledge.scope.explain",
            "Tell why a turn could or could not read one's collections, then and now.",
            Permission.SIGNED_IN,
            TurnReference,
            explaining.explain,
        ),
    )
