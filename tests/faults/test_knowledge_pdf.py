"""Kinds of PDFs that other knowledge bases read wrongly: letters, fonts, scans, passwords."""

import pymupdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from gateway.core.chunking import chunk
from gateway.core.documents import Extracted, SourceWarning
from gateway.core.matching import match_text
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making import lines, new_page, pdf, raw_pdf

# bytes of 病假 in the encoding that the font names, which says nothing of Unicode
NAMED_ENCODINGS = [
    ("GBK-EUC-H", "GB1", "病假".encode("gbk")),
    ("UniGB-UCS2-H", "GB1", "病假".encode("utf-16-be")),
    ("ETen-B5-H", "CNS1", "病假".encode("big5")),
    ("UniCNS-UTF16-H", "CNS1", "病假".encode("utf-16-be")),
    ("90ms-RKSJ-H", "Japan1", "病仮".encode("cp932")),
    ("UniJIS-UTF16-H", "Japan1", "病仮".encode("utf-16-be")),
    ("KSCms-UHC-H", "Korea1", "휴가".encode("cp949")),
]


def read(data: bytes) -> Document:
    return read_document(data, "x.pdf", ReadOptions())


def text(document: Document) -> str:
    return "\n".join(block.text for block in document.blocks)


def composite(encoding: str, collection: str, letters: bytes) -> bytes:
    """One page in a font that is not embedded and has no table of Unicode."""
    file = pymupdf.open(stream=raw_pdf("A", "<41> <0041>"))
    file.update_object(
        5,
        f"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/{encoding}/DescendantFonts[<</Type/Font"
        f"/Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering({collection})"
        "/Supplement 2>>/FontDescriptor<</Type/FontDescriptor/FontName/X/Flags 4/FontBBox"
        "[0 -200 1000 900]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>>>]>>",
    )
    file.update_stream(4, f"BT /F 12 Tf 72 700 Td <{letters.hex()}> Tj ET".encode())
    return bytes(file.tobytes())


@pytest.mark.parametrize(
    ("code", "letter"),
    [("2F45", "方"), ("2F00", "一"), ("2ED8", "青"), ("2EDD", "食")],
    ids=["Kangxi", "Kangxi one", "CJK radical", "CJK radical food"],
)
def test_radicals_are_shown_as_written_and_found_as_the_letters(code: str, letter: str) -> None:
    document = read(raw_pdf("A and some other words", f"<41> <{code}>"))
    shown = document.blocks[0].text
    assert shown.startswith(chr(int(code, 16)))
    chunks, _ = chunk(Extracted(document.blocks, document.media_type))
    assert match_text(letter) in chunks[0].match_text


@pytest.mark.parametrize(("encoding", "collection", "letters"), NAMED_ENCODINGS)
def test_fonts_without_unicode_are_read_by_their_encoding(
    encoding: str, collection: str, letters: bytes
) -> None:
    expected = {"Japan1": "病仮", "Korea1": "휴가"}.get(collection, "病假")
    document = read(composite(encoding, collection, letters))
    assert text(document) == expected
    assert document.warnings == ()


def test_a_page_of_lost_letters_is_named_and_not_indexed() -> None:
    file = pymupdf.open(stream=raw_pdf("ABABABAB", "<41> <FFFD>\n<42> <E001>"))
    file.insert_pdf(pymupdf.open(stream=pdf(lambda canvas: lines(canvas, ["可以讀的一頁"]))))
    document = read(file.tobytes())
    assert document.warnings == (SourceWarning("garbled_text", (1,)),)
    assert text(document) == "可以讀的一頁"


def test_a_paragraph_of_lost_letters_is_left_out_of_a_page_that_reads() -> None:
    good = raw_pdf("x" * 90, "<78> <65E5>")
    file = pymupdf.open(stream=good)
    shown = "BT /F 12 Tf 10 700 Td 14 TL (xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx) Tj ET "
    file.update_stream(4, (shown + "BT /F 12 Tf 10 300 Td (\\001\\001\\001) Tj ET").encode())
    document = read(file.tobytes())
    assert [block.text for block in document.blocks] == ["日" * 40]
    assert document.warnings == (SourceWarning("garbled_text", (1,)),)


def test_columns_written_in_turns_are_not_mixed() -> None:
    left = ["左欄的句子寫到這一行的末尾", "就接到左欄的下一行才寫完。"]
    right = ["右欄另外有自己的一個句子也", "在右欄的下一行才寫完的呢。"]

    def draw(canvas: Canvas) -> None:
        for n in range(2):
            lines(canvas, [left[n]], x=72, y=100 + n * 18)
            lines(canvas, [right[n]], x=320, y=100 + n * 18)

    assert text(read(pdf(draw))).split("\n") == ["".join(left), "".join(right)]


def test_a_word_cut_by_a_line_end_is_found() -> None:
    document = read(
        pdf(lambda canvas: lines(canvas, ["員工到職滿一年者每年給予特別休", "假七日，不得折算。"]))
    )
    assert "特別休假" in text(document)


@pytest.mark.parametrize("strength", ["AES-256", "RC4"])
def test_only_a_password_for_reading_is_an_obstacle(strength: str) -> None:
    method = pymupdf.PDF_ENCRYPT_AES_256 if strength == "AES-256" else pymupdf.PDF_ENCRYPT_RC4_128
    file = pymupdf.open(stream=pdf(lambda canvas: lines(canvas, ["可以讀的文字"])))
    owned = file.tobytes(encryption=method, owner_pw="boss", user_pw="", permissions=0)
    closed = file.tobytes(encryption=method, owner_pw="boss", user_pw="secret")
    assert text(read(owned)) == "可以讀的文字"
    with pytest.raises(ExtractionError) as raised:
        read(closed)
    assert raised.value.code == "encrypted"


def test_pages_that_are_scans_are_named_where_others_have_text() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(10):
            if number % 2:
                canvas.rect(0, 0, 595, 842, fill=1)
            else:
                lines(canvas, [f"第{number}頁的文字"])
            if number < 9:
                new_page(canvas)

    [warning] = read(pdf(draw)).warnings
    assert warning == SourceWarning("pages_without_text", (2, 4, 6, 8, 10))
