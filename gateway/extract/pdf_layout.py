"""Reading order of a page: columns by the white space between them, cells of a table by row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from gateway.extract.pdf_joins import join, weight

GUTTER = 0.7  # least width of the space between columns, in font sizes
CORE = 0.25  # half the height of a line that counts as its own, in font sizes
FULL = 0.6  # a line of running text fills so much of its column
FULL_SHARE = 0.5  # of the lines of a column are full
CELL_WEIGHT = 8  # lighter lines are cells: a CJK character weighs 1, another one half
CELL_GAP = 2.5  # font sizes, added up over neighbouring lines with the gap at the same place
MAX_DEPTH = 12  # of columns within columns


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text on a page whose lines go right and follow each other downwards."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    is_row: bool = False  # cells of a table, joined

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2


@dataclass(frozen=True, slots=True)
class _Region:
    """Bands that share the free space from `left` to `right`, if there is one."""

    bands: tuple[tuple[Line, ...], ...]
    left: float = 0.0
    right: float = 0.0

    @property
    def lines(self) -> Iterator[Line]:
        return (line for band in self.bands for line in band)

    @property
    def has_gutter(self) -> bool:
        return self.right > self.left


def columns(lines: Sequence[Line], depth: int = 0) -> Iterator[list[Line]]:
    """The lines column by column, each from top to bottom, lines side by side joined."""
    if not lines:
        return
    size = median(line.size for line in lines)
    single: list[Line] = []
    for region in _regions(bands(lines), GUTTER * size):
        sides = _sides(region)
        if depth < MAX_DEPTH and sides and all(_is_running_text(side) for side in sides):
            if single:
                yield single
                single = []
            for side in sides:
                yield from columns(side, depth + 1)
        else:
            single += (_joined(band, is_row=_is_table(region, size)) for band in region.bands)
    if single:
        yield single


def bands(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """Lines side by side belong to one band; the core of a line decides, not its box."""
    found: list[list[Line]] = []
    bottom = float("-inf")
    for line in sorted(lines, key=lambda line: (line.middle, line.x0)):
        top = line.middle - CORE * line.size
        if not found or top > bottom:
            found.append([])
            bottom = float("-inf")
        found[-1].append(line)
        bottom = max(bottom, line.middle + CORE * line.size)
    return [tuple(sorted(band, key=lambda line: line.x0)) for band in found]


def _regions(rows: Sequence[tuple[Line, ...]], least: float) -> Iterator[_Region]:
    """Neighbouring bands with a common gutter make one region."""
    region: _Region | None = None
    for band in rows:
        grown = _grown(region, band, least) if region else None
        if grown is None:
            if region:
                yield region
            left, right = _widest(_gaps(band), least)
            grown = _Region((band,), left, right)
        region = grown
    if region:
        yield region


def _grown(region: _Region, band: tuple[Line, ...], least: float) -> _Region | None:
    if not region.has_gutter:
        if _widest(_gaps(band), least) != (0.0, 0.0):
            return None
        return replace(region, bands=(*region.bands, band))
    left, right = _widest(_free(region.left, region.right, band), least)
    if right <= left:
        return None
    return _Region((*region.bands, band), left, right)


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
    return max(wide, key=lambda gap: gap[1] - gap[0], default=(0.0, 0.0))


def _sides(region: _Region) -> tuple[list[Line], list[Line]] | None:
    if not region.has_gutter:
        return None
    cut = (region.left + region.right) / 2
    left = [line for line in region.lines if line.x0 < cut]
    right = [line for line in region.lines if line.x0 >= cut]
    return left, right


def _is_running_text(lines: Sequence[Line]) -> bool:
    width = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    full = sum(line.x1 - line.x0 >= FULL * width for line in lines)
    return (
        len(lines) > 1
        and full >= FULL_SHARE * len(lines)
        and median(weight(line.text) for line in lines) >= CELL_WEIGHT
    )


def _is_table(region: _Region, size: float) -> bool:
    """Cells, not the wide blanks of a justified line: far apart, or aligned with neighbours."""
    width = (region.right - region.left) / size
    return width * len(region.bands) >= CELL_GAP


def _joined(band: Sequence[Line], *, is_row: bool) -> Line:
    text = band[0].text
    for before, after in pairwise(band):
        is_apart = is_row and after.x0 - before.x1 > GUTTER * after.size
        text = f"{text}  {after.text}" if is_apart else join(text, after.text)
    return Line(
        text,
        min(line.x0 for line in band),
        min(line.y0 for line in band),
        max(line.x1 for line in band),
        max(line.y1 for line in band),
        max(line.size for line in band),
        is_row=is_row and len(band) > 1,
    )
