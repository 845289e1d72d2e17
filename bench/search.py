"""What a search costs without its embedding: python -m bench.search [PASSAGES].

Over 200,000 passages of 200 collections (bench/shelves.py): whole searches where a person may read
everything and a tenth; the same words with the filter and without; and words of two letters beside
a scan for them through 20,000 passages. Figures are of this machine and moment; ratios are medians
of rounds that take turns.
"""

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Sequence

import numpy as np
from sqlalchemy import Connection

from bench.shelves import (
    CENTRES,
    COLLECTIONS,
    DIMENSION,
    MODEL,
    Sentence,
    material,
    question,
    scope_of,
    shelves,
    unit,
)
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.calibration import Calibration, Logistic
from gateway.core.matching import query_terms
from gateway.core.passages import NoVectors
from gateway.core.scope import Scope
from gateway.interfaces import Vector
from gateway.knowledge.search import Search
from gateway.store import Store, open_store
from gateway.store.statements import raw
from tests.fakes.times import RealClock, RealIds

QUESTIONS, WORDS, SCANNED, ALL_HITS = 60, 20, 20_000, 200_000
HAN = "\u4e00"
RULE = Logistic(0.0, {"coverage": 1.0}, 0.5)
CALIBRATION = Calibration(MODEL, RULE, RULE, RULE, cosine_weight=0.45)
_SCAN = (
    "SELECT passages.id FROM passages JOIN sources ON sources.id = source_id "
    "WHERE collection_id IN (SELECT value FROM json_each(?)) AND instr(match_text, ?)"
)


class ReadyEncoder:
    """Has the vector at once: this bench is about everything else."""

    model_key = MODEL

    def __init__(self) -> None:
        self._draw = np.random.default_rng(3)
        self._centres = unit(np.random.default_rng(1), CENTRES, DIMENSION)

    async def unavailable(self) -> NoVectors | None:
        return None

    async def embed_query(self, text: str) -> Vector:
        near = self._centres[self._draw.integers(len(self._centres))]
        vector = near + 0.6 * unit(self._draw, DIMENSION)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return list(unit(self._draw, len(texts), DIMENSION))

    async def close(self) -> None:
        return None


async def main(passages: int) -> None:
    clock, sentences = RealClock(), material()
    async with open_store(await shelves(passages), clock, RealIds()) as store:
        search = Search(
            store.passages, store.vectors, ReadyEncoder(), store.audit, clock,
            lambda key: CALIBRATION,
        )  # fmt: skip
        scopes = {"a tenth": await scope_of(store, COLLECTIONS // 10)}
        scopes["everything"] = await scope_of(store, COLLECTIONS)
        first = await spent_ms(asked(search, sentences[0].text, scopes["everything"]))
        print(f"{passages} passages, first search (loads vectors) {first:.0f} ms")
        for name, scope in scopes.items():
            await time_searches(name, search, scope, sentences)
        await time_words(store, scopes["a tenth"], sentences)


async def time_searches(
    name: str, search: Search, scope: Scope, sentences: Sequence[Sentence]
) -> None:
    draw = random.Random(5)
    spent, busy = [], []
    for _ in range(QUESTIONS):
        began = time.process_time()
        spent.append(await spent_ms(asked(search, question(sentences, draw), scope)))
        busy.append((time.process_time() - began) * 1e3)
    print(f"{name} readable: p50 {middle(spent):.1f} ms, p95 {late(spent):.1f} ms; ", end="")
    print(f"of the processor p50 {middle(busy):.1f} ms, p95 {late(busy):.1f} ms")


async def asked(search: Search, text: str, scope: Scope) -> None:
    entry = AccessEntry(AccessAction.SEARCH, RealClock().now())
    await search.search(text, scope, 5, entry=entry)


async def time_words(store: Store, scope: Scope, sentences: Sequence[Sentence]) -> None:
    """All passages of a two-letter word in a tenth of the library, by the index and by a scan."""
    draw, ratios = random.Random(9), []
    asked = (query_terms(question(sentences, draw)[:2]).terms for _ in range(10 * WORDS))
    words = [term for terms in asked for term in terms if len(term) == 2 and min(term) >= HAN]
    for term in words[:WORDS]:
        began = time.perf_counter()
        found = await store.passages.lexical(scope, [term], ALL_HITS)
        ours = time.perf_counter() - began
        began = time.perf_counter()
        scanned = await scan(store, scope, term)
        ratios.append((time.perf_counter() - began) / ours)
        assert {hit[0] for hit in found.hits} >= scanned
    print(f"two letters, all hits: {middle(ratios):.0f} x a scan of {SCANNED} passages, ", end="")
    print(f"at least {min(ratios):.0f} x")


async def scan(store: Store, scope: Scope, term: str) -> set[int]:
    """Every passage of the scope that holds the term, letter by letter."""

    def unit(connection: Connection) -> set[int]:
        rows = raw(connection).execute(_SCAN, (json.dumps(sorted(scope.collections)), term))
        return {row[0] for row in rows}

    return await store._knowledge.read(unit)  # nothing of the store goes around a scope


async def spent_ms(call: Awaitable[object]) -> float:
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1e3


def middle(spent: Sequence[float]) -> float:
    return statistics.median(spent)


def late(spent: Sequence[float]) -> float:
    return sorted(spent)[int(len(spent) * 0.95)]


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))
