"""A large library for the other benches: built once in bulk, kept in a temporary folder.

200 collections of equal size, 50 passages a source, three vectors a passage around common centres.
The text is real where sets of documents stand beside the project (SHUTTEN_SHARED), sentences
drawn anew; else it is what a chain of neighbouring letters makes of the demo's documents.
"""

import os
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

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
from gateway.core.documents import Source, SourceKind, SourceState
from gateway.core.matching import TOKENISER_VERSION, index_tokens, match_text, sentences
from gateway.core.passages import COLLECTION_SHIFT
from gateway.core.scope import Scope, decide
from gateway.interfaces import Vector
from gateway.store import Store, counters, fulltext, open_store
from gateway.store.statements import raw
from tests.fakes.times import RealClock, RealIds

COLLECTIONS, PASSAGES_A_SOURCE, VECTORS_A_PASSAGE, DIMENSION = 200, 50, 3, 384
LETTERS, SENTENCES, CENTRES = 320, 20_000, 2_000
MODEL = "bench"
READER = Account("reader", "reader", "Reader", AccountRole.MEMBER)
DEMO = Path(__file__).parent.parent / "gateway" / "demo" / "documents"
_PASSAGE = "INSERT INTO passages VALUES (?, ?, ?, ?, NULL, 0, ?, '{}', ?, ?)"
_REVISION = "INSERT INTO revisions (id, source_id, created_at, warnings) VALUES (?, ?, 0, '[]')"
_POINT = "UPDATE sources SET revision_id = ?, passages = ? WHERE id = ?"
_NEXT = "UPDATE collections SET next_n = ? WHERE no = ?"
_VECTORS = (
    "INSERT INTO vectors (model_key, passage_id, collection_no, mark, script, rows, data) "
    "VALUES (?, ?, ?, ?, 'zh', ?, ?)"
)
_FOR_THE_BUILD = (  # one that is cut short is begun anew
    "PRAGMA synchronous = OFF",
    "PRAGMA secure_delete = OFF",
    "PRAGMA cache_size = -400000",
    "INSERT INTO passage_index(passage_index, rank) VALUES ('automerge', 0)",
)
_USUAL_MERGES = "INSERT INTO passage_index(passage_index, rank) VALUES ('automerge', 4)"
_OPTIMIZE = "INSERT INTO passage_index(passage_index) VALUES ('optimize')"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    folded: str
    tokens: str


