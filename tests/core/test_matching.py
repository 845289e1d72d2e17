"""Folding, index tokens, terms of a question, scripts and sentences."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.matching import (
    JOINER,
    MAX_PHRASES,
    MAX_TERMS,
    fold,
    has_terms,
    index_tokens,
    match_text,
    query_terms,
    script,
    sentences,
    terms_in,
)

any_text = st.text(st.characters(), max_size=60)  # lone surrogates included
LETTERS = (
    "aA1 \u0301\u0327ｶﾞﾊﾟがはㇺ㈱½㍻İςΣß台臺⽅\u2ed8가각"
    "\u1100\u1161\u11a8葛\U000e0100\u00ad\0\ud800😀"
)
awkward = st.text(st.sampled_from(LETTERS), max_size=12)


def found(passage: str, question: str) -> bool:
    """Some term of the question, and each of its phrases, is in the passage's index entry."""
    tokens = index_tokens(match_text(passage)).split()
    terms = query_terms(question)
    stream = f" {' '.join(tokens)} "
    phrases = all(f" {' '.join(phrase)} " in stream for phrase in terms.phrases)
    return phrases and any(term in tokens for term in terms.terms)


@pytest.mark.parametrize(
    ("passage", "question"),
    [
        ("請假⽅式說明", "方式"),  # Kangxi radical
        ("\u2ed8年、\u2edd堂", "青年"),  # CJK Radicals Supplement, which NFKC leaves alone
        ("\u2ed8年、\u2edd堂", "食堂"),
        ("臺北分公司", "台北"),
        ("台北分公司", "臺北"),
        ("看着辦", "看著"),
        ("倉庫裏", "倉庫裡"),
        ("加班費與請假規定", "加班费"),
        ("加班费", "加班費"),
        ("人事 HR 窗口", "ＨＲ"),
        ("ﾊﾟﾝを焼く", "パン"),
        ("ﾊﾟﾝを焼く", "ﾊﾟﾝ"),
        ("㈱山田製作所", "株"),
        ("㍻三十年", "平成"),
        ("Café menu", "cafe"),
        ("soft\u00adware", "software"),
        ("葛\U000e0100飾区", "葛飾"),
        ("零件 AB-1203 的保固", "AB-1203"),
        ("零件 AB-1203 的保固", "ab-1203"),
        ("零件 AB-1203 的保固", "1203"),
        ("version 20.04", "20.04"),
        ("病假規定", "假"),
        ("請假", "假"),
        ("特別休\n假七日", "休假"),  # a line break of a PDF inside a word
        ("請假", "請假"),
        ("修復 ok", "修復 ok"),
        ("don't panic", "don't"),
        ("C++ guide", "C++"),
        ("月薪五萬", "「月薪」"),
        ("annual leave is paid", '"annual leave"'),
        ("annual leave is paid", "“leave is paid”"),
        ("有給休暇の申請", "『休暇の申請』"),
        ("급여 규정", "급여"),
    ],
)
def test_what_must_be_found(passage: str, question: str) -> None:
    assert found(passage, question)


@pytest.mark.parametrize(
    ("passage", "question"),
    [
        ("leave is annual", '"annual leave"'),
        ("規定請假", "「請假規定」"),
        ("年 2004", "20.04"),
        ("加班", "請假"),
    ],
)
def test_what_must_not_be_found(passage: str, question: str) -> None:
    assert not found(passage, question)


def test_a_compound_is_one_term_and_its_pieces() -> None:
    assert query_terms("AB-1203").terms == (f"ab{JOINER}1203", "ab", "1203")
    assert index_tokens("ab-1203 x") == f"ab 1203 x ab{JOINER}1203"


def test_cjk_letters_and_pairs_alternate() -> None:
    assert index_tokens("請假規") == "請 請假 假 假規 規"


