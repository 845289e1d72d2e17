"""Citations: every form a model writes, and everything that only looks like one."""

import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.core import marks
from gateway.core.citations import HELD_BACK, CitedText, StreamFilter, escape_marks, rewrite
from gateway.core.passages import Locator, Passage


def passage(n: int) -> Passage:
    return Passage(n, "hr", "handbook", "r1", n, "員工手冊.docx", f"第 {n} 段。", Locator(page=n))


PRESENTED = {n: passage(n) for n in (1, 2, 3, 5)}


def checked(draft: str) -> tuple[str, list[int], int]:
    result = rewrite(draft, PRESENTED)
    assert all(result.cited[n] is PRESENTED[n] for n in result.cited)
    return result.text, list(result.cited), result.dropped


FORMS = {
    "side by side": ("七日[1][2]。", "七日[1][2]。", [1, 2]),
    "comma and blank": ("七日[1, 2]。", "七日[1][2]。", [1, 2]),
    "comma": ("七日[1,2]。", "七日[1][2]。", [1, 2]),
    "hyphen range": ("七日[1-3]。", "七日[1][2][3]。", [1, 2, 3]),
    "en dash range": ("七日[1–3]。", "七日[1][2][3]。", [1, 2, 3]),
    "em dash range": ("七日[1—3]。", "七日[1][2][3]。", [1, 2, 3]),
    "tilde range": ("七日[1~3]。", "七日[1][2][3]。", [1, 2, 3]),
    "wave dash range": ("七日[1〜3]。", "七日[1][2][3]。", [1, 2, 3]),
    "full-width tilde range": ("七日【1～3】。", "七日[1][2][3]。", [1, 2, 3]),
    "range of one": ("七日[2-2]。", "七日[2]。", [2]),
    "range backwards": ("七日[3-1]。", "七日[3][1][2]。", [3, 1, 2]),
    "chained range": ("七日[1-2-3]。", "七日[1][2][3]。", [1, 2, 3]),
    "list and range": ("七日[5, 1-2]。", "七日[5][1][2]。", [5, 1, 2]),
    "ideographic comma": ("七日[1、2]。", "七日[1][2]。", [1, 2]),
    "full-width comma": ("七日[1，2]。", "七日[1][2]。", [1, 2]),
    "semicolon": ("七日[1; 2]。", "七日[1][2]。", [1, 2]),
    "middle dot": ("七日[1・2]。", "七日[1][2]。", [1, 2]),
    "lenticular": ("七日【1】。", "七日[1]。", [1]),
    "full-width": ("七日［１］。", "七日[1]。", [1]),
    "full-width brackets, ASCII digit": ("七日［1］。", "七日[1]。", [1]),
    "ASCII brackets, full-width digit": ("七日[１]。", "七日[1]。", [1]),
    "tortoise shell": ("七日〔1〕。", "七日[1]。", [1]),
    "double": ("七日[[1]]。", "七日[1]。", [1]),
    "double list": ("七日[[1, 2]]。", "七日[1][2]。", [1, 2]),
    "footnote": ("七日[^1]。", "七日[1]。", [1]),
    "footnote list": ("七日[^1, ^2]。", "七日[1][2]。", [1, 2]),
    "blanks inside": ("七日[ 1 ]。", "七日[1]。", [1]),
    "full-width blanks inside": ("七日【\u30001\u3000】。", "七日[1]。", [1]),
    "zero-width inside": ("七日[\u200b1\ufeff]。", "七日[1]。", [1]),
    "full-width side by side": ("七日［1］［2］。", "七日[1][2]。", [1, 2]),
    "dagger": ("七日【1†source】。", "七日[1]。", [1]),
    "dagger in ASCII brackets": ("七日[2†第 9 頁]。", "七日[2]。", [2]),
    "dagger alone": ("七日【1†】。", "七日[1]。", [1]),
    "escaped": (r"七日\[1\]。", "七日[1]。", [1]),
    "leading zero": ("七日[01]。", "七日[1]。", [1]),
    "twice in one mark": ("七日[1, 1]。", "七日[1]。", [1]),
    "twice in the text": ("七日[1]，八日[1]。", "七日[1]，八日[1]。", [1]),
    "order of appearance": ("乙[2]甲[1]。", "乙[2]甲[1]。", [2, 1]),
    "after a full stop": ("七日。[1]", "七日。[1]", [1]),
    "after a digit": ("共 7[1]", "共 7[1]", [1]),
    "after an English word and a blank": ("seven days [1].", "seven days [1].", [1]),
    "lenticular after an English word": ("days【1】.", "days [1].", [1]),
    "footnote after an English word": ("days[^1].", "days [1].", [1]),
    "dagger after an English word": ("days[1†p].", "days [1].", [1]),
    "two after an English word": ("days【1】【2】.", "days [1][2].", [1, 2]),
    "after an accented word": ("café[1].", "café[1].", [1]),
    "after full-width parentheses": ("七日（含）[1]", "七日（含）[1]", [1]),
    "after a remark in parentheses": ("七日(含)[1]", "七日(含)[1]", [1]),
    "after a link": ("[手冊](https://hr.corp)[1]", "[手冊](https://hr.corp)[1]", [1]),
    "after a bracketed word": ("[手冊][1]", "[手冊][1]", [1]),
    "after inline code": ("`x`[1]", "`x`[1]", [1]),
    "before a remark": ("七日[1](見手冊)", "七日[1](見手冊)", [1]),
    "after an exclamation mark": ("好![1]", "好![1]", [1]),
    "at the start of a line": ("[1]: 七日", "[1]: 七日", [1]),
    "as a list item": ("- [1] 七日", "- [1] 七日", [1]),
    "lenticular after an index": ("a[0]【1】", "a[0] [1]", [1]),
    "year alone": ("七日[1]，〔2〕號", "七日[1]，[2]號", [1, 2]),
    "in unmatched brackets": ("a) 七日] [1]", "a) 七日] [1]", [1]),
    "call left open on the line before": ("f(x\n七日)[1]", "f(x\n七日)[1]", [1]),
    "call closed by the wrong bracket": ("f(x][1]", "f(x][1]", [1]),
    "inside parentheses": ("七日（[1]）", "七日（[1]）", [1]),
    "after an unclosed backtick": ("a ` b [1]", "a ` b [1]", [1]),
    "after a backtick of another paragraph": ("a ` b\n\n[1] ` c", "a ` b\n\n[1] ` c", [1]),
    "after an escaped backtick": (r"\` [1] `", r"\` [1] `", [1]),
    "after a closed fence": ("```\nx\n```\n[1]", "```\nx\n```\n[1]", [1]),
}


