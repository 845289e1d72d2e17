"""PDF with a text layer: paragraphs and tables in reading order with their pages and titles."""

import re
from collections.abc import Iterator
from typing import Any

import pymupdf

from gateway.core.documents import SourceWarning
from gateway.extract.pdf_blocks import blocks
from gateway.extract.pdf_edges import without_repeats
from gateway.extract.pdf_errors import BROKEN, named
from gateway.extract.pdf_fonts import mend
from gateway.extract.pdf_images import open_pages
from gateway.extract.pdf_outline import outline_of
from gateway.extract.pdf_page import Page, read_page
from gateway.extract.reading import Document, ReadOptions, bounded, refuse

MAX_PAGES = 20_000
TITLE_CHARS = 200
BLANK_SHARE = 0.95  # of the pages without text: a scan with a stray stamp
GARBLED_SHARE = 0.02  # of a page's letters without meaning: a warning
UNREADABLE_SHARE = 0.2  # so many: the page, or a paragraph of it, is not indexed at all
MOJIBAKE_SHARE = 0.3  # of Latin-1 letters: no language has so many accents
MAX_COMMENTS = 2_000  # of a page; with more it is read without its fields, too
WIDGET, LINK, TYPED = 21, 1, 2  # kinds of annotations that are no comments
HIDDEN = "2"  # the flag of an annotation

_LOST = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ufffe\uffff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)
_LATIN = re.compile("[\xa1-\xff]")
_ALNUM = re.compile(r"[^\W_]")
_NO_TITLE = re.compile(
    r"(?i)(?:microsoft \w+ - |untitled|無標題|无标题|無題|slide \d|.*\.\w{2,5}$|\W*$)"
)

pymupdf.TOOLS.mupdf_display_errors(False)  # noqa: FBT003 - the library's own signature
pymupdf.TOOLS.mupdf_display_warnings(False)  # noqa: FBT003


def read_pdf(data: bytes, options: ReadOptions) -> Document:
    """All pages with text. Refused: `encrypted`, `no_text_layer`, damaged files."""
    with _opened(data) as pdf:
        pages = list(_pages(pdf, options))
        outline = outline_of(pdf)
        title = _title(pdf)
    garbled = [page.number for page in pages if _garbled(page.letters) > GARBLED_SHARE]
    readable = [page for page in pages if _has_text(page)]
    if len(readable) <= len(pages) * (1 - BLANK_SHARE):
        raise refuse("no_text_layer")
    numbers = {page.number for page in readable}
    blank = [page.number for page in pages if page.number not in {*numbers, *garbled}]
    hidden = [page.number for page in pages if page.has_hidden]
    warnings = [
        SourceWarning(code, tuple(about))
        for code, about in (
            ("pages_without_text", blank),
            ("garbled_text", garbled),
            ("hidden_content_skipped", hidden),
        )
        if about
    ]
    missing = [page.number for page in pages if page.number not in numbers]
    found = blocks(list(without_repeats(readable)), outline, missing)
    if garbled:
        found = (block for block in found if _garbled(block.text) <= UNREADABLE_SHARE)
    kept = bounded(found, options.max_chars)
    pictured = tuple(page.number for page in readable if page.is_pictured)
    return Document(kept, "application/pdf", tuple(warnings), len(pages), title, pictured)


def _opened(data: bytes) -> Any:
    pdf = open_pages(data)
    if pdf.page_count > MAX_PAGES:
        raise refuse("document_limits", "too many pages")
    try:
        mend(pdf)
    except BROKEN as error:
        raise named(error) from error
    return pdf


def _pages(pdf: Any, options: ReadOptions) -> Iterator[Page]:
    chars = 0
    for number in range(1, pdf.page_count + 1):
        page = _page(pdf, number)
        chars += len(page.letters)
        if chars > options.max_chars:
            raise refuse("too_many_chars")
        options.on_progress(number, pdf.page_count)
        yield page


def _page(pdf: Any, number: int) -> Page:
    try:
        _hide_comments(pdf, number - 1)
        return read_page(pdf.load_page(number - 1), number)
    except BROKEN as error:
        if isinstance(fault := named(error), MemoryError):
            raise fault from error
        return Page(number)  # a broken page, listed as one without text


def _hide_comments(pdf: Any, index: int) -> None:
    """Fields of forms and what was typed onto a page are part of it; notes and marks are not."""
    notes = pdf.page_annot_xrefs(index)
    comments = [xref for xref, kind, _ in notes if kind not in {WIDGET, LINK, TYPED}]
    if len(comments) > MAX_COMMENTS:
        pdf.xref_set_key(pdf.page_xref(index), "Annots", "null")
        return
    for xref in comments:
        pdf.xref_set_key(xref, "F", HIDDEN)


def _title(pdf: Any) -> str:
    """That the file gives itself, unless it is a file name or no name at all."""
    title = " ".join(str((pdf.metadata or {}).get("title") or "").split())[:TITLE_CHARS]
    return "" if _NO_TITLE.match(title) or _garbled(title) > 0 else title


# ---------------------------------------------------------------- which pages have text


def _has_text(page: Page) -> bool:
    if page.is_picture or not _ALNUM.search(page.letters):
        return False
    return _garbled(page.letters) <= UNREADABLE_SHARE


def _garbled(letters: str) -> float:
    """The share that no reader could read: no Unicode, private use, bytes shown as Latin-1."""
    if not letters:
        return 0.0
    lost = len(_LOST.findall(letters))
    latin = len(_LATIN.findall(letters))
    is_mojibake = latin > MOJIBAKE_SHARE * len(letters)
    return (lost + latin * is_mojibake) / len(letters)
