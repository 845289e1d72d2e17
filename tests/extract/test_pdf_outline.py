"""Titles of PDFs: the outline in its places, and what tells titles without one."""

from collections.abc import Callable

import pymupdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making import FONT, lines, new_page, pdf

STORY = "第一段的內容要夠長才會換行所以這裡多寫幾個字，這樣就不像標題了。"
OTHER = "另外一段說明其他的事項也寫得夠長，讀的人看得出來不是標題。"


def outlined(draw: Callable[[Canvas], object], entries: list[list[object]]) -> Document:
    file = pymupdf.open(stream=pdf(draw))
    file.set_toc(entries, collapse=0)
    return read_document(file.tobytes(), "x.pdf", ReadOptions())


def told(document: Document) -> list[tuple[str, int | None, int | None]]:
    return [(b.text, b.heading_level, b.locator.page) for b in document.blocks]


def two_pages(canvas: Canvas) -> None:
    lines(canvas, ["1. 休假", STORY, "2. 加班", OTHER])
    new_page(canvas)
    lines(canvas, [STORY])


def test_several_titles_of_a_page_each_stand_in_their_place_once() -> None:
    document = outlined(two_pages, [[1, "1. 休假", 1], [1, "2. 加班", 1], [2, "補休", 2]])
    assert told(document) == [
        ("1. 休假", 1, 1),
        (STORY, None, 1),
        ("2. 加班", 1, 1),
        (OTHER, None, 1),
        ("補休", 2, 2),
        (STORY, None, 2),
    ]


def test_a_title_without_the_page_s_number_is_the_same_title() -> None:
    document = outlined(two_pages, [[1, "休假", 1], [1, "加班", 1]])
    assert [each[:2] for each in told(document)][::2][:2] == [("休假", 1), ("加班", 1)]
    assert sum("休假" in text for text, *_ in told(document)) == 1


def test_a_title_that_is_no_text_stands_where_it_points() -> None:
    entries: list[list[object]] = [
        [1, "總則", 1, {"kind": 1, "page": 0, "to": pymupdf.Point(72, 60)}],
        [1, "加班辦法", 1, {"kind": 1, "page": 0, "to": pymupdf.Point(72, 130)}],
    ]
    titles = [each[0] for each in told(outlined(two_pages, entries))]
    assert titles == ["總則", "1. 休假", STORY, "加班辦法", "2. 加班", OTHER, STORY]


def test_titles_that_point_nowhere_or_back_do_no_harm() -> None:
    entries: list[list[object]] = [
        [1, "第一編", -1],
        [2, "補休", 2],
        [1, "不見了", -1],
        [1, "休假", 1],
    ]
    found = told(outlined(two_pages, entries))
    assert [each for each in found if each[1]] == [("休假", 1, 1), ("第一編", 1, 2), ("補休", 2, 2)]


def test_a_title_cut_from_its_number_is_one() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["第一章"])
        lines(canvas, ["總則"], y=140)
        lines(canvas, [STORY], y=200)

    found = told(outlined(draw, [[1, "第一章 總則", 1], [1, "附則", 1]]))
    assert [text for text, level, _ in found if level] == ["第一章 總則", "附則"]
    assert "第一章" not in [text for text, *_ in found]


def test_an_outline_of_the_file_s_name_is_none() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(FONT, 20)
        lines(canvas, ["員工手冊"])
        canvas.setFont(FONT, 12)
        lines(canvas, [STORY], y=180)

    assert told(outlined(draw, [[1, "Microsoft Word - 手冊v3.docx", 1]])) == [
        ("員工手冊", 1, 1),
        (STORY, None, 1),
    ]


def test_the_chapter_of_a_page_without_text_is_told() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [STORY])
        new_page(canvas)
        canvas.rect(100, 100, 300, 300, fill=1)
        new_page(canvas)
        lines(canvas, [OTHER])

    assert told(outlined(draw, [[1, "休假", 1], [1, "加班", 2]])) == [
        ("休假", 1, 1),
        (STORY, None, 1),
        ("加班", 1, 2),
        (OTHER, None, 3),
    ]


def test_numbering_tells_titles_where_letters_are_all_alike() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["第一章 總則", STORY, "第二章 休假", "第一節 特別休假", OTHER])
        lines(canvas, ["1.2 請假手續", OTHER, "第三條 員工應於三日前提出，並經主管核准。"], y=260)

    found = {text: level for text, level, _ in told(read_document(pdf(draw), "x", ReadOptions()))}
    assert found["第一章 總則"] == found["第二章 休假"] == 1
    assert found["第一節 特別休假"] == 2
    assert found["1.2 請假手續"] is not None
    assert found["第三條 員工應於三日前提出，並經主管核准。"] is None


def test_lines_of_a_table_of_contents_are_no_titles() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["第一章 總則 ........ 3", "第二章 休假 ........ 7"])
        lines(canvas, [STORY], y=200)

    assert {level for _, level, _ in told(read_document(pdf(draw), "x", ReadOptions()))} == {None}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("員工手冊", "員工手冊"),
        ("Microsoft Word - a.doc", ""),
        ("untitled", ""),
        ("scan01.pdf", ""),
    ],
)
def test_the_title_a_file_gives_itself_counts_unless_it_is_a_file_s_name(
    given: str, kept: str
) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle(given)
        lines(canvas, [STORY])

    assert read_document(pdf(draw), "x.pdf", ReadOptions()).title == kept
