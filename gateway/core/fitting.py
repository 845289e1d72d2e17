"""Fitting the relevance decision: a small logistic regression, and the cut that keeps enough."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.core.calibration import Logistic

STEPS = 50
RIDGE = 0.3  # weights are of features between 0 and 1
ENOUGH = 1e-7
MOST_LOGIT = 30.0


@dataclass(frozen=True, slots=True)
class Example:
    """What a search found for a question, and whether the documents do answer it."""

    values: Mapping[str, float]
    is_answerable: bool
    count: float = 1.0


def fit(examples: Sequence[Example], names: Sequence[str]) -> Logistic:
    """Ridge regression by Newton's steps; the cut is 0.5 until `cut_keeping` finds a better one.

    A weight below 0 would make more evidence count against a passage: such a feature is left out.
    """
    kept = list(names)
    while True:
        bias, *weights = _newton(examples, kept)
        worst = min(range(len(kept)), key=lambda at: weights[at], default=None)
        if worst is None or weights[worst] > 0:
            rounded = {name: round(w, 4) for name, w in zip(kept, weights, strict=True)}
            return Logistic(round(bias, 4), rounded, 0.5)
        del kept[worst]


def probability(rule: Logistic, values: Mapping[str, float]) -> float:
    """What the rule makes of the features; one that is missing counts as 0."""
    score = rule.bias + sum(weight * values.get(name, 0.0) for name, weight in rule.weights.items())
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, score))))


def cut_keeping(probabilities: Sequence[float], share: float) -> float:
    """The highest cut that keeps at least `share` of the answerable, whose probabilities these are.

    Half way to the next lower one, so that no question lies on the cut. ValueError without any.
    """
    falling = sorted(probabilities, reverse=True)
    last = max(1, math.ceil(share * len(falling) - 1e-9)) - 1
    if not falling:
        raise ValueError("no answerable question")
    below = falling[last + 1] if last + 1 < len(falling) else 0.0
    return (falling[last] + below) / 2


def _newton(examples: Sequence[Example], names: Sequence[str]) -> list[float]:
    rows = [[1.0, *(example.values.get(name, 0.0) for name in names)] for example in examples]
    size = len(names) + 1
    found = [0.0] * size
    for _ in range(STEPS):
        slope = [RIDGE * w if at else 0.0 for at, w in enumerate(found)]
        bend = [[RIDGE if a == b else 0.0 for b in range(size)] for a in range(size)]
        for row, example in zip(rows, examples, strict=True):
            logit = sum(w * x for w, x in zip(found, row, strict=True))
            p = 1 / (1 + math.exp(-max(-MOST_LOGIT, min(MOST_LOGIT, logit))))
            _add(slope, bend, row, (p - example.is_answerable, p * (1 - p)), example.count)
        step = _solved(bend, slope)
        found = [w - s for w, s in zip(found, step, strict=True)]
        if max(map(abs, step)) < ENOUGH:
            break
    return found


def _add(
    slope: list[float],
    bend: list[list[float]],
    row: Sequence[float],
    first_and_second: tuple[float, float],
    count: float,
) -> None:
    first, second = first_and_second
    for a, x in enumerate(row):
        slope[a] += count * first * x
        for b, y in enumerate(row):
            bend[a][b] += count * second * x * y


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Gauss with pivots; the matrix is small and, thanks to the ridge, regular."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda n: abs(rows[n][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for n in range(size):
            if n != at and rows[n][at]:
                factor = rows[n][at]
                rows[n] = [v - factor * p for v, p in zip(rows[n], rows[at], strict=True)]
    return [row[size] for row in rows]
