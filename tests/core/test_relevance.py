"""The relevance decision: sign and range of each feature, and the rule."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.calibration import Logistic
from gateway.core.relevance import IDF_FLOOR, Evidence, decide, features, idf


def evidence(**changes: object) -> Evidence:
    values: dict[str, object] = {
        "idf": {"特休": 6.0, "幾天": 2.0},
        "held": [{"特休"}, {"特休", "幾天"}],
        "best": 1,
        "lexical": [(1, 8.8), (2, 4.4)],
        "vector": [(1, 0.8), (2, 0.2), (3, 0.1)],
        "cosine": 0.8,
    }
    return Evidence(**(values | changes))  # type: ignore[arg-type]


def test_features_of_a_good_hit() -> None:
    assert features(evidence()) == {
        "coverage": 0.75,
        "best_coverage": 1.0,
        "bm25": pytest.approx(0.5),
        "bm25_gap": pytest.approx((8.8 - 6.6) / 17.6),
        "cosine": 0.8,
        "own_cosine": 0.8,
        "cosine_gap": pytest.approx(0.6),
        "agreement": 1.0,
    }


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({"held": []}, "coverage", 0.0),
        ({"idf": {}, "held": [set()]}, "coverage", 0.0),
        ({"lexical": []}, "bm25", 0.0),
        ({"lexical": [(1, 99.0)]}, "bm25", 1.0),  # a quoted phrase adds its own weight
        ({"lexical": []}, "agreement", 0.5),
        ({"best": 9}, "agreement", 0.0),
        ({"cosine": None}, "own_cosine", 0.8),
        ({"cosine": 0.3}, "own_cosine", 0.3),
    ],
)
def test_a_feature(changes: dict[str, object], name: str, expected: float) -> None:
    assert features(evidence(**changes))[name] == pytest.approx(expected)


def test_without_vectors_only_words_count() -> None:
    assert features(evidence(vector=[], cosine=None)).keys() == {
        "coverage",
        "best_coverage",
        "bm25",
        "bm25_gap",
    }


def test_the_rule_keeps_from_its_cut_on() -> None:
    rule = Logistic(bias=-2.0, weights={"coverage": 4.0, "absent": 9.0}, cut=0.5)
    assert decide({"coverage": 0.5}, rule).is_relevant
    assert decide({"coverage": 0.5}, rule).probability == pytest.approx(0.5)
    assert not decide({"coverage": 0.49}, rule).is_relevant
    assert decide({"coverage": 0.9}, rule).features == {"coverage": 0.9}


@given(st.floats(-1e6, 1e6))
def test_probabilities_are_probabilities(bias: float) -> None:
    assert 0 <= decide({}, Logistic(bias, {}, 0.5)).probability <= 1


def test_idf_is_fts5s_and_never_negative() -> None:
    assert idf(100, 0) == pytest.approx(math.log(201))
    assert idf(100, 90) == IDF_FLOOR
    assert idf(0, 0) == IDF_FLOOR
