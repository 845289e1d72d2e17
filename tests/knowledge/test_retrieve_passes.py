"""How many passes over the library retrievals make at once, and who comes next."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from gateway.core.access import AgentSide, Audience, AudienceKind, ScopeFacts
from gateway.core.chat import ChatMessage, Draft, Speaker
from gateway.core.filters import Filter
from gateway.core.lookups import Lookup
from gateway.core.messages import InboundMessage
from gateway.core.passages import SearchMode, SearchResult
from gateway.core.relevance import NOTHING_FOUND
from gateway.core.scope import Scope, decide
from gateway.operations.planning import Planner
from gateway.operations.retrieve import (
    PASSES_AT_ONCE,
    PASSES_OF_ONE,
    FilteringSearch,
    Retrieval,
    Target,
)
from gateway.operations.table import Caller
from gateway.store import Store
from tests.fakes.knowledge import FakeClock
from tests.surfaces.test_retrieve_planning import Agents, Models

NOTHING = SearchResult((), SearchMode.KEYWORD_ONLY, 0.0, NOTHING_FOUND)
SOURCES = [Target(f"s{n}") for n in range(10)]


class SlowSearch:
    """Finds nothing, a moment later; keeps who began in which order."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.running: Counter[str] = Counter()
        self.most_of_one = 0
        self.most = 0
        self.sizes: set[int] = set()

    async def search_each(
        self,
        asked: Sequence[Lookup],
        scope: Scope,
        limit: int,
        *,
        within: Filter | None = None,
    ) -> Sequence[SearchResult]:
        who = asked[0].entry.agent_id or ""
        self.began.append(who)
        self.running[who] += 1
        self.most_of_one = max(self.most_of_one, self.running[who])
        self.most = max(self.most, self.running.total())
        self.sizes.add(len(asked))
        await asyncio.sleep(0.02)  # longer than it takes the others to get here
        self.running[who] -= 1
        return [NOTHING] * len(asked)


class Nobody:
    """Everybody reads nothing."""

    async def audience(self, message: InboundMessage) -> Audience:
        return Audience(AudienceKind.SYSTEM)

    async def scope(self, audience: Audience, agent: AgentSide | None) -> Scope:
        return decide(audience, agent, ScopeFacts((), (), 1))

    async def renew(self, first: Scope, agent: AgentSide | None) -> Scope:
        return first


async def test_passes_are_bounded_and_many_sources_in_one_hold_up_nobody(
    store: Store,
) -> None:
    search = SlowSearch()
    planner = Planner(Agents("extractive"), Models(Draft("")), FakeClock())
    retrieval = Retrieval(planner, search, Nobody(), store.collections, FakeClock())
    asked = [ChatMessage(Speaker.USER, "How long is leave? Who approves it?")]

    async def one(name: str) -> int:
        audience = Audience(AudienceKind.SYSTEM)
        caller = Caller(None, audience, "test", agent=AgentSide(name, "", None))
        return len((await retrieval.retrieve(caller, asked, SOURCES)).searched)

    names = [f"r{n}" for n in range(5)]
    assert await asyncio.gather(*map(one, names)) == [2 * len(SOURCES)] * 5
    assert (search.most_of_one, search.most) == (PASSES_OF_ONE, PASSES_AT_ONCE)
    assert search.sizes == {2}  # all questions in one pass
    first = [search.began.index(name) for name in names]
    assert max(first) < 2 * PASSES_OF_ONE * len(names)  # nobody waits for all of another's


fits: type[FilteringSearch] = SlowSearch
