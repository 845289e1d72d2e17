"""Asking a colleague in the midst of a turn: whom, for whom, and what comes back (FEATURES A3)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from gateway.asked import Answered, Asked
from gateway.core.agents import AgentSettings
from gateway.core.colleagues import MAX_DEPTH, MOST_COLLEAGUES
from gateway.core.grounds import Told
from gateway.errors import GatewayError
from gateway.interfaces import AgentFiles, Clock, Ids

log = structlog.get_logger()
LONGEST_S = 120.0
LetAnswer = Callable[[Asked], Awaitable[Answered]]


@dataclass(frozen=True, slots=True)
class Consulting:
    """Finds the colleagues of an agent and has one of them answer, in a turn of its own.

    None of them is asked twice in one chain, and a chain has MAX_DEPTH of them at most.
    """

    files: AgentFiles
    ids: Ids
    clock: Clock
    longest_s: float = LONGEST_S

    async def offered(self, agent: AgentSettings, asked: Asked) -> tuple[AgentSettings, ...]:
        """Whom the agent may ask in this turn: those its settings name that answer at all."""
        if len(asked.asked_by) >= MAX_DEPTH:
            return ()
        named = [each for each in agent.colleagues if each not in asked.asked_by]
        found = [await self._find(each) for each in named[:MOST_COLLEAGUES]]
        return tuple(each for each in found if each is not None)

    async def ask(
        self, asked: Asked, answer: LetAnswer, agent_id: str, question: str
    ) -> Told | None:
        """The colleague's answer; None where it has none: gone meanwhile, failed, too slow."""
        if await self._find(agent_id) is None:
            return None
        below = asked.of_colleague(agent_id, question, self.ids.new(), self.clock.now())
        try:
            async with asyncio.timeout(self.longest_s):
                done = await answer(below)
        except (GatewayError, TimeoutError) as error:
            code = error.code if isinstance(error, GatewayError) else "timeout"
            log.warning("colleague did not answer", turn=below.turn_id, agent=agent_id, code=code)
            return None
        if done.reading is None:
            return None
        cited = frozenset(each.n for each in done.answer.citations)
        return Told(below.turn_id, done.answer.text, cited, done.reading, done.grounds)

    async def _find(self, agent_id: str) -> AgentSettings | None:
        found = await self.files.load(agent_id)
        return None if found is None or found.is_archived else found
