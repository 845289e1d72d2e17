"""Headers, footers, page numbers, line numbers and watermarks: once, or not at all."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

from gateway.extract.pdf_joins import weight
from gateway.extract.pdf_layout import CELL_WEIGHT, Line, bands
from gateway.extract.pdf_page import Page

EDGE_LINES = 3  # at the top and at the bottom of a page may be headers and footers
EDGE_PIECES = 12  # lines of the library that are looked at for them
MARGIN = 0.075  # of the page's height: what repeats there is no text
REPEATED_SHARE = 0.4  # of the pages carry the same line, where it isn't in the margin
REPEATED_PAGES = 3
RUNNING_SHARE = 0.6  # of the pages that have a line at this place, it is one that repeats
WATERMARK_SIZE = 1.8  # times the usual size
WATERMARK_SHARE = 0.6  # of the pages
APART = 1.8  # font sizes from a header to the text, where it isn't in the margin
LEAST_NUMBERS = 5  # lines of a page with a number beside them
_NUMBER_ONLY = re.compile(
    r"[\s\-–—‐·.|/\[\]()（）~〜～]*(?:p(?:age|g)?\.?\s*)?#[+-]\d+(?:\s*(?:/|of)\s*\d+)?"
    r"[\s\-–—‐·.|\[\]()（）~〜～]*",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d{1,6}")
_ROMAN = re.compile(r"[\s\-–—]*([ivxl]{1,7})[\s\-–—]*")


Slot = tuple[bool, int]  # at the top, distance from the page's edge


@dataclass(frozen=True, slots=True)
class _Edge:
    """A line at the edge of a page: its text as such and with numbers counted from the page's."""

    keys: tuple[str, ...]
    slot: Slot
    is_margin: bool
    is_apart: bool  # from the next line inwards
    lines: tuple[Line, ...]


def without_repeats(pages: Sequence[Page]) -> Iterator[Page]:
    """Headers and footers stay on the first page that has them, bare page numbers nowhere."""
    edges = [tuple(_edges(page)) for page in pages]
    times = _Times(edges, len(pages))
    marks = _watermarks(pages)
    seen: set[str] = set()
    for page, found in zip(pages, edges, strict=True):
        gone: set[Line] = set()
        here: set[str] = set()
        for edge, repeated in _outermost(found, times):
            if seen.intersection(repeated) or any(map(_NUMBER_ONLY.fullmatch, repeated)):
                gone.update(edge.lines)
            here.update(repeated)
        for line in page.lines if marks else ():
            if line.text in marks and line.size >= marks[line.text]:
                if line.text in seen:
                    gone.add(line)
                here.add(line.text)
        seen |= here
        yield from _kept(page, gone, seen)


def _outermost(found: Sequence[_Edge], times: "_Times") -> Iterator[tuple[_Edge, Sequence[str]]]:
    """From the page's edge inwards, as far as lines repeat."""
    for is_top in (True, False):
        for edge in (edge for edge in found if edge.slot[0] is is_top):
            repeated = times.repeated(edge)
            if not repeated:
                break
            yield edge, repeated


def _kept(page: Page, gone: set[Line], seen: set[str]) -> Iterator[Page]:
    main = page.groups[page.main] if page.groups else ()
    if all(line in gone for line in page.lines) and not _is_margin_only(page):
        gone.clear()  # it has nothing else to say
    gone.update(_line_numbers([line for line in main if line not in gone]))
    groups = tuple(tuple(line for line in group if line not in gone) for group in page.groups)
    slanted = tuple(text for text in dict.fromkeys(page.slanted) if text not in seen)
    seen.update(slanted)
    yield replace(page, groups=groups, slanted=slanted)


def _is_margin_only(page: Page) -> bool:
    return all(edge.is_margin for edge in _edges(page))


