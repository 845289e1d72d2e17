"""The scan over blocks: cheap codes say which rows can be among the best, float32 decides.

Up to SCREENED_FROM rows, and wherever `exact` is asked for, the result is proven: a row's 8-bit
score is off by at most a known error, so every row that could reach the last place is reckoned
in full. Above it one bit a number screens the rows first, wide enough that none was seen to be
missed (docs/adr/0020).
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from gateway.interfaces import Vector
from gateway.knowledge.vector_blocks import GONE, Nearest, View, coded, signs_of

PLAIN_BELOW = 512  # rows; float32 itself is as fast
SCREENED_FROM = 50_000  # rows; below it the 8-bit scan takes some milliseconds at most
SCREENED_LEAST = 1_000  # rows that always pass the screen,
SCREENED_SHARE = 0.005  # or this share of all
SCREENED_MOST = 0.1  # more are not worth picking out
SPREADS = 3.0  # standard deviations of the bit distance that a good row may be off
SAMPLED = 16  # every so many rows are looked at to find where the best begin
SLACK = 2e-5  # of sums in float32
WIDTH = 2  # rows reckoned in full at first, for each passage wanted
TILES = {"inner": 256, "hamming": 4096}  # rows, for several questions at once: fit the cache

KINDS: dict[str, Any] = {"inner": "int8", "hamming": "bin8"}

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One question's search: unit vector (d,), how many, and ids of each view to compare too."""

    query: Vector
    limit: int
    also: Sequence[Collection[int]] = ()


def scan(
    views: Sequence[View],
    query: Vector,
    limit: int,
    also: Sequence[Collection[int]] = (),
    *,
    exact: bool = False,
) -> Nearest:
    """Compare every passage of the views; a passage's score is the greatest of its vectors'.

    `also` has a collection of ids for each view.
    """
    return scan_together(views, [Wanted(query, limit, also)], exact=exact)[0]


def scan_together(
    views: Sequence[View], wanted: Sequence[Wanted], *, exact: bool = False
) -> list[Nearest]:
    """Several questions over the same views: the codes pass through the processor once."""
    field = _Field(views)
    queries = np.ascontiguousarray([each.query for each in wanted], np.float32)
    if exact or field.size < SCREENED_FROM:
        coarse, errors = field.scores(queries)
        best = [
            _certain(field, each, scores, error)
            for each, scores, error in zip(wanted, coarse, errors, strict=True)
        ]
    else:
        alike = field.likeness(queries)
        best = [_screened(field, *pair) for pair in zip(wanted, alike, strict=True)]
    return [
        Nearest(found.ranked(each.limit), _cosines(views, each))
        for each, found in zip(wanted, best, strict=True)
    ]


