"""Cutting a long text into spans at the best borders: sentence, clause, word, grapheme."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from gateway.core.matching import sentences

_CLAUSE = re.compile(r"[，、；：,;:」』）)\]】]\s*")
_SPACE = re.compile(r"\s+")
_GRAPHEME = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]`; what stands before `fresh` was already in the span before."""

    start: int
    end: int
    fresh: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths in characters: aimed at, never passed, and repeated from the span before."""

    target: int
    most: int
    overlap: int


@dataclass(frozen=True, slots=True)
class _Borders:
    """Where a text may be cut, best kind first; each kind is sorted."""

    kinds: tuple[Sequence[int], ...]
    length: int

    def nearest(self, ideal: int, low: int, high: int) -> int:
        """The border of the best kind within low..high; inside a grapheme only if it must be."""
        for borders in self.kinds:
            first, last = bisect_left(borders, low), bisect_right(borders, high)
            if first < last:
                return min(borders[first:last], key=lambda at: (abs(at - ideal), at))
        return min(max(ideal, low), high)

    def first_from(self, low: int, high: int, kinds: int) -> int | None:
        """The earliest border in low..high among the best `kinds` kinds."""
        for borders in self.kinds[:kinds]:
            first = bisect_left(borders, low)
            if first < len(borders) and borders[first] <= high:
                return borders[first]
        return None


def spans(text: str, sizes: Sizes) -> tuple[Span, ...]:
    """Cover `text` with spans of about `sizes.target`, none over `sizes.most`.

    Joined without their repeated beginnings they give the text back.
    """
    if len(text) <= sizes.most:
        return (Span(0, len(text), 0),) if text else ()
    borders = _borders(text)
    found: list[Span] = []
    start = fresh = 0
    while len(text) - start > sizes.most:
        end = _end(borders, start, fresh, sizes)
        found.append(Span(start, end, fresh))
        start, fresh = _restart(borders, start, end, sizes.overlap), end
    found.append(Span(start, len(text), fresh))
    return tuple(found)


def cut(text: str, most: int) -> str:
    """The beginning of `text`, at most `most` characters, ending on a grapheme."""
    if len(text) <= most:
        return text
    borders = _graphemes(text[: most + 64])
    at = borders[bisect_right(borders, most) - 1]
    return text[: at or most]


def _end(borders: _Borders, start: int, fresh: int, sizes: Sizes) -> int:
    rest = borders.length - start
    parts = -(-rest // sizes.target)
    ideal = start + min(sizes.target, -(-rest // parts))  # even parts: no tiny last one
    low = max(fresh + 1, ideal - sizes.target // 3)
    return borders.nearest(ideal, low, start + sizes.most)


def _restart(borders: _Borders, start: int, end: int, overlap: int) -> int:
    """Repeat whole sentences or clauses where they fit, else the last words."""
    if not overlap:
        return end
    low = max(start + 1, end - overlap)
    at = borders.first_from(low, end - overlap // 2, kinds=2)
    return at if at is not None else borders.nearest(low, low, end)


def _borders(text: str) -> _Borders:
    graphemes = _graphemes(text)
    allowed = set(graphemes)
    return _Borders(
        kinds=(
            [end for _, end in sentences(text) if end in allowed],
            [match.end() for match in _CLAUSE.finditer(text) if match.end() in allowed],
            [match.end() for match in _SPACE.finditer(text) if match.end() in allowed],
            graphemes,
        ),
        length=len(text),
    )


def _graphemes(text: str) -> list[int]:
    if text.isascii() and "\r" not in text:
        return list(range(len(text) + 1))
    return [0, *(match.end() for match in _GRAPHEME.finditer(text))]
