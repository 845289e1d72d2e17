"""Recall, reciprocal rank, shares and percentiles, against hand-made figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.metrics import Outcome, Recall, figures, percentile, share, standard_error


def outcome(
    rank: int | None,
    *,
    kind: str = "factoid",
    answerable: bool = True,
    refused: bool = False,
    hits: int = 5,
    ms: float = 1.0,
) -> Outcome:
    return Outcome("q", kind, answerable, rank, refused, hits, ms)


def test_all_figures_of_a_small_run() -> None:
    found = figures(
        [
            outcome(1, ms=1),
            outcome(2, kind="list", ms=2),
            outcome(11, kind="list", refused=True, ms=3),
            outcome(None, ms=4),
            outcome(None, kind="unanswerable", answerable=False, refused=True, hits=0, ms=5),
            outcome(None, kind="unanswerable", answerable=False, ms=100),
        ],
        k=2,
    )
    assert found.overall == Recall(0.25, 0.5, 0.5, (1 + 0.5) / 4, 4)
    assert found.by_type == {
        "factoid": Recall(0.5, 0.5, 0.5, 0.5, 2),
        "list": Recall(0.0, 0.5, 0.5, 0.25, 2),
    }
    assert (found.kept_share, found.refused_share, found.empty_share) == (0.75, 0.5, 0.5)
    assert found.recall_at_k == 0.5
    assert (found.latency_p50_ms, found.latency_p95_ms) == (3, 100)


def test_nothing_measured_is_none_not_zero() -> None:
    found = figures([], k=5)
    assert found.overall == Recall(None, None, None, None, 0)
    assert (found.kept_share, found.refused_share, found.empty_share) == (None, None, None)
    assert (found.recall_at_k, found.latency_p50_ms) == (None, None)


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
