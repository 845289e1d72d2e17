"""The vectors of one collection as one contiguous block, in three precisions side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gateway.interfaces import Vector

FIRST_CAPACITY = 1024
COMPACT_AT = 0.25  # share of dead passages that is worth copying the rest
GONE = -1  # in the place of a passage id
CODE_RANGE = 127
CODED_AT_ONCE = 1024  # rows; stays in the processor's cache

Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True, slots=True)
class Nearest:
    """Passages by cosine, best first, ties by id; `cosines` of those asked for besides."""

    ranked: tuple[tuple[int, float], ...] = ()
    cosines: Mapping[int, float] = field(default_factory=dict)


class View(NamedTuple):
    """A block at one moment: its rows, and for each passage its first row and its id.

    `codes · steps` are the rows in 8 bits a number, `signs` in one; no row is further than
    `error` from its code. `places` may be ahead of the moment.
    """

    rows: Vector
    codes: NDArray[np.int8]
    steps: Vector
    signs: NDArray[np.uint8]
    error: float
    starts: NDArray[np.int64]
    ids: NDArray[np.int64]
    places: Mapping[int, int]

    def place(self, passage_id: int) -> int | None:
        """Where among the passages it stands."""
        at = self.places.get(passage_id)
        return at if at is not None and at < len(self.ids) and self.ids[at] == passage_id else None

    def rows_of(self, place: int) -> slice:
        is_last = place + 1 == len(self.starts)
        end = len(self.rows) if is_last else int(self.starts[place + 1])
        return slice(int(self.starts[place]), end)


class Block:
    """Contiguous rows, each passage's side by side; capacity doubles.

    Arrays are only ever filled behind the part already shown, so that a scan in another thread
    keeps a whole view. What goes is wiped in place, in every precision.
    """

    def __init__(self, dimension: int, capacity: int = FIRST_CAPACITY) -> None:
        self._rows: Vector = np.zeros((capacity, dimension), np.float32)
        self._codes: NDArray[np.int8] = np.zeros((capacity, dimension), np.int8)
        self._steps: Vector = np.zeros(capacity, np.float32)
        self._signs: NDArray[np.uint8] = np.zeros((capacity, (dimension + 7) // 8), np.uint8)
        self._error = 0.0
        self._starts: NDArray[np.int64] = np.zeros(FIRST_CAPACITY, np.int64)
        self._ids: NDArray[np.int64] = np.zeros(FIRST_CAPACITY, np.int64)
        self._row_count = 0
        self._passage_count = 0
        self._places: dict[int, int] = {}
        self._view = self._seen()

    def __len__(self) -> int:
        """Passages."""
        return len(self._places)

    @property
    def bytes(self) -> int:
        """Of the arrays, with what is kept free in them."""
        return sum(array.nbytes for array in (*self._of_rows(), self._starts, self._ids))

    @property
    def view(self) -> View:
        """As of the last `extend` that is done: one assignment shows it whole."""
        return self._view

    def _seen(self) -> View:
        count = self._passage_count
        rows, codes, steps, signs = (array[: self._row_count] for array in self._of_rows())
        starts, ids = self._starts[:count], self._ids[:count]
        return View(rows, codes, steps, signs, self._error, starts, ids, self._places)

    def extend(self, batch: Mapping[int, Vector]) -> None:
        """Add passages with their vectors, each of shape (k, d), k ≥ 1; known ones are replaced."""
        for passage_id in batch.keys() & self._places.keys():
            self.remove(passage_id)
        lengths = np.array([len(vectors) for vectors in batch.values()], np.int64)
        rows, row_end = self._row_count, self._row_count + int(lengths.sum())
        first, end = self._passage_count, self._passage_count + len(batch)
        self._grow(row_end, end)
        np.concatenate(list(batch.values()), out=self._rows[rows:row_end])
        for at in range(rows, row_end, CODED_AT_ONCE):
            self._encode(slice(at, min(at + CODED_AT_ONCE, row_end)))
        self._starts[first:end] = rows + np.cumsum(lengths) - lengths
        self._ids[first:end] = list(batch)
        self._row_count, self._passage_count = row_end, end
        self._view = self._seen()
        self._places.update(zip(batch, range(first, end), strict=True))

    def remove(self, passage_id: int) -> bool:
        """Wipe a passage's rows; False if it is not here."""
        place = self._places.pop(passage_id, None)
        if place is None:
            return False
        self._ids[place] = GONE
        gone = self._view.rows_of(place)
        for array in self._of_rows():
            array[gone] = 0
        return True

    def compacted(self) -> "Block":
        """Itself, or a copy without the rows of what has gone when those are many."""
        if self._passage_count - len(self) <= self._passage_count * COMPACT_AT:
            return self
        view = self._view
        copy = Block(self._rows.shape[1])
        if self._places:
            copy.extend({id_: view.rows[view.rows_of(at)] for id_, at in self._places.items()})
        return copy

    def _encode(self, part: slice) -> None:
        rows = self._rows[part]
        codes, steps = coded(rows)
        self._codes[part], self._steps[part] = codes, steps
        self._signs[part] = signs_of(rows)
        off = rows - codes * steps[:, None]
        worst = float(np.einsum("ij,ij->i", off, off).max())
        self._error = max(self._error, worst**0.5)

    def _of_rows(self) -> tuple[NDArray[Any], ...]:
        return self._rows, self._codes, self._steps, self._signs

    def _grow(self, rows: int, passages: int) -> None:
        used = self._row_count
        self._rows, self._codes = _grown(self._rows, used, rows), _grown(self._codes, used, rows)
        self._steps, self._signs = _grown(self._steps, used, rows), _grown(self._signs, used, rows)
        count = self._passage_count
        self._starts = _grown(self._starts, count, passages)
        self._ids = _grown(self._ids, count, passages)


def coded(rows: Vector) -> tuple[NDArray[np.int8], Vector]:
    """Each row of (n, d) as whole numbers of its own step: codes, and steps of shape (n,)."""
    steps = np.maximum(np.abs(rows).max(axis=-1), np.float32(1e-30)) / np.float32(CODE_RANGE)
    return np.rint(rows / steps[:, None]).astype(np.int8), steps


def signs_of(rows: Vector) -> NDArray[np.uint8]:
    """One bit a number: whether it is above zero."""
    return np.packbits(rows > 0, axis=-1)


def _grown(array: Array, used: int, needed: int) -> Array:
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger  # type: ignore[return-value]
