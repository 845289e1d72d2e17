"""The vectors of one collection as one contiguous block, small blocks side by side in one space."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gateway.interfaces import Vector
from gateway.knowledge.vector_space import GONE, Region, Space

FIRST_CAPACITY = 1024
COMPACT_AT = 0.25  # share of dead passages that is worth copying the rest
PACKED_FROM = 8  # blocks in spaces of their own
PACKED_MOST = 16_384  # rows of a block; above it one more slice costs nothing beside the scan
SHARED_ROWS = 65_536  # of a common space, about 130 MB of 384 numbers
SLACK_SHARE, SLACK_MOST = 16, 256  # room to grow in a common space; a scan goes over it

Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True, slots=True)
class Nearest:
    """Passages by cosine, best first, ties by id; `cosines` of those asked for besides."""

    ranked: tuple[tuple[int, float], ...] = ()
    cosines: Mapping[int, float] = field(default_factory=dict)


class View(NamedTuple):
    """A block at one moment: `filled` rows of a space from `first` on, in a part of `room` rows.

    `starts` are each passage's first row, counted from `first`. No row is further than `error`
    from its code. `places` may be ahead of the moment.
    """

    space: Space
    first: int
    filled: int
    room: int
    error: float
    starts: NDArray[np.int64]
    ids: NDArray[np.int64]
    places: Mapping[int, int]

    def place(self, passage_id: int) -> int | None:
        """Where among the passages it stands."""
        at = self.places.get(passage_id)
        return at if at is not None and at < len(self.ids) and self.ids[at] == passage_id else None

    def span_of(self, place: int) -> tuple[int, int]:
        """First row of a passage in the space, and the one behind its last."""
        is_last = place + 1 == len(self.starts)
        end = self.filled if is_last else int(self.starts[place + 1])
        return self.first + int(self.starts[place]), self.first + end

    @property
    def rows(self) -> Vector:
        """All of the moment, (filled, d)."""
        return self.space.rows[self.first : self.first + self.filled]


class Block:
    """Contiguous rows, each passage's side by side; capacity doubles.

    Arrays are only ever filled behind the part already shown, so that a scan in another thread
    keeps a whole view. What goes is wiped in place, in every precision; parts of common spaces
    that the block left are in `left`, to be wiped when no scan looks at them any more.
    """

    def __init__(self, dimension: int, capacity: int = FIRST_CAPACITY) -> None:
        self.left: list[Region] = []
        self._dimension = dimension
        self._space, self._first, self._room = Space(dimension, capacity), 0, capacity
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
        a_row = sum(array[:1].nbytes for array in self._space.arrays())
        return self._room * a_row + self._starts.nbytes + self._ids.nbytes

    @property
    def view(self) -> View:
        """As of the last `extend` that is done: one assignment shows it whole."""
        return self._view

    def _seen(self) -> View:
        starts, ids = self._starts[: self._passage_count], self._ids[: self._passage_count]
        part = (self._space, self._first, self._row_count, self._room)
        return View(*part, self._error, starts, ids, self._places)

    def extend(self, batch: Mapping[int, Vector]) -> None:
        """Add passages with their vectors, each of shape (k, d), k ≥ 1; known ones are replaced."""
        for passage_id in batch.keys() & self._places.keys():
            self.remove(passage_id)
        lengths = np.array([len(vectors) for vectors in batch.values()], np.int64)
        count = int(lengths.sum())
        place, places = self._passage_count, self._passage_count + len(batch)
        self._grow(self._row_count + count, places)
        begin = self._first + self._row_count
        np.concatenate(list(batch.values()), out=self._space.rows[begin : begin + count])
        self._error = max(self._error, self._space.encode(begin, begin + count))
        self._starts[place:places] = self._row_count + np.cumsum(lengths) - lengths
        self._ids[place:places] = list(batch)
        self._space.owners[begin : begin + count] = np.repeat(self._ids[place:places], lengths)
        self._row_count, self._passage_count = self._row_count + count, places
        self._view = self._seen()
        self._places.update(zip(batch, range(place, places), strict=True))

    def remove(self, passage_id: int) -> bool:
        """Wipe a passage's rows; False if it is not here."""
        place = self._places.pop(passage_id, None)
        if place is None:
            return False
        self._ids[place] = GONE
        self._space.wipe(*self._view.span_of(place))
        return True

    def compacted(self) -> "Block":
        """Itself, or a copy without the rows of what has gone when those are many."""
        if self._passage_count - len(self) <= self._passage_count * COMPACT_AT:
            return self
        view = self._view
        copy = Block(self._dimension)
        copy.left = [*self.left, *self._leaving()]
        if self._places:
            spans = {id_: view.span_of(at) for id_, at in self._places.items()}
            copy.extend({id_: view.space.rows[slice(*span)] for id_, span in spans.items()})
        return copy

    def move(self, space: Space, first: int, room: int) -> None:
        """All rows to another space, from `first` on; views of before stay as they are."""
        used = slice(self._first, self._first + self._row_count)
        for old, new in zip(self._space.arrays(), space.arrays(), strict=True):
            new[first : first + self._row_count] = old[used]
        self.left += self._leaving()
        self._space, self._first, self._room = space, first, room
        self._view = self._seen()

    def _leaving(self) -> list[Region]:
        part = Region(self._space, self._first, self._first + self._row_count)
        return [part] if self._space.is_shared else []  # an own space goes with its last view

    def _grow(self, rows: int, passages: int) -> None:
        if rows > self._room:
            room = max(rows, 2 * self._room)
            self.move(Space(self._dimension, room), 0, room)
        self._starts = _grown(self._starts, self._passage_count, passages)
        self._ids = _grown(self._ids, self._passage_count, passages)


def pack(blocks: Iterable[Block]) -> None:
    """Put small blocks of one dimension side by side, when there are several that stand alone.

    So a scan over many collections is one over few spaces. Blocks of a common space that most
    have left move on with the others.
    """
    small = [block for block in blocks if 0 < block.view.filled <= PACKED_MOST]
    used: dict[int, int] = {}
    for block in small:
        which = id(block.view.space)
        used[which] = used.get(which, 0) + block.view.room
    loose = [block for block in small if _is_loose(block.view, used)]
    if len(loose) < PACKED_FROM:
        return
    for batch in _batches(loose):
        rooms = [_room_for(block.view.filled) for block in batch]
        space = Space(batch[0].view.rows.shape[1], sum(rooms), is_shared=True)
        first = 0
        for block, room in zip(batch, rooms, strict=True):
            block.move(space, first, room)
            first += room


def _is_loose(view: View, used: Mapping[int, int]) -> bool:
    return not view.space.is_shared or 2 * used[id(view.space)] < len(view.space)


def _room_for(count: int) -> int:
    return count + 1 + min(count // SLACK_SHARE, SLACK_MOST)


def _batches(blocks: Sequence[Block]) -> Iterator[Sequence[Block]]:
    batch: list[Block] = []
    rows = 0
    for block in blocks:
        if batch and rows + block.view.filled > SHARED_ROWS:
            yield batch
            batch, rows = [], 0
        batch.append(block)
        rows += block.view.filled
    yield batch


def _grown(array: Array, used: int, needed: int) -> Array:
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger  # type: ignore[return-value]
