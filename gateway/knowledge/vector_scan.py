"""The scan over blocks: cheap codes say which rows can be among the best, float32 decides.

Up to SCREENED_FROM rows, and wherever `exact` is asked for, the result is proven: a row's 8-bit
score is off by at most a known error, so every row that could reach the last place is reckoned
in full. Above it one bit a number screens the rows first, wide enough that none was seen to be
missed (docs/adr/0020).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gateway.interfaces import Vector
from gateway.knowledge.vector_blocks import Nearest, View
from gateway.knowledge.vector_field import Asked, Distances, Field, Rows, asked, cosines
from gateway.knowledge.vector_space import GONE

SCREENED_FROM = 50_000  # rows; below it the 8-bit scan takes some milliseconds at most
SCREENED_LEAST = 1_000  # rows that always pass the screen,
SCREENED_SHARE = 0.005  # or this share of all
SCREENED_MOST = 0.25  # more are not worth picking out
SPREADS = 2.5  # standard deviations of the bit distance that a good row may be off
SAMPLED = 16  # every so many rows are looked at to find where the best begin,
SAMPLED_FROM = 8_192  # where there are as many
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
    return scan_field(Field(views), wanted, exact=exact)


def scan_field(field: Field, wanted: Sequence[Wanted], *, exact: bool = False) -> list[Nearest]:
    """As `scan_together`, over views that are put together already."""
    queries = [each.query[None] for each in wanted]
    questions = asked(queries[0] if len(queries) == 1 else np.concatenate(queries))
    if exact or field.size < SCREENED_FROM:
        coarse, errors = field.scores(questions)
        best = [
            _certain(field, each, scores, error)
            for each, scores, error in zip(wanted, coarse, errors, strict=True)
        ]
    else:
        distances = field.distances(questions)
        best = [
            _screened(field, each, questions.one(number), distances[number])
            for number, each in enumerate(wanted)
        ]
    return [
        Nearest(tuple(found.ranked), cosines(field.views, each.query, each.also))
        for each, found in zip(wanted, best, strict=True)
    ]


class _Found(NamedTuple):
    """Rows reckoned in full, and the best passages among them: ids and scores, best first."""

    owners: Rows
    scores: Vector
    ranked: Sequence[tuple[int, float]]
    least: float  # the score of the last place; nothing is too low while there are too few


def _reckoned(field: Field, rows: Rows, wanted: Wanted, other: _Found | None = None) -> _Found:
    """Of rows, together with those of `other`."""
    owners, scores = field.reckoned(rows, wanted.query)
    if other is not None:
        owners = np.concatenate((other.owners, owners))
        scores = np.concatenate((other.scores, scores))
    ranked = _ranked(owners, scores, wanted.limit)
    return _Found(
        owners, scores, ranked, ranked[-1][1] if len(ranked) == wanted.limit else -math.inf
    )


def _ranked(owners: Rows, scores: Vector, limit: int) -> list[tuple[int, float]]:
    """Each living passage once, with its greatest score."""
    order = np.lexsort((owners, -scores))
    best = {GONE: math.nan}
    for owner, score in zip(owners[order].tolist(), scores[order].tolist(), strict=True):
        if owner not in best:
            best[owner] = score
            if len(best) > limit:
                break
    del best[GONE]
    return list(best.items())


def _certain(
    field: Field, wanted: Wanted, coarse: Vector, error: float, rows: Rows | None = None
) -> _Found:
    """The best passages for sure, from the coarse scores of every row, or of `rows`.

    The best rows are reckoned in full, then all whose coarse score may hide a better one.
    """
    count = WIDTH * wanted.limit
    while True:
        first, passed = _greatest(coarse, count)
        found = _reckoned(field, first if rows is None else rows[first], wanted)
        if len(found.ranked) == wanted.limit or len(first) == len(coarse):
            break
        count *= WIDTH  # many pieces of few passages
    if found.least - error >= passed:
        return found
    rest = _places((coarse >= found.least - error) & (coarse < passed))
    if not len(rest):
        return found
    return _reckoned(field, rest if rows is None else rows[rest], wanted, found)


def _screened(field: Field, wanted: Wanted, question: Asked, distances: Distances) -> _Found:
    """The best of the rows whose signs are near enough the question's.

    With the last place's cosine known, the signs of a row that reaches it differ in about
    d · arccos / π numbers; all that lie within SPREADS of that are looked at too. Where those
    are many, for nothing is near the question, every row is.
    """
    count = max(SCREENED_LEAST, int(field.size * SCREENED_SHARE), 2 * WIDTH * wanted.limit)
    near, passed = _nearest(distances, count)
    found = _certain(field, wanted, *field.scores_at(near, question), near)
    reach = _reach(len(wanted.query), found.least)
    if reach <= passed:
        return found
    more = _places((distances > passed) & (distances <= reach))
    if len(more) > field.size * SCREENED_MOST:
        coarse, errors = field.scores(question)
        return _certain(field, wanted, coarse[0], errors[0])
    coarse, error = field.scores_at(more, question)
    return _reckoned(field, more[coarse >= found.least - error], wanted, found)


def _reach(dimension: int, cosine: float) -> int:
    share = math.acos(max(-1.0, min(1.0, cosine))) / math.pi
    return int(dimension * share + SPREADS * math.sqrt(dimension * share * (1 - share)))


def _nearest(distances: Distances, count: int) -> tuple[Rows, int]:
    """Places, rising, of at least the `count` least distances, and the greatest among them."""
    if count >= len(distances):
        return np.arange(len(distances)), int(distances.max(initial=0))
    # a sample says nearly as well where they end
    reach = _distance_at(distances[::SAMPLED], 5 * count // (4 * SAMPLED))
    found = _places(distances <= reach)
    if len(found) < count:
        reach = _distance_at(distances, count)
        found = _places(distances <= reach)
    return found, reach


def _distance_at(distances: Distances, rank: int) -> int:
    return int(np.bincount(distances).cumsum().searchsorted(rank))


def _greatest(values: Vector, count: int) -> tuple[Rows, float]:
    """Places, rising, of the `count` greatest values with all equal to the last, and that.

    Of all of them, if they are no more; then nothing is less.
    """
    if count >= len(values):
        return np.arange(len(values)), -math.inf
    if len(values) >= max(SAMPLED_FROM, 4 * count):
        some = _places(values >= _value_at(values[::SAMPLED], 2 * count // SAMPLED + SAMPLED))
        if len(some) >= count:
            among = values[some]
            least = _value_at(among, count)
            return some[among >= least], least
    least = _value_at(values, count)
    return _places(values >= least), least


def _places(mask: NDArray[np.bool_]) -> Rows:
    return mask.nonzero()[0]


def _value_at(values: Vector, rank: int) -> float:
    return float(np.partition(values, len(values) - rank)[len(values) - rank])