class _Field:
    """The rows of several views, numbered one after the other."""

    def __init__(self, views: Sequence[View]) -> None:
        self._views = [view for view in views if len(view.ids)]
        self._offsets = np.cumsum([0, *(len(view.rows) for view in self._views)])
        self._worst = max((view.error for view in self._views), default=0.0)
        self.size = int(self._offsets[-1])

    def scores(self, queries: Vector) -> tuple[Vector, list[float]]:
        """Of every row, (questions, rows), and how far each question's may be off."""
        if self.size < PLAIN_BELOW:
            return self._filled(queries, lambda view: queries @ view.rows.T), [SLACK] * len(queries)
        codes, steps = coded(queries)
        found = self._filled(queries, lambda view: _compared(codes, view.codes, "inner"))
        for part, view in self._parts(found):
            np.multiply(part, view.steps, out=part)
        found *= steps[:, None]
        return found, [self._error(*each) for each in zip(queries, codes, steps, strict=True)]

    def likeness(self, queries: Vector) -> Vector:
        """Minus the count of numbers in which the signs of each row differ, (questions, rows)."""
        signs = signs_of(queries)
        found = self._filled(queries, lambda view: _compared(signs, view.signs, "hamming"))
        return np.negative(found, out=found)

    def scores_at(self, rows: Rows, query: Vector) -> tuple[Vector, float]:
        """As `scores`, of one question and some rows only, given in rising order."""
        codes, steps = coded(query[None])
        taken = np.empty((len(rows), len(query)), np.int8)
        found = np.empty(len(rows), np.float32)
        for span, view, local in self._split(rows):
            view.codes.take(local, axis=0, out=taken[span], mode="clip")
            view.steps.take(local, out=found[span], mode="clip")
        found *= _compared(codes, taken, "inner")[0] * steps[0]
        return found, self._error(query, codes[0], steps[0])

    def reckoned(self, rows: Rows, query: Vector) -> "_Found":
        """Cosines in full of some rows, given in rising order.

        Not by BLAS: its last digit depends on where a row stands, and ties would be none.
        """
        taken = np.empty((len(rows), len(query)), np.float32)
        ids = np.empty(len(rows), np.int64)
        parts = list(self._split(rows))
        for span, view, local in parts:
            view.rows.take(local, axis=0, out=taken[span], mode="clip")
        for span, view, local in parts:  # after the rows: what is not gone now was whole then
            places = np.searchsorted(view.starts, local, "right") - 1
            view.ids.take(places, out=ids[span], mode="clip")
        return _Found(ids, np.einsum("ij,j->i", taken, query)).distinct()

    def _error(self, query: Vector, codes: NDArray[np.int8], step: np.float32) -> float:
        off = query - codes * step
        return self._worst + math.sqrt(off @ off) * (1 + self._worst) + SLACK

    def _filled(self, queries: Vector, compare: Callable[[View], Vector]) -> Vector:
        found = np.empty((len(queries), self.size), np.float32)
        for part, view in self._parts(found):
            part[:] = compare(view)
        return found

    def _parts(self, found: Vector) -> Iterator[tuple[Vector, View]]:
        for (begin, end), view in zip(pairwise(self._offsets.tolist()), self._views, strict=True):
            yield found[:, begin:end], view

    def _split(self, rows: Rows) -> Iterator[tuple[slice, View, Rows]]:
        """Which of `rows` are whose, and their numbers there."""
        bounds = np.searchsorted(rows, self._offsets).tolist()
        for at, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                yield slice(begin, end), self._views[at], rows[begin:end] - self._offsets[at]


@dataclass(frozen=True, slots=True)
class _Found:
    """Passages and their scores."""

    ids: NDArray[np.int64]
    scores: Vector

    def distinct(self) -> "_Found":
        """Each living passage once, with its greatest score."""
        order = np.lexsort((-self.scores, self.ids))
        ids = self.ids[order]
        is_first = ids != GONE
        is_first[1:] &= ids[1:] != ids[:-1]
        return _Found(ids[is_first], self.scores[order[is_first]])

    def joined(self, other: "_Found") -> "_Found":
        ids = np.concatenate((self.ids, other.ids))
        return _Found(ids, np.concatenate((self.scores, other.scores))).distinct()

    def ranked(self, limit: int) -> tuple[tuple[int, float], ...]:
        order = np.lexsort((self.ids, -self.scores))[:limit]
        return tuple(zip(self.ids[order].tolist(), self.scores[order].tolist(), strict=True))

    def least(self, limit: int) -> float:
        """The score of the last place; nothing is too low while there are too few."""
        if len(self.ids) < limit:
            return -math.inf
        return float(np.partition(self.scores, len(self.scores) - limit)[-limit])


def _certain(
    field: _Field, wanted: Wanted, coarse: Vector, error: float, rows: Rows | None = None
) -> _Found:
    """The best passages for sure, from the coarse scores of every row, or of `rows`.

    The best rows are reckoned in full, then all whose coarse score may hide a better one.
    """
    count = WIDTH * wanted.limit
    numbers = np.arange(len(coarse)) if rows is None else rows
    while True:
        first = _greatest(coarse, count)
        found = field.reckoned(numbers[first], wanted.query)
        if len(found.ids) >= wanted.limit or len(first) == len(coarse):
            break
        count *= WIDTH  # many pieces of few passages
    seen = float(coarse[first].min(initial=math.inf))
    rest = np.flatnonzero((coarse >= found.least(wanted.limit) - error) & (coarse < seen))
    return found.joined(field.reckoned(numbers[rest], wanted.query)) if len(rest) else found


