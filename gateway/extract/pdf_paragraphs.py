"""Lines of a column become paragraphs: distance, size, indent and short lines tell them apart."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from gateway.extract.pdf_joins import join, joined
from gateway.extract.pdf_layout import Line, Row

_ITEM = re.compile(
    r"(?:第[\d０-９一二三四五六七八九十百零〇]+[條条章节節款項项編编]|"
    r"[(（]?(?:\d{1,3}|[一二三四五六七八九十]{1,3}|[甲乙丙丁戊己庚辛壬癸]|[a-zA-Zア-コ])[)）]|"
    r"(?:\d{1,3}|[一二三四五六七八九十]{1,3}|[甲乙丙丁戊])[.．、]\s*[^\d\s]|"
    r"\d{1,2}(?:\.\d{1,2}){1,3}\.?\s|[①-⑳❶-❿㈠-㈩⑴-⒇]|[•●・■□◆◇▪➢✓‧○※\-–*]\s|[•●■◆▪➢✓])"
)
_MARK = re.compile(r"[•●■◆▪➢✓○◇□\-–*]|\d{1,3}[.．)）、]|[(（][^()（）]{1,3}[)）]")
APART = 1.4  # a greater distance than so many usual ones begins a paragraph
WIDEST = 2.2  # font sizes from line to line, set with double spacing
SHORT = 0.75  # a line that fills less of its column ends one
OTHER_SIZE = 0.12  # so much larger or smaller letters are another kind of text
INDENT = 1.2  # font sizes by which a first line is moved in
TITLE_CHARS = 200
_ENDS = tuple("。．.!?！？：:；;」』）)")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Joined lines with the size of their letters and where the first one stands."""

    text: str
    size: float
    y: float = 0.0
    bottom: float = 0.0
    is_bold: bool = False
    is_line: bool = True  # nothing but one line
    is_open: bool = False  # its last line is full and ends no sentence
    goes_on: bool = False  # its first line may follow an open one
    row: Row | None = None


def paragraphs(column: Sequence[Line], titles: frozenset[str] = frozenset()) -> Iterator[Paragraph]:
    """The paragraphs of one column, in order; a line that is one of `titles` is one alone."""
    if not column:
        return
    left = min(line.x0 for line in column)
    right = max(line.x1 for line in column)
    steps = [after.middle - before.middle for before, after in pairwise(column)]
    size = median(line.size for line in column)
    usual = min(median([step for step in steps if step > 0] or [size]), WIDEST * size)
    start = 0
    named = [_is_named(line, titles) for line in column]
    for at, (before, after) in enumerate(pairwise(column), 1):
        if (
            named[at - 1]
            or named[at]
            or _is_new(before, after, usual)
            or _is_edge(before, after, left, right)
        ):
            yield _paragraph(column[start:at], left, right)
            start = at
    yield _paragraph(column[start:], left, right)


def plain(text: str) -> str:
    """For comparing titles: folded, without blanks."""
    return "".join(unicodedata.normalize("NFKC", text).split()).lower()


def flowing(found: Iterable[Paragraph]) -> Iterator[Paragraph]:
    """What the end of a column has cut is one paragraph."""
    waiting: Paragraph | None = None
    for paragraph in found:
        if waiting is not None and _is_cut(waiting, paragraph):
            waiting = replace(
                waiting,
                text=join(waiting.text, paragraph.text),
                bottom=paragraph.bottom,
                is_open=paragraph.is_open,
                is_line=False,
            )
            continue
        if waiting is not None:
            yield waiting
        waiting = paragraph
    if waiting is not None:
        yield waiting


def _is_cut(before: Paragraph, after: Paragraph) -> bool:
    return (
        before.is_open
        and after.goes_on
        and before.bottom > after.y  # back at the top: another column, not another box below
        and abs(before.size - after.size) <= OTHER_SIZE * max(before.size, after.size)
    )


def _paragraph(lines: Sequence[Line], left: float, right: float) -> Paragraph:
    text = joined(line.text for line in lines).strip()
    first, last = lines[0], lines[-1]
    return Paragraph(
        text=text,
        size=first.size,
        y=first.middle,
        bottom=last.middle,
        is_bold=all(line.is_bold for line in lines),
        is_line=len(lines) == 1,
        is_open=not first.is_row and last.x1 > right - 2 * last.size and not text.endswith(_ENDS),
        goes_on=not first.is_row
        and first.x0 < left + first.size / 2
        and _ITEM.match(first.text.lstrip()) is None,
        row=first.row,
    )


def _is_named(line: Line, titles: frozenset[str]) -> bool:
    return bool(titles) and len(line.text) <= TITLE_CHARS and plain(line.text) in titles


def _is_new(before: Line, after: Line, usual: float) -> bool:
    step = after.middle - before.middle
    return (
        before.is_row
        or after.is_row
        or not 0 < step <= APART * usual
        or abs(after.size - before.size) > OTHER_SIZE * max(before.size, after.size)
        or _ITEM.match(after.text.lstrip()) is not None
    )


def _is_edge(before: Line, after: Line, left: float, right: float) -> bool:
    is_short = before.x1 < left + SHORT * (right - left)
    is_indented = after.x0 > left + INDENT * after.size and before.x0 < left + after.size / 2
    return is_short or (is_indented and _MARK.match(before.text.lstrip()) is None)
