"""`chat.ask`: one question, one answer, without a channel."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.core.access import Account, Audience, AudienceKind
from gateway.core.messages import CitationView
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.interfaces import AgentFiles, Agents
from gateway.operations.library import account_of
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question to an agent, or to the library itself where no agent is named."""

    text: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class AskAnswer:
    """The answer with [n] marks, its footer apart, and what it cites."""

    turn_id: str
    text: str
    footer: str
    citations: list[CitationView]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the audience it is asked for."""

    text: str
    audience: Audience
    agent_id: str | None
    language: str | None


Answer = Callable[[Question], Awaitable[AskAnswer]]


class Asking:
    """Checks that the account may talk to the agent, then asks."""

    def __init__(self, agents: Agents, files: AgentFiles, answer: Answer) -> None:
        self._agents = agents
        self._files = files
        self._answer = answer

    async def ask(self, caller: Caller, request: AskRequest) -> AskAnswer:
        """As the dashboard without an agent; with one, agent and account, never 1:1."""
        account = account_of(caller)
        if not request.text.strip():
            raise InvalidRequestError("empty", reason="text: empty")
        if request.agent is None:
            audience = Audience(AudienceKind.DASHBOARD, account, is_direct=True)
        else:
            await check_agent(self._agents, self._files, request.agent, account)
            audience = Audience(AudienceKind.ACCOUNT_DOOR, account)
        language = account.language or caller.language
        return await self._answer(Question(request.text, audience, request.agent, language))


async def check_agent(agents: Agents, files: AgentFiles, agent_id: str, account: Account) -> None:
    """Absent, archived and not bound to the account look alike: NotFoundError."""
    settings = await files.load(agent_id)
    is_bound = account.is_admin or account.id in await agents.bindings(agent_id)
    if settings is None or settings.is_archived or not is_bound:
        raise NotFoundError(agent_id)


def operations(asking: Asking) -> tuple[Operation, ...]:
    """The row of asking."""
    return (
        Operation("chat.ask", "Ask one question.", Permission.SIGNED_IN, AskRequest, asking.ask),
    )
