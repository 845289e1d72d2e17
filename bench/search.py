"""What a search costs without embedding: python -m bench.search [PASSAGES]."""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gateway.core.access import (
    Account,
    AccountRole,
    Audience,
    AudienceKind,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.calibration import Calibration, Logistic
from gateway.core.documents import Chunk, NewRevision, Source, SourceKind, SourceState
from gateway.core.matching import match_text
from gateway.core.passages import Locator, NoVectors
from gateway.core.scope import Scope, decide
from gateway.interfaces import Ids, PassageVectors, Vector
from gateway.knowledge.search import Search
from gateway.store import Store, open_store
from tests.fakes.times import RealClock, RealIds

DIMENSION, VECTORS_A_PASSAGE, PASSAGES_A_SOURCE, QUESTIONS = 384, 3, 50, 300
RULE = Logistic(0.0, {"coverage": 1.0}, 0.5)
CALIBRATION = Calibration("bench", RULE, RULE, RULE, cosine_weight=0.45)
PERSON = Account("bench", "bench", "Bench", AccountRole.MEMBER)
random = np.random.default_rng(7)


def words() -> Sequence[str]:
    """Two-letter words, to be drawn with Zipf's frequencies."""
    letters = random.integers(0x4E00, 0x9000, (20_000, 2))
    return ["".join(map(chr, pair)) for pair in letters]


WORDS = words()


def text(count: int) -> str:
    drawn = random.zipf(1.2, count) % len(WORDS)
    return "".join(WORDS[at] + ("，" if n % 6 == 5 else "") for n, at in enumerate(drawn))


def unit(*shape: int) -> Vector:
    rows = random.normal(size=shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


class ReadyEncoder:
    """Has the vector at once: this bench is about everything else."""

    model_key = "bench"

    async def unavailable(self) -> NoVectors | None:
        return None

    async def embed_query(self, text: str) -> Vector:
        return unit(DIMENSION)

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return list(unit(len(texts), DIMENSION))

    async def close(self) -> None:
        return None


async def fill(store: Store, ids: Ids, passages: int) -> Scope:
    now = RealClock().now()
    await store.accounts.put(PERSON)
    draft = Collection(ids.new(), 0, "bench", "Bench", Sensitivity.INTERNAL)
    collection = await store.collections.create(draft, PERSON.id)
    owner = Grant(collection.id, SubjectKind.USER, PERSON.id, Role.OWNER)
    for _ in range(passages // PASSAGES_A_SOURCE):
        source = Source(
            ids.new(), collection.id, "a.md", SourceKind.PASTE, ids.new(), 1,
            SourceState.READY, now,
        )  # fmt: skip
        await store.sources.add(source)
        texts = [text(220) for _ in range(PASSAGES_A_SOURCE)]
        chunks = tuple(Chunk(n, t, match_text(t), Locator()) for n, t in enumerate(texts))
        await store.passages.replace(NewRevision(ids.new(), source.id, chunks))
    while missing := await store.vectors.without_vectors("bench", None, 500):
        rows = [
            PassageVectors(p.id, p.collection_id, "zh", unit(VECTORS_A_PASSAGE, DIMENSION))
            for p in missing
        ]
        await store.vectors.put("bench", rows)
    facts = ScopeFacts((collection,), (owner,), 1, PERSON)
    return decide(Audience(AudienceKind.DASHBOARD, PERSON), None, facts)


async def main(passages: int) -> None:
    clock, ids = RealClock(), RealIds()
    with tempfile.TemporaryDirectory() as home:
        async with open_store(Path(home), clock, ids) as store:
            scope = await fill(store, ids, passages)
            search = Search(
                store.passages, store.vectors, ReadyEncoder(), store.audit, clock,
                lambda key: CALIBRATION,
            )  # fmt: skip
            entry = AccessEntry(AccessAction.SEARCH, clock.now())
            spent = []
            for _ in range(QUESTIONS):
                question = text(9)
                began = time.perf_counter()
                await search.search(question, scope, 5, entry=entry)
                spent.append((time.perf_counter() - began) * 1000)
    print(f"{passages} passages, first search (loads vectors) {spent[0]:.0f} ms")
    spent = sorted(spent[1:])
    print(f"p50 {statistics.median(spent):.1f} ms, p95 {spent[int(len(spent) * 0.95)]:.1f} ms")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
