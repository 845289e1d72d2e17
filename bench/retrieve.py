"""A retrieval of three sub-queries beside one search: python -m bench.retrieve [PASSAGES].

Over a library of 200 collections (bench/shelves.py), all readable, with the vectors of questions at
hand: the message of three questions is planned by the built-in rules, searched and put into one
answer; then each of the three questions is searched alone. Rounds take turns; the ratio is the
median of the rounds' retrieval over the mean of their three single searches.
"""

import asyncio
import random
import statistics
import sys

from bench.search import CALIBRATION, ReadyEncoder, asked, late, middle, spent_ms
from bench.shelves import COLLECTIONS, material, question, scope_of, shelves
from gateway.core.access import AgentSide, Audience
from gateway.core.agents import AgentSettings
from gateway.core.chat import ChatMessage, Speaker
from gateway.core.messages import InboundMessage
from gateway.core.scope import Scope
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge.search import Search
from gateway.llm.registry import ModelRegistry
from gateway.operations.planning import Planner
from gateway.operations.retrieve import Retrieval
from gateway.operations.table import Caller
from gateway.store import open_store
from gateway.surfaces.retrieve_wire import answer_of
from tests.fakes.times import RealClock, RealIds

ROUNDS, QUESTIONS = 40, 3


class OneAgent:
    """The files of one agent with the built-in model."""

    async def load(self, agent_id: str) -> AgentSettings:
        return AgentSettings(agent_id, agent_id)

    async def create(self, settings: AgentSettings) -> None:
        return None


class OneScope:
    """Everything, already decided: what deciding costs is bench.scope's."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def audience(self, message: InboundMessage) -> Audience:
        return self._scope.audience

    async def scope(self, audience: Audience, agent: AgentSide | None) -> Scope:
        return self._scope

    async def renew(self, first: Scope, agent: AgentSide | None) -> Scope:
        return self._scope


async def main(passages: int) -> None:
    clock, sentences = RealClock(), material()
    async with open_store(await shelves(passages), clock, RealIds()) as store:
        search = Search(
            store.passages, store.vectors, ReadyEncoder(), store.audit, clock,
            lambda _key: CALIBRATION,
        )  # fmt: skip
        scope = await scope_of(store, COLLECTIONS)
        filtered = FilteredSearch(search, store.passages, store.passages)
        planner = Planner(OneAgent(), ModelRegistry({}), clock)
        retrieval = Retrieval(planner, filtered, OneScope(scope), store.collections, clock)
        caller = Caller(None, scope.audience, "bench", agent=AgentSide("a", "", None))
        draw, ratios, single, whole, searches = random.Random(7), [], [], [], []

        async def retrieved(text: str) -> None:
            found = await retrieval.retrieve(caller, [ChatMessage(Speaker.USER, text)], ())
            answer_of(found)
            searches.append(sum(len(each.wordings) for each in found.plan.queries))
            assert len({each.query for each in found.searched}) == QUESTIONS

        for number in range(ROUNDS + 1):
            questions = [question(sentences, draw).strip("。！？!?") for _ in range(QUESTIONS)]
            alone = [await spent_ms(asked(search, each, scope)) for each in questions]
            together = await spent_ms(retrieved("\n".join(questions)))
            if number:  # the first loads the vectors
                single.append(statistics.mean(alone))
                whole.append(together)
                ratios.append(together / statistics.mean(alone))
        print(f"{passages} passages: a search p50 {middle(single):.1f} ms; ", end="")
        print(f"a retrieval of {QUESTIONS} sub-queries p50 {middle(whole):.1f} ms, ", end="")
        print(f"p95 {late(whole):.1f} ms; ratio {middle(ratios):.2f}; ", end="")
        print(f"{statistics.mean(searches):.1f} wordings searched")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))
