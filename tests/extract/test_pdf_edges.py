"""What stands on every page of a PDF: headers, footers, numbers of pages and lines, watermarks."""

from collections.abc import Callable

import pytest
from reportlab.pdfgen.canvas import Canvas

from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from tests.extract.making import FONT, SIZE, lines, new_page, pdf

BODY = ["的規定寫在這裡而且寫得夠長才像一段文字。", "另外還有一條說明其他的事項，也寫得很長。"]


def whole(pages: int, draw: Callable[[Canvas, int], object]) -> str:
    def every(canvas: Canvas) -> None:
        for number in range(1, pages + 1):
            draw(canvas, number)
            if number < pages:
                new_page(canvas)

    document = read_document(pdf(every), "x.pdf", ReadOptions())
    return "\n".join(block.text for block in document.blocks)


def body(canvas: Canvas, number: int) -> None:
    lines(canvas, [f"第{'一二三四五六七八九十'[number - 1]}項{text}" for text in BODY], y=120)


def test_headers_of_odd_and_even_pages() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        lines(canvas, ["青葉合作社手冊" if number % 2 else "人事規章彙編"], y=40)
        body(canvas, number)

    text = whole(4, draw)
    assert text.count("青葉合作社手冊") == text.count("人事規章彙編") == 1
    assert text.count("的規定") == 4


def test_running_titles_that_change_with_the_chapter() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        lines(canvas, ["總則" if number < 4 else "休假" if number < 7 else "加班"], y=40)
        body(canvas, number)

    text = whole(9, draw)
    assert [text.count(title) for title in ("總則", "休假", "加班")] == [1, 1, 1]


def test_three_pages_whose_first_one_is_different() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        if number > 1:
            lines(canvas, ["內部文件請勿外傳"], y=40)
        body(canvas, number)

    assert whole(3, draw).count("內部文件請勿外傳") == 1


@pytest.mark.parametrize("form", ["{}", "- {} -", "Page {} of 3", "{}/3", "p. {}"])
def test_bare_page_numbers_are_no_text(form: str) -> None:
    def draw(canvas: Canvas, number: int) -> None:
        body(canvas, number)
        lines(canvas, [form.format(number + 4)], x=290, y=805)

    assert not any(c.isascii() and c.isdigit() for c in whole(3, draw))


def test_roman_page_numbers_are_no_text() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        body(canvas, number)
        lines(canvas, [["iii", "iv", "v"][number - 1]], x=290, y=805)

    assert "iv" not in whole(3, draw)


def test_a_first_sentence_that_merely_recurs_stays() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        lines(canvas, ["本項適用於全體員工，包括約聘人員在內。"], y=72)
        lines(canvas, [f"第{number}種假的天數各不相同，請見附表所載。"], y=90)

    assert whole(5, draw).count("本項適用於全體員工") == 5


def test_a_sentence_in_the_text_that_recurs_at_its_place_stays() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        lines(canvas, ["青葉合作社"], y=40)
        body(canvas, number)
        lines(canvas, ["以上規定自公布日起施行。"], y=400)
        lines(canvas, [f"{'甲乙丙丁戊'[number - 1]}部門主管負責解釋並保留修改的權利。"], y=418)

    text = whole(5, draw)
    assert text.count("以上規定") == 5
    assert text.count("青葉合作社") == 1


@pytest.mark.parametrize("angle", [0, 45])
def test_a_watermark_is_told_once(angle: int) -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.saveState()
        canvas.setFont(FONT, 60)
        canvas.translate(200, 300)
        canvas.rotate(angle)
        canvas.drawString(0, 0, "機密")
        canvas.restoreState()
        canvas.setFont(FONT, SIZE)
        body(canvas, number)

    text = whole(4, draw)
    assert text.count("機密") == 1
    assert "第一項" + BODY[0] in text


def test_numbers_of_lines_are_no_text_but_numbers_in_a_table_are() -> None:
    def numbered(canvas: Canvas, number: int) -> None:
        lines(canvas, [str(n) for n in range(1, 9)], x=40)
        lines(canvas, ["當事人雙方約定的條款寫在這裡而且每一行都寫得夠長。"] * 8)

    def table(canvas: Canvas, number: int) -> None:
        lines(canvas, [str(n) for n in range(1, 9)], x=72)
        lines(canvas, ["原子筆"] * 8, x=200)

    assert not any(c.isdigit() for c in whole(1, numbered))
    assert "8  原子筆" in whole(1, table)
