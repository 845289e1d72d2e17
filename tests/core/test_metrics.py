"""Recall, reciprocal rank, shares and percentiles, against hand-made figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.metrics import (
    Outcome,
    Part,
    Recall,
    RefusalPoint,
    figures,
    percentile,
    refusal_at,
    share,
    standard_error,
    strictest,
)


def outcome(
    rank: int | None,
    *,
    kind: str = "factoid",
    answerable: bool = True,
    refused: bool = False,
    hits: int = 5,
    ms: float = 1.0,
    probability: float = 0.5,
    language: str = "en",
) -> Outcome:
    return Outcome("q", kind, answerable, rank, refused, hits, ms, probability, language)


def test_all_figures_of_a_small_run() -> None:
    found = figures(
        [
            outcome(1, ms=1),
            outcome(2, kind="list", ms=2, language="ja"),
            outcome(11, kind="list", refused=True, ms=3),
            outcome(None, ms=4),
            outcome(None, kind="unanswerable", answerable=False, refused=True, hits=0, ms=5),
            outcome(None, kind="unanswerable", answerable=False, ms=100),
        ],
        k=2,
    )
    assert found.overall == Part(Recall(0.25, 0.5, 0.5, (1 + 0.5) / 4, 4), 2, 0.75, 0.5, 0.5)
    assert found.by_type == {
        "factoid": Part(Recall(0.5, 0.5, 0.5, 0.5, 2), 0, 1.0, None, None),
        "list": Part(Recall(0.0, 0.5, 0.5, 0.25, 2), 0, 0.5, None, None),
        "unanswerable": Part(Recall(None, None, None, None, 0), 2, None, 0.5, 0.5),
    }
    assert {
        name: (each.recall.n, each.unanswerable) for name, each in found.by_language.items()
    } == {
        "en": (3, 2),
        "ja": (1, 0),
    }
    assert (found.recall_at_k, found.recall_at_k_error) == (0.5, 0.25)
    assert (found.latency_p50_ms, found.latency_p95_ms) == (3, 100)


def test_nothing_measured_is_none_not_zero() -> None:
    found = figures([], k=5)
    assert found.overall == Part(Recall(None, None, None, None, 0), 0, None, None, None)
    assert (found.recall_at_k, found.latency_p50_ms, found.strictest) == (None, None, None)
    assert {(each.kept_share, each.refused_share) for each in found.refusal_curve} == {(None, None)}


PROBABILITIES = [outcome(1, probability=p) for p in (0.9, 0.4, 0.6, 0.2)] + [
    outcome(None, answerable=False, probability=p) for p in (0.0, 0.3, 0.6)
]


@pytest.mark.parametrize(
    ("cut", "kept", "refused"),
    [(0.0, 1.0, 0.0), (0.2, 1.0, 1 / 3), (0.6, 0.5, 2 / 3), (0.95, 0.0, 1.0)],
)
def test_a_cut_keeps_what_reaches_it(cut: float, kept: float, refused: float) -> None:
    assert refusal_at(PROBABILITIES, cut) == RefusalPoint(cut, kept, refused)


@pytest.mark.parametrize(("keep", "cut"), [(1.0, 0.2), (0.75, 0.4), (0.7, 0.4), (0.0, 0.9)])
def test_the_strictest_cut_still_keeps_enough(keep: float, cut: float) -> None:
    found = strictest(PROBABILITIES, keep)
    assert found is not None
    assert found.cut == cut
    assert (found.kept_share or 0.0) >= keep


def test_a_curve_keeps_less_and_refuses_more_as_its_cut_rises() -> None:
    curve = figures(PROBABILITIES, k=5).refusal_curve
    kept = [point.kept_share or 0.0 for point in curve]
    refused = [point.refused_share or 0.0 for point in curve]
    assert len(curve) == 19
    assert kept == sorted(kept, reverse=True)
    assert refused == sorted(refused)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([], 50, None), ([7.0], 0, 7.0), ([1, 2, 3, 4], 50, 2), ([4, 3, 2, 1], 95, 4)],
)
def test_percentiles(values: list[float], percent: float, expected: float | None) -> None:
    assert percentile(values, percent) == expected


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_is_one_of_the_values_and_high_enough(
    values: list[float], percent: float
) -> None:
    found = percentile(values, percent)
    assert found in values
    assert found is not None
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-6


def test_shares_and_their_standard_error() -> None:
    assert share([]) is None
    assert share([True, False, False, True]) == 0.5
    assert standard_error(0.5, 100) == pytest.approx(0.05)
    assert standard_error(0.5, 0) == 0.0
