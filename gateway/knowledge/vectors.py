"""The vectors of all collections in memory, kept up to date from the store, searched exactly."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from gateway.core.calibration import Calibration
from gateway.interfaces import PassageVectors, Vector, VectorStore
from gateway.knowledge.vector_blocks import Block, Nearest, scan


class VectorIndex:
    """Exact search over one model's vectors; one block a collection, so a scope is slices.

    Vectors are centred on the mean of their language when they are put in (measured: without
    it a mixed index ranks every passage of the question's own language first). Follows
    `VectorStore.changes` before each search; arithmetic runs in worker threads.
    """

    def __init__(
        self, store: VectorStore, model_key: str, calibration: Calibration | None = None
    ) -> None:
        self.model_key = model_key
        self._store = store
        self._question_means = _means(calibration.question_means if calibration else {})
        self._passage_means = _means(calibration.passage_means if calibration else {})
        self._blocks: dict[str, Block] = {}
        self._homes: dict[int, str] = {}  # passage id -> collection id
        self._mark = 0
        self._lock = asyncio.Lock()

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
        views = [self._blocks[name].view for name in sorted(collections) if name in self._blocks]
        query = _centred(vector, self._question_means.get(script))
        return await asyncio.to_thread(scan, views, query, limit, also)

    async def refresh(self) -> None:
        """Take over what changed in the store; deleted passages are wiped from memory."""
        async with self._lock:
            mark, put, gone = await self._store.changes(self.model_key, self._mark)
            if put or gone:
                await asyncio.to_thread(self._apply, put, gone)
            self._mark = mark

    def _apply(self, put: Sequence[PassageVectors], gone: Sequence[int]) -> None:
        touched = set()
        for passage_id in gone:
            home = self._homes.pop(passage_id, None)
            if home is not None:
                self._blocks[home].remove(passage_id)
                touched.add(home)
        for name, batch in self._by_collection(put).items():
            dimension = next(iter(batch.values())).shape[1]
            self._blocks.setdefault(name, Block(dimension)).extend(batch)
            self._homes.update(dict.fromkeys(batch, name))
            touched.add(name)
        for name in touched:
            self._blocks[name] = self._blocks[name].compacted()

    def _by_collection(self, rows: Iterable[PassageVectors]) -> dict[str, dict[int, Vector]]:
        batches: dict[str, dict[int, Vector]] = defaultdict(dict)
        for row in rows:
            mean = self._passage_means.get(row.script)
            batches[row.collection_id][row.passage_id] = _centred(row.vectors, mean)
        return batches


def _means(by_script: Mapping[str, Sequence[float]]) -> dict[str, Vector]:
    return {script: np.asarray(mean, np.float32) for script, mean in by_script.items()}


def _centred(vectors: Vector, mean: Vector | None) -> Vector:
    moved = vectors if mean is None else vectors - mean
    norms = np.linalg.norm(moved, axis=-1, keepdims=True)
    return np.asarray(moved / np.maximum(norms, 1e-12), np.float32)
