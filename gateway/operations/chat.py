"""`chat.conversations`, `chat.history`, `chat.agents`: a person's own web chat."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.catalogue import text
from gateway.core.access import Account
from gateway.core.answering import NO_PASSAGE
from gateway.core.history import is_showable
from gateway.core.messages import CitationView, web_chat
from gateway.core.scope import Scope
from gateway.core.turns import TurnRecord
from gateway.errors import GatewayError, NotFoundError
from gateway.interfaces import AgentFiles, Agents, Turns
from gateway.knowledge.desk import Desk
from gateway.operations.ask import check_agent
from gateway.operations.auth import Nothing
from gateway.operations.library import account_of
from gateway.operations.reading import MOST_TURNS, Reading
from gateway.operations.reading_types import RestoredCitation, SessionRequest
from gateway.operations.table import Caller, Operation, Permission

MOST_CONVERSATIONS = 100
TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation by its newest question."""

    conversation_id: str
    agent_id: str | None
    question: str
    answered_at: datetime


@dataclass(frozen=True, slots=True)
class TurnView:
    """A question, its answer with [n] marks, and its citations as the account may see them now.

    An answer that rests on what is gone, or not the account's to read any more, is withheld:
    `text` is the sentence that a search without a result brings.
    """

    turn_id: str
    agent_id: str | None
    question: str
    text: str
    asked_at: datetime
    answered_at: datetime
    citations: list[RestoredCitation]


@dataclass(frozen=True, slots=True)
class ChatAgent:
    """An agent the account may talk to."""

    id: str
    display_name: str
    department: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A turn for a socket that comes back; `text` is None where it is withheld."""

    turn_id: str
    text: str | None
    citations: tuple[CitationView, ...]


class Chat:
    """What the web chat's operations and its socket share."""

    def __init__(
        self,
        agents: Agents,
        files: AgentFiles,
        turns: Turns,
        desk: Desk,
        reading: Reading,
        default_agent: str = "",
    ) -> None:
        self._agents = agents
        self._files = files
        self._turns = turns
        self._desk = desk
        self._reading = reading
        self._default_agent = default_agent

    async def conversations(self, caller: Caller, _request: Nothing) -> list[ConversationView]:
        """The account's own, newest first."""
        account = account_of(caller)
        start = len(web_chat(account.id, "").lane)
        return [
            ConversationView(
                turn.conversation[start:],
                turn.agent_id,
                turn.question[:TITLE_CHARS],
                turn.answered_at,
            )
            for turn in await self._turns.conversations(account.id, MOST_CONVERSATIONS)
        ]

    async def history(self, caller: Caller, request: SessionRequest) -> list[TurnView]:
        """The newest turns of one conversation, oldest first; another's name leads nowhere."""
        account = account_of(caller)
        scope = await self._scope(account)
        lane = web_chat(account.id, request.conversation_id).lane
        views = [
            TurnView(
                turn.id,
                turn.agent_id,
                turn.question,
                _shown(turn, scope, caller.language),
                turn.asked_at,
                turn.answered_at,
                await self._restored(turn, scope),
            )
            for turn in await self._turns.of_conversation(lane, MOST_TURNS)
        ]
        cited = [each for view in views for each in view.citations]
        if cited and scope is not None:
            await self._reading.log_shown(account, scope, cited)
        return views

    async def agents(self, caller: Caller, _request: Nothing) -> list[ChatAgent]:
        """The agents the account may talk to now."""
        return await self._agents_of(account_of(caller))

    async def agent_for(self, account: Account, agent_id: str | None) -> str:
        """The agent named, or the default one; NotFoundError where the account may not talk."""
        if agent_id is not None:
            await check_agent(self._agents, self._files, agent_id, account)
            return agent_id
        offered = await self._agents_of(account)
        if not offered:
            raise NotFoundError("no agent")
        ids = [agent.id for agent in offered]
        return self._default_agent if self._default_agent in ids else ids[0]

    async def finished(
        self, account: Account, conversation: str, after_turn_id: str
    ) -> Sequence[Finished]:
        """Turns after one, in order, with the citations that still lead somewhere."""
        scope = await self._scope(account)
        lane = web_chat(account.id, conversation).lane
        turns = await self._turns.of_conversation(lane, MOST_TURNS, after_turn_id)
        return [
            Finished(turn.id, _said(turn, scope), _whole(await self._restored(turn, scope)))
            for turn in turns
        ]

    async def may_get(self, account: Account, turn_id: str) -> bool:
        """Whether a finished answer that waited for the account may still be shown to it."""
        turn = await self._turns.find(turn_id)
        return turn is None or _said(turn, await self._scope(account)) is not None

    async def _scope(self, account: Account) -> Scope | None:
        """What the account may read now; None where the library is switched off."""
        try:
            return await self._desk.scope(account)
        except GatewayError as error:
            if error.code != "knowledge_disabled":
                raise
            return None

    async def _agents_of(self, account: Account) -> list[ChatAgent]:
        offered = []
        for agent in await self._agents.list():
            try:
                await check_agent(self._agents, self._files, agent.id, account)
            except NotFoundError:
                continue
            offered.append(ChatAgent(agent.id, agent.display_name, agent.department))
        return offered

    async def _restored(self, turn: TurnRecord, scope: Scope | None) -> list[RestoredCitation]:
        return [
            RestoredCitation(turn.id, citation.n)
            if scope is None
            else await self._reading.restored(turn.id, citation, scope)
            for citation in turn.citations
            if citation.is_cited
        ]


def _said(turn: TurnRecord, scope: Scope | None) -> str | None:
    """The answer; None where what it rests on is lost."""
    readable = scope.collections if scope is not None else frozenset[str]()
    return turn.answer if is_showable(turn, readable) else None


def _shown(turn: TurnRecord, scope: Scope | None, language: str | None) -> str:
    said = _said(turn, scope)
    return text(NO_PASSAGE, language) if said is None else said


def _whole(restored: Sequence[RestoredCitation]) -> tuple[CitationView, ...]:
    return tuple(
        CitationView(
            each.n,
            each.chunk_id,
            each.source_id,
            each.title or "",
            each.locator or "",
            each.excerpt or "",
        )
        for each in restored
        if each.chunk_id is not None and each.source_id is not None
    )


def operations(chat: Chat) -> tuple[Operation, ...]:
    """The rows of the web chat."""
    signed_in = Permission.SIGNED_IN
    return (
        Operation(
            "chat.conversations",
            "List one's conversations.",
            signed_in,
            Nothing,
            chat.conversations,
        ),
        Operation(
            "chat.history",
            "Read one of one's conversations.",
            signed_in,
            SessionRequest,
            chat.history,
        ),
        Operation(
            "chat.agents",
            "List the agents one may talk to.",
            signed_in,
            Nothing,
            chat.agents,
        ),
    )