class _Times:
    """How often lines stand at the same place of pages."""

    def __init__(self, edges: Sequence[Sequence[_Edge]], pages: int) -> None:
        every = [edge for found in edges for edge in found]
        self._least = max(REPEATED_PAGES, REPEATED_SHARE * pages)
        self._times = Counter((edge.slot, key) for edge in every for key in edge.keys)
        lines: Counter[Slot] = Counter(edge.slot for edge in every)
        again: Counter[Slot] = Counter(edge.slot for edge in every if self._most(edge) > 1)
        self._running = {
            slot for slot, count in lines.items() if again[slot] >= RUNNING_SHARE * count
        }

    def repeated(self, edge: _Edge) -> Sequence[str]:
        """The keys that make it a header or footer; a sentence that merely recurs has none."""
        if edge.is_margin:
            least: float = 2 if edge.slot in self._running else inf
        else:
            least = self._least if edge.is_apart else inf
        return [key for key in edge.keys if self._times[edge.slot, key] >= least]

    def _most(self, edge: _Edge) -> int:
        return max(self._times[edge.slot, key] for key in edge.keys)


def _edges(page: Page) -> Iterator[_Edge]:
    if not page.groups:
        return
    main = page.groups[page.main]
    _, top, _, bottom = page.area
    height = bottom - top or 1.0
    ordered = sorted(main, key=lambda line: line.y0 + line.y1)
    upper = bands(ordered[:EDGE_PIECES])[: EDGE_LINES + 1]
    lower = bands(ordered[-EDGE_PIECES:])[-EDGE_LINES - 1 :]
    for is_top, rows in ((True, upper), (False, lower[::-1])):
        for at, band in enumerate(rows[:EDGE_LINES]):
            middle = band[0].middle
            distance = middle - top if is_top else bottom - middle
            inner = abs(rows[at + 1][0].middle - middle) if at + 1 < len(rows) else inf
            text = " ".join(line.text.strip() for line in band)
            yield _Edge(
                keys=tuple(dict.fromkeys((text, *_counted(text, page.number)))),
                slot=(is_top, round(distance / 2)),
                is_margin=distance < MARGIN * height,
                is_apart=inner > APART * band[0].size,
                lines=band,
            )


def _counted(text: str, number: int) -> Iterator[str]:
    """The text with its first or last number counted from the page's own."""
    found = list(_DIGITS.finditer(text))
    for match in (found[:1], found[-1:]):
        for digits in match:
            start, end = digits.span()
            yield f"{text[:start]}#{int(digits[0]) - number:+d}{text[end:]}"
    if roman := _ROMAN.fullmatch(text):
        yield f"#{_value(roman[1]) - number:+d}"


def _value(roman: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50}[letter] for letter in roman]
    return sum(-a if a < b else a for a, b in pairwise([*values, 0]))


def _watermarks(pages: Sequence[Page]) -> dict[str, float]:
    """Large lines at the same place of most pages -> their least size."""
    sizes: Counter[float] = Counter()
    places: defaultdict[tuple[str, int, int], float] = defaultdict(float)
    times: Counter[tuple[str, int, int]] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += len(line.text)
    usual = max(sizes, key=lambda size: sizes[size], default=0.0)
    for page in pages:
        for line in page.lines:
            if line.size >= WATERMARK_SIZE * usual:
                place = (line.text, round(line.x0 / 2), round(line.y0 / 2))
                times[place] += 1
                places[place] = line.size
    least = max(REPEATED_PAGES, WATERMARK_SHARE * len(pages))
    return {place[0]: places[place] for place, count in times.items() if count >= least}


def _line_numbers(lines: Sequence[Line]) -> Sequence[Line]:
    """Numbers before the lines of running text, in a column of their own."""
    numbers = sorted(
        (line for line in lines if line.text.strip().isdigit()), key=lambda line: line.middle
    )
    if len(numbers) < LEAST_NUMBERS:
        return ()
    edge = max(line.x1 for line in numbers)
    others = [line for line in lines if not line.text.strip().isdigit()]
    values = [int(line.text.strip()[:9]) for line in numbers]
    steps = {after - before for before, after in pairwise(values)}
    if len(steps) > 1 or not steps <= {1, 5} or any(line.x0 < edge for line in others):
        return ()
    is_text = sum(weight(line.text) >= 2 * CELL_WEIGHT for line in others) * 2 > len(others)
    return numbers if is_text and len(others) >= len(numbers) else ()
