"""Small kana or bopomofo above a word tell how it is read; they would cut the text in two."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from gateway.extract.pdf_layout import Line

SMALL = 0.65  # of the letters below
NEAR = 1.3  # font sizes of the letters below, between the middles
_READING = re.compile(r"[\s\u3041-\u309f\u30a1-\u30ff\u3105-\u312f\u02c7\u02ca\u02cb\u02d9]+")


def without_ruby(lines: Sequence[Line]) -> Sequence[Line]:
    """Lines but for readings that stand right above larger letters."""
    largest = max((line.size for line in lines), default=0.0)
    small = [
        line for line in lines if line.size <= SMALL * largest and _READING.fullmatch(line.text)
    ]
    if not small:
        return lines
    ordered = sorted(lines, key=lambda line: line.middle)
    middles = [line.middle for line in ordered]
    gone = {line for line in small if _is_reading(line, ordered, middles, largest)}
    return [line for line in lines if line not in gone]


def _is_reading(
    line: Line, ordered: Sequence[Line], middles: Sequence[float], largest: float
) -> bool:
    at = bisect_left(middles, line.middle)
    while at < len(ordered) and middles[at] <= line.middle + NEAR * largest:
        below = ordered[at]
        if (
            line.size <= SMALL * below.size
            and 0 < below.middle - line.middle <= NEAR * below.size
            and below.x0 - line.size <= line.x0
            and line.x1 <= below.x1 + line.size
        ):
            return True
        at += 1
    return False
