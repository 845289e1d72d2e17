"""Mends fonts whose description would make the library show other letters than a viewer does."""

import re
from collections.abc import Iterator
from typing import Any

from gateway.extract.pdf_errors import BROKEN

# predefined encodings by the character collection that they lead into
_COLLECTIONS = (
    ("GB1", re.compile(r"UniGB-|GBK|GB-|GBpc-")),
    ("CNS1", re.compile(r"UniCNS-|ETen|B5pc-|HKscs-|CNS")),
    ("Japan1", re.compile(r"UniJIS|90ms-|90pv-|83pv-|Add-|Ext-|EUC-|[HV]$")),
    ("Korea1", re.compile(r"UniKS-|KSC")),
)
_SYSTEM = re.compile(r"/CIDSystemInfo\s*(?:<<.*?>>|\d+ 0 R)", re.DOTALL)
_INLINE = re.compile(r"\[\s*(<<.*>>)\s*\]", re.DOTALL)
_REFERENCE = re.compile(r"\[?\s*(\d+) 0 R")
_DESCRIPTOR = (
    "/FontDescriptor<</Type/FontDescriptor/FontName/X/Flags 4/FontBBox[0 -200 1000 900]"
    "/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>"
)
MAX_FONTS = 500


def mend(pdf: Any) -> None:
    """Before the first text is read: give composite fonts the collection of their encoding.

    Some writers name another one, or leave the descriptor out; the text would come out wrong
    without a sign of it.
    """
    for xref, encoding in _composite_fonts(pdf):
        collection = next((name for name, known in _COLLECTIONS if known.match(encoding)), None)
        if collection and pdf.xref_get_key(xref, "ToUnicode")[0] == "null":
            _mend_font(pdf, xref, collection)


def _composite_fonts(pdf: Any) -> Iterator[tuple[int, str]]:
    seen: set[int] = set()
    for number in range(pdf.page_count):
        try:
            fonts = pdf.get_page_fonts(number, full=True)
        except BROKEN:
            continue  # a broken page; reading it will tell
        for xref, _, kind, _, _, encoding, *_ in fonts:
            if kind == "Type0" and xref not in seen and len(seen) < MAX_FONTS:
                seen.add(xref)
                yield xref, encoding


def _mend_font(pdf: Any, xref: int, collection: str) -> None:
    _, descendants = pdf.xref_get_key(xref, "DescendantFonts")
    inline, reference = _INLINE.match(descendants), _REFERENCE.match(descendants)
    if inline:
        own = pdf.get_new_xref()
        pdf.update_object(own, _mended(inline[1], collection))
        pdf.xref_set_key(xref, "DescendantFonts", f"[{own} 0 R]")
    elif reference and 0 < int(reference[1]) < pdf.xref_length():
        own = int(reference[1])
        pdf.update_object(own, _mended(pdf.xref_object(own, compressed=True), collection))


def _mended(font: str, collection: str) -> str:
    system = f"/CIDSystemInfo<</Registry(Adobe)/Ordering({collection})/Supplement 2>>"
    font = _SYSTEM.sub(system, font, count=1)
    if "/FontDescriptor" not in font:
        font = font.rstrip().removesuffix(">>") + _DESCRIPTOR + ">>"
    return font
