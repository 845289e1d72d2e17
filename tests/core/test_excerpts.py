"""Excerpts: the nearest sentence, in one line, cut between graphemes."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.excerpts import EXCERPT_CHARS, clip, nearest_sentence, one_line

HANDBOOK = (
    "第四章 休假\n特別休假：到職滿一年者七日。病假一年三十日。\nSick leave needs a note. Ask HR."
)

NEAREST = {
    "shared words": ("病假有幾日？", HANDBOOK, "病假一年三十日。"),
    "letters where no word is shared": ("特休幾天", HANDBOOK, "特別休假：到職滿一年者七日。"),
    "Latin words": ("What does sick leave need?", HANDBOOK, "Sick leave needs a note."),
    "simplified question": ("病假几日", HANDBOOK, "病假一年三十日。"),
    "nothing shared": ("宿舍", HANDBOOK, "第四章 休假"),
    "words before letters": ("特別休假", "特。別。休假。", "休假。"),
    "the first of equals": ("病假", "病假甲。病假乙。", "病假甲。"),
    "empty question": ("", "\n \n甲。乙。", "甲。"),
    "empty text": ("病假", "", ""),
    "nothing to show": ("病假", " \n\u200b\n", ""),
    "one sentence": ("病假", "病假三十日", "病假三十日"),
    "white space": ("病假", "病假\t三十\u3000 日。", "病假 三十 日。"),
}


@pytest.mark.parametrize(("question", "text", "nearest"), NEAREST.values(), ids=NEAREST.keys())
def test_nearest_sentence(question: str, text: str, nearest: str) -> None:
    assert nearest_sentence(question, text) == nearest


def test_a_long_sentence_is_cut_to_forty_graphemes() -> None:
    assert nearest_sentence("字", "字" * 40) == "字" * 40
    assert nearest_sentence("字", "字" * 41) == "字" * 39 + "…"
    assert nearest_sentence("字", "字" * 41, 5) == "字" * 4 + "…"


FAMILY = "👨\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "chars", "cut"),
    [
        ("七日", 2, "七日"),
        ("七日八", 2, "七…"),
        ("七 日", 2, "七…"),
        ("七  日八", 3, "七…"),
        (FAMILY * 3, 3, FAMILY * 3),
        (FAMILY * 3, 2, f"{FAMILY}…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("七日", 1, "…"),
        ("七日", 0, "…"),
        ("", 0, ""),
    ],
)
def test_clip(text: str, chars: int, cut: str) -> None:
    assert clip(text, chars) == cut


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" a \r\n\t b\u2028c\x85d ", "a b c d"),
        ("a\u202efdp.exe", "afdp.exe"),
        ("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069a", "a"),
        ("a\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\uffa0\U000e0041b", "ab"),
        ("a\0\x07\x1b[31mb", "a [31mb"),
        ("a\ud83db", "a\ufffdb"),
        ("年假😀\ufe0f.pdf", "年假😀\ufe0f.pdf"),
        ("a" + "\u0301" * 40 + "b", "a" + "\u0301" * 4 + "b"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@given(st.text(), st.text(), st.integers(1, 60))
def test_an_excerpt_is_one_short_line(question: str, text: str, chars: int) -> None:
    excerpt = nearest_sentence(question, text, chars)
    assert len(regex.findall(r"\X", excerpt)) <= chars
    assert not regex.search(r"[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]", excerpt)
    assert excerpt == one_line(excerpt)
    assert EXCERPT_CHARS == 40


def test_what_semicolons_tie_together_is_shown_together() -> None:
    passage = "到職滿半年者，給予三日；滿一年者七日；滿二年者十日。其他假別另訂。"
    shown = nearest_sentence("到職滿一年的特休有幾天？", passage)
    assert shown == "到職滿半年者，給予三日；滿一年者七日；滿二年者十日。"
