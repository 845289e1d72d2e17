"""Pages that say most by pictures are named, so that a vision model can be shown them."""

import io

import msgspec
import pymupdf
import pytest
from PIL import Image

from gateway.errors import ExtractionError
from gateway.extract.pdf import read_pdf
from gateway.extract.reading import ReadOptions
from gateway.extract.untrusted import accept
from gateway.extract.wire import LENGTH, Begun, Read, WireBlock

LITTLE = "Sales by season, in kilograms of finished tea."
MUCH = "Employees with one year of service have seven days of annual leave. " * 8


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 40), "green").save(file, "PNG")
    return file.getvalue()


def pdf_of(*pages: tuple[str, float, int]) -> bytes:
    """Each page's words, the side of a square picture in points, and how many lines are drawn."""
    pdf = pymupdf.open()
    for words, side, lines in pages:
        page = pdf.new_page(width=500, height=600)
        page.insert_textbox(pymupdf.Rect(30, 20, 470, 200), words)
        if side:
            page.insert_image(pymupdf.Rect(30, 220, 30 + side, 220 + side), stream=picture())
        if lines:
            shape = page.new_shape()
            for n in range(lines):
                shape.draw_line((30 + n % 400, 220), (30 + (n * 37) % 431, 580 - (n * 53) % 97))
            shape.finish()
            shape.commit()
    return bytes(pdf.tobytes(deflate=True))


def test_little_text_beside_a_picture_or_a_drawing_is_told() -> None:
    data = pdf_of(
        (LITTLE, 300, 0),  # a chart
        (MUCH, 300, 0),  # text with an illustration
        (LITTLE, 30, 0),  # a logo
        (LITTLE, 0, 6_000),  # a plan in lines
        (LITTLE, 0, 40),  # a frame
    )
    found = read_pdf(data, ReadOptions())
    assert found.pictured == (1, 4)
    assert [each.code for each in found.warnings] == []


def output(*messages: msgspec.Struct) -> bytes:
    bodies = [msgspec.msgpack.encode(each) for each in messages]
    return b"".join(LENGTH.pack(len(body)) + body for body in bodies)


def test_a_page_that_is_not_there_is_not_believed() -> None:
    said = Read((WireBlock("text", page=1),), (), "application/pdf", pages=2, pictured=(2,))
    assert accept(output(Begun(is_sandboxed=True), said), 99).pictured == (2,)
    for wrong in (3, -1):
        broken = msgspec.structs.replace(said, pictured=(wrong,))
        with pytest.raises(ExtractionError):
            accept(output(Begun(is_sandboxed=True), broken), 99)
