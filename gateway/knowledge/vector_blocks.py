"""The vectors of one collection as one contiguous block, and the exact scan over several."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gateway.interfaces import Vector

FIRST_CAPACITY = 1024
COMPACT_AT = 0.25  # share of dead passages that is worth copying the rest
GONE = -1  # in the place of a passage id

Array = TypeVar("Array", Vector, NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class Nearest:
    """Passages by cosine, best first, ties by id; `cosines` of those asked for besides."""

    ranked: tuple[tuple[int, float], ...] = ()
    cosines: Mapping[int, float] = field(default_factory=dict)


class View(NamedTuple):
    """A block at one moment: rows, where each passage's rows begin, the passages' ids."""

    rows: Vector
    starts: NDArray[np.int64]
    ids: NDArray[np.int64]


class Block:
    """Contiguous rows, each passage's side by side; capacity doubles.

    Arrays are only ever filled behind the part already shown, so that a scan in another thread
    keeps a whole view. What goes is wiped in place.
    """

    def __init__(self, dimension: int) -> None:
        self._rows: Vector = np.empty((FIRST_CAPACITY, dimension), np.float32)
        self._starts: NDArray[np.int64] = np.zeros(FIRST_CAPACITY, np.int64)
        self._ids: NDArray[np.int64] = np.zeros(FIRST_CAPACITY, np.int64)
        self._row_count = 0
        self._passage_count = 0
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        """Passages."""
        return len(self._places)

    @property
    def view(self) -> View:
        count = self._passage_count
        return View(self._rows[: self._row_count], self._starts[:count], self._ids[:count])

    def extend(self, batch: Mapping[int, Vector]) -> None:
        """Add passages with their vectors, each of shape (k, d), k ≥ 1; known ones are replaced."""
        for passage_id in batch.keys() & self._places.keys():
            self.remove(passage_id)
        lengths = np.array([len(vectors) for vectors in batch.values()], np.int64)
        rows, row_end = self._row_count, self._row_count + int(lengths.sum())
        first, end = self._passage_count, self._passage_count + len(batch)
        self._rows = _grown(self._rows, rows, row_end)
        self._starts, self._ids = (_grown(a, first, end) for a in (self._starts, self._ids))
        np.concatenate(list(batch.values()), out=self._rows[rows:row_end])
        self._starts[first:end] = rows + np.cumsum(lengths) - lengths
        self._ids[first:end] = list(batch)
        self._places.update(zip(batch, range(first, end), strict=True))
        self._row_count, self._passage_count = row_end, end

    def remove(self, passage_id: int) -> bool:
        """Wipe a passage's rows; False if it is not here."""
        place = self._places.pop(passage_id, None)
        if place is None:
            return False
        self._ids[place] = GONE
        self._rows[self._slice(place)] = 0.0
        return True

    def compacted(self) -> "Block":
        """Itself, or a copy without the rows of what has gone when those are many."""
        if self._passage_count - len(self) <= self._passage_count * COMPACT_AT:
            return self
        copy = Block(self._rows.shape[1])
        if self._places:
            copy.extend({id_: self._rows[self._slice(at)] for id_, at in self._places.items()})
        return copy

    def _slice(self, place: int) -> slice:
        is_last = place + 1 == self._passage_count
        end = self._row_count if is_last else int(self._starts[place + 1])
        return slice(int(self._starts[place]), end)


def _grown(array: Array, used: int, needed: int) -> Array:
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def scan(views: Sequence[View], query: Vector, limit: int, also: Collection[int] = ()) -> Nearest:
    """Compare every passage of the views; a passage's score is the greatest of its vectors'."""
    scored = [_best(view, query) for view in views if len(view.ids)]
    if not scored:
        return Nearest()
    scores = np.concatenate([best for best, _ in scored])
    ids = np.concatenate([known for _, known in scored])
    alive = ids != GONE
    scores, ids = scores[alive], ids[alive]
    wanted = np.isin(ids, np.fromiter(also, np.int64, len(also)))
    cosines = zip(ids[wanted].tolist(), scores[wanted].tolist(), strict=True)
    return Nearest(_top(scores, ids, limit), dict(cosines))


def _best(view: View, query: Vector) -> tuple[Vector, NDArray[np.int64]]:
    ids = view.ids.copy()  # a passage that goes during the scan scores 0 or is gone: never old
    return np.maximum.reduceat(view.rows @ query, view.starts), ids


def _top(scores: Vector, ids: NDArray[np.int64], limit: int) -> tuple[tuple[int, float], ...]:
    if len(scores) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        candidates = np.flatnonzero(scores >= least)
        scores, ids = scores[candidates], ids[candidates]
    order = np.lexsort((ids, -scores))[:limit]
    return tuple(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
