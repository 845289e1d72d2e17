"""Text of PDFs that nobody sees is not read; the text layer of a scan is."""

from collections.abc import Callable

import pymupdf
import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from gateway.core.documents import SourceWarning
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making import HEIGHT, lines, pdf

SEEN = "看得見的文字"
HIDDEN = "藏起來的文字"


def read(data: bytes) -> Document:
    return read_document(data, "x.pdf", ReadOptions())


def text(document: Document) -> str:
    return "\n".join(block.text for block in document.blocks)


def picture(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("RGB", (60, 80), "grey")), 0, 0, 595, HEIGHT)


def invisible(canvas: Canvas, words: str) -> None:
    layer = canvas.beginText(72, 500)
    layer.setTextRenderMode(3)
    layer.textLine(words)
    canvas.drawText(layer)


def white(canvas: Canvas) -> None:
    canvas.setFillColorRGB(1, 1, 1)
    lines(canvas, [HIDDEN], y=200)


def tiny(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 0.8)
    lines(canvas, [HIDDEN, "hidden words"], y=200)


def covered(canvas: Canvas) -> None:
    lines(canvas, [HIDDEN], y=200)
    canvas.rect(60, HEIGHT - 210, 300, 30, fill=1, stroke=0)


def same_as_ground(canvas: Canvas) -> None:
    canvas.setFillColorRGB(0.2, 0.3, 0.8)
    canvas.rect(60, HEIGHT - 210, 300, 30, fill=1, stroke=0)
    canvas.setFillColorRGB(0.21, 0.31, 0.79)
    lines(canvas, [HIDDEN], y=200)


@pytest.mark.parametrize(
    "hide",
    [
        white,
        tiny,
        covered,
        same_as_ground,
        lambda canvas: invisible(canvas, HIDDEN),
        lambda canvas: lines(canvas, [HIDDEN], x=-400, y=200),
    ],
    ids=["white", "tiny", "covered", "same colour", "invisible", "off the page"],
)
def test_hidden_text_is_not_read(hide: Callable[[Canvas], object]) -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [SEEN])
        hide(canvas)

    document = read(pdf(draw))
    assert text(document) == SEEN


def test_hidden_text_is_a_warning_with_its_page() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, [SEEN])
        white(canvas)

    assert read(pdf(draw)).warnings == (SourceWarning("hidden_content_skipped", (1,)),)


def test_white_text_on_a_dark_ground_is_seen() -> None:
    def on_fill(canvas: Canvas) -> None:
        canvas.setFillColorRGB(0, 0, 0.4)
        canvas.rect(60, HEIGHT - 210, 300, 30, fill=1, stroke=0)
        canvas.setFillColorRGB(1, 1, 1)
        lines(canvas, [SEEN], y=200)

    def on_picture(canvas: Canvas) -> None:
        picture(canvas)
        canvas.setFillColorRGB(1, 1, 1)
        lines(canvas, [SEEN, SEEN, SEEN])

    assert text(read(pdf(on_fill))) == SEEN
    assert SEEN in text(read(pdf(on_picture)))


def test_the_text_layer_of_a_scan_is_read() -> None:
    def draw(canvas: Canvas) -> None:
        picture(canvas)
        invisible(canvas, "辨識出來的文字共有一整行那麼多在這裡")

    document = read(pdf(draw))
    assert text(document) == "辨識出來的文字共有一整行那麼多在這裡"
    assert document.warnings == ()


def test_the_page_s_crop_and_its_turn_hold() -> None:
    file = pymupdf.open()
    page = file.new_page()
    page.insert_text((72, 72), "first line")
    page.insert_text((72, 90), "second line")
    page.insert_text((72, 700), "cut off")
    page.set_cropbox((0, 0, 400, 400))
    page.set_rotation(90)
    assert text(read(file.tobytes())).split() == ["first", "line", "second", "line"]


def test_layers_that_are_off_are_not_read() -> None:
    file = pymupdf.open()
    page = file.new_page()
    page.insert_text((72, 72), "on the page")
    page.insert_text((72, 400), "on a layer", oc=file.add_ocg("x", on=False))
    assert text(read(file.tobytes())) == "on the page"


def test_fields_and_typed_text_are_read_comments_and_attachments_are_not() -> None:
    def draw(canvas: Canvas) -> None:
        lines(canvas, ["姓名"], y=200)
        canvas.acroForm.textfield(name="n", value="filled in", x=120, y=HEIGHT - 206, height=20)

    file = pymupdf.open(stream=pdf(draw))
    file[0].add_freetext_annot((72, 300, 300, 330), "typed onto the page")
    file[0].add_text_annot((300, 400), "a sticky note")
    file[0].add_stamp_annot((300, 500, 400, 550))
    file.embfile_add("other.txt", b"attached words")
    assert text(read(file.tobytes())) == "姓名filled in\ntyped onto the page"


def test_replaced_text_is_what_is_read() -> None:
    stream = "BT /helv 12 Tf 72 700 Td /Span <</ActualText(ffi)>> BDC (XX) Tj EMC (x rest) Tj ET"
    file = pymupdf.open()
    page = file.new_page()
    page.insert_text((72, 72), "to be replaced", fontname="helv")
    file.update_stream(page.get_contents()[0], stream.encode())
    assert text(read(file.tobytes())) == "ffix rest"
