"""Reading order of a page: columns by the white space between them, cells of a table by row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from gateway.extract.pdf_joins import joined, weight

GUTTER = 0.7  # least width of the space between columns, in font sizes
BREAK = 6.0  # font sizes without text below columns, which end there
CORE = 0.25  # half the height of a line that counts as its own, in font sizes
FULL = 0.6  # a line of running text fills so much of its column
FULL_SHARE = 0.5  # of the lines of a column are full
CELL_WEIGHT = 8  # lighter lines are cells: a CJK character weighs 1, another one half
CELL_GAP = 2.5  # font sizes, added up over neighbouring lines with the gap at the same place
MOST_COLUMNS = 4  # side by side
NO_GAP = (0.0, 0.0)
MAX_DEPTH = 12  # of columns within columns


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What the rows of a table have in common."""

    xs: tuple[float, ...]  # edges of its columns
    titles: int  # rows at its top that are one cell
    headers: int  # rows after them that name the columns


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of a table with rules; what is merged stands in its first cell, or in all of them."""

    table: Table
    number: int
    cells: tuple[str, ...]
    spread: tuple[str, ...]


class Line(NamedTuple):
    """A run of text on a page whose lines go right and follow each other downwards."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    is_row: bool = False  # cells of a table, joined
    row: Row | None = None  # of a table with rules
    is_bold: bool = False

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2

    @property
    def middle_x(self) -> float:
        return (self.x0 + self.x1) / 2


class _Region:
    """Bands that share the free space from `left` to `right`, if there is one."""

    __slots__ = ("bands", "left", "right")

    def __init__(self, band: tuple[Line, ...], gap: tuple[float, float]) -> None:
        self.bands = [band]
        self.left, self.right = gap

    @property
    def lines(self) -> Iterator[Line]:
        return (line for band in self.bands for line in band)

    @property
    def has_gutter(self) -> bool:
        return self.right > self.left

    def takes(self, band: tuple[Line, ...], least: float) -> bool:
        """Grow by a band that fits."""
        if not self.has_gutter:
            fits = len(band) == 1 or _widest(_gaps(band), least) == NO_GAP
        else:
            gap = _widest(_free(self.left, self.right, band), least)
            fits = gap != NO_GAP
            if fits:
                self.left, self.right = gap
        if fits:
            self.bands.append(band)
        return fits


def columns(
    lines: Sequence[Line], depth: int = 0, *, is_vertical: bool = False
) -> Iterator[list[Line]]:
    """The lines column by column, each from top to bottom, lines side by side joined.

    Vertical text has no tables, and its lines are short where it is verse.
    """
    if not lines:
        return
    size = median(line.size for line in lines)
    single: list[Line] = []
    for region in _regions(bands(lines), GUTTER * size):
        sides = _sides(region)
        full = 0.0 if is_vertical else FULL_SHARE
        if depth < MAX_DEPTH and sides and all(_is_text(side, full, size) for side in sides):
            if single:
                yield single
                single = []
            for side in sides:
                yield from columns(side, depth + 1, is_vertical=is_vertical)
        else:
            is_table = not is_vertical and _is_table(region, size)
            is_row = is_table or is_vertical
            single += (line for band in region.bands for line in _merged(band, is_row=is_row))
    if single:
        yield single


def bands(lines: Iterable[Line]) -> list[tuple[Line, ...]]:
    """Lines side by side belong to one band; the core of a line decides, not its box."""
    found: list[tuple[Line, ...]] = []
    band: list[Line] = []
    bottom = float("-inf")
    for middle, _, line in sorted([(line.middle, line.x0, line) for line in lines], key=_PLACE):
        core = CORE * line.size
        if band and middle - core > bottom:
            found.append(_ordered(band))
            band = []
            bottom = float("-inf")
        band.append(line)
        bottom = max(bottom, middle + core)
    if band:
        found.append(_ordered(band))
    return found


_PLACE = itemgetter(0, 1)


def _ordered(band: list[Line]) -> tuple[Line, ...]:
    if len(band) > 1:
        band.sort(key=lambda line: line.x0)
    return tuple(band)


def _regions(rows: Sequence[tuple[Line, ...]], least: float) -> Iterator[_Region]:
    """Neighbouring bands with a common gutter make one region."""
    region: _Region | None = None
    apart = BREAK / GUTTER * least
    for band in rows:
        if (
            region is None
            or band[0].middle - region.bands[-1][0].middle > apart
            or not region.takes(band, least)
        ):
            if region:
                yield region
            region = _Region(band, _widest(_gaps(band), least))
    if region:
        yield region


def _gaps(band: Sequence[Line]) -> Iterator[tuple[float, float]]:
    edge = band[0].x1
    for line in band[1:]:
        if line.x0 > edge:
            yield edge, line.x0
        edge = max(edge, line.x1)


def _free(left: float, right: float, band: Sequence[Line]) -> Iterator[tuple[float, float]]:
    """What the band leaves free between left and right."""
    at = left
    for line in band:
        if line.x0 > at:
            yield at, min(line.x0, right)
        at = max(at, line.x1)
    if at < right:
        yield at, right


def _widest(gaps: Iterator[tuple[float, float]], least: float) -> tuple[float, float]:
    wide = [gap for gap in gaps if gap[1] - gap[0] >= least]
    return max(wide, key=lambda gap: gap[1] - gap[0], default=NO_GAP)


def _sides(region: _Region) -> tuple[list[Line], list[Line]] | None:
    if not region.has_gutter:
        return None
    cut = (region.left + region.right) / 2
    left = [line for line in region.lines if line.x0 < cut]
    right = [line for line in region.lines if line.x0 >= cut]
    return left, right


def _is_text(side: Sequence[Line], full: float, size: float, depth: int = 0) -> bool:
    """Running text, or columns of it once more."""
    if _is_running_text(side, full):
        return True
    if depth > MOST_COLUMNS:
        return False
    inner = max(_regions(bands(side), GUTTER * size), key=lambda region: len(region.bands))
    parts = _sides(inner)
    return parts is not None and all(_is_text(part, full, size, depth + 1) for part in parts)


def _is_running_text(lines: Sequence[Line], full_share: float) -> bool:
    width = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    full = sum(line.x1 - line.x0 >= FULL * width for line in lines)
    return (
        len(lines) > 1
        and full >= full_share * len(lines)
        and median(weight(line.text) for line in lines) >= CELL_WEIGHT
    )


def _is_table(region: _Region, size: float) -> bool:
    """Cells, not the wide blanks of a justified line: far apart, or aligned with neighbours."""
    width = (region.right - region.left) / size
    return width * len(region.bands) >= CELL_GAP


def _merged(band: Sequence[Line], *, is_row: bool) -> Iterator[Line]:
    """Lines side by side as one; a row of a table with rules stays as it is."""
    rest = [line for line in band if line.row is None]
    yield from (line for line in band if line.row is not None)
    if rest:
        yield rest[0] if len(rest) == 1 else _joined(rest, is_row=is_row)


def _joined(band: Sequence[Line], *, is_row: bool) -> Line:
    cells = [[band[0].text]]
    for before, after in pairwise(band):
        if is_row and after.x0 - before.x1 > GUTTER * after.size:
            cells.append([])
        cells[-1].append(after.text)
    return Line(
        "  ".join(map(joined, cells)),
        min(line.x0 for line in band),
        min(line.y0 for line in band),
        max(line.x1 for line in band),
        max(line.y1 for line in band),
        max(line.size for line in band),
        is_row=is_row,
        is_bold=all(line.is_bold for line in band),
    )
