"""The figures of an evaluation: recall, mean reciprocal rank, shares, percentiles (A28)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RANKS_COUNTED = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question brought. `rank` counts from 1; None: the gold was not found."""

    question_id: str
    type: str
    is_answerable: bool
    rank: int | None
    is_refused: bool  # the relevance decision of automatic injection
    hits: int
    latency_ms: float


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of `n` answerable questions whose gold came among the first k; None where n is 0."""

    recall_at_1: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    mrr_at_10: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of one mode.

    `kept_share` is over answerable, `refused_share` and `empty_share` over unanswerable
    questions (DESIGN section 8.15).
    """

    overall: Recall
    by_type: dict[str, Recall]
    kept_share: float | None
    refused_share: float | None
    empty_share: float | None
    recall_at_k: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None


def figures(outcomes: Sequence[Outcome], k: int) -> Figures:
    answerable = [outcome for outcome in outcomes if outcome.is_answerable]
    unanswerable = [outcome for outcome in outcomes if not outcome.is_answerable]
    types = sorted({outcome.type for outcome in answerable})
    latencies = [outcome.latency_ms for outcome in outcomes]
    return Figures(
        overall=recall(answerable),
        by_type={kind: recall([o for o in answerable if o.type == kind]) for kind in types},
        kept_share=share(not outcome.is_refused for outcome in answerable),
        refused_share=share(outcome.is_refused for outcome in unanswerable),
        empty_share=share(outcome.hits == 0 for outcome in unanswerable),
        recall_at_k=recall_at(answerable, k),
        latency_p50_ms=percentile(latencies, 50),
        latency_p95_ms=percentile(latencies, 95),
    )


def recall(answerable: Sequence[Outcome]) -> Recall:
    return Recall(
        recall_at_1=recall_at(answerable, 1),
        recall_at_5=recall_at(answerable, 5),
        recall_at_10=recall_at(answerable, 10),
        mrr_at_10=mean_reciprocal_rank(answerable),
        n=len(answerable),
    )


def recall_at(answerable: Sequence[Outcome], k: int) -> float | None:
    return share(outcome.rank is not None and outcome.rank <= k for outcome in answerable)


def mean_reciprocal_rank(answerable: Sequence[Outcome]) -> float | None:
    """Mean of 1 / rank, 0 for ranks past the tenth."""
    if not answerable:
        return None
    ranks = (outcome.rank for outcome in answerable)
    return sum(1 / r for r in ranks if r is not None and r <= RANKS_COUNTED) / len(answerable)


def share(facts: Iterable[bool]) -> float | None:
    """How many are true, 0 to 1; None of nothing."""
    known = tuple(facts)
    return sum(known) / len(known) if known else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The smallest value that at least `percent` of all values do not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def standard_error(proportion: float, n: int) -> float:
    """Of a share of n; a target within one of it counts as met (DESIGN section 8.15)."""
    return math.sqrt(proportion * (1 - proportion) / n) if n else 0.0
