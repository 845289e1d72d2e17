"""The rows of a scope as one field: numbered one after the other, compared span by span."""

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import simsimd
from numpy.typing import NDArray

from gateway.interfaces import Vector
from gateway.knowledge.vector_blocks import View
from gateway.knowledge.vector_space import GONE, Space, coded, signs_of

PLAIN_BELOW = 512  # rows; float32 itself is as fast
SLACK = 2e-5  # of sums in float32
TILES = {"inner": 256, "hamming": 4096}  # rows, for several questions at once: fit the cache
PICKED = 1024  # rows picked out at once: fit the cache too
KINDS: dict[str, tuple[Any, Any]] = {
    "inner": ("int8", "float32"),
    "hamming": ("bin8", "uint16"),
}
ONE: dict[str, Any] = {"inner": simsimd.inner, "hamming": simsimd.hamming}

Rows = NDArray[np.int64]
Distances = NDArray[np.uint16]
Number = TypeVar("Number", np.float32, np.uint16)

_FIRST = attrgetter("first")
_NONE: Rows = np.zeros(0, np.int64)


class _Span(NamedTuple):
    """Rows of a space, with what is free between the blocks of the scope."""

    space: Space
    begin: int
    end: int


class _Borders(NamedTuple):
    """The blocks of one space in rising order: a row between them is nobody's yet.

    Of a block that stands alone every row of its span is its own, and `ends` is empty.
    """

    space: Space
    firsts: Rows
    ends: Rows

    def owners(self, rows: Rows) -> Rows:
        """Passage ids, GONE where there is none."""
        owners: Rows = self.space.owners.take(rows)
        if len(self.ends):
            block = self.firsts.searchsorted(rows, "right") - 1
            owners[rows >= self.ends.take(block)] = GONE
        return owners


class Asked(NamedTuple):
    """Questions (n, d) in full and in 8 bits a number; `offs`: how far each is from its code."""

    queries: Vector
    codes: NDArray[np.int8]
    steps: Vector
    offs: list[float]

    def one(self, number: int) -> "Asked":
        if len(self.queries) == 1:
            return self
        part = slice(number, number + 1)
        return Asked(self.queries[part], self.codes[part], self.steps[part], self.offs[part])


def asked(queries: Vector) -> Asked:
    """Unit vectors, shape (n, d), with what a scan needs of them."""
    codes, steps = coded(queries)
    off = queries - codes * steps[:, None]
    return Asked(queries, codes, steps, np.sqrt(np.einsum("ij,ij->i", off, off)).tolist())


class Field:
    """The views of a scope; blocks that touch each other in a space are one span.

    It stays true as long as its views do; what is wiped since is nobody's.
    """

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        by_space: dict[int, list[View]] = {}
        for view in views:
            if view.filled:
                by_space.setdefault(id(view.space), []).append(view)
        self._spans: list[_Span] = []
        self._borders: list[_Borders] = []
        bounds = [0]  # of the spaces, among the spans
        for some in by_space.values():
            some.sort(key=_FIRST)
            self._spans += _spans(some)
            self._borders.append(_borders(some))
            bounds.append(len(self._spans))
        offsets = [0, *accumulate(end - begin for _, begin, end in self._spans)]
        self._worst = max([view.error for view in views], default=0.0)
        self.size = offsets[-1]
        if len(self._spans) > 1:
            self._offsets = np.array(offsets)
            self._shifts = np.array([begin for _, begin, _ in self._spans], np.int64)
            self._shifts -= self._offsets[:-1]
            self._bounds = self._offsets[bounds]

    def scores(self, asked: Asked) -> tuple[Vector, list[float]]:
        """Of every row, (questions, rows), and how far each question's may be off."""
        queries = asked.queries
        if self.size < PLAIN_BELOW:
            parts = [queries @ space.rows[at:end].T for space, at, end in self._spans]
            return _side_by_side(parts, len(queries)), [SLACK] * len(queries)
        parts = []
        for space, at, end in self._spans:
            part = _compared(asked.codes, space.codes[at:end], "inner")
            parts.append(np.multiply(part, space.steps[at:end], out=part))
        found = _side_by_side(parts, len(queries))
        found *= asked.steps[:, None]
        return found, self._errors(asked)

    def distances(self, asked: Asked) -> Distances:
        """In how many numbers the signs of each row differ, (questions, rows)."""
        signs = signs_of(asked.queries)
        parts = [_compared(signs, space.signs[at:end], "hamming") for space, at, end in self._spans]
        return _side_by_side(parts, len(signs))

    def scores_at(self, rows: Rows, asked: Asked) -> tuple[Vector, float]:
        """As `scores`, of one question and some rows only, given in rising order."""
        found = np.empty(len(rows), np.float32)
        for span, borders, places in self._split(rows):
            space = borders.space
            for at in range(0, len(places), PICKED):
                some = places[at : at + PICKED]
                part = found[span][at : at + PICKED]
                part[:] = _product(asked.codes, space.codes.take(some, axis=0), "inner")[0]
                part *= space.steps.take(some)
        found *= asked.steps[0]
        return found, self._errors(asked)[0]

    def reckoned(self, rows: Rows, query: Vector) -> tuple[Rows, Vector]:
        """Owners and cosines in full of some rows, given in rising order.

        Not by BLAS: its last digit depends on where a row stands, and ties would be none.
        """
        scores = np.empty(len(rows), np.float32)
        owners = np.empty(len(rows), np.int64)
        for span, borders, places in self._split(rows):
            taken = borders.space.rows.take(places, axis=0)
            # after the rows: what is not gone now was whole then
            owners[span] = borders.owners(places)
            np.einsum("ij,j->i", taken, query, out=scores[span])
        return owners, scores

    def _errors(self, asked: Asked) -> list[float]:
        return [self._worst + off * (1 + self._worst) + SLACK for off in asked.offs]

    def _split(self, rows: Rows) -> Iterator[tuple[slice, _Borders, Rows]]:
        """Which of `rows` are in which space, and their places there."""
        if len(self._spans) <= 1:
            if len(rows):
                yield slice(None), self._borders[0], rows + self._spans[0].begin
            return
        places = rows + self._shifts.take(self._offsets.searchsorted(rows, "right") - 1)
        bounds = rows.searchsorted(self._bounds).tolist()
        for borders, (begin, end) in zip(self._borders, pairwise(bounds), strict=True):
            if begin < end:
                yield slice(begin, end), borders, places[begin:end]


