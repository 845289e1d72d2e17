"""Reading order in PDFs: columns, boxes, vertical text; what line ends cut, what stays apart."""

from collections.abc import Callable

import pytest
from reportlab.pdfgen.canvas import Canvas

from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from tests.extract.making import FONT, lines, pdf, raw_pdf

WIDE = "橫跨整個頁面寬度的文字寫在這裡一直寫到右邊的邊緣為止才算完整"


def texts(draw: Callable[[Canvas], object]) -> list[str]:
    return [block.text for block in read_document(pdf(draw), "x.pdf", ReadOptions()).blocks]


def upright(canvas: Canvas, words: str, x: float, y: float, step: float = 14) -> None:
    for n, letter in enumerate(words):
        lines(canvas, [letter], x=x, y=y + n * step)


def is_in_order(whole: str, *parts: str) -> bool:
    return sorted(parts, key=whole.index) == list(parts)


def test_three_columns_between_a_title_and_footnotes() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [WIDE], y=60)
        for n in range(8):
            for x, name in ((50, "左"), (230, "中"), (410, "右")):
                lines(canvas, [f"{name}欄第{n}行寫滿了文字"], x=x, y=100 + n * 18)
        canvas.setFont(FONT, 8)
        lines(canvas, ["¹ 註解寫在最下面"], y=400)

    whole = "".join(texts(draw))
    assert is_in_order(whole, WIDE, "左欄第0", "左欄第7", "中欄第0", "中欄第7", "右欄第0", "註解")


def test_a_paragraph_goes_on_in_the_next_column() -> None:
    def draw(canvas: Canvas) -> None:
        left = ["第一欄的文字從這裡開始一直寫", "到欄底還沒有寫完的句子就換到"]
        right = ["下一欄繼續寫完這個句子。接著", "是同一段的其他內容直到結尾。"]
        lines(canvas, left, x=72, y=100)
        lines(canvas, right, x=320, y=100)

    assert any("就換到下一欄繼續寫完" in text for text in texts(draw))


def test_a_box_beside_the_text_is_not_mixed_into_it() -> None:
    body = [f"本文第{n}行寫得比較長所以會佔掉大部分的寬度" for n in range(10)]
    aside = [f"旁邊的小方框第{n}行" for n in range(4)]

    def draw(canvas: Canvas) -> None:
        for n, line in enumerate(body):
            lines(canvas, [line], x=60, y=100 + n * 18)
            if 2 <= n < 6:
                lines(canvas, [aside[n - 2]], x=420, y=100 + n * 18)

    whole = "".join(texts(draw))
    assert "".join(aside) in whole


def test_vertical_text_under_a_horizontal_title() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["社報 第一號"], x=200, y=60)
        upright(canvas, "いつもおせわに", 300, 100)
        upright(canvas, "なっております", 280, 100)

    assert texts(draw) == ["社報 第一號", "いつもおせわになっております"]


def test_two_rows_of_vertical_text_are_read_one_after_the_other() -> None:
    upper, lower = (
        ["けふのうちにとほくへ", "いつてしまふわたくしの"],
        ["いもうとよみぞれがふつて", "おもてはへんにあかるい"],
    )

    def draw(canvas: Canvas) -> None:
        for n in range(2):
            upright(canvas, upper[n], 400 - n * 20, 80)
            upright(canvas, lower[n], 400 - n * 20, 300)

    assert is_in_order("".join(texts(draw)), *upper, *lower)


def test_a_number_set_upright_in_a_vertical_line_stays_in_it() -> None:
    def draw(canvas: Canvas) -> None:
        upright(canvas, "平成", 300, 100)
        canvas.setFont("Helvetica", 9)
        lines(canvas, ["12"], x=301, y=127)
        canvas.setFont(FONT, 12)
        upright(canvas, "年四月から実施", 300, 142)
        upright(canvas, "します", 280, 100)

    assert "".join(texts(draw)) == "平成12年四月から実施します"


def test_readings_above_words_do_not_cut_the_line() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["年次有給休暇の取得を申請する"])
        canvas.setFont(FONT, 5)
        lines(canvas, ["ねんじ"], x=74, y=89)
        lines(canvas, ["しゅとく"], x=158, y=89)

    assert texts(draw) == ["年次有給休暇の取得を申請する"]


def test_items_of_a_list_stay_apart() -> None:
    items = [
        "一、請假單",
        "二、診斷書",
        "(3) 印章",
        "4. 身分證",
        "甲、其他文件",
        "● 健保卡",
        "① 照片",
    ]
    assert texts(lambda canvas: lines(canvas, items)) == items


def test_an_item_goes_on_in_its_second_line() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["1. 員工應於三日前提出申請並經過主管"])
        lines(canvas, ["核准之後才能休假。"], x=90, y=118)
        lines(canvas, ["2. 逾期者視為事假。"], y=136)

    assert texts(draw) == [
        "1. 員工應於三日前提出申請並經過主管核准之後才能休假。",
        "2. 逾期者視為事假。",
    ]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("please hand in your appli-", "cation at the office in time", "application"),
        ("we had a well-", "Known guest at the office here", "well- Known"),
        ("員工到職滿一年每年有特別休", "假七日可以使用並且可以保留", "特別休假"),
        ("The office that you may visit is in 台北", "市中心的辦公室在三樓的右邊", "台北市"),
    ],
)
def test_line_ends_join_as_their_script_asks(first: str, second: str, joined: str) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(FONT, 12)
        lines(canvas, [first], x=72)
        lines(canvas, [second], x=72, y=118)

    assert joined in " ".join(texts(draw))


def test_raised_marks_of_footnotes_are_no_part_of_a_number() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        lines(canvas, ["Leave is 14"])
        canvas.setFont("Helvetica", 7)
        lines(canvas, ["1"], x=72 + 61, y=95)
        canvas.setFont("Helvetica", 12)
        lines(canvas, ["days a year"], x=72 + 68)

    assert texts(draw) == ["Leave is 14¹ days a year"]


def test_bullets_of_symbol_fonts_are_bullets() -> None:
    data = raw_pdf("A Bring your card", "<41> <F0B7>")
    document = read_document(data, "x.pdf", ReadOptions())
    assert document.blocks[0].text == "• Bring your card"
    assert document.warnings == ()
