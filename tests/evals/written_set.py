"""The written set's documents, made of their texts: `python -m tests.evals.written_set FOLDER`.

A text's name is its document's with `.txt` behind; a line of three dashes ends a page, a slide or
a sheet. In a sheet the first line is its name, and cells stand between bars.
"""

import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reportlab.pdfgen.canvas import Canvas

from tests.extract import making, making_sheets

FOLDER = Path(__file__).parent / "written"
QUESTIONS = FOLDER / "questions.jsonl"
CELLS_A_LINE = 72  # of a PDF; a CJK letter takes two


def write_documents(folder: Path) -> None:
    """Write all of them; the folder must exist."""
    for text in sorted(FOLDER.glob("*.txt")):
        name = text.name.removesuffix(".txt")
        blocks = [block.strip("\n") for block in text.read_text("utf-8").split("\n---\n")]
        make = _MAKERS.get(Path(name).suffix)
        data = text.read_bytes() if make is None else make(blocks)
        (folder / name).write_bytes(data)


def _pdf(pages: list[str]) -> bytes:
    def draw(canvas: Canvas) -> None:
        for number, page in enumerate(pages):
            if number:
                making.new_page(canvas)
            making.lines(canvas, [each for line in page.split("\n") for each in _wrapped(line)])

    return making.pdf(draw)


def _wrapped(line: str) -> Iterator[str]:
    plain = line.lstrip("# ")
    is_wide = any(unicodedata.east_asian_width(letter) == "W" for letter in plain)
    yield from textwrap.wrap(plain, CELLS_A_LINE // 2 if is_wide else CELLS_A_LINE)


def _word(blocks: list[str]) -> bytes:
    def write(document: Any) -> None:
        for line in "\n".join(blocks).split("\n"):
            marks = len(line) - len(line.lstrip("#"))
            if marks:
                document.add_heading(line.lstrip("# "), marks)
            else:
                document.add_paragraph(line)

    return making.word(write)


def _slides(slides: list[str]) -> bytes:
    def tree(slide: str) -> str:
        title, *lines = slide.split("\n")
        return making.shape(title, kind="title") + making.shape(*lines, kind="body")

    return making.slides(*map(tree, slides))


def _workbook(sheets: list[str]) -> bytes:
    def cell(text: str) -> str | int:
        return int(text) if text.isdigit() else text

    def write(book: Any) -> None:
        book.remove(book.active)
        for text in sheets:
            name, *rows = text.split("\n")
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append([cell(each.strip()) for each in row.split(" | ")])

    return making_sheets.written(write)


_MAKERS = {".pdf": _pdf, ".docx": _word, ".pptx": _slides, ".xlsx": _workbook}

if __name__ == "__main__":
    write_documents(Path(sys.argv[1]))
