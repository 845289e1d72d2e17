"""PDFs: reading order, paragraphs, pages, what repeats, what is a scan, what can't be read."""

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from gateway.core.documents import SourceWarning
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making import FONT, HEIGHT, lines, new_page, pdf, raw_pdf

STORY = "第一段的內容要夠長才會換行所以這裡多寫幾個字"


def read(data: bytes, max_chars: int = 500_000) -> Document:
    return read_document(data, "x.pdf", ReadOptions(max_chars))


def texts(data: bytes) -> list[str]:
    return [block.text for block in read(data).blocks]


def code_of(data: bytes, max_chars: int = 500_000) -> str:
    with pytest.raises(ExtractionError) as raised:
        read(data, max_chars)
    return raised.value.code


def test_lines_join_as_their_script_asks_and_blanks_between_paragraphs_part_them() -> None:
    def draw(canvas: Canvas) -> None:
        lines(
            canvas, ["員工到職滿一年者每年給予特別休", "假七日，滿二年者給予十日的特別", "休假。"]
        )
        lines(
            canvas, ["Annual leave is asked for in ad-", "vance and by mail to the office"], y=220
        )

    assert texts(pdf(draw)) == [
        "員工到職滿一年者每年給予特別休假七日，滿二年者給予十日的特別休假。",
        "Annual leave is asked for in advance and by mail to the office",
    ]


def test_blocks_know_their_page() -> None:
    def draw(canvas: Canvas) -> None:
        for number in (1, 2, 3):
            lines(canvas, [f"這是第 {number} 頁的特別內容"])
            if number < 3:
                new_page(canvas)

    document = read(pdf(draw))
    assert [block.locator.page for block in document.blocks] == [1, 2, 3]
    assert document.pages == 3


@pytest.mark.parametrize("rows", [2, 6])
def test_two_boxes_written_in_turns_are_read_one_after_the_other(rows: int) -> None:
    left = [f"左欄第{n}行的文字要先讀完才對" for n in range(rows)]
    right = [f"右欄第{n}行的文字要後讀才對的" for n in range(rows)]

    def draw(canvas: Canvas) -> None:
        lines(canvas, ["橫跨兩欄的標題寫在最上面一行的地方佔滿整個頁面的寬度才行"], y=60)
        for n in range(rows):
            lines(canvas, [left[n]], x=72, y=100 + n * 18)
            lines(canvas, [right[n]], x=320, y=100 + n * 18)
        lines(canvas, ["橫跨兩欄的結尾寫在最下面一行的地方佔滿整個頁面的寬度才行"], y=300)

    whole = "".join(texts(pdf(draw)))
    assert whole.index("標題") < whole.index("左欄") < whole.index("右欄") < whole.index("結尾")
    assert "".join(left) in whole
    assert "".join(right) in whole


def test_cells_of_a_table_are_read_row_by_row() -> None:
    def draw(canvas: Canvas) -> None:
        for n, cells in enumerate([("品名", "價格"), ("烏龍茶", "350"), ("咖啡豆", "420")]):
            for x, cell in zip((72, 250), cells, strict=True):
                lines(canvas, [cell], x=x, y=100 + n * 18)

    assert texts(pdf(draw)) == ["品名  價格", "烏龍茶  350", "咖啡豆  420"]


def test_letters_one_below_the_other_are_read_downwards_and_from_the_right() -> None:
    def draw(canvas: Canvas) -> None:
        for x, column in ((300, "いつもおせわに"), (280, "なっております")):
            for n, letter in enumerate(column):
                lines(canvas, [letter], x=x, y=100 + n * 14)

    assert "".join(texts(pdf(draw))) == "いつもおせわになっております"