def unit(draw: np.random.Generator, *shape: int) -> Vector:
    rows = draw.normal(size=shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


def material() -> list[Sentence]:
    """Sentences to draw passages and questions from, always the same ones."""
    shared = Path(os.environ.get("SHUTTEN_SHARED", "../shared")) / "eval"
    files = sorted(shared.glob("*-zh-*/docs/*"))
    texts = [file.read_text() for file in files] or list(_chained())
    found = dict.fromkeys(
        text[start:end].strip() for text in texts for start, end in sentences(text)
    )
    kept = [each for each in found if 8 <= len(each) <= 120][:SENTENCES]
    folded = [match_text(each) for each in kept]
    return [Sentence(a, b, index_tokens(b)) for a, b in zip(kept, folded, strict=True)]


def _chained() -> Iterator[str]:
    """Sentences of a chain over pairs of letters of the demo's documents."""
    source = "".join(re.sub(r"\s+", "", file.read_text()) for file in sorted(DEMO.glob("*.md")))
    after = defaultdict(list)
    for at in range(len(source) - 2):
        after[source[at : at + 2]].append(source[at + 2])
    draw = random.Random(5)
    starts = list(after)
    for _ in range(SENTENCES):
        text = draw.choice(starts)
        while len(text) < draw.randint(15, 40) and (then := after.get(text[-2:])):
            text += draw.choice(then)
        yield text + "。"


def question(material: Sequence[Sentence], draw: random.Random) -> str:
    """Eight to twenty letters out of a sentence, as somebody may ask who half remembers it."""
    text = re.sub(r"\W", "", draw.choice(material).text)
    length = draw.randint(8, 20)
    start = draw.randint(0, max(0, len(text) - length))
    return text[start : start + length]


async def shelves(passages: int) -> Path:
    """The home; built if it is not there yet."""
    home = Path(tempfile.gettempdir()) / f"shutten-bench-{passages}-{TOKENISER_VERSION}"
    if not (home / "whole").exists():
        began = time.perf_counter()
        async with open_store(home, RealClock(), RealIds()) as store:
            await _fill(store, passages // COLLECTIONS)
        (home / "whole").touch()
        print(f"{passages} passages built in {time.perf_counter() - began:.0f} s: {home}")
    return home


async def _fill(store: Store, each: int) -> None:
    ids, now = RealIds(), RealClock().now()
    drawn_from = material()
    for sql in _FOR_THE_BUILD:
        await store._knowledge.alone(partial(_run, sql))
    await store.accounts.put(READER)
    for n in range(COLLECTIONS):
        collection = await store.collections.create(
            Collection(ids.new(), 0, f"s{n}", f"S{n}", Sensitivity.INTERNAL), READER.id
        )
        batch = _Batch(collection.no, drawn_from)
        for _ in range(max(1, each // PASSAGES_A_SOURCE)):
            source = Source(
                ids.new(), collection.id, "a.md", SourceKind.PASTE, ids.new(), 1,
                SourceState.READY, now,
            )  # fmt: skip
            await store.sources.add(source)
            batch.sources.append((source.id, ids.new()))
        await store._knowledge.write(batch.write)
    for sql in (_OPTIMIZE, _USUAL_MERGES):
        await store._knowledge.write(partial(_run, sql))


def _run(sql: str, connection: Connection) -> None:
    raw(connection).execute(sql)


class _Batch:
    """The passages of one collection, written in one transaction around the store's own rules."""

    def __init__(self, no: int, material: Sequence[Sentence]) -> None:
        self.no = no
        self.sources: list[tuple[str, str]] = []
        self._chance = random.Random(no)
        self._material = material

    def write(self, connection: Connection) -> None:
        driver = raw(connection)
        ids: list[int] = []
        passages: list[tuple[int | str, ...]] = []
        tokens: list[tuple[int, str]] = []
        for source, revision in self.sources:
            driver.execute(_REVISION, (revision, source))
            driver.execute(_POINT, (revision, PASSAGES_A_SOURCE, source))
            for ordinal in range(PASSAGES_A_SOURCE):
                passage_id = self.no << COLLECTION_SHIFT | len(passages) + 1
                drawn = self._drawn()
                text = "".join(each.text for each in drawn)
                folded = "".join(each.folded for each in drawn)
                row = (passage_id, source, revision, ordinal, TOKENISER_VERSION, text, folded)
                ids.append(passage_id)
                passages.append(row)
                tokens.append((passage_id, " ".join(each.tokens for each in drawn)))
        driver.executemany(_PASSAGE, passages)
        fulltext.add(connection, tokens)
        mark = counters.add(connection, counters.VECTOR_MARK, len(passages)) - len(passages)
        driver.executemany(_VECTORS, self._vectors(ids, mark))
        driver.execute(_NEXT, (len(passages) + 1, self.no))
        counters.add(connection, counters.PASSAGES, len(passages))

    def _drawn(self) -> list[Sentence]:
        drawn: list[Sentence] = []
        letters = 0
        while letters < LETTERS:
            drawn.append(self._chance.choice(self._material))
            letters += len(drawn[-1].text)
        return drawn

    def _vectors(self, ids: Sequence[int], mark: int) -> Iterator[tuple[object, ...]]:
        centres = unit(np.random.default_rng(1), CENTRES, DIMENSION)
        draw = np.random.default_rng(self.no)
        about = centres[draw.integers(0, CENTRES, (len(ids), 1))]
        rows = about + 0.8 * unit(draw, len(ids), VECTORS_A_PASSAGE, DIMENSION)
        rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
        for at, passage_id in enumerate(ids):
            values = (MODEL, passage_id, self.no, mark + at + 1, VECTORS_A_PASSAGE)
            yield *values, rows[at].astype("<f4").tobytes()


async def scope_of(store: Store, count: int) -> Scope:
    """What a person may read to whom `count` of the collections are granted."""
    every = [await store.collections.find_by_slug(f"s{n}") for n in range(COLLECTIONS)]
    made = [each for each in every if each is not None]
    step = len(made) / count
    some = [made[int(at * step)] for at in range(count)]
    grants = [Grant(each.id, SubjectKind.USER, READER.id, Role.VIEWER) for each in some]
    facts = ScopeFacts(tuple(some), tuple(grants), 1, READER)
    return decide(Audience(AudienceKind.DASHBOARD, READER), None, facts)
