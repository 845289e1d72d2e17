"""Headings of a PDF without an outline: larger letters, numbering, bold lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from gateway.extract.pdf_paragraphs import Paragraph

HEADING_SIZE = 1.15  # times the usual size
HEADING_CHARS = 60
NUMBERED_CHARS = 40
SIZE_LEVELS = 3
DEEPEST = 6
_LEADER = re.compile(r"(?:[.．…·‥﹒]\s*){3,}|\s\d{1,4}$")  # a line of a table of contents
_SENTENCE = re.compile(r"[。！？；;]|[.,，:：、]$")
_COUNT = r"[\d０-９一二三四五六七八九十百零〇]+"
_NUMBERED = (
    re.compile(rf"第\s*{_COUNT}\s*[編编部篇]"),
    re.compile(rf"第\s*{_COUNT}\s*章"),
    re.compile(rf"第\s*{_COUNT}\s*[節节]"),
    re.compile(rf"第\s*{_COUNT}\s*[條条]"),
)
_DECIMAL = re.compile(r"\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+\D|\d{1,2}\.\s+\D")


def levels(found: Sequence[Paragraph]) -> Iterator[int | None]:
    """The heading level of each paragraph, None for text."""
    usual = _usual(found)
    sizes = sorted({_rounded(p.size) for p in found if _is_larger(p, usual)}, reverse=True)
    below = min(len(sizes), SIZE_LEVELS)
    kinds = sorted({kind for p in found if (kind := _kind(p)) is not None})
    boldest = below + len(kinds) + 1
    has_bold = _has_bold_titles(found)
    for paragraph in found:
        kind = _kind(paragraph)
        if _is_larger(paragraph, usual):
            yield min(sizes.index(_rounded(paragraph.size)) + 1, SIZE_LEVELS)
        elif kind is not None:
            yield min(below + kinds.index(kind) + 1, DEEPEST)
        elif has_bold and _is_bold_title(paragraph):
            yield min(boldest, DEEPEST)
        else:
            yield None


def _usual(found: Sequence[Paragraph]) -> float:
    sizes: Counter[float] = Counter()
    for paragraph in found:
        sizes[_rounded(paragraph.size)] += len(paragraph.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _is_larger(paragraph: Paragraph, usual: float) -> bool:
    return (
        paragraph.row is None
        and paragraph.size >= HEADING_SIZE * usual
        and len(paragraph.text) <= HEADING_CHARS
        and any(character.isalpha() for character in paragraph.text)
    )


def _is_title(paragraph: Paragraph, most: int) -> bool:
    text = paragraph.text
    return (
        paragraph.row is None
        and paragraph.is_line
        and len(text) <= most
        and not _SENTENCE.search(text)
        and not _LEADER.search(text)
    )


def _kind(paragraph: Paragraph) -> int | None:
    """Which numbering a title has; 1.2 counts as deep as it says."""
    if not _is_title(paragraph, NUMBERED_CHARS):
        return None
    text = paragraph.text
    for kind, pattern in enumerate(_NUMBERED):
        if pattern.match(text):
            return kind
    number = _DECIMAL.match(text)
    if number is None:
        return None
    depth = text.split()[0].strip(".").count(".")
    return len(_NUMBERED) + depth if depth or paragraph.is_bold else None


def _is_bold_title(paragraph: Paragraph) -> bool:
    return (
        paragraph.is_bold
        and _is_title(paragraph, NUMBERED_CHARS)
        and any(character.isalpha() for character in paragraph.text)
    )


def _has_bold_titles(found: Sequence[Paragraph]) -> bool:
    """Bold lines are titles only where most text isn't bold."""
    bold = sum(len(paragraph.text) for paragraph in found if paragraph.is_bold)
    return 0 < bold * 4 < sum(len(paragraph.text) for paragraph in found)


def _rounded(size: float) -> float:
    return round(size * 2) / 2
