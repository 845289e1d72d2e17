"""Lines of a column become paragraphs: distance, size, indent and short lines tell them apart."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gateway.extract.pdf_joins import join
from gateway.extract.pdf_layout import Line

_ITEM = re.compile(
    r"(?:第[\d０-９一二三四五六七八九十百零〇]+[條条章節节款項项]|"
    r"[(（]?(?:\d{1,3}|[一二三四五六七八九十]{1,3})[)）.．、]\s*\D|[•●・■□◆◇▪‧\-–*]\s)"
)
APART = 1.4  # a greater distance than so many usual ones begins a paragraph
SHORT = 0.75  # a line that fills less of its column ends one
OTHER_SIZE = 0.12  # so much larger or smaller letters are another kind of text
INDENT = 1.2  # font sizes by which a first line is moved in


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Joined lines with the size of their letters."""

    text: str
    size: float


def paragraphs(column: Sequence[Line]) -> Iterator[Paragraph]:
    """The paragraphs of one column, in order."""
    if not column:
        return
    left = min(line.x0 for line in column)
    right = max(line.x1 for line in column)
    steps = [after.middle - before.middle for before, after in pairwise(column)]
    usual = median([step for step in steps if step > 0] or [column[0].size])
    text, size = column[0].text, column[0].size
    for before, after in pairwise(column):
        if _is_new(before, after, usual) or _is_edge(before, after, left, right):
            yield Paragraph(text, size)
            text, size = after.text, after.size
        else:
            text = join(text, after.text)
    yield Paragraph(text, size)


def _is_new(before: Line, after: Line, usual: float) -> bool:
    step = after.middle - before.middle
    return (
        before.is_row
        or after.is_row
        or not 0 < step <= APART * usual
        or abs(after.size - before.size) > OTHER_SIZE * max(before.size, after.size)
        or _ITEM.match(after.text) is not None
    )


def _is_edge(before: Line, after: Line, left: float, right: float) -> bool:
    is_short = before.x1 < left + SHORT * (right - left)
    is_indented = after.x0 > left + INDENT * after.size and before.x0 < left + after.size / 2
    return is_short or is_indented
