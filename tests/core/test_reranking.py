"""The second look: words close together, another script, what is gone, what stays behind."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.calibration import Order
from gateway.core.fusion import Fused
from gateway.core.reranking import RERANKED, SecondLook

WEIGHTS = {"特休": 5.0, "七日": 4.0, "给付": 3.0}
APART = "特休另有規定。本公司成立於一九九〇年。總部在臺北市。病假給付見後。婚假為七日。"
TOGETHER = "特休為七日。工資照給付。"
ENGLISH = "Annual leave is seven days."


def look(cross_bonus: float = 0.0, **weights: float) -> SecondLook:
    return SecondLook("zh", WEIGHTS, Order(0.4, **weights), cross_bonus)


def ids(found: tuple[Fused, ...]) -> list[int]:
    return [each.passage_id for each in found]


def test_words_close_together_come_before_words_apart() -> None:
    ranked = [Fused(1, 0.50), Fused(2, 0.49)]
    texts = {1: APART, 2: TOGETHER}
    assert ids(look(sentences=0.2).reorder(ranked, texts)) == [2, 1]
    assert ids(look(coverage=0.2).reorder(ranked, texts)) == [1, 2]  # both have all of them
    assert ids(look().reorder(ranked, texts)) == [1, 2]


def test_another_script_has_its_bonus() -> None:
    ranked = [Fused(1, 0.50), Fused(2, 0.49)]
    texts = {1: "與問題無關的一段話。", 2: ENGLISH}
    assert ids(look(0.05, sentences=0.2).reorder(ranked, texts)) == [2, 1]
    assert ids(look(0.0, sentences=0.2).reorder(ranked, texts)) == [1, 2]


NEAR = "滿一年之同仁每年可休假七天。"  # shares no word with the question


def by_meaning(number: int, cosine: float, words: float = 0.0) -> Fused:
    return Fused(number, 0.4 * cosine + words, cosine=cosine)


def test_a_few_words_by_chance_weigh_less_than_meaning() -> None:
    ranked = [by_meaning(1, 0.25, 0.02), by_meaning(2, 0.35)]
    chance = {1: "本公司給付見後。", 2: NEAR}
    assert ids(look(sentences=0.2).reorder(ranked, chance)) == [2, 1]
    assert ids(look(sentences=0.2).reorder(ranked, {1: TOGETHER, 2: NEAR})) == [1, 2]


def test_without_words_in_either_language_meaning_decides_between_them() -> None:
    ranked = [by_meaning(1, 0.35), by_meaning(2, 0.30)]
    assert ids(look(0.06, sentences=0.2).reorder(ranked, {1: NEAR, 2: ENGLISH})) == [1, 2]


def test_a_passage_whose_vector_is_being_made_is_neither_favoured_nor_punished() -> None:
    ranked = [by_meaning(1, 0.50), Fused(2, 0.4 * 0.40), by_meaning(3, 0.30)]
    assert ids(look(sentences=0.2).reorder(ranked, dict.fromkeys((1, 2, 3), NEAR))) == [1, 2, 3]


def test_only_the_best_are_looked_at() -> None:
    ranked = [Fused(n, 1.0 - n / 100) for n in range(RERANKED + 1)]
    texts = {RERANKED: TOGETHER}
    assert ids(look(sentences=9.0).reorder(ranked, texts)) == ids(tuple(ranked))


@given(st.lists(st.tuples(st.integers(0, 99), st.sampled_from([APART, TOGETHER, ENGLISH, ""]))))
def test_nothing_is_lost_and_ties_go_to_the_smaller_id(rows: list[tuple[int, str]]) -> None:
    texts = dict(rows)
    ranked = [Fused(n, 0.5) for n in sorted(texts, reverse=True)]
    found = look(0.05, sentences=0.2).reorder(ranked, texts)
    assert sorted(ids(found)) == sorted(texts)
    head = [(-each.score, each.passage_id) for each in found[:RERANKED]]
    assert head == sorted(head)
