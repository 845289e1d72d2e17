"""Redaction: what rules find never stays, and rules that are no rules let nothing go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.redaction import (
    RedactionError,
    RedactionSettings,
    Redactor,
    Rule,
    whole_of,
)

EMAIL = Rule("email", r"[\w.+-]+@[\w.-]+\.\w+")
PHONE = Rule("phone", r"09\d{2}-?\d{6}", "[電話]")
RULES = RedactionSettings(enabled=True, rules=(EMAIL, PHONE))
TEXT = "請洽 amy@example.com 或 0912-345678，轉分機 9。"


def test_what_the_rules_find_becomes_their_marker_and_is_counted() -> None:
    done = Redactor(RULES).apply(f"{TEXT} amy@example.com")
    assert done.text == "請洽 [EMAIL] 或 [電話]，轉分機 9。 [EMAIL]"
    assert done.found == {"email": 2, "phone": 1}


@pytest.mark.parametrize(
    "settings",
    [
        RedactionSettings(enabled=False, rules=(EMAIL,)),
        RedactionSettings(enabled=True),
        RedactionSettings(enabled=True, rules=(EMAIL,), is_forced_off=True),
        RedactionSettings(enabled=True, rules=(EMAIL, Rule("bad", "(unclosed"))),
        RedactionSettings(enabled=True, rules=(EMAIL, Rule("empty", ""))),
        RedactionSettings(enabled=True, rules=(EMAIL, Rule("all", "x*"))),
    ],
    ids=["off", "no rule", "forced off", "does not compile", "empty pattern", "finds nothing"],
)
def test_without_whole_rules_nothing_may_go(settings: RedactionSettings) -> None:
    redactor = Redactor(settings)
    assert redactor.problem
    assert redactor.count == 0
    with pytest.raises(RedactionError):
        redactor.apply("nothing to find")


def test_a_rule_that_takes_too_long_lets_nothing_go() -> None:
    slow = RedactionSettings(enabled=True, rules=(Rule("slow", r"(?:(a|aa)+)+\d(?<=b.)$"),))
    with pytest.raises(RedactionError, match="too long"):
        Redactor(slow).apply("a" * 5_000)


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_no_piece_of_a_text_holds_half_of_what_a_rule_finds(one: int, other: int) -> None:
    start, end = min(one, other), max(one, other)
    piece = Redactor(RULES).apply(TEXT, start, end).text
    outside = piece.replace("[EMAIL]", "").replace("[電話]", "")
    assert not any(letter.isascii() and letter.isalpha() for letter in outside)
    assert "0912" not in outside
    assert "345" not in outside


def test_overlapping_finds_become_one_marker() -> None:
    rules = (Rule("first", "bcd"), Rule("second", "abcde"), Rule("third", "cdef"))
    redactor = Redactor(RedactionSettings(enabled=True, rules=rules))
    assert redactor.apply("xabcdefx").text == "x[FIRST]x"


def test_a_piece_is_found_in_the_passage_before_it() -> None:
    texts = ["first whole", "whole", "second, longer", "longer", "none of them"]
    assert [whole_of(texts, at) for at in range(5)] == [
        ("first whole", 0),
        ("first whole", 6),
        ("second, longer", 0),
        ("second, longer", 8),
        ("none of them", 0),
    ]