@pytest.mark.parametrize(("draft", "text", "cited"), FORMS.values(), ids=FORMS.keys())
def test_every_form_becomes_one(draft: str, text: str, cited: list[int]) -> None:
    assert checked(draft) == (text, cited, 0)


NOT_MARKS = {
    "fenced code": "```\nx = [1]\n[9]\n```",
    "fenced code with a language": "```python\nx = [9]\n```",
    "tilde fence": "~~~\n[9]\n~~~",
    "unclosed fence": "七日\n```\n[9]",
    "unclosed tilde fence": "~~~\n[9]\n```\n[9]",
    "fence closed by a longer one": "```\n[9]\n`````",
    "fence not closed by a shorter one": "````\n[9]\n```\n[9]\n````",
    "fence not closed by one with a language": "```\n[9]\n```python\n[9]\n```",
    "fence not closed by a list item": "```\n[9]\n- ```\n[9]\n```",
    "fence in a quotation": "> ```\n> [9]\n> ```",
    "fence in a list": "- ```js\n  [9]\n  ```",
    "fence in a numbered list": "1. ```js\n   [9]\n   ```",
    "indented fence": "      ```\n[9]\n      ```",
    "fence with carriage returns": "```\r\n[9]\r\n```\r\n",
    "inline code": "`list[2]` 與 `[9]`",
    "inline code with two backticks": "``[9] ` [9]``",
    "inline code over a line break": "`[9]\n[9]`",
    "inline code ending in a backslash": "`C:\\[9]\\`",
    "inline code after an escaped backtick": r"\``[9]`",
    "inline code after a fence": "```\nx\n```\n`[9]`",
    "three backticks in a line": "```[9]``` ",
    "index": "arr[1]",
    "index out of range": "arr[9]",
    "index of an index": "a[1][2]",
    "index by a name": "dp[i][0]",
    "index by a text": 'd["k"][9]',
    "index by an index": "a[b[9]][9]",
    "double index": "a[[9]]",
    "call": "f(x)[9]",
    "call of a call": "f(x)(y)[9]",
    "call of an index": "f[x](y)[9]",
    "link": "[1](http://a.tw)",
    "link out of range": "[9](https://a.tw/b)",
    "link to a path": "[9](/b) [9](./b) [9](#b) [9](www.a.tw) [9](<b>)",
    "link with a blank": "[9]( mailto:a)",
    "empty link": "[9]()",
    "lenticular link": "【9】(http://a.tw)",
    "double link": "[[9]](http://a.tw)",
    "image": "![9](x.png)",
    "definition": "[9]: http://a.tw",
    "footnote definition": "[^9]: https://a.tw",
    "indented definition": "七日\n   [9]: <a>",
    "open task": "- [ ] 七日",
    "done task": "- [x] 七日",
    "article": "第[2]條",
    "article out of range": "第[9]條",
    "lenticular article": "第【9】條",
    "official number": "國發〔2024〕5號",
    "official number with an ordinal": "台字[2003]第 12 號",
    "official number, simplified": "国发〔2024〕第5号",
    "letters": "[a] [1a] [a1] [1X2]",
    "empty brackets": "[] 【】 [ ]",
    "open bracket": "[1",
    "closed only": "1]",
    "wrong pair": "[1】 【1]",
    "list without an end": "[1,] [,1] [1-]",
    "look-alike": "〚9〛〖9〗〘9〙",
    "other digits": "[²] [①] [٣]",
}


