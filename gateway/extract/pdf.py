"""PDF with a text layer: paragraphs in reading order with their pages, outline as headings."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pymupdf

from gateway.core.documents import Block, SourceWarning
from gateway.core.passages import Locator
from gateway.extract.pdf_fonts import mend
from gateway.extract.pdf_layout import Line, bands, columns
from gateway.extract.pdf_page import Page, read_page
from gateway.extract.pdf_paragraphs import Paragraph, paragraphs
from gateway.extract.reading import Document, ReadOptions, bounded, refuse

MAX_PAGES = 20_000
MAX_OUTLINE = 2_000
TITLE_CHARS = 200
BLANK_SHARE = 0.95  # of the pages without text: a scan with a stray stamp
GARBLED_SHARE = 0.02  # of a page's letters without meaning: a warning
UNREADABLE_SHARE = 0.2  # so many: the page is not indexed at all
MOJIBAKE_SHARE = 0.3  # of Latin-1 letters: no language has so many accents
REPEATED_SHARE = 0.4  # of the pages carry the same line: a header or footer
REPEATED_PAGES = 3
EDGE_LINES = 2  # at the top and at the bottom of a page may be headers and footers
HEADING_SIZE = 1.15  # times the usual size
HEADING_CHARS = 60
HEADING_LEVELS = 3

pymupdf.TOOLS.mupdf_display_errors(False)  # noqa: FBT003 - the library's own signature
pymupdf.TOOLS.mupdf_display_warnings(False)  # noqa: FBT003


@dataclass(frozen=True, slots=True)
class _Entry:
    """A title of the outline."""

    level: int
    title: str


def read_pdf(data: bytes, options: ReadOptions) -> Document:
    """All pages with text. Refused: `encrypted`, `no_text_layer`, damaged files."""
    with _opened(data) as pdf:
        pages = list(_pages(pdf, options))
        outline = _outline(pdf)
    garbled = [page.number for page in pages if _garbled(page.letters) > GARBLED_SHARE]
    readable = [page for page in pages if _has_text(page)]
    if len(readable) <= len(pages) * (1 - BLANK_SHARE):
        raise refuse("no_text_layer")
    numbers = {page.number for page in readable}
    blank = [page.number for page in pages if page.number not in {*numbers, *garbled}]
    warnings = [
        SourceWarning(code, tuple(about))
        for code, about in (("pages_without_text", blank), ("garbled_text", garbled))
        if about
    ]
    blocks = bounded(_blocks(_without_repeats(readable), outline), options.max_chars)
    return Document(blocks, "application/pdf", tuple(warnings), len(pages))


def _opened(data: bytes) -> Any:
    try:
        pdf = pymupdf.open(stream=data, filetype="pdf")
        if pdf.needs_pass:
            raise refuse("encrypted")
        if not pdf.page_count:
            raise refuse("extract_crashed", "no page")
    except (RuntimeError, ValueError, IndexError) as error:
        raise _named(error) from error
    if pdf.page_count > MAX_PAGES:
        raise refuse("document_limits", "too many pages")
    try:
        mend(pdf)
    except (RuntimeError, ValueError, IndexError) as error:
        raise _named(error) from error
    return pdf


def _named(error: Exception) -> Exception:
    """The library reports a failed allocation like any other fault."""
    if "alloc" in str(error):
        return MemoryError(str(error))
    return refuse("extract_crashed", repr(error))


def _pages(pdf: Any, options: ReadOptions) -> Iterator[Page]:
    chars = 0
    for number in range(1, pdf.page_count + 1):
        try:
            page = read_page(pdf.load_page(number - 1), number)
        except (RuntimeError, ValueError, IndexError) as error:
            if isinstance(named := _named(error), MemoryError):
                raise named from error
            page = Page(number)
        chars += len(page.letters)
        if chars > options.max_chars:
            raise refuse("too_many_chars")
        yield page


def _outline(pdf: Any) -> Mapping[int, Sequence[_Entry]]:
    """Page number -> the titles that begin on it."""
    found: defaultdict[int, list[_Entry]] = defaultdict(list)
    try:
        entries = pdf.get_toc(simple=True)
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
        return found  # a damaged outline is no reason to lose the text
    for level, title, page, *_ in entries[:MAX_OUTLINE]:
        text = " ".join(str(title).split())[:TITLE_CHARS]
        if text and page >= 1:
            found[page].append(_Entry(min(max(int(level), 1), 6), text))
    return found


# ---------------------------------------------------------------- which pages have text


def _has_text(page: Page) -> bool:
    letters = page.letters
    if page.is_picture or not any(character.isalnum() for character in letters):
        return False
    return _garbled(letters) <= UNREADABLE_SHARE


def _garbled(letters: str) -> float:
    """The share that no reader could read: no Unicode, private use, bytes shown as Latin-1."""
    if not letters:
        return 0.0
    lost = sum(c == "\ufffd" or unicodedata.category(c) in {"Co", "Cn", "Cc"} for c in letters)
    latin = sum("\xa1" <= c <= "\xff" for c in letters)
    is_mojibake = latin > MOJIBAKE_SHARE * len(letters)
    return (lost + latin * is_mojibake) / len(letters)


def _without_repeats(pages: Sequence[Page]) -> Iterator[Page]:
    """Headers and footers stay on the first page that has them."""
    edges = [{keys: band for band in _edges(page) for keys in _keys(band, page)} for page in pages]
    times = Counter(key for found in edges for key in found)
    least = max(REPEATED_PAGES, REPEATED_SHARE * len(pages))
    seen: set[str] = set()
    for page, found in zip(pages, edges, strict=True):
        repeated = {key: band for key, band in found.items() if times[key] >= least}
        gone = {line for key, band in repeated.items() if key in seen for line in band}
        seen |= repeated.keys()
        groups = [tuple(line for line in group if line not in gone) for group in page.groups]
        yield replace(page, groups=tuple(groups)) if any(groups) else page


def _edges(page: Page) -> Sequence[tuple[Line, ...]]:
    rows = bands(page.groups[0])
    return (*rows[:EDGE_LINES], *rows[-EDGE_LINES:])


def _keys(band: Sequence[Line], page: Page) -> Iterator[str]:
    """The text itself, and the text with the page's number counted from this page's."""
    text = " ".join(line.text.strip() for line in band)
    yield text
    if re.search(r"\d", text):
        yield re.sub(
            r"\d{1,6}", lambda number: f"#{int(number[0]) - page.number:+d}", text, count=1
        )


# ---------------------------------------------------------------- blocks


def _blocks(pages: Iterable[Page], outline: Mapping[int, Sequence[_Entry]]) -> Iterator[Block]:
    found = [
        (page.number, paragraph)
        for page in pages
        for group in page.groups
        for column in columns(group)
        for paragraph in paragraphs(column)
    ]
    if outline:
        yield from _with_outline(found, outline)
    else:
        yield from _with_sizes(found)


def _with_outline(
    found: Sequence[tuple[int, Paragraph]], outline: Mapping[int, Sequence[_Entry]]
) -> Iterator[Block]:
    texts: defaultdict[int, set[str]] = defaultdict(set)
    for number, paragraph in found:
        texts[number].add(_plain(paragraph.text))
    done: set[int] = set()
    for number, paragraph in found:
        here = {_plain(entry.title): entry for entry in outline.get(number, ())}
        if number not in done:
            done.add(number)
            for key, entry in here.items():
                if key not in texts[number]:  # not a line of its own on the page
                    yield Block(entry.title, Locator(page=number), heading_level=entry.level)
        entry_here = here.get(_plain(paragraph.text))
        level = entry_here.level if entry_here else None
        yield Block(paragraph.text, Locator(page=number), heading_level=level)


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split()).lower()


def _with_sizes(found: Sequence[tuple[int, Paragraph]]) -> Iterator[Block]:
    """Larger letters are headings where the document has no outline."""
    sizes: Counter[float] = Counter()
    for _, paragraph in found:
        sizes[_rounded(paragraph.size)] += len(paragraph.text)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted({_rounded(p.size) for _, p in found if _is_heading(p, usual)}, reverse=True)
    for number, paragraph in found:
        level = None
        if _is_heading(paragraph, usual):
            level = min(larger.index(_rounded(paragraph.size)) + 1, HEADING_LEVELS)
        yield Block(paragraph.text, Locator(page=number), heading_level=level)


def _is_heading(paragraph: Paragraph, usual: float) -> bool:
    return (
        paragraph.size >= HEADING_SIZE * usual
        and len(paragraph.text) <= HEADING_CHARS
        and any(character.isalpha() for character in paragraph.text)
    )


def _rounded(size: float) -> float:
    return round(size * 2) / 2