def cosines(
    views: Sequence[View], query: Vector, also: Sequence[Collection[int]]
) -> dict[int, float]:
    """Of the passages `also`, a collection of ids for each view, that are there."""
    spans: dict[int, tuple[Space, list[int], list[tuple[int, int]]]] = {}
    for view, ids in zip(views, also, strict=False):
        for each in ids:
            place = view.place(each)
            if place is not None:
                _, known, rows = spans.setdefault(id(view.space), (view.space, [], []))
                known.append(each)
                rows.append(view.span_of(place))
    found: dict[int, float] = {}
    for space, known, rows in spans.values():
        begins, ends = np.array(rows).T
        firsts = np.cumsum(ends - begins) - (ends - begins)
        places = np.arange(int((ends - begins).sum()))
        places += np.repeat(begins - firsts, ends - begins)
        scores = np.einsum("ij,j->i", space.rows.take(places, axis=0), query)
        best = np.maximum.reduceat(scores, firsts).tolist()
        owners = space.owners.take(begins).tolist()
        found |= {
            each: score
            for each, owner, score in zip(known, owners, best, strict=True)
            if owner == each
        }
    return found


def _spans(views: Sequence[View]) -> list[_Span]:
    spans: list[_Span] = []
    space, begin, filled, room = views[0][:4]
    behind, end = begin + room, begin + filled  # the last block's room, and its last row
    for view in views[1:]:
        if view.first != behind:
            spans.append(_Span(space, begin, end))
            begin = view.first
        behind, end = view.first + view.room, view.first + view.filled
    return [*spans, _Span(space, begin, end)]


def _borders(views: Sequence[View]) -> _Borders:
    if len(views) == 1:
        return _Borders(views[0].space, _NONE, _NONE)
    firsts = np.array([view.first for view in views])
    return _Borders(views[0].space, firsts, firsts + [view.filled for view in views])


def _side_by_side(parts: Sequence[NDArray[Number]], questions: int) -> NDArray[Number]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.zeros((questions, 0), np.float32)


def _compared(queries: NDArray[Any], codes: NDArray[Any], metric: Any) -> NDArray[Any]:
    """(questions, rows). The library's own `out` is not used: it takes a reference from None."""
    if len(queries) == 1:
        return _product(queries, codes, metric)
    size = TILES[metric]
    tiles = [codes[at : at + size] for at in range(0, len(codes), size)]
    return np.concatenate([_product(queries, tile, metric) for tile in tiles], axis=1)


def _product(queries: NDArray[Any], codes: NDArray[Any], metric: Any) -> NDArray[Any]:
    kind, out = KINDS[metric]
    if len(queries) == 1:  # with less ado for each row
        found = ONE[metric](queries, codes, kind, out_dtype=out)
    else:
        found = simsimd.cdist(queries, codes, metric, dtype=kind, out_dtype=out)
    return np.asarray(found).reshape(len(queries), len(codes))
