"""`agents.dispatch`: asking an agent to do something, never wider than for whom it is done."""

from dataclasses import dataclass

from gateway.accounts.delegation import Delegation
from gateway.core.access import Account, Audience, AudienceKind, BindingRole
from gateway.core.scope_origin import UNKNOWN_UPSTREAM, delegated
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.interfaces import AgentFiles, Agents
from gateway.operations.ask import Answer, AskAnswer, Question, check_agent
from gateway.operations.library import account_of
from gateway.operations.table import Caller, Operation, Permission

SYSTEM = Audience(AudienceKind.SYSTEM)
ASKS_FOR_ITSELF = frozenset({BindingRole.OWNER, BindingRole.OPERATOR})


@dataclass(frozen=True, slots=True)
class DispatchRequest:
    """What an agent is to do; `turn_id` names the turn it comes from, None: from none."""

    agent_id: str
    text: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Dispatching:
    """Decides for whom a dispatch is, then lets the agent answer."""

    agents: Agents
    files: AgentFiles
    delegation: Delegation
    answer: Answer

    async def dispatch(self, caller: Caller, request: DispatchRequest) -> AskAnswer:
        """From a turn: the dispatched agent's side and the audience of that turn, never 1:1.

        Without one it is a system turn, for the agent's owners and operators only.
        """
        account = account_of(caller)
        if not request.text.strip():
            raise InvalidRequestError("empty", reason="text: empty")
        await self._check_agent(caller, account, request)
        audience = await self._audience(caller, account, request.turn_id)
        language = account.language or caller.language
        return await self.answer(Question(request.text, audience, request.agent_id, language))

    async def _check_agent(
        self, caller: Caller, account: Account, request: DispatchRequest
    ) -> None:
        """NotFoundError: no such agent, archived, or not this caller's to ask."""
        if caller.agent is not None:
            await self._check_colleague(caller.agent.agent_id, request.agent_id)
            return
        await check_agent(self.agents, self.files, request.agent_id, account)
        if request.turn_id is None and not account.is_admin:
            bindings = await self.agents.bindings(request.agent_id)
            if bindings.get(account.id) not in ASKS_FOR_ITSELF:
                raise NotFoundError(request.agent_id)

    async def _check_colleague(self, asking: str, asked: str) -> None:
        """An agent asks those that its own settings name as colleagues."""
        mine, other = await self.files.load(asking), await self.files.load(asked)
        if mine is None or mine.is_archived or other is None or other.is_archived:
            raise NotFoundError(asked)
        if asked not in mine.colleagues:
            raise NotFoundError(asked)

    async def _audience(self, caller: Caller, account: Account, turn_id: str | None) -> Audience:
        if caller.turn_id is not None:  # in the midst of a turn: its ticket says for whom it is
            is_own = turn_id in {None, caller.turn_id}
            return delegated(caller.audience, caller.turn_id) if is_own else UNKNOWN_UPSTREAM
        if turn_id is not None:
            return await self.delegation.from_turn(turn_id, account)
        return SYSTEM if caller.agent is None else delegated(caller.audience, None)


def operations(dispatching: Dispatching) -> tuple[Operation, ...]:
    """The row of dispatching."""
    return (
        Operation(
            "agents.dispatch",
            "Ask an agent to do something, for whom one's turn is, or as a system turn.",
            Permission.SIGNED_IN,
            DispatchRequest,
            dispatching.dispatch,
        ),
    )
