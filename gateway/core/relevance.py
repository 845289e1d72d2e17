"""The calibrated decision whether the best passages answer the question at all (A12, A15)."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gateway.core.calibration import Logistic
from gateway.core.fusion import BM25_CEILING, Ranked
from gateway.core.passages import Relevance

IDF_FLOOR = 1e-6  # as SQLite's FTS5 has it
GAP_OVER = 50  # the best cosine is compared with the median of so many
AGREEING_RANKS = 3

NOTHING_FOUND = Relevance(is_relevant=False, probability=0.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a search knows of its question and of its best passages.

    `idf` has every term of the question; `held` those that each of the best passages holds, best
    first; `vector` is empty when no vectors were used.
    """

    idf: Mapping[str, float]
    held: Sequence[Collection[str]]
    best: int  # the id of the first passage
    lexical: Ranked
    vector: Ranked
    cosine: float | None  # of the first passage


def idf(passages: int, having: int) -> float:
    """How rare a term is, as FTS5's bm25 weighs it: never below a small positive number."""
    return max(IDF_FLOOR, math.log((passages - having + 0.5) / (having + 0.5)))


def features(evidence: Evidence) -> dict[str, float]:
    """Numbers between about 0 and 1 that tell an answer from a mere best match."""
    total = sum(evidence.idf.values()) or 1.0
    shares = [sum(evidence.idf[term] for term in held) / total for held in evidence.held]
    words = evidence.lexical[0][1] if evidence.lexical else 0.0
    found = {
        "coverage": shares[0] if shares else 0.0,
        "best_coverage": max(shares, default=0.0),
        "bm25": _bounded(words / (BM25_CEILING * total)),
        "bm25_gap": _bounded((words - _level(evidence.lexical)) / (BM25_CEILING * total)),
    }
    if evidence.vector:
        nearest = evidence.vector[0][1]
        found["cosine"] = nearest
        found["own_cosine"] = nearest if evidence.cosine is None else evidence.cosine
        found["cosine_gap"] = nearest - _level(evidence.vector)
        found["agreement"] = _agreement(evidence)
    return found


def _bounded(value: float) -> float:
    return min(1.0, value)  # a quoted phrase weighs beside its terms


def _level(ranked: Ranked) -> float:
    return median(score for _, score in ranked[:GAP_OVER]) if ranked else 0.0


def _agreement(evidence: Evidence) -> float:
    lexical = {found for found, _ in evidence.lexical[:AGREEING_RANKS]}
    vector = {found for found, _ in evidence.vector[:AGREEING_RANKS]}
    return ((evidence.best in lexical) + (evidence.best in vector)) / 2


def decide(values: Mapping[str, float], rule: Logistic) -> Relevance:
    """Apply a fitted rule; a feature it weighs and `values` lacks counts as 0."""
    score = rule.bias + sum(weight * values.get(name, 0.0) for name, weight in rule.weights.items())
    probability = 1 / (1 + math.exp(-max(-60.0, min(60.0, score))))
    return Relevance(probability >= rule.cut, probability, dict(values))