@pytest.mark.parametrize("draft", NOT_MARKS.values(), ids=NOT_MARKS.keys())
def test_what_is_no_citation_stays(draft: str) -> None:
    assert checked(draft) == (draft, [], 0)


DROPPED = {
    "out of range": ("七日[7]。", "七日。", [], 1),
    "with its leading blank": ("seven days [7].", "seven days.", [], 1),
    "with all its leading blanks": ("seven days \u3000\t[7].", "seven days.", [], 1),
    "after a capital letter": ("X [9]", "X", [], 1),
    "zero": ("七日[0]。", "七日。", [], 1),
    "only one member": ("七日[1, 7]。", "七日[1]。", [1], 1),
    "the first member": ("七日 [7, 1]。", "七日 [1]。", [1], 1),
    "members of a range": ("七日[1-7]。", "七日[1][2][3][5]。", [1, 2, 3, 5], 3),
    "every member": ("七日 [7, 8]。", "七日。", [], 2),
    "widest range": ("七日[5-24]。", "七日[5]。", [5], 19),
    "too wide a range": ("七日[1-21]。", "七日[1]。", [1], 1),
    "huge range": ("七日[1-999999]。", "七日[1]。", [1], 1),
    "huge number": ("七日[" + "9" * 5000 + "]。", "七日。", [], 1),
    "largest number looked up": ("七日[999999999]。", "七日。", [], 1),
    "range to a huge number": ("七日[1-" + "9" * 5000 + "]。", "七日[1]。", [1], 1),
    "everything": ("[9]", "", [], 1),
    "first of a group": ("seven days [9] [1].", "seven days [1].", [1], 1),
    "first two of a group": ("seven days [8] [9] [1].", "seven days [1].", [1], 2),
    "last of a group": ("seven days [1] [9].", "seven days [1].", [1], 1),
    "middle of a group": ("seven days [1] [9] [2].", "seven days [1] [2].", [1, 2], 1),
    "glued group": ("days【9】[2].", "days [2].", [2], 1),
    "second group": ("甲 [9] 乙 [1]", "甲 乙 [1]", [1], 1),
    "group after a kept one": ("甲 [1] 乙 [9] [9]", "甲 [1] 乙", [1], 2),
    "at the start": ("[9] [1] 甲", "[1] 甲", [1], 1),
    "dagger": ("七日【9†source】。", "七日。", [], 1),
    "year without a number": ("〔2024〕", "", [], 1),
    "year before another year": ("[2024] 5", " 5", [], 1),
    "three digits before a number": ("〔202〕5號", "5號", [], 1),
    "list before a number": ("[2024,1]5號", "[1]5號", [1], 1),
    "image without a target": ("![9]", "!", [], 1),
    "definition inside a line": ("七日 [9]: http://a.tw", "七日: http://a.tw", [], 1),
    "definition indented as code": ("    [9]: http://a.tw", ": http://a.tw", [], 1),
    "definition without an address": ("[9]: 七日", ": 七日", [], 1),
    "after inline code": ("`a` [9] `[9]`", "`a` `[9]`", [], 1),
    "nested, inner made up": ("[1[9]]", "[1]", [1], 1),
    "nested, both made up": ("[9[8]]", "〚9〛", [], 1),
    "nested, joined list": ("[1, [9]2]", "[1][2]", [1, 2], 1),
    "nested, joined list half made up": ("[1, [9]8]", "[1]", [1], 1),
}


