"""The vectors of all collections in memory, kept up to date from the store, searched exactly."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gateway.core.calibration import Calibration
from gateway.interfaces import PassageVectors, Vector, VectorStore
from gateway.knowledge.vector_blocks import Block, Nearest, pack
from gateway.knowledge.vector_field import Field, cosines
from gateway.knowledge.vector_scan import Wanted, scan_field

AT_ONCE_BELOW = 3_000  # rows; a scan so short costs less than the way to a thread and back
TOGETHER = 16  # questions in one pass over the codes
SCOPES_KEPT = 64  # put together until something changes; askers often read the same


class _Home(NamedTuple):
    """Where vectors live: vectors of another length never stand in the same block."""

    collection_id: str
    dimension: int


class _Scope(NamedTuple):
    """What may be looked at, of one dimension."""

    collections: frozenset[str]
    dimension: int


class _Place(NamedTuple):
    """A scope put together: its homes in the order of the field's views."""

    homes: tuple[_Home, ...]
    field: Field


@dataclass(eq=False, slots=True)
class _Waiting:
    """A question on its way into a scan, and then its result."""

    scope: _Scope
    query: Vector
    limit: int
    also: Collection[int]
    found: Nearest | None = None


class VectorIndex:
    """Search over one model's vectors; one block a collection, so a scope is slices.

    Vectors are centred on the mean of their language when they are put in (measured: without
    it a mixed index ranks every passage of the question's own language first). Follows
    `VectorStore.changes` before each search. Scans run in a worker thread, one at a time;
    questions that arrive meanwhile are taken together into the next.
    """

    def __init__(
        self, store: VectorStore, model_key: str, calibration: Calibration | None = None
    ) -> None:
        self.model_key = model_key
        self._store = store
        self._question_means = _means(calibration.question_means if calibration else {})
        self._passage_means = _means(calibration.passage_means if calibration else {})
        self._blocks: dict[_Home, Block] = {}
        self._homes: dict[int, _Home] = {}  # by passage id
        self._known: dict[_Scope, _Place] = {}  # as the blocks are now
        self._mark = 0
        self._following = asyncio.Lock()
        self._scanning = asyncio.Lock()
        self._waiting: list[_Waiting] = []

    @property
    def bytes(self) -> int:
        """Of the arrays of all blocks."""
        return sum(block.bytes for block in self._blocks.values())

    async def nearest(
        self,
        collections: Collection[str],
        question: tuple[Vector, str],
        limit: int,
        also: Collection[int] = (),
    ) -> Nearest:
        """The `limit` nearest passages of `collections`, and the cosines of those in `also`.

        `question` is its unit vector, shape (d,), and its script.
        """
        await self.refresh()
        vector, script = question
        query = _centred(vector, self._question_means.get(script))
        waiting = _Waiting(_Scope(frozenset(collections), len(vector)), query, limit, also)
        place = self._place(waiting.scope)
        if place.field.size < AT_ONCE_BELOW:
            return scan_field(place.field, [self._wanted(waiting, place)])[0]
        return await self._in_turn(waiting)

    def _place(self, scope: _Scope) -> _Place:
        """Kept until blocks change; to be taken anew for every scan."""
        place = self._known.get(scope)
        if place is None:
            homes = (_Home(name, scope.dimension) for name in sorted(scope.collections))
            there = tuple(home for home in homes if home in self._blocks)
            place = _Place(there, Field([self._blocks[home].view for home in there]))
            while len(self._known) >= SCOPES_KEPT:
                del self._known[next(iter(self._known))]
            self._known[scope] = place
        return place

    def cosines(
        self, collections: Collection[str], question: tuple[Vector, str], passages: Iterable[int]
    ) -> Mapping[int, float]:
        """Of those passages that are in `collections`, as of the last `refresh`."""
        vector, script = question
        by_home: dict[_Home, list[int]] = defaultdict(list)
        for passage_id in passages:
            home = self._homes.get(passage_id)
            if home and home.collection_id in collections and home.dimension == len(vector):
                by_home[home].append(passage_id)
        views = [self._blocks[home].view for home in by_home]
        query = _centred(vector, self._question_means.get(script))
        return cosines(views, query, list(by_home.values()))

    async def _in_turn(self, mine: _Waiting) -> Nearest:
        self._waiting.append(mine)
        try:
            async with self._scanning:
                while mine.found is None:  # or another took it along
                    await self._scan_waiting(mine)
        finally:
            self._waiting.remove(mine)
        return mine.found

    async def _scan_waiting(self, mine: _Waiting) -> None:
        """One pass for a question and those that wait with the same scope."""
        alike = [each for each in self._waiting if each.found is None and each.scope == mine.scope]
        taken = [mine, *(each for each in alike if each is not mine)][:TOGETHER]
        place = self._place(mine.scope)
        wanted = [self._wanted(each, place) for each in taken]
        found = await asyncio.to_thread(scan_field, place.field, wanted)
        for each, nearest in zip(taken, found, strict=True):
            each.found = nearest

    def _wanted(self, waiting: _Waiting, place: _Place) -> Wanted:
        by_home: dict[_Home | None, list[int]] = defaultdict(list)
        for passage_id in waiting.also:
            by_home[self._homes.get(passage_id)].append(passage_id)
        also = [by_home.get(home, []) for home in place.homes]
        return Wanted(waiting.query, waiting.limit, also)

    async def refresh(self) -> None:
        """Take over what changed in the store; deleted passages are wiped from memory.

        What has begun is done to its end, also when whoever asked gives up: the thread that
        fills the blocks cannot be stopped, and a second beside it would mix them up.
        """
        await asyncio.shield(self._follow())

    async def _follow(self) -> None:
        async with self._following:
            while True:
                mark, put, gone = await self._store.changes(self.model_key, self._mark)
                if put or gone:
                    try:
                        await asyncio.to_thread(self._apply, put, gone)
                    finally:
                        self._known.clear()  # before anything that was left is wiped
                self._mark = mark
                if not put:  # the store tells of many in parts
                    break
            await self._wipe_what_was_left()

    async def _wipe_what_was_left(self) -> None:
        if any(block.left for block in self._blocks.values()):
            async with self._scanning:  # scans to come look at where the blocks are now
                for block in self._blocks.values():
                    while block.left:
                        await asyncio.to_thread(block.left.pop().wipe)

    def _apply(self, put: Sequence[PassageVectors], gone: Sequence[int]) -> None:
        touched: set[_Home | None] = {self._forget(passage_id) for passage_id in gone}
        batches: dict[_Home, list[PassageVectors]] = defaultdict(list)
        for row in {row.passage_id: row for row in put}.values():
            home = _Home(row.collection_id, row.vectors.shape[1])
            if self._homes.get(row.passage_id, home) != home:
                touched.add(self._forget(row.passage_id))
            batches[home].append(row)
        for home, rows in batches.items():
            block = self._blocks.setdefault(home, Block(home.dimension))
            block.extend(self._centred_all(rows))
            self._homes.update((row.passage_id, home) for row in rows)
            touched.add(home)
        for each in touched:
            if each is not None:
                self._blocks[each] = self._blocks[each].compacted()
        self._pack()

    def _pack(self) -> None:
        by_dimension: dict[int, list[Block]] = defaultdict(list)
        for home in sorted(self._blocks):
            by_dimension[home.dimension].append(self._blocks[home])
        for blocks in by_dimension.values():
            pack(blocks)

    def _forget(self, passage_id: int) -> _Home | None:
        home = self._homes.pop(passage_id, None)
        if home is not None:
            self._blocks[home].remove(passage_id)
        return home

    def _centred_all(self, rows: Sequence[PassageVectors]) -> dict[int, Vector]:
        by_script: dict[str, list[PassageVectors]] = defaultdict(list)
        for row in rows:
            by_script[row.script].append(row)
        batch: dict[int, Vector] = {}
        for script, some in by_script.items():
            matrix = np.concatenate([row.vectors for row in some])
            moved = _centred(matrix, self._passage_means.get(script))
            ends = np.cumsum([len(row.vectors) for row in some])[:-1]
            batch.update(
                (row.passage_id, part)
                for row, part in zip(some, np.split(moved, ends), strict=True)
            )
        return batch


def _means(by_script: Mapping[str, Sequence[float]]) -> dict[str, Vector]:
    return {script: np.asarray(mean, np.float32) for script, mean in by_script.items()}


def _centred(vectors: Vector, mean: Vector | None) -> Vector:
    moved = vectors if mean is None else vectors - mean
    norms = np.linalg.norm(moved, axis=-1, keepdims=True)
    return np.asarray(moved / np.maximum(norms, 1e-12), np.float32)