@pytest.mark.parametrize(
    "question", ["", "   ", "？？？", "😀", "\0", "\ud800", "…—～", '""', "「」"]
)
def test_no_terms(question: str) -> None:
    assert not has_terms(question)
    assert query_terms(question).terms == ()


@pytest.mark.parametrize(
    "question",
    ['a"b', "NEAR(", "AND", "*x", "x:y", "^a", "multi-agent", "@nasa", "a\0b", "a\ud800b", "OR 1"],
)
def test_operators_are_words(question: str) -> None:
    terms = query_terms(question).terms
    assert has_terms(question)
    assert terms
    for term in terms:
        assert term.replace(JOINER, "").isalnum()


HUGE = {
    "5,000 different letters": "".join(chr(0x4E00 + at) for at in range(5_000)),
    "20,000 numbers": " ".join(str(at) for at in range(20_000)),
    "one word again and again": "請假規定" * 25_000,
    "one compound": "a-" * 50_000,
    "quotation marks": '"' * 100_000,
    "quotation marks that open": "「" * 50_000 + "」" * 50_000,
    "phrases": '"a b"' * 20_000,
    "accents": "\u0301" * 100_000,
}


@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_question_is_cut_fast(kind: str) -> None:
    began = time.perf_counter()
    terms = query_terms(HUGE[kind])
    assert time.perf_counter() - began < 0.2
    assert len(terms.terms) <= MAX_TERMS
    assert len(terms.phrases) <= MAX_PHRASES


@given(any_text | awkward)
def test_both_folds_agree_and_offsets_lead_back(text: str) -> None:
    folded = fold(text)
    assert folded.text == match_text(text)
    assert len(folded.offsets) == len(folded.text) + 1
    assert folded.offsets[-1] == len(text)
    assert all(a <= b for a, b in pairwise(folded.offsets))
    folded.text.encode()  # storable


@given(any_text | awkward, any_text | awkward)
def test_terms_in_a_text_are_those_that_its_index_entry_has(text: str, question: str) -> None:
    tokens = set(index_tokens(match_text(text)).split())
    terms = query_terms(question).terms
    assert terms_in(terms, match_text(text)) == tokens & set(terms)


@given(any_text | awkward)
def test_a_text_finds_itself(text: str) -> None:
    if has_terms(text):
        tokens = index_tokens(match_text(text)).split()
        terms = query_terms(text).terms
        assert set(terms) <= set(tokens)
        assert terms_in(terms, match_text(text)) == set(terms)


@given(any_text)
def test_index_tokens_hold_no_ascii_but_letters_and_digits(text: str) -> None:
    tokens = "".join(index_tokens(match_text(text)).split())
    assert all(letter.isalnum() for letter in tokens if letter.isascii())


def test_offsets_point_at_the_original() -> None:
    text = "㈱臺北 ﾊﾟﾝ ½"
    folded = fold(text)
    assert folded.text == "(株)台北 パン 1⁄2"
    at = folded.text.index("パン")
    assert text[folded.offsets[at] : folded.offsets[at + 2]] == "ﾊﾟﾝ"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("特休有幾天？", "zh"),
        ("年假有几天", "zh"),
        ("iPhone 15 Pro 保固多久", "zh"),
        ("小林の店是一家很有名的餐廳", "zh"),
        ("有給休暇は何日ですか", "ja"),
        ("パスワード", "ja"),
        ("how many days", "en"),
        ("The Chinese word 假 means leave or holiday", "en"),
        ("", "en"),
        ("12345", "en"),
    ],
)
def test_scripts(text: str, expected: str) -> None:
    assert script(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("一。二！「三？」四", ["一。", "二！", "「三？」", "四"]),
        ("It costs 3.5 USD. Really? Yes", ["It costs 3.5 USD. ", "Really? ", "Yes"]),
        ("標題\n\n內文；完", ["標題\n\n", "內文；", "完"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in sentences(text)] == expected


@given(any_text)
def test_sentences_cover_the_text(text: str) -> None:
    spans = sentences(text)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(a < b for a, b in spans)