@pytest.mark.parametrize(
    ("draft", "text", "cited", "dropped"), DROPPED.values(), ids=DROPPED.keys()
)
def test_what_was_not_presented_goes(draft: str, text: str, cited: list[int], dropped: int) -> None:
    assert checked(draft) == (text, cited, dropped)


def test_numbers_of_nine_digits_are_looked_up() -> None:
    assert rewrite("七日[999999999]。", {999_999_999: passage(1)}).text == "七日[999999999]。"
    assert rewrite("七日[9999999999]。", {9_999_999_999: passage(1)}).text == "七日。"


def test_nothing_presented_means_nothing_cited() -> None:
    assert rewrite("七日 [1][2]。", {}) == CitedText("七日。", {}, 2)
    assert rewrite("", PRESENTED) == CitedText("", {}, 0)


PIECES = st.sampled_from(
    [
        *("[1]", "[9]", "[1, 9]", "【2】", "［３］", "〔1〕", "[[9]]", "[^1]", "[1-9]", "【9†x】"),
        *("[", "]", "(", ")", "【", "】", "1", "9", ",", "-", "^", "†", "\\", "!", ":", "第"),
        *("`", "``", "```", "\n```\n", "\n~~~\n", "\n", "\n\n", " ", "  ", "\u3000", "- ", "> "),
        *("甲", "七日。", "arr", "f(x)", "http://a.tw", "(http://a.tw)", ": http://a.tw", "5號"),
        *("[2024]", "\u200b", "\ud800", "😀"),
    ]
)
DRAFTS = st.lists(PIECES, max_size=25).map("".join)


@given(DRAFTS)
@example("x ` [9]`` [8] ``")
@example("[9[9[9]]]")
def test_rewriting_twice_changes_nothing_more(draft: str) -> None:
    once = rewrite(draft, PRESENTED)
    twice = rewrite(once.text, PRESENTED)
    assert (twice.text, twice.dropped) == (once.text, 0)


@given(DRAFTS)
def test_every_mark_left_was_presented_and_keeps_its_number(draft: str) -> None:
    result = rewrite(draft, PRESENTED)
    left = list(marks.find(result.text))
    assert all(n in PRESENTED for mark in left for n in mark.numbers)
    assert {n for mark in left for n in mark.numbers} <= set(result.cited)
    assert all(result.text[mark.start : mark.end] == f"[{mark.numbers[0]}]" for mark in left)


@given(st.text(alphabet=st.characters(exclude_characters="0123456789０１２３４５６７８９")))
def test_text_without_numbers_is_left_alone(draft: str) -> None:
    assert rewrite(draft, PRESENTED) == CitedText(draft, {}, 0)


WORDS = st.text(alphabet="甲乙。，😀\n -é", min_size=1, max_size=6).filter(lambda s: s == s.strip())


@given(st.lists(st.tuples(WORDS, st.integers(1, 9))))
def test_text_around_marks_is_left_alone(written: list[tuple[str, int]]) -> None:
    draft = "".join(f"{words}【{n}】" for words, n in written)
    expected = "".join(words + (f"[{n}]" if n in PRESENTED else "") for words, n in written)
    assert rewrite(draft, PRESENTED).text == expected


ESCAPED = {
    "ASCII": ("見 [3]。", "見 〚3〛。"),
    "list": ("見 [1, 2]。", "見 〚1, 2〛。"),
    "lenticular": ("見【3】。", "見〖3〗。"),
    "full-width": ("見［３］。", "見〚３〛。"),
    "tortoise shell": ("見〔3〕。", "見〘3〙。"),
    "double": ("見[[3]]。", "見〚〚3〛〛。"),
    "dagger": ("見【3†source】。", "見〖3†source〗。"),
    "after an English word": ("days[3]", "days〚3〛"),
    "article": ("第[2]條", "第〚2〛條"),
    "index in code": ("`arr[1]`", "`arr[1]`"),
    "indices in code": ("`a[1][2] f(x)[1] d[i][0]`", "`a[1][2] f(x)[1] d[i][0]`"),
    "literal in code": ("`x = [1]`", "`x = 〚1〛`"),
    "literals in code": ("```\n[1][2]\n", "```\n〚1〛〚2〛\n"),
    "around code": ("[1] `b` [2]", "〚1〛 `b` 〚2〛"),
    "words": ("[公告] 七日", "[公告] 七日"),
}