def test_letters_set_wide_apart_come_together() -> None:
    assert texts(pdf(lambda canvas: lines(canvas, ["員 工 手 冊"]))) == ["員工手冊"]


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_turned_page_reads_like_any_other(angle: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(297, 421)
        canvas.rotate(angle)
        canvas.translate(-200, -600)
        lines(canvas, [STORY + "然後", "才到第二行。"])

    assert "".join(texts(pdf(draw))) == STORY + "然後才到第二行。"


def test_headers_and_page_numbers_stay_on_the_first_page_only() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(1, 6):
            lines(canvas, ["青葉合作社 內部文件"], y=30)
            prices = [f"商品{number}{n}的價格是 {n * number}0 元" for n in range(1, 4)]
            lines(canvas, prices)
            lines(canvas, [f"第 {number} 頁，共 5 頁"], y=800)
            if number < 5:
                new_page(canvas)

    document = read(pdf(draw))
    whole = "\n".join(block.text for block in document.blocks)
    assert whole.count("青葉合作社") == 1
    assert whole.count("共 5 頁") == 1
    assert whole.count("的價格是") == 15
    assert {block.locator.page for block in document.blocks} == {1, 2, 3, 4, 5}


def test_the_outline_gives_the_headings() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.bookmarkPage("one")
        canvas.addOutlineEntry("第一章 休假", "one", 0)
        lines(canvas, ["第一章 休假"])
        lines(canvas, [STORY], y=160)
        new_page(canvas)
        canvas.bookmarkPage("two")
        canvas.addOutlineEntry("附錄", "two", 1)
        lines(canvas, [STORY])

    found = [(b.text, b.heading_level, b.locator.page) for b in read(pdf(draw)).blocks]
    assert found == [
        ("第一章 休假", 1, 1),
        (STORY, None, 1),
        ("附錄", 2, 2),
        (STORY, None, 2),
    ]


def test_larger_letters_are_headings_without_an_outline() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(FONT, 20)
        lines(canvas, ["員工手冊"])
        canvas.setFont(FONT, 15)
        lines(canvas, ["休假規定"], y=140)
        canvas.setFont(FONT, 12)
        lines(canvas, [STORY, STORY], y=180)

    found = [(block.text, block.heading_level) for block in read(pdf(draw)).blocks]
    assert found == [("員工手冊", 1), ("休假規定", 2), (STORY + STORY, None)]


def test_an_owner_password_is_no_obstacle_a_user_password_is() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["可以讀的文字"])

    assert texts(pdf(draw, owner="boss")) == ["可以讀的文字"]
    assert code_of(pdf(draw, password="secret")) == "encrypted"


def picture(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("RGB", (60, 80), "grey")), 0, 0, 595, HEIGHT)


def test_a_scan_is_named_so_even_with_a_stamp() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(20):
            picture(canvas)
            if number == 7:
                lines(canvas, ["COPY"])
            new_page(canvas)

    assert code_of(pdf(draw)) == "no_text_layer"
    assert code_of(pdf(picture)) == "no_text_layer"


def test_pages_without_text_are_listed() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(1, 5):
            if number == 3:
                picture(canvas)
            else:
                lines(canvas, [f"第 {number} 頁有文字"])
            if number < 4:
                new_page(canvas)

    assert read(pdf(draw)).warnings == (SourceWarning("pages_without_text", (3,)),)


def test_letters_without_meaning_are_a_warning_or_not_indexed() -> None:
    some = raw_pdf("Read all this and more, A please do it now", "<41> <E001>")
    document = read(some)
    assert document.warnings == (SourceWarning("garbled_text", (1,)),)
    every = raw_pdf("ABABABAB", "<41> <E001>\n<42> <FFFD>")
    assert code_of(every) == "no_text_layer"
    mojibake = raw_pdf("ABABABAB xx", "<41> <00C8>\n<42> <00AB>")
    assert code_of(mojibake) == "no_text_layer"


def test_damage_and_size_have_their_codes() -> None:
    whole = pdf(lambda canvas: lines(canvas, [STORY]))
    assert code_of(whole, max_chars=5) == "too_many_chars"
    assert code_of(b"%PDF-1.7\nnothing else") == "extract_crashed"
    assert code_of(b"%PDF-1.7\n" + bytes(range(256)) * 40) == "extract_crashed"