def _screened(field: _Field, wanted: Wanted, alike: Vector) -> _Found:
    """The best of the rows whose signs are near enough the question's.

    With the last place's cosine known, the signs of a row that reaches it differ in about
    d · arccos / π numbers; all that lie within SPREADS of that are looked at too. Where those
    are many, for nothing is near the question, every row is.
    """
    count = max(SCREENED_LEAST, int(field.size * SCREENED_SHARE), 2 * WIDTH * wanted.limit)
    near = _greatest(alike, count)
    found = _certain(field, wanted, *field.scores_at(near, wanted.query), near)
    least = found.least(wanted.limit)
    passed = float(alike[near].min(initial=math.inf))
    reach = -_reach(len(wanted.query), least)
    more = np.flatnonzero((alike < passed) & (alike >= reach)) if reach < passed else near[:0]
    if len(more) > field.size * SCREENED_MOST:
        coarse, errors = field.scores(wanted.query[None])
        return _certain(field, wanted, coarse[0], errors[0])
    coarse, error = field.scores_at(more, wanted.query)
    return found.joined(field.reckoned(more[coarse >= least - error], wanted.query))


def _reach(dimension: int, cosine: float) -> float:
    share = math.acos(max(-1.0, min(1.0, cosine))) / math.pi
    return dimension * share + SPREADS * math.sqrt(dimension * share * (1 - share))


def _greatest(values: Vector, count: int) -> Rows:
    """Places, rising, of at least the `count` greatest values, with all equal to the last."""
    if count >= len(values):
        return np.arange(len(values))
    if count >= SAMPLED * SAMPLED:  # a sample says nearly as well where they begin
        found = _from_rank(values, values[::SAMPLED], 5 * count // (4 * SAMPLED))
        if len(found) >= count:
            return found
    return _from_rank(values, values, count)


def _from_rank(values: Vector, some: Vector, rank: int) -> Rows:
    return np.flatnonzero(values >= np.partition(some, len(some) - rank)[len(some) - rank])


def _compared(queries: NDArray[Any], codes: NDArray[Any], metric: Any) -> Vector:
    """(questions, rows). The library's own `out` is not used: it takes a reference from None."""
    if len(queries) == 1:
        return _product(queries, codes, metric)
    size = TILES[metric]
    tiles = [codes[at : at + size] for at in range(0, len(codes), size)]
    return np.concatenate([_product(queries, tile, metric) for tile in tiles], axis=1)


def _product(queries: NDArray[Any], codes: NDArray[Any], metric: Any) -> Vector:
    if not len(codes):
        return np.zeros((len(queries), 0), np.float32)
    found = simsimd.cdist(queries, codes, metric, dtype=KINDS[metric], out_dtype="float32")
    return np.asarray(found, np.float32).reshape(len(queries), len(codes))


def _cosines(views: Sequence[View], wanted: Wanted) -> dict[int, float]:
    found: dict[int, float] = {}
    for view, ids in zip(views, wanted.also, strict=False):
        places = {each: at for each in ids if (at := view.place(each)) is not None}
        if places:
            spans = [view.rows_of(at) for at in places.values()]
            rows = np.concatenate([np.arange(span.start, span.stop) for span in spans])
            scores = np.einsum("ij,j->i", view.rows.take(rows, axis=0), wanted.query)
            firsts = np.cumsum([0, *(span.stop - span.start for span in spans[:-1])])
            best = np.maximum.reduceat(scores, firsts).tolist()
            found |= {
                each: score
                for each, score in zip(places, best, strict=True)
                if view.place(each) is not None
            }
    return found
