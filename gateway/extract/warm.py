"""Reads one tiny file of each kind before the first fork: libraries load parts of them late."""

import codecs
import io
import zipfile

import pymupdf

from gateway.errors import ExtractionError
from gateway.extract.docx import BODY
from gateway.extract.docx_parts import TRANSITIONAL
from gateway.extract.formats import read_document

CODECS = (
    "ascii", "latin-1", "cp437", "cp1252", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
    "utf-32", "cp950", "big5hkscs", "gb18030", "cp932", "euc_jp", "euc_kr", "cp949", "iso2022_jp",
)  # fmt: skip
_TEXT = "手冊 handbook\n\n第一段。\n"
_WORD = (
    b'<w:document xmlns:w="' + TRANSITIONAL + b'"><w:body><w:p><w:r><w:t>text</w:t></w:r></w:p>'
    b"<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl></w:body></w:document>"
)


def warm_up() -> None:
    """Afterwards no reader opens a file any more, which the sandbox would refuse."""
    for codec in CODECS:
        codecs.lookup(codec)
    files = (
        (_TEXT.encode(), "a.txt"),
        (_TEXT.encode("cp950"), "a.md"),
        (b"a,b\n1,2\n", "a.csv"),
        (_word(), "a.docx"),
        (_word()[:-4], "broken.docx"),
        (_pdf(), "a.pdf"),
        (_pdf()[:200], "broken.pdf"),
    )
    for data, name in files:
        try:
            read_document(data, name, 1000)
        except ExtractionError:
            continue  # the broken ones; what matters is that the way was gone once


def _word() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as container:
        container.writestr(BODY, _WORD)
    return data.getvalue()


def _pdf() -> bytes:
    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "text 文字", fontname="china-t")
    pdf.set_toc([[1, "text", 1]])
    return bytes(pdf.tobytes())
