"""The relevance decision: sign and range of each feature, and the rule."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.calibration import Logistic
from gateway.core.common_terms import is_common
from gateway.core.matching import query_terms
from gateway.core.relevance import IDF_FLOOR, Evidence, decide, features, idf

QUESTION = "特別休假七日給付"
ANSWER = "到職滿一年的特別休假有七日。病假另計。"


COMMON = [
    "what",
    "who",
    "don",
    "的假",
    "是什",
    "什么",
    "哪一",
    "多少",
    "です",
    "はい",
    "は何",
    "几天",
]
TELLING = ["leave", "ab", "1203", "特休", "请假", "假规", "パン", "休暇", "hr", "日は"]


def test_common_terms_hold_sentences_together() -> None:
    assert [term for term in COMMON + TELLING if is_common(term)] == COMMON


def test_a_question_of_common_terms_is_never_covered() -> None:
    found = features(evidence("what is it", texts=["This is what it is."]))
    assert found["coverage"] == pytest.approx(3 * 0.5 / 6)


def evidence(question: str = QUESTION, **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "having": dict.fromkeys(query_terms(question).terms, 1),
        "passages": 100,
        "texts": [ANSWER],
        "vector": [(1, 0.8), *((n, 0.2) for n in range(2, 60))],
    }
    return Evidence(question, **(values | changes))


def test_features_of_a_good_hit() -> None:
    assert features(evidence(margin=0.25)) == {
        "coverage": pytest.approx(4 / 7),  # 特別 別休 休假 七日, without 假七 日給 給付
        "sentence_coverage": pytest.approx(4 / 7),
        "verbatim": pytest.approx(4 / 8),
        "cosine": 0.8,
        "cosine_gap": pytest.approx(0.6),
        "cosine_rise": pytest.approx(0.8 - 2 * 0.09),  # of 100 passages
        "margin": 0.25,
    }


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({"texts": []}, "coverage", 0.0),
        ({"texts": []}, "verbatim", 0.0),
        ({"texts": [""]}, "sentence_coverage", 0.0),
        ({"texts": ["無關的段落。", ANSWER]}, "coverage", 4 / 7),
        ({"texts": ["特別休假。一。二。三。七日給付。"]}, "coverage", 6 / 7),
        ({"texts": ["特別休假。一。二。三。七日給付。"]}, "sentence_coverage", 3 / 7),
        ({"texts": ["特別休\n假七日給付"]}, "coverage", 1.0),
        ({"having": {}}, "coverage", 0.0),
        ({"vector": [(1, 0.8)]}, "cosine_gap", 0.8 - 0.25),  # a library of one passage
        ({"vector": [(n, 0.3) for n in range(1, 60)]}, "cosine_gap", 0.0),
        ({"passages": 1}, "cosine_rise", 0.8),
        ({"passages": 10_000}, "cosine_rise", 0.8 - 4 * 0.09),
    ],
)
def test_a_feature(changes: dict[str, Any], name: str, expected: float) -> None:
    assert features(evidence(**changes))[name] == pytest.approx(expected)


def test_rare_terms_count_more() -> None:
    having = {"特别": 90, "量子": 0}  # folded, as the index has them
    found = features(evidence(having=having, texts=["特別"]))["coverage"]
    assert 0 < found < 0.4


def test_a_library_of_one_passage_is_judged_like_a_large_one() -> None:
    small = features(evidence(passages=1))
    large = features(evidence(passages=10_000))
    assert small["coverage"] == pytest.approx(large["coverage"])


def test_without_vectors_only_words_count() -> None:
    words = {"coverage", "sentence_coverage", "verbatim", "margin"}
    assert features(evidence(vector=[])).keys() == words


@pytest.mark.parametrize("question", ["", "？", "a" * 100_000, "特別休假" * 25_000])
def test_any_question_is_weighed(question: str) -> None:
    found = features(evidence(question=question, texts=[ANSWER * 20, "b" * 600]))
    assert all(0 <= value <= 1 for value in found.values())


def test_the_rule_keeps_from_its_cut_on() -> None:
    rule = Logistic(bias=-2.0, weights={"coverage": 4.0, "absent": 9.0}, cut=0.5)
    assert decide({"coverage": 0.5}, rule).is_relevant
    assert decide({"coverage": 0.5}, rule).probability == pytest.approx(0.5)
    assert not decide({"coverage": 0.49}, rule).is_relevant
    assert decide({"coverage": 0.9}, rule).features == {"coverage": 0.9}


RULES = st.builds(
    lambda bias, weight, cut: Logistic(bias, {"coverage": weight}, cut),
    st.floats(-8, 8),
    st.floats(0, 8),
    st.floats(0.05, 0.95),
)


@given(st.lists(RULES, min_size=1, max_size=4), RULES, st.floats(0, 1))
def test_of_several_rules_one_that_says_yes_is_enough(
    rules: list[Logistic], more: Logistic, covered: float
) -> None:
    values = {"coverage": covered}
    alone = [decide(values, rule) for rule in rules]
    together = decide(values, *rules)
    assert together.is_relevant == any(each.is_relevant for each in alone)
    assert together in alone
    likelier = [each.probability for each in alone if each.is_relevant == together.is_relevant]
    assert together.probability == max(likelier)
    assert decide(values, *rules, more).is_relevant >= together.is_relevant


@given(st.floats(-1e6, 1e6))
def test_probabilities_are_probabilities(bias: float) -> None:
    assert 0 <= decide({}, Logistic(bias, {}, 0.5)).probability <= 1


def test_idf_is_fts5s_and_never_negative() -> None:
    assert idf(100, 0) == pytest.approx(math.log(201))
    assert idf(100, 90) == IDF_FLOOR
    assert idf(0, 0) == IDF_FLOOR
