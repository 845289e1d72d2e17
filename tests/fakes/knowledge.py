"""A library in memory: passages with FTS5's bm25, their vectors, a letter encoder, a log."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from gateway.core.audit import AccessEntry, SecurityEvent
from gateway.core.documents import NewRevision
from gateway.core.matching import index_tokens, match_text, script
from gateway.core.passages import Locator, NoVectors, Passage
from gateway.core.scope import Scope
from gateway.interfaces import (
    Audit,
    Clock,
    Encoder,
    LexicalHits,
    PassageIndex,
    PassageVectors,
    Vector,
    VectorStore,
)

K1, B, IDF_FLOOR = 1.2, 0.75, 1e-6  # SQLite's own
DIMENSION = 64


class FakeClock:
    """Stands still until told to move."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


class FakeLibrary:
    """PassageIndex and VectorStore in one: what both read is the same list of passages."""

    def __init__(self) -> None:
        self.passages: dict[int, Passage] = {}
        self.vectors: dict[int, tuple[int, PassageVectors]] = {}
        self.gone: list[tuple[int, int]] = []
        self.mark = 0
        self.failure: Exception | None = None

    def add(
        self, passage_id: int, text: str, *, collection: str = "faq", source: str | None = None
    ) -> Passage:
        passage = Passage(
            id=passage_id,
            collection_id=collection,
            source_id=source or f"source-{passage_id}",
            revision_id=f"revision-{source or passage_id}",
            ordinal=passage_id,
            title=f"{source or passage_id}.md",
            text=text,
            locator=Locator(),
        )
        self.passages[passage_id] = passage
        return passage

    def remove(self, passage_id: int) -> None:
        self.passages.pop(passage_id)
        if self.vectors.pop(passage_id, None):
            self.mark += 1
            self.gone.append((self.mark, passage_id))

    async def replace(self, revision: NewRevision) -> bool:
        for chunk in revision.chunks:
            self.add(chunk.ordinal + 1, chunk.text, source=revision.source_id)
        return True

    async def lexical(
        self, scope: Scope, terms: Sequence[str], limit: int, phrases: Sequence[Sequence[str]] = ()
    ) -> LexicalHits:
        if self.failure:
            raise self.failure
        tokens = {k: index_tokens(match_text(p.text)).split() for k, p in self.passages.items()}
        having = {term: sum(term in each for each in tokens.values()) for term in terms}
        scores = {
            passage_id: self._bm25(each, having, list(tokens.values()))
            for passage_id, each in tokens.items()
            if self.passages[passage_id].collection_id in scope.collections
            and all(f" {' '.join(phrase)} " in f" {' '.join(each)} " for phrase in phrases)
        }
        ranked = sorted(((k, v) for k, v in scores.items() if v > 0), key=lambda h: (-h[1], h[0]))
        return LexicalHits(tuple(ranked[:limit]), len(tokens), having)

    def _bm25(
        self, tokens: Sequence[str], having: Mapping[str, int], every: Sequence[Sequence[str]]
    ) -> float:
        counts, mean = Counter(tokens), sum(map(len, every)) / len(every)
        score = 0.0
        for term, n in having.items():
            idf = max(IDF_FLOOR, math.log((len(every) - n + 0.5) / (n + 0.5)))
            tf = counts[term]
            score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(tokens) / mean))
        return score

    async def load(self, scope: Scope, passage_ids: Sequence[int]) -> Sequence[Passage]:
        found = (self.passages.get(passage_id) for passage_id in passage_ids)
        return [p for p in found if p is not None and p.collection_id in scope.collections]

    async def around(self, scope: Scope, passage_id: int, context: int) -> Sequence[Passage]:
        centre = await self.load(scope, [passage_id])
        wanted = range(passage_id - context, passage_id + context + 1)
        near = await self.load(scope, list(wanted))
        return [p for p in near if centre and p.source_id == centre[0].source_id]

    async def of_revision(
        self, scope: Scope, source_id: str, revision_id: str
    ) -> Sequence[Passage]:
        of_source = [p for p in self.passages.values() if p.source_id == source_id]
        readable = [p for p in of_source if p.collection_id in scope.collections]
        return [p for p in readable if p.revision_id == revision_id]

    async def searchable(self, scope: Scope, model_key: str) -> tuple[int, int]:
        within = {k for k, p in self.passages.items() if p.collection_id in scope.collections}
        return len(within), len(within & self.vectors.keys())

    async def without_vectors(
        self, model_key: str, source_id: str | None, limit: int
    ) -> Sequence[Passage]:
        missing = [p for k, p in self.passages.items() if k not in self.vectors]
        return [p for p in missing if source_id in {None, p.source_id}][:limit]

    async def put(self, model_key: str, rows: Sequence[PassageVectors]) -> int:
        self.mark += 1
        kept = [row for row in rows if row.passage_id in self.passages]
        self.vectors.update((row.passage_id, (self.mark, row)) for row in kept)
        return len(kept)

    async def changes(
        self, model_key: str, since: int
    ) -> tuple[int, Sequence[PassageVectors], Sequence[int]]:
        put = [row for mark, row in self.vectors.values() if mark > since]
        return self.mark, put, [gone for mark, gone in self.gone if mark > since]

    async def remove_model(self, model_key: str) -> int:
        return 0

    async def excluded(self, model_key: str) -> frozenset[str]:
        return frozenset()

    async def embed_all(self) -> None:
        """Give every passage the one vector of its text."""
        rows = [
            PassageVectors(k, p.collection_id, script(p.text), letter_vector(p.text)[None])
            for k, p in self.passages.items()
        ]
        await self.put(FakeEncoder.KEY, rows)


def letter_vector(text: str) -> Vector:
    """Counts of letters, folded into a unit vector: like texts are near."""
    vector = np.full(DIMENSION, 1e-3, np.float32)
    for letter in match_text(text):
        vector[ord(letter) % DIMENSION] += 1
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


class FakeEncoder:
    """Embeds by letters; `failure` is raised, `reason` reported instead."""

    KEY = "letters"

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.reason: NoVectors | None = None
        self.asked: list[str] = []
        self.key = self.KEY

    @property
    def model_key(self) -> str:
        return self.key

    async def unavailable(self) -> NoVectors | None:
        return self.reason

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        if self.failure:
            raise self.failure
        return letter_vector(text)

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [letter_vector(text) for text in texts]

    async def close(self) -> None:
        return None


class FakeAudit:
    """Keeps what is recorded."""

    def __init__(self) -> None:
        self.recorded: list[AccessEntry] = []
        self.events: list[SecurityEvent] = []

    async def record(self, entry: AccessEntry) -> None:
        self.recorded.append(entry)

    async def event(self, event: SecurityEvent) -> None:
        self.events.append(event)

    async def entries(
        self, collection_id: str | None, limit: int, *, denied_only: bool = False
    ) -> Sequence[AccessEntry]:
        return self.recorded[-limit:]

    async def purge(self, before: datetime) -> int:
        return 0


fits: tuple[type[PassageIndex], type[VectorStore], type[Encoder], type[Audit], type[Clock]] = (
    FakeLibrary,
    FakeLibrary,
    FakeEncoder,
    FakeAudit,
    FakeClock,
)
