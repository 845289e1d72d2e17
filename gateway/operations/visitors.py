"""What a visitor of a website may get at: an agent that is there, and what was said to them."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.access import Audience, AudienceKind, ChatAddress
from gateway.core.agents import AgentSettings
from gateway.core.history import is_showable
from gateway.core.messages import CitationView, Conversation
from gateway.core.scope import Scope
from gateway.core.turns import TurnRecord
from gateway.errors import NotFoundError
from gateway.interfaces import AgentFiles, Scopes, Turns

MOST_TURNS = 50  # shown to a visitor who comes back


@dataclass(frozen=True, slots=True)
class Said:
    """A finished turn; `text` is None where what it rests on may not be read any more."""

    turn_id: str
    question: str
    text: str | None
    citations: tuple[CitationView, ...] = ()


class VisitorDesk:
    """Reads for nobody in particular: every look is at the scope as it is now."""

    def __init__(
        self, files: AgentFiles, scopes: Scopes, turns: Turns, *, is_open: bool = True
    ) -> None:
        """`is_open` false ([knowledge] enabled): nothing can be read."""
        self._files = files
        self._scopes = scopes
        self._turns = turns
        self._is_open = is_open

    async def agent(self, agent_id: str) -> AgentSettings:
        """Unknown and archived alike: NotFoundError."""
        agent = await self._files.load(agent_id)
        if agent is None or agent.is_archived:
            raise NotFoundError("agent")
        return agent

    async def said(
        self, conversation: Conversation, agent_id: str, after_turn_id: str | None
    ) -> Sequence[Said]:
        """The newest turns of this conversation, or those after one, oldest first.

        Whoever asks must have shown that it is their own.
        """
        scope = await self._scope(conversation, agent_id)
        turns = await self._turns.of_conversation(conversation.lane, MOST_TURNS, after_turn_id)
        return [_said(turn, scope) for turn in turns if turn.agent_id == agent_id]

    async def may_get(self, conversation: Conversation, agent_id: str, turn_id: str) -> bool:
        """Whether a finished answer that waited for the visitor may still be shown."""
        turn = await self._turns.find(turn_id)
        if turn is None:
            return True
        return _said(turn, await self._scope(conversation, agent_id)).text is not None

    async def _scope(self, conversation: Conversation, agent_id: str) -> Scope:
        agent = await self.agent(agent_id)
        address = ChatAddress(conversation.channel, conversation.account_name, conversation.id)
        audience = Audience(AudienceKind.VISITOR, address=address)
        scope = await self._scopes.scope(audience, agent.side)
        return scope if self._is_open else scope.narrow(frozenset())


def _said(turn: TurnRecord, scope: Scope) -> Said:
    if not turn.answer.strip() or not is_showable(turn, scope.collections):
        return Said(turn.id, turn.question, None)
    cited = tuple(
        CitationView(
            each.n,
            str(each.passage_id),
            each.source_id,
            each.title,
            each.locator,
            each.excerpt,
        )
        for each in turn.citations
        if each.is_cited
    )
    return Said(turn.id, turn.question, turn.answer, cited)