@pytest.mark.parametrize(("text", "escaped"), ESCAPED.values(), ids=ESCAPED.keys())
def test_a_passages_own_marks_are_made_harmless(text: str, escaped: str) -> None:
    assert escape_marks(text) == escaped


@given(DRAFTS)
def test_a_quoted_passage_cites_nothing(text: str) -> None:
    everything = {n: passage(n) for n in range(30)}
    quoted = escape_marks(text)
    assert rewrite(quoted, everything) == CitedText(quoted, {}, 0)
    assert len(quoted) == len(text)


# ---------------------------------------------------------------- streams


def streamed(deltas: list[str]) -> list[str]:
    stream = StreamFilter()
    return [*(stream.feed(delta) for delta in deltas), stream.close()]


@pytest.mark.parametrize(
    ("deltas", "shown"),
    [
        (["七日[", "1", "]。"], ["七日", "", "[1]。", ""]),
        (["七日【1", "†so", "】"], ["七日", "", "【1†so】", ""]),
        (["［", "1］", "〔", "2〕"], ["", "［1］", "", "〔2〕", ""]),
        (["七日\\[", "1\\]"], ["七日", "\\[1\\]", ""]),
        (["[[", "1]]"], ["", "[[1]]", ""]),
        (["[1", ""], ["", "", "[1"]),
        (["a[12345678901"], ["a", "[12345678901"]),
        (["a[123456789012"], ["a[123456789012", ""]),
        (["[x\n"], ["[x\n", ""]),
        (["[1][", "2"], ["[1]", "", "[2"]),
    ],
)
def test_half_a_mark_waits(deltas: list[str], shown: list[str]) -> None:
    assert streamed(deltas) == shown


def test_a_closed_stream_holds_nothing() -> None:
    stream = StreamFilter()
    assert (stream.feed("["), stream.close(), stream.close()) == ("", "[", "")


@given(st.lists(st.text(alphabet="[]【】［］1,- 甲†\n\\", max_size=6)))
def test_a_stream_loses_nothing_and_lags_little(deltas: list[str]) -> None:
    shown = streamed(deltas)
    assert "".join(shown) == "".join(deltas)
    for count in range(len(deltas)):
        lag = len("".join(deltas[: count + 1])) - len("".join(shown[: count + 1]))
        assert 0 <= lag <= HELD_BACK


# ---------------------------------------------------------------- time


def fastest(work: Callable[[], object], runs: int = 5) -> float:
    """Seconds of processor time of the quickest run: others use this machine too."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def fed_by_character(draft: str) -> None:
    stream = StreamFilter()
    for char in draft:
        stream.feed(char)


@pytest.mark.parametrize("work", [lambda draft: rewrite(draft, PRESENTED), fed_by_character])
def test_a_run_of_digits_takes_time_in_proportion(work: Callable[[str], object]) -> None:
    short, long = ("[" + "9" * count for count in (5_000, 20_000))
    assert fastest(lambda: work(long)) < 12 * fastest(lambda: work(short))  # quadratic: 16


HOSTILE = {
    "open brackets": "[",
    "open lists": "[1,",
    "marks": "[9]",
    "glued marks": "a【9】",
    "blanks": "[ ",
    "blank runs": " " * 99 + "[9",
    "daggers": "[1†",
    "numbers": "[1-20]",
    "calls": "a(",
    "quotations": "> ",
    "fences": "```\n~~~\n",
    "backticks": "` `` ``` ",
    "paragraphs": "`\n\n",
    "nested": "[9[9]",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_is_linear(piece: str) -> None:
    short, long = (piece * (size // len(piece)) for size in (6_000, 24_000))
    four_times = fastest(lambda: rewrite(long, PRESENTED), 3)
    assert four_times < 12 * fastest(lambda: rewrite(short, PRESENTED), 3)  # quadratic: 16
    assert fastest(lambda: escape_marks(long), 1) < 2


def test_thirty_thousand_backtick_runs_of_every_length() -> None:
    draft = "".join("`" * (count % 240 + 1) + " " for count in range(250))
    assert fastest(lambda: rewrite(draft, PRESENTED)) < 0.5
