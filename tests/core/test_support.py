"""The citation check: its share of wrong marks caught and right ones dropped, and its rules."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.citation_check import Checked, check
from gateway.core.citations import rewrite
from gateway.core.matching import match_text
from gateway.core.passages import Locator, Passage
from gateway.core.support_numbers import numbers
from gateway.core.support_powers import is_held_by_other

SET = Path(__file__).parents[1] / "evals" / "support"
# at least so many wrong marks gone, at most so many right ones; the rules were not made with
# those of "blind2" and "blind3b" in view, and those of "later" were mended for in part
LIMITS = {
    "tune": (0.94, 0.02),
    "kept": (0.95, 0.02),
    "blind": (0.92, 0.02),
    "later": (0.85, 0.02),
    "blind2": (0.75, 0.05),
    "blind3a": (0.85, 0.08),
    "blind3b": (0.65, 0.06),
}

LEAVE = "員工到職滿一年，給予特別休假七日。特別休假由員工排定。"
SICK = "病假一年內合計不得超過三十日，期間工資折半發給。"
TRIP = "Expense reports must be submitted within 14 days of returning."
PRESENTED = {
    n: Passage(n, "c", f"s{n}", "r", n, title, said, Locator(page=n))
    for n, title, said in (
        (1, "員工手冊.docx", LEAVE),
        (2, "員工手冊.docx", SICK),
        (3, "Travel.pdf", TRIP),
    )
}


def rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (SET / name).read_text("utf-8").splitlines():
        yield json.loads(line)


def checked(draft: str) -> Checked:
    return check(rewrite(draft, PRESENTED), PRESENTED)


@pytest.mark.parametrize("half", LIMITS)
def test_wrong_marks_are_caught_and_right_ones_stay_in_three_languages(half: str) -> None:
    stored = {row["id"]: row for row in rows("passages.jsonl")}
    outcomes: dict[bool, list[bool]] = {True: [], False: []}
    for row in rows("sentences.jsonl"):
        if row["half"] != half:
            continue
        presented = {
            n: Passage(n, "c", at, "r", n, stored[at]["title"], stored[at]["text"], Locator())
            for n, at in enumerate(row["presented"], 1)
        }
        done = check(rewrite(f"{row['sentence']} [1]。", presented), presented)
        outcomes[row["is_right"]].append(1 in done.cited)
    wrong, right = outcomes[False], outcomes[True]
    caught, dropped = LIMITS[half]
    assert wrong.count(False) >= caught * len(wrong)
    assert right.count(False) <= dropped * len(right)


RULES = {
    "the mark of a supported sentence stays": ("滿一年有 7 天特別休假[1]。", None),
    "a wrong number loses it": ("滿一年有特別休假十日[1]。", "滿一年有特別休假十日。"),
    "a denied rule loses it": ("特別休假不是由員工排定[1]。", "特別休假不是由員工排定。"),
    "it moves to the passage that says so": (
        "病假一年內合計不得超過 30 日[1]。",
        "病假一年內合計不得超過 30 日[2]。",
    ),
    "of two, the one beside the matter goes": (
        "滿一年給予特別休假七日[1][2]。",
        "滿一年給予特別休假七日[1]。",
    ),
    "two passages together may support what none does alone": (
        "滿一年給予特別休假七日，病假合計不得超過三十日[1][2]。",
        "滿一年給予特別休假七日，病假合計不得超過三十日[1][2]。",
    ),
    "a mark after the stop belongs to the sentence before": (
        "特別休假由員工排定。[1]其他請洽人資。",
        "特別休假由員工排定。[1]其他請洽人資。",
    ),
    "a mark at the end of a paragraph covers all of it": (
        "滿一年給予特別休假七日，由員工排定。就是這樣安排的喔[1]。",
        "滿一年給予特別休假七日，由員工排定。就是這樣安排的喔[1]。",
    ),
    "a mark that opens a line is read with what follows": (
        "- [1] 特別休假十日\n- [1] 特別休假七日",
        "- 特別休假十日\n- [1] 特別休假七日",
    ),
    "a list's numbers are no claim": ("1. 特別休假七日[1]\n2. 由員工排定[1]", None),
    "a table's row is a claim": (
        "| 特別休假 | 十日[1] |\n| 特別休假 | 七日[1] |",
        "| 特別休假 | 十日 |\n| 特別休假 | 七日[1] |",
    ),
    "another language is held to its numbers only": (
        "出差報帳須於返回後 14 天內提交[3]，逾 20 天不受理[3]。",
        "出差報帳須於返回後 14 天內提交[3]，逾 20 天不受理。",
    ),
    "what says nothing keeps its mark": ("說明如下[1]：", None),
    "code is untouched": ("`特別休假十日[1]` 滿一年給予特別休假七日[1]。", None),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_mark_stays_only_by_what_its_passage_supports(rule: str) -> None:
    draft, wanted = RULES[rule]
    assert checked(draft).text == (draft if wanted is None else wanted)


def test_what_was_withdrawn_and_moved_is_counted() -> None:
    done = checked(
        "滿一年有特別休假十日[1]。病假一年內合計不得超過 30 日[1]。由員工排定特別休假[1]。"
    )
    assert (done.withdrawn, done.moved, list(done.cited)) == (1, 1, [2, 1])


SAME = {
    "三十日": "30 天",
    "一千二百元": "1,200 元",
    "10 萬元": "100000 元",
    "2万8千円": "28,000円",
    "半小時": "30 minutes",
    "四成": "40%",
    "二年": "24 個月",
    "下午五時": "17:00",
    "六點半": "6:30",
    "2025-03-14": "14 March 2025",
    "2025年3月14日": "March 14, 2025",
    "USD 60": "$60",
    "毎分": "1分あたり",
    "twenty-five days": "25 日",
    "5 個工作日": "5 business days",
    "百分之二十": "兩成",
    "1800 毫升": "1.8 公升",
    "9月30日": "9月末",
    "10/6": "10月6日",
    "一年半": "18 個月",
    "一千五": "1,500",
    "1 萬 8,900 元": "18900元",
    "half an hour": "30 分鐘",
    "5 p.m.": "17:00",
    "地下二樓": "B2",
}


@pytest.mark.parametrize("one", SAME)
def test_numbers_are_the_same_however_they_are_written(one: str) -> None:
    (first,), (second,) = numbers(match_text(one)), numbers(match_text(SAME[one]))
    assert first.agrees(second)
    assert second.agrees(first)


DIFFERENT = {"30 分鐘": "30 小時", "7 日": "7 個月", "2,800 元": "3,200 元", "美金 5 元": "5円"}


@pytest.mark.parametrize("one", DIFFERENT)
def test_another_amount_or_unit_is_not_the_same(one: str) -> None:
    (first,), (second,) = numbers(match_text(one)), numbers(match_text(DIFFERENT[one]))
    assert not first.agrees(second)


KEPT, TAKEN = True, False
FAQ = "問：可以共用帳號嗎？答：不可以，每人限用一組。問：由誰負責保管？答：由申請人保管密碼。"
LAB = "化學藥品用畢應歸還藥櫃，室內禁止使用電爐、電扇等電器。獎金由經理分配，並送人資部備查。"
CARS = "車輛 | 定員 | 保管場所\nプリウス | 5名 | 本社地下\nハイエース | 10名 | 東倉庫"
PETS = "Pets are allowed only with the landlord's consent. People in boots will be turned away."
BOOKS = "貸出の申込みは書面で事前に行う。延滞料は借受人の負担とする。"
RENT = "The agent sends the statement to the owner. Deposits are returned upon inspection."
HEAT = "空調依季節開放，設備須當日歸還；逾時罰款，因天災延誤者不在此限。"
SEATS = "区分 | 料金\n自由席 | 800円\n指定席 | 1,200円"
EVIDENCE = (
    ("官網延至十一月十五日上線。", "官網的上線日改到 11/15", KEPT),
    ("官網延至十一月十五日上線。", "官網的上線日改到 11/16", TAKEN),
    ("改版案待明年第一季再議。", "改版案明年 Q1 再議", KEPT),
    ("改版案待明年第一季再議。", "改版案明年 Q2 再議", TAKEN),
    ("Changes must be submitted by noon on Tuesday.", "Submit changes by 12:00 Tuesday", KEPT),
    ("Changes must be submitted by noon on Tuesday.", "Submit changes by 3 pm Tuesday", TAKEN),
    ("構内の制限速度は時速8キロとする。", "構内の制限速度は時速8kmです", KEPT),
    ("構内の制限速度は時速8キロとする。", "構内の制限速度は時速18kmです", TAKEN),
    (BOOKS, "貸出の申込みは事後に書面で行う", TAKEN),
    (BOOKS, "貸出の申込みは事前に書面で行う", KEPT),
    (BOOKS, "延滞料は管理人の負担とします", TAKEN),
    (BOOKS, "延滞料は借受人の負担となります", KEPT),
    (RENT, "The owner sends the statement to the agent", TAKEN),
    (RENT, "The statement is sent to the owner by the agent", KEPT),
    (RENT, "Deposits are returned upon painting", TAKEN),
    (HEAT, "設備須翌日歸還", TAKEN),
    (HEAT, "即使因天災延誤，逾時仍須罰款", TAKEN),
    (HEAT, "設備須當日歸還，但須先經里長簽名背書", TAKEN),
    (HEAT, "設備可免費取得並當日歸還", TAKEN),
    (SEATS, "自由席の料金は1,200円です", TAKEN),
    (SEATS, "指定席の料金は1,200円です", KEPT),
    (FAQ, "帳號可以共用", TAKEN),
    (FAQ, "帳號不能共用，每人只有一組", KEPT),
    (FAQ, "密碼要由申請人自行保管", KEPT),
    (LAB, "室內不可以用電扇這類電器", KEPT),
    (LAB, "化學藥品用畢不應歸還藥櫃", TAKEN),
    (LAB, "獎金由人資部分配", TAKEN),
    (CARS, "プリウスの保管場所は東倉庫です", TAKEN),
    (CARS, "ハイエースの保管場所は東倉庫です", KEPT),
    (CARS, "車は2台あり、ハイエースは10人乗りです", KEPT),
    (PETS, "Pets are allowed without the landlord's consent", TAKEN),
    (PETS, "You won't be let in with boots on", KEPT),
)


@pytest.mark.parametrize(("said", "claim", "is_kept"), EVIDENCE)
def test_a_mark_goes_only_where_the_passage_shows_a_fault(
    said: str, claim: str, is_kept: bool
) -> None:
    presented = {1: Passage(1, "c", "s", "r", 1, "t.md", said, Locator())}
    done = check(rewrite(f"{claim} [1]。", presented), presented)
    assert (1 in done.cited) is is_kept


@given(st.text(st.sampled_from("特休七日不得[1]2、。\n|-`員工 a.公司三十%"), max_size=80))
@settings(max_examples=150)
def test_a_check_only_takes_marks_away_or_moves_them(draft: str) -> None:
    before = rewrite(draft, PRESENTED)
    done = check(before, PRESENTED)
    assert set(done.cited) <= set(PRESENTED)
    again = check(rewrite(done.text, PRESENTED), PRESENTED)
    assert set(again.cited) <= set(done.cited)
    if not done.withdrawn and not done.moved:
        assert done.cited.keys() == before.cited.keys()


@given(st.text(st.sampled_from("0139一千五半百分之月末日年/:,.-% 萬B地下樓前amp個兩"), max_size=40))
@settings(max_examples=150)
def test_numbers_of_any_text_are_read_and_agree_with_themselves(text: str) -> None:
    for number in numbers(match_text(text)):
        assert number.agrees(number)


@given(
    st.text(st.sampled_from("経由取得貸主借主甲乙方之的の同意承諾負擔負担書面事前が"), max_size=30)
)
@settings(max_examples=150)
def test_no_text_names_another_holder_of_a_power_than_itself(text: str) -> None:
    assert not is_held_by_other(match_text(text), [match_text(text)])


def test_its_own_passages_quoted_keep_their_marks() -> None:
    for n, each in PRESENTED.items():
        assert list(checked(f"{each.text[:-1]} [{n}]。").cited) == [n]


def test_the_time_is_linear_in_the_draft() -> None:
    draft = "滿一年給予特別休假十日[1]，" * 400
    begun = time.perf_counter()
    assert checked(draft).withdrawn == 400
    assert time.perf_counter() - begun < 5
