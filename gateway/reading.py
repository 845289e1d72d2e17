"""What one turn reads: before the model, for the model, and whether it still may."""

from collections.abc import Collection as Names
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.core.access import AgentSide
from gateway.core.agents import AgentKnowledge
from gateway.core.answering import kb_only_reply, searches_first
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.filters import Filter
from gateway.core.followups import resolve, said
from gateway.core.grounds import Grounds, Reading
from gateway.core.history import MAX_EXCHANGES, usable
from gateway.core.passages import Hit
from gateway.core.prompt import fit, is_searchable
from gateway.core.scope import Scope, without_restricted
from gateway.core.turns import Exchange, PresentedPassage
from gateway.interfaces import (
    AgentFiles,
    Clock,
    Collections,
    FilteringRetriever,
    PassageIndex,
    Scopes,
    Turns,
)

SPARE_HITS = 5  # asked for beyond top_k: flagged ones and some too long for the budget fall out


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether all that a draft may rest on can still be read."""

    is_whole: bool
    checked_at: int | None = None  # generation of the access rules; None: it rests on nothing


@dataclass(frozen=True, slots=True)
class Found:
    """What automatic injection brings; `fixed_reply` names the sentence that replaces the model."""

    presented: tuple[PresentedPassage, ...] = ()
    fixed_reply: str | None = None


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads for a turn. `auto_retrieve` is the operator's switch over all agents (A15, A29)."""

    scopes: Scopes
    collections: Collections
    retriever: FilteringRetriever
    passages: PassageIndex
    clock: Clock
    agents: AgentFiles
    turns: Turns
    auto_retrieve: bool = True

    async def search_first(
        self, question: str, knowledge: AgentKnowledge, reading: Reading
    ) -> Found:
        """Automatic injection, and the decision of `kb_only` whether the model is asked at all.

        A follow-up question is searched for with what it means after what the same person said
        here before and may still be read: in a group nobody's question lends words to another's.
        The access log keeps it as it was asked.
        """
        scope = await self._injectable(reading.scope)
        presented: tuple[PresentedPassage, ...] = ()
        is_relevant = False
        wants = searches_first(knowledge, is_enabled=self.auto_retrieve) and is_searchable(question)
        if wants and not scope.is_empty:
            entry = replace(reading.entry, action=AccessAction.AUTO_INJECT, at=self.clock.now())
            limit = knowledge.top_k + SPARE_HITS
            own = [each for each in reading.past if _is_by(each, reading.entry)]
            meant = resolve(question, said(usable(own, reading.scope)))
            result = await self.retriever.search(
                question, scope, limit, entry=entry, wordings=meant.wordings
            )
            is_relevant = result.relevance.is_relevant
            if is_relevant:
                budget = reading.budget_chars
                presented = fit(result.hits, first_n=1, top_k=knowledge.top_k, budget_chars=budget)
        fixed_reply = kb_only_reply(
            knowledge.answer_mode,
            has_readable=not reading.scope.is_empty,
            has_injectable=not scope.is_empty,
            is_relevant=is_relevant,
            presented=len(presented),
        )
        return Found(presented, fixed_reply)

    async def search_more(
        self,
        query: str,
        limit: int,
        names: Names[str] | None,
        reading: Reading,
        *,
        within: Filter | None = None,
    ) -> Sequence[Hit]:
        """A search the model asked for, within the scope of now; `names` and `within` only narrow
        it. Names are slugs or ids; one that is missing or forbidden finds nothing.
        """
        scope = await self.renewed(reading)
        if names is not None:
            readable = await self.collections.list(scope.collections)
            named = [each.id for each in readable if each.slug in names or each.id in names]
            scope = scope.narrow(frozenset(named))
        entry = replace(reading.entry, action=AccessAction.SEARCH, at=self.clock.now())
        result = await self.retriever.search(query, scope, limit, entry=entry, within=within)
        return result.hits

    async def still(self, hits: Sequence[Hit], reading: Reading) -> Sequence[Hit]:
        """Those of a search that ended a while ago that can be read now."""
        if not hits:
            return hits
        scope = await self.renewed(reading)
        there = await self.passages.load(scope, [hit.passage.id for hit in hits])
        ids = {passage.id for passage in there}
        return [hit for hit in hits if hit.passage.id in ids]

    async def renewed(self, reading: Reading) -> Scope:
        """The scope as it is now, never wider than the turn's first: of the agent's side, too."""
        return await self.scopes.renew(reading.scope, await self._side(reading.side))

    async def past(self, reading: Reading) -> tuple[Exchange, ...]:
        """What was said here before; this turn's own first try is no past of it."""
        turn_id, agent_id = reading.entry.turn_id, reading.entry.agent_id
        past = await self.turns.recent(agent_id, reading.conversation, MAX_EXCHANGES + 1)
        return tuple(exchange for exchange in past if exchange.turn_id != turn_id)

    async def standing(self, reading: Reading, grounds: Grounds) -> Standing:
        """Look at all that a draft may rest on: passages, the past in its prompt, and whatever
        colleagues' answers rest on, each on the side on which it was read.
        """
        found = [await self._own_standing(reading, grounds.own)]
        found += [await self.standing(told.reading, told.grounds) for told in grounds.told]
        seen = [each.checked_at for each in found if each.checked_at is not None]
        return Standing(all(each.is_whole for each in found), min(seen, default=None))

    async def still_readable(self, reading: Reading, grounds: Grounds) -> bool:
        """The same, where it alone matters."""
        return (await self.standing(reading, grounds)).is_whole

    async def _own_standing(
        self, reading: Reading, presented: Sequence[PresentedPassage]
    ) -> Standing:
        history = usable(reading.past, reading.scope)
        if not presented and not history:
            return Standing(is_whole=True)
        scope = await self.renewed(reading)  # first: what changes after it has another generation
        ids = {each.passage.id for each in presented}
        is_whole = len(await self.passages.load(scope, sorted(ids))) == len(ids) if ids else True
        if is_whole and history:
            now = {exchange.turn_id: exchange for exchange in await self.past(reading)}
            past_now = [now.get(exchange.turn_id, exchange) for exchange in reading.past]
            is_whole = usable(past_now, scope) == history
        return Standing(is_whole, scope.generation)

    async def _side(self, first: AgentSide | None) -> AgentSide | None:
        """The agent as it is now; one that has gone reads as little as an archived one."""
        if first is None:
            return None
        agent = await self.agents.load(first.agent_id)
        return replace(first, is_archived=True) if agent is None else agent.side

    async def _injectable(self, scope: Scope) -> Scope:
        if scope.is_empty:
            return scope
        return without_restricted(scope, await self.collections.list(scope.collections))


def _is_by(exchange: Exchange, entry: AccessEntry) -> bool:
    return (exchange.account_id, exchange.sender) == (entry.account_id, entry.sender)
