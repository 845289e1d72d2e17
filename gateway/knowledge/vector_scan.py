"""The scan over blocks: cheap codes say which rows can be among the best, float32 decides.

Up to SCREENED_FROM rows, and wherever `exact` is asked for, the result is proven: a row's 8-bit
score is off by at most a known error, so every row that could reach the last place is reckoned
in full. Above it one bit a number screens the rows first, wide enough that none was seen to be
missed (docs/adr/0020).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gateway.interfaces import Vector
from gateway.knowledge.vector_blocks import Nearest, View
from gateway.knowledge.vector_field import Field, Rows, cosines
from gateway.knowledge.vector_space import GONE

SCREENED_FROM = 50_000  # rows; below it the 8-bit scan takes some milliseconds at most
SCREENED_LEAST = 1_000  # rows that always pass the screen,
SCREENED_SHARE = 0.005  # or this share of all
SCREENED_MOST = 0.25  # more are not worth picking out
SPREADS = 2.5  # standard deviations of the bit distance that a good row may be off
SAMPLED = 16  # every so many rows are looked at to find where the best begin
WIDTH = 2  # rows reckoned in full at first, for each passage wanted


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
    field = Field(views)
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
        Nearest(found.ranked(each.limit), cosines(views, each.query, each.also))
        for each, found in zip(wanted, best, strict=True)
    ]


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


def _reckoned(field: Field, rows: Rows, query: Vector) -> _Found:
    return _Found(*field.reckoned(rows, query)).distinct()


def _certain(
    field: Field, wanted: Wanted, coarse: Vector, error: float, rows: Rows | None = None
) -> _Found:
    """The best passages for sure, from the coarse scores of every row, or of `rows`.

    The best rows are reckoned in full, then all whose coarse score may hide a better one.
    """
    count = WIDTH * wanted.limit
    numbers = np.arange(len(coarse)) if rows is None else rows
    while True:
        first = _greatest(coarse, count)
        found = _reckoned(field, numbers[first], wanted.query)
        if len(found.ids) >= wanted.limit or len(first) == len(coarse):
            break
        count *= WIDTH  # many pieces of few passages
    seen = float(coarse[first].min(initial=math.inf))
    rest = np.flatnonzero((coarse >= found.least(wanted.limit) - error) & (coarse < seen))
    return found.joined(_reckoned(field, numbers[rest], wanted.query)) if len(rest) else found


def _screened(field: Field, wanted: Wanted, alike: Vector) -> _Found:
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
    return found.joined(_reckoned(field, more[coarse >= least - error], wanted.query))


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
