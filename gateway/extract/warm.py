"""Reads one tiny file of each kind before the first fork: libraries load parts of them late."""

import codecs
import gc
import io
import zipfile
from collections.abc import Mapping

import pymupdf

from gateway.errors import ExtractionError
from gateway.extract import charset_labels, rtf_charsets, xls
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions

CODECS = (
    "ascii", "latin-1", "cp437", "cp1252", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
    "utf-32", "cp950", "big5hkscs", "gb18030", "cp932", "euc_jp", "euc_kr", "cp949", "iso2022_jp",
    "raw_unicode_escape", "unicode_escape", "utf-7", "utf-32-le", "utf-32-be",
    "iso2022_kr", "iso2022_jp_ext",
    *charset_labels.CODECS, *rtf_charsets.CODECS, *xls.CODECS,
)  # fmt: skip
_TEXT = "手冊 handbook\n\n第一段。\n"
_PAGE = "<html><style>.a{top:1px}</style><p class=a style='color:red'>字<table><tr><th>&eacute;"
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_WORD = {
    "word/document.xml": f"<w:document {_W}><w:body><w:p><w:r><w:t>text</w:t></w:r></w:p>"
    "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl></w:body></w:document>"
}
_P = f'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" {_A} xmlns:r="{_R}"'
_SLIDES = {
    "ppt/presentation.xml": f'<p:presentation {_P}><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst>'
    "</p:presentation>",
    "ppt/_rels/presentation.xml.rels": f"<Relationships {_RELATIONS}>"
    f'<Relationship Id="a" Type="{_R}/slide" Target="s.xml"/></Relationships>',
    "ppt/s.xml": f"<p:sld {_P}><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>text</a:t></a:r>"
    "</a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>",
}
_S = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_R}"'
_SHEETS = {
    "xl/workbook.xml": f'<workbook {_S}><sheets><sheet name="a" r:id="a"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f"<Relationships {_RELATIONS}>"
    f'<Relationship Id="a" Type="{_R}/worksheet" Target="s.xml"/>'
    f'<Relationship Id="b" Type="{_R}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet {_S}><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>',
    "xl/s.xml": f'<worksheet {_S}><sheetData><row r="1"><c r="A1"><v>45000.5</v></c>'
    '<c r="B1" t="inlineStr"><is><r><t>text</t></r></is></c></row></sheetData></worksheet>',
}

# a font to be mended (pdf_fonts.py), in a file without the table at its end
_ODD_PDF = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R
/Resources<</Font<</F 5 0 R>>>>>> endobj
4 0 obj <</Length 33>>stream
BT /F 1 Tf 1 1 Td <65876587> Tj ET
endstream endobj
5 0 obj <</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniGB-UCS2-H/DescendantFonts[<</Type/Font
/Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(CNS1)/Supplement 1>>
>>]>> endobj
trailer <</Root 1 0 R>>
"""


def warm_up() -> None:
    """Afterwards no reader opens a file any more, which the sandbox would refuse."""
    for codec in CODECS:
        codecs.lookup(codec)
    files = (
        (_TEXT.encode(), "a.txt"),
        (_TEXT.encode("cp950"), "a.md"),
        (b"a,b\n1,2\n", "a.csv"),
        (_PAGE.encode("cp950"), "a.html"),
        (b"{\\rtf1{\\fonttbl{\\f0\\fcharset128 a;}}\\f0 \\'82\\'b1\\par}", "a.rtf"),
        (_zip(_WORD), "a.docx"),
        (_zip(_WORD)[:-4], "broken.docx"),
        (_zip(_SLIDES), "a.pptx"),
        (_zip(_SHEETS), "a.xlsx"),
        (_pdf(has_outline=True), "a.pdf"),
        (_pdf(has_outline=False), "b.pdf"),
        (_pdf(has_outline=False)[:200], "broken.pdf"),
        (_ODD_PDF, "odd.pdf"),
    )
    for data, name in files:
        try:
            read_document(data, name, ReadOptions(1000))
        except ExtractionError:
            continue  # the broken ones; what matters is that the way was gone once
    gc.collect()
    gc.freeze()  # a child that looks for garbage would copy every page of memory


def _zip(parts: Mapping[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as container:
        for name, part in parts.items():
            container.writestr(name, part)
    return data.getvalue()


def _pdf(*, has_outline: bool) -> bytes:
    pdf = pymupdf.open()
    for size in (11, 20):
        page = pdf.new_page()
        page.insert_text((72, 72), "text 文字", fontname="china-t", fontsize=size)
        page.insert_text((300, 300), "more", fontsize=size)
        page.insert_text((300, 500), "hidden", color=(1, 1, 1))  # pdf_visible.py looks at it
        page.insert_text((300, 600), "layer", render_mode=3)
    if has_outline:
        pdf.set_toc([[1, "text", 1]])
    return bytes(pdf.tobytes())
