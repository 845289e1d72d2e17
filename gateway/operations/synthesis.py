"""A retrieval's answer in a model's words, where the agent is set so (FEATURES E2)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from gateway.catalogue import DEFAULT_LANGUAGE, text
from gateway.core import asking
from gateway.core.access import AgentSide
from gateway.core.agents import AgentSettings, AnswerMode, RetrieveAnswer
from gateway.core.answering import NO_PASSAGE, has_lost_its_grounds, kb_only_reply
from gateway.core.chat import ChatMessage, Draft, TokenUsage
from gateway.core.finishing import finish
from gateway.core.grounding import Reference, with_ref_ids
from gateway.core.messages import Limits, Unit
from gateway.core.planning import divided, tokens
from gateway.core.prompt import build, fit
from gateway.core.scope import Scope, without_restricted
from gateway.core.turns import PresentedPassage
from gateway.errors import LanguageModelError
from gateway.interfaces import (
    AgentFiles,
    Clock,
    Collections,
    LanguageModels,
    PassageIndex,
    Scopes,
)
from gateway.operations.table import Caller

log = structlog.get_logger()
DEADLINE_S = 60.0
WHOLE = Limits(Unit.CODE_POINTS, part_units=1_000_000, parts_per_call=1, footer_units=0)


@dataclass(frozen=True, slots=True)
class WritingSettings:
    """The operator's say over all agents, as for turns."""

    most_chars: int = 12_000  # of passages in a prompt
    language: str = DEFAULT_LANGUAGE
    checks_citations: bool = True


@dataclass(frozen=True, slots=True)
class Written:
    """What stands in place of the passages. `usage` None: no model was asked for it."""

    text: str
    usage: TokenUsage | None = None
    elapsed_ms: int = 0


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Has the agent's model answer from what a retrieval found, and from nothing else."""

    files: AgentFiles
    models: LanguageModels
    scopes: Scopes
    collections: Collections
    passages: PassageIndex
    clock: Clock
    settings: WritingSettings

    async def written(
        self,
        caller: Caller,
        messages: Sequence[ChatMessage],
        scope: Scope,
        references: Sequence[Reference],
    ) -> tuple[Sequence[Reference], Written | None]:
        """The references that can still be read, and the answer; None: the passages are it.

        Where the model fails the passages stand. It is never asked without a passage, and what
        became unreadable while it wrote is in no answer (A16, as in a turn).
        """
        agent = None if caller.agent is None else await self.files.load(caller.agent.agent_id)
        if agent is None or agent.retrieve_answer is not RetrieveAnswer.SYNTHESIS:
            return references, None
        presented, fixed = await self._presented(agent, scope, references)
        if fixed is not None:
            return references, Written(self._sentence(caller, fixed))
        began = self.clock.monotonic()
        draft = await self._draft(agent, messages, presented)
        elapsed_ms = round((self.clock.monotonic() - began) * 1000)
        left = await self._readable(caller.agent, scope, references)
        if draft is None:
            return left, None
        words, usage = draft
        answer = Written(self._sentence(caller, NO_PASSAGE), usage, elapsed_ms)
        ids = {each.passage.id: at for at, each in enumerate(left)}
        if all(each.passage.id in ids for each in presented):
            _, question = divided(messages)
            done = await asyncio.to_thread(self._finished, words, presented, question, ids)
            answer = answer if done is None else replace(answer, text=done)
        return left, answer

    async def _presented(
        self, agent: AgentSettings, scope: Scope, references: Sequence[Reference]
    ) -> tuple[Sequence[PresentedPassage], str | None]:
        """What the model is to read: nothing restricted, nothing that looks like instructions."""
        listed = await self.collections.list(scope.collections)
        injectable = without_restricted(scope, listed)
        own = [each for each in references if each.passage.collection_id in injectable.collections]
        budget = min(agent.knowledge.inject_budget_chars, self.settings.most_chars)
        presented = fit(own, first_n=1, top_k=len(own), budget_chars=budget)
        fixed = kb_only_reply(
            AnswerMode.KB_ONLY,
            has_readable=not scope.is_empty,
            has_injectable=not injectable.is_empty,
            is_relevant=bool(own),
            presented=len(presented),
        )
        return presented, fixed

    async def _draft(
        self,
        agent: AgentSettings,
        messages: Sequence[ChatMessage],
        presented: Sequence[PresentedPassage],
    ) -> tuple[str, TokenUsage] | None:
        """The model's words and what they cost; None where it fails or says nothing."""
        past, question = divided(messages)
        prompt = build(
            persona=agent.persona,
            has_collections=True,
            history=past,
            question=asking.read_part(question)[0],
            presented=presented,
        )
        try:
            model = self.models.find(agent.model, *agent.fallbacks)
            async with asyncio.timeout(DEADLINE_S):
                draft = await model.complete(prompt, (), _unseen)
        except (LanguageModelError, TimeoutError) as error:
            log.warning("passages stand for an answer", reason=type(error).__name__)
            return None
        if asking.is_blank(draft.text):
            log.warning("passages stand for an answer", reason="no words")
            return None
        return draft.text, draft.usage or _counted(prompt, draft)

    async def _readable(
        self, side: AgentSide | None, scope: Scope, references: Sequence[Reference]
    ) -> Sequence[Reference]:
        """Of the references those that can be read now, never more than before."""
        agent = None if side is None else await self.files.load(side.agent_id)
        if side is not None:  # one that has gone reads as little as an archived one
            side = replace(side, is_archived=True) if agent is None else agent.side
        now = await self.scopes.renew(scope, side)
        found = await self.passages.load(now, [each.passage.id for each in references])
        ids = {passage.id for passage in found}
        return [each for each in references if each.passage.id in ids]

    def _finished(
        self,
        words: str,
        presented: Sequence[PresentedPassage],
        question: str,
        ids: Mapping[int, int],
    ) -> str | None:
        """With marks as clients of the service know them; None: it rests on nothing any more."""
        checks = self.settings.checks_citations
        done = finish(words, presented, question, WHOLE, "", checks=checks)
        lost = has_lost_its_grounds(AnswerMode.KB_ONLY, len(done.views), done.withdrawn)
        if lost or asking.is_blank(done.text):
            return None
        return with_ref_ids(done.text, {each.n: ids[each.passage.id] for each in presented})

    def _sentence(self, caller: Caller, key: str) -> str:
        return text(key, caller.language or self.settings.language)


def _counted(prompt: Sequence[ChatMessage], draft: Draft) -> TokenUsage:
    return TokenUsage(sum(tokens(each.text) for each in prompt), tokens(draft.text))


async def _unseen(_text: str) -> None:
    """It is shown when it is whole and checked."""
