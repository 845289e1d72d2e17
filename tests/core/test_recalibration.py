"""Fitting and recalibration: signs, shares kept, what is too little to learn from."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.calibration import Calibration, Logistic
from gateway.core.fitting import Example, cut_keeping, fit, probability
from gateway.core.recalibration import recalibrated, rule_name

RULE = Logistic(-1.0, {"coverage": 4.0, "cosine": 2.0}, 0.5)
OTHER = Logistic(-2.0, {"cosine": 3.0}, 0.4)
CALIBRATION = Calibration("model", RULE, OTHER, OTHER, cosine_weight=0.4)


def examples(answerable: int, unanswerable: int) -> list[Example]:
    """Coverage tells them apart, cosine does not."""
    yes = [
        Example({"coverage": 0.5 + n % 5 / 10, "cosine": n % 3 / 3}, True)
        for n in range(answerable)
    ]
    no = [
        Example({"coverage": n % 5 / 10, "cosine": n % 3 / 3}, False) for n in range(unanswerable)
    ]
    return yes + no


BARE = Logistic(-3.0, {"cosine": 5.0}, 0.5)


@pytest.mark.parametrize(
    ("rule", "covered", "name"),
    [
        (RULE, 0.5, "same_language"),
        (RULE, 0.1, "wordless"),
        (BARE, 0.1, "wordless"),
        (OTHER, 0.1, "cross_language"),
        (Logistic(0.0, {}, 0.9), 0.5, None),
    ],
)
def test_where_few_words_are_shared_the_rule_for_meaning_learns(
    rule: Logistic, covered: float, name: str | None
) -> None:
    calibration = replace(CALIBRATION, wordless=BARE)
    assert rule_name(calibration, rule, {"coverage": covered}) == name


def test_without_a_rule_for_meaning_the_one_for_words_learns() -> None:
    assert rule_name(CALIBRATION, RULE, {"coverage": 0.0}) == "same_language"


def test_a_fit_weighs_what_tells_and_leaves_out_what_speaks_against() -> None:
    against = [
        Example({**each.values, "noise": 0.0 if each.is_answerable else 1.0}, each.is_answerable)
        for each in examples(40, 40)
    ]
    rule = fit(against, ("coverage", "cosine", "noise"))
    assert "noise" not in rule.weights
    assert rule.weights["coverage"] > 2
    assert rule.weights.get("cosine", 0.0) < 1
    assert probability(rule, {"coverage": 0.9}) > 0.5 > probability(rule, {"coverage": 0.1})


@given(st.lists(st.floats(0.01, 0.99), min_size=1), st.sampled_from([0.5, 0.9, 0.95, 1.0]))
def test_a_cut_keeps_its_share(probabilities: list[float], share: float) -> None:
    cut = cut_keeping(probabilities, share)
    assert sum(p >= cut for p in probabilities) >= share * len(probabilities) - 1e-6


def test_nothing_to_keep_has_no_cut() -> None:
    with pytest.raises(ValueError, match="answerable"):
        cut_keeping([], 0.9)


def test_few_questions_move_the_cut_alone_and_only_of_their_rule() -> None:
    new, moved = recalibrated(CALIBRATION, {"same_language": examples(20, 10)}, 0.95)
    assert [each.name for each in moved] == ["same_language"]
    assert new.same_language.weights == RULE.weights
    assert new.same_language.cut != RULE.cut
    assert moved[0].kept >= 0.95
    assert (new.cross_language, new.vector_only) == (OTHER, OTHER)


def test_many_questions_move_the_weights_too() -> None:
    new, moved = recalibrated(CALIBRATION, {"same_language": examples(100, 40)}, 0.95)
    assert moved[0].has_new_weights
    assert new.same_language.weights != RULE.weights
    assert moved[0].refused > 0.9


def test_too_few_questions_move_nothing() -> None:
    for few in (examples(19, 10), examples(20, 9), []):
        assert recalibrated(CALIBRATION, {"same_language": few}, 0.95) == (CALIBRATION, ())


def test_one_rule_under_several_names_stays_one() -> None:
    new, _ = recalibrated(CALIBRATION, {"cross_language": examples(20, 10)}, 0.9)
    assert new.cross_language == new.vector_only != OTHER
