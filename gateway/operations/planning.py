"""Who plans the searches of a retrieval: the agent's model, or the built-in rules."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from gateway.core.chat import ChatMessage
from gateway.core.planning import SubQuery, extract, planned, planner_prompt, tokens
from gateway.errors import LanguageModelError
from gateway.interfaces import AgentFiles, Clock, LanguageModels
from gateway.operations.table import Caller

log = structlog.get_logger()
EXTRACTIVE = "extractive"  # the model that needs no other one
DEADLINE_S = 15.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search for, and what planning it took."""

    queries: tuple[SubQuery, ...]
    tokens_in: int
    tokens_out: int
    elapsed_ms: int


class Planner:
    """A model's plan counts only where it has the agreed form; else the rules plan."""

    def __init__(self, files: AgentFiles, models: LanguageModels, clock: Clock) -> None:
        self._files = files
        self._models = models
        self._clock = clock

    async def plan(self, caller: Caller, messages: Sequence[ChatMessage]) -> Plan:
        """At most five searches; none where nothing is asked."""
        began = self._clock.monotonic()
        queries = extract(messages)
        tokens_in = sum(tokens(message.text) for message in messages)
        tokens_out = sum(tokens(each.text) for each in queries)
        if queries:  # small talk needs no model
            asked = await self._asked(caller, messages)
            if asked is not None:
                queries, tokens_in, tokens_out = asked
        return Plan(queries, tokens_in, tokens_out, round((self._clock.monotonic() - began) * 1000))

    async def _asked(
        self, caller: Caller, messages: Sequence[ChatMessage]
    ) -> tuple[tuple[SubQuery, ...], int, int] | None:
        settings = None if caller.agent is None else await self._files.load(caller.agent.agent_id)
        if settings is None or settings.model == EXTRACTIVE:
            return None
        prompt = planner_prompt(messages)
        try:
            model = self._models.find(settings.model, *settings.fallbacks)
            async with asyncio.timeout(DEADLINE_S):
                draft = await model.complete(prompt, (), _unseen)
        except (LanguageModelError, TimeoutError) as error:
            log.warning("planned without the model", reason=type(error).__name__)
            return None
        queries = planned(draft.text)
        if queries is None:
            log.warning("planned without the model", reason="no plan")
            return None
        if draft.usage is not None:
            return queries, draft.usage.tokens_in, draft.usage.tokens_out
        return queries, sum(tokens(each.text) for each in prompt), tokens(draft.text)


async def _unseen(_text: str) -> None:
    """A plan is shown to nobody."""
