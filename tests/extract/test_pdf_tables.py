"""Tables with rules in PDFs: rows with their header, merged cells, their rest on the next page."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from reportlab.pdfgen.canvas import Canvas

from gateway.core.documents import Block
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from tests.extract.making import HEIGHT, lines, new_page, pdf

XS = (72, 200, 320, 440)
STEP = 24
STORY = "這一段文字說明下面的表格要怎麼看，內容夠長所以是一整段。"


def blocks(draw: Callable[[Canvas], object]) -> list[Block]:
    return list(read_document(pdf(draw), "x.pdf", ReadOptions()).blocks)


def rule(canvas: Canvas, x0: float, y0: float, x1: float, y1: float) -> None:
    canvas.line(x0, HEIGHT - y0, x1, HEIGHT - y1)


def cells(canvas: Canvas, rows: Sequence[Sequence[str]], y: float, xs: Sequence[float]) -> None:
    for n, row in enumerate(rows):
        for x, cell in zip(xs, row, strict=False):
            lines(canvas, [cell], x=x + 4, y=y + n * STEP + 16)


def table(
    canvas: Canvas, rows: Sequence[Sequence[str]], y: float = 200, xs: Sequence[float] = XS
) -> None:
    bottom = y + STEP * len(rows)
    for n in range(len(rows) + 1):
        rule(canvas, xs[0], y + n * STEP, xs[-1], y + n * STEP)
    for x in xs:
        rule(canvas, x, y, x, bottom)
    cells(canvas, rows, y, xs)


LEAVE = [("假別", "天數", "證明"), ("特別休假", "7", "免"), ("病假", "30", "診斷書")]


def test_rows_come_in_their_place_with_their_header() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [STORY], y=100)
        table(canvas, LEAVE)
        lines(canvas, ["表格後面還有一段文字。"], y=320)

    found = blocks(draw)
    header = "假別 | 天數 | 證明"
    assert [(b.text, b.is_row, b.header) for b in found] == [
        (STORY, False, ""),
        ("特別休假 | 7 | 免", True, header),
        ("病假 | 30 | 診斷書", True, header),
        ("表格後面還有一段文字。", False, ""),
    ]
    assert {block.locator.page for block in found} == {1}


def test_boxes_around_cells_are_rules_too() -> None:
    def draw(canvas: Canvas) -> None:
        for n, row in enumerate(LEAVE):
            for x, end in pairwise(XS):
                canvas.rect(x, HEIGHT - 200 - (n + 1) * STEP, end - x, STEP)
            cells(canvas, [row], 200 + n * STEP, XS)

    assert [block.text for block in blocks(draw)] == ["特別休假 | 7 | 免", "病假 | 30 | 診斷書"]


def test_a_cell_of_several_lines_is_one_text() -> None:
    def draw(canvas: Canvas) -> None:
        for y in (200, 224, 264):
            rule(canvas, 72, y, 300, y)
        for x in (72, 150, 300):
            rule(canvas, x, 200, x, 264)
        cells(canvas, [("項目", "說明"), ("午休", "")], 200, (72, 150))
        lines(canvas, ["中午十二點", "到一點半"], x=154, y=240, step=16)

    assert [block.text for block in blocks(draw)] == ["午休 | 中午十二點到一點半"]


def test_text_written_across_a_rule_is_cut_there() -> None:
    def draw(canvas: Canvas) -> None:
        table(canvas, [("", ""), ("", "")], xs=(72, 108, 180))
        lines(canvas, ["部門人數", "總務部十二"], x=75, y=216, step=STEP)

    [row] = blocks(draw)
    assert (row.header, row.text) == ("部門人 | 數", "總務部 | 十二")


def test_names_above_several_columns_stand_before_each_of_theirs() -> None:
    def draw(canvas: Canvas) -> None:
        bottom = 200 + 3 * STEP
        for y in (200, 200 + 2 * STEP, bottom):
            rule(canvas, XS[0], y, XS[-1], y)
        rule(canvas, XS[1], 200 + STEP, XS[-1], 200 + STEP)
        for x in (XS[0], XS[1], XS[3]):
            rule(canvas, x, 200, x, bottom)
        rule(canvas, XS[2], 200 + STEP, XS[2], bottom)
        cells(
            canvas,
            [("房型", "價格", ""), ("", "平日", "假日"), ("雙人房", "2000", "2600")],
            200,
            XS,
        )

    [row] = blocks(draw)
    assert row.header == "房型 | 價格 平日 | 價格 假日"
    assert row.text == "雙人房 | 2000 | 2600"


def test_a_cell_over_several_rows_is_told_once() -> None:
    def draw(canvas: Canvas) -> None:
        bottom = 200 + 3 * STEP
        for y in (200, 200 + STEP, bottom):
            rule(canvas, XS[0], y, XS[3], y)
        rule(canvas, XS[1], 200 + 2 * STEP, XS[3], 200 + 2 * STEP)
        for x in XS:
            rule(canvas, x, 200, x, bottom)
        rows = [("部門", "職稱", "分機"), ("總務部", "經理", "101"), ("", "專員", "102")]
        cells(canvas, rows, 200, XS)

    assert [block.text for block in blocks(draw)] == ["總務部 | 經理 | 101", " | 專員 | 102"]


def test_a_title_over_the_whole_table_is_no_header() -> None:
    def draw(canvas: Canvas) -> None:
        table(canvas, LEAVE, y=200 + STEP)
        rule(canvas, XS[0], 200, XS[-1], 200)
        for x in (XS[0], XS[-1]):
            rule(canvas, x, 200, x, 200 + STEP)
        lines(canvas, ["請假一覽表"], x=200, y=216)

    found = blocks(draw)
    assert [(b.text, b.header) for b in found[:2]] == [
        ("請假一覽表", ""),
        ("特別休假 | 7 | 免", "假別 | 天數 | 證明"),
    ]


@pytest.mark.parametrize("repeats", [True, False])
def test_a_table_goes_on_over_the_page_with_its_header(repeats: bool) -> None:
    def draw(canvas: Canvas) -> None:
        table(canvas, LEAVE, y=700)
        new_page(canvas)
        rest = [("事假", "14", "免"), ("婚假", "8", "喜帖")]
        table(canvas, [LEAVE[0], *rest] if repeats else rest, y=72)

    found = blocks(draw)
    assert [(b.text, b.locator.page) for b in found] == [
        ("特別休假 | 7 | 免", 1),
        ("病假 | 30 | 診斷書", 1),
        ("事假 | 14 | 免", 2),
        ("婚假 | 8 | 喜帖", 2),
    ]
    assert {block.header for block in found} == {"假別 | 天數 | 證明"}


def test_another_table_has_its_own_header() -> None:
    def draw(canvas: Canvas) -> None:
        table(canvas, LEAVE, y=700)
        new_page(canvas)
        table(canvas, [("物品", "數量"), ("筆", "3")], y=72, xs=(72, 150, 300))

    assert blocks(draw)[-1].header == "物品 | 數量"


def test_a_frame_around_a_page_is_no_table() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.rect(40, 40, 515, 760)
        rule(canvas, 40, 80, 555, 80)
        rule(canvas, 300, 42, 300, 80)
        lines(canvas, ["青葉合作社"], x=50, y=60)
        lines(canvas, ["編號一〇一"], x=310, y=60)
        lines(canvas, [STORY] * 20, y=120)

    found = blocks(draw)
    assert not any(block.is_row for block in found)
    assert "".join(block.text for block in found).count(STORY) == 20


def test_a_drawing_of_many_lines_takes_no_time() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [STORY])
        for n in range(9_000):
            x, y = 40 + n % 100 * 5, 150 + n // 100 * 6
            rule(canvas, x, y, x + (n * 7) % 60, y + (n * 13) % 60)

    data = pdf(draw)
    started = time.process_time()
    assert read_document(data, "x.pdf", ReadOptions()).blocks[0].text == STORY
    assert time.process_time() - started < 2
