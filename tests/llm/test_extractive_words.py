"""The built-in model compares words by their stems and reads a follow-up by its conversation."""

import pytest

from gateway.core.passage_block import ShownPassage
from gateway.llm.asked_for import words
from gateway.llm.quoting import quotes

RULES = ShownPassage(
    1,
    "rules",
    "",
    "Parcels are shipped on weekdays.\nRefunds are paid within five days.\n"
    "Full-time staff get 22 days of leave.\nPart-time staff get 9 days of leave.",
)


@pytest.mark.parametrize(
    "family",
    [
        "deliver delivery delivered delivers",
        "ship ships shipped shipping shipment",
        "carry carries carried",
        "charge charges charged charging",
        "pay pays payment",
        "leave leaves",
        "fee fees",
        "box boxes",
        "class classes",
        "cancel cancelled cancellation",
    ],
)
def test_forms_of_one_english_word_are_one(family: str) -> None:
    assert len(words(family)) == 1


def test_short_and_different_words_stay_apart() -> None:
    assert len(words("use bus gas day key car ab-1203 ab-1204")) == 8


def test_a_sentence_is_found_by_another_form_of_its_word() -> None:
    found = quotes("When is shipping?", [RULES], are_relevant=True)
    assert found[0].text == "Parcels are shipped on weekdays."


def test_what_a_follow_up_says_itself_weighs_more_than_what_it_carries() -> None:
    carried = "how many days of leave do full-time staff get"
    found = quotes("part-time staff", [RULES], are_relevant=True, carried=carried)
    assert found[0].text == "Part-time staff get 9 days of leave."
