"""Choosing the documents of a filter: python -m bench.filters.

20,000 documents in 200 collections, all readable, each of one passage and with four values. The
baseline is the naive way: list every collection and look at each document in Python. Beside
each filter stand the passages it means.
"""

import asyncio
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.search import late, middle, spent_ms
from gateway.core.access import AccountRole
from gateway.core.filters import EqualTo, Filter, Not, Value
from gateway.core.scope import Scope
from gateway.store import Store, open_store
from tests.contract.world import World
from tests.fakes.times import RealClock, RealIds
from tests.fakes.wound_clock import WoundClock

ROUNDS, COLLECTIONS, EACH = 20, 200, 100
FILTERS: tuple[Filter, ...] = (
    EqualTo({"number": 7}),
    EqualTo({"category": "c", "page": 5}),
    EqualTo({"category": "c"}),
    EqualTo({"title": "t5"}),
    Not(EqualTo({"category": "c"})),
)


async def fill(store: Store) -> None:
    """The documents, drawn with one seed."""
    world, draw = World(store, WoundClock()), random.Random(7)
    reader = await world.account("reader", AccountRole.ADMIN)
    for _ in range(COLLECTIONS):
        collection = await world.collection(reader)
        for page in range(EACH):
            noted: dict[str, Value] = {
                "category": draw.choice("abcdefghij"),
                "page": page,
                "number": draw.randrange(2_000),
                "is_draft": draw.random() < 0.5,
            }
            draft = replace(world.new_source(collection, f"t{page}"), metadata=noted)
            source, _ = await store.sources.add(draft)
            await world.read(source, f"text about {page}")


async def naive(store: Store, scope: Scope, within: Filter) -> Sequence[str]:
    """Ids of the documents that are meant."""
    found: list[str] = []
    for collection_id in sorted(scope.collections):
        listed = await store.sources.list(collection_id)
        found += [s.id for s in listed if within.matches({"title": s.title, **s.metadata})]
    return found


async def main() -> None:
    home = Path(tempfile.gettempdir()) / f"shutten-bench-filters-{COLLECTIONS * EACH}"
    async with open_store(home, RealClock(), RealIds()) as store:
        if not (home / "whole").exists():
            await fill(store)
            (home / "whole").touch()
        reader = await store.accounts.find_by_login("reader")
        assert reader is not None
        scope = await World(store, WoundClock()).scope(reader)
        for within in FILTERS:
            meant = await store.passages.of_filter(scope, within)
            chosen = [
                await spent_ms(store.passages.of_filter(scope, within)) for _ in range(ROUNDS)
            ]
            listed = [await spent_ms(naive(store, scope, within)) for _ in range(ROUNDS // 5)]
            print(f"{len(meant):6} passages  p50 {middle(chosen):6.1f} ms  ", end="")
            print(f"p95 {late(chosen):6.1f} ms  naive {middle(listed):6.1f} ms  ", end="")
            print(f"ratio {middle(chosen) / middle(listed):.3f}  {within}")


if __name__ == "__main__":
    asyncio.run(main())
