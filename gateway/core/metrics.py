"""The figures of an evaluation: recall, reciprocal rank, shares, percentiles, refusal (A28)."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

RANKS_COUNTED = 10
CUTS = tuple(twentieth / 20 for twentieth in range(1, 20))
KEEP = 0.95  # of the answerable, where refusal is compared between models


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
    probability: float  # that the best passages answer, 0 to 1, as the decision weighed it
    language: str  # of the question


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of `n` answerable questions whose gold came among the first k; None where n is 0."""

    recall_at_1: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    mrr_at_10: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Part:
    """What is told of any group of questions.

    `kept_share` is over answerable, `refused_share` and `empty_share` over unanswerable
    questions (DESIGN section 8.15), of which there are `recall.n` and `unanswerable`.
    """

    recall: Recall
    unanswerable: int
    kept_share: float | None
    refused_share: float | None
    empty_share: float | None


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """What one cut of the decision's probability would keep and refuse."""

    cut: float
    kept_share: float | None
    refused_share: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of one mode; `strictest` is the highest cut that keeps 95 % of the answerable."""

    overall: Part
    by_type: dict[str, Part]
    by_language: dict[str, Part]
    recall_at_k: float | None
    recall_at_k_error: float  # one standard error
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    refusal_curve: tuple[RefusalPoint, ...]
    strictest: RefusalPoint | None


def figures(outcomes: Sequence[Outcome], k: int) -> Figures:
    answerable = [outcome for outcome in outcomes if outcome.is_answerable]
    latencies = [outcome.latency_ms for outcome in outcomes]
    at_k = recall_at(answerable, k)
    return Figures(
        overall=part(outcomes),
        by_type=_parts(outcomes, lambda outcome: outcome.type),
        by_language=_parts(outcomes, lambda outcome: outcome.language),
        recall_at_k=at_k,
        recall_at_k_error=standard_error(at_k or 0.0, len(answerable)),
        latency_p50_ms=percentile(latencies, 50),
        latency_p95_ms=percentile(latencies, 95),
        refusal_curve=tuple(refusal_at(outcomes, cut) for cut in CUTS),
        strictest=strictest(outcomes, KEEP),
    )


def _parts(outcomes: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, Part]:
    names = sorted({key(outcome) for outcome in outcomes})
    return {name: part([each for each in outcomes if key(each) == name]) for name in names}


def part(outcomes: Sequence[Outcome]) -> Part:
    answerable = [outcome for outcome in outcomes if outcome.is_answerable]
    unanswerable = [outcome for outcome in outcomes if not outcome.is_answerable]
    return Part(
        recall=recall(answerable),
        unanswerable=len(unanswerable),
        kept_share=share(not outcome.is_refused for outcome in answerable),
        refused_share=share(outcome.is_refused for outcome in unanswerable),
        empty_share=share(outcome.hits == 0 for outcome in unanswerable),
    )


def refusal_at(outcomes: Sequence[Outcome], cut: float) -> RefusalPoint:
    """As if every question were kept from that probability on, whatever its own rule's cut."""
    return RefusalPoint(
        cut=cut,
        kept_share=share(o.probability >= cut for o in outcomes if o.is_answerable),
        refused_share=share(o.probability < cut for o in outcomes if not o.is_answerable),
    )


def strictest(outcomes: Sequence[Outcome], keep: float) -> RefusalPoint | None:
    """The highest cut that still keeps the share `keep` of the answerable; None without any."""
    kept = sorted((o.probability for o in outcomes if o.is_answerable), reverse=True)
    if not kept:
        return None
    return refusal_at(outcomes, kept[max(0, math.ceil(keep * len(kept)) - 1)])


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
