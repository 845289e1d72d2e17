"""Lines that were recognised in a picture become paragraphs in reading order."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from gateway.extract.pdf_joins import unspaced
from gateway.extract.pdf_layout import Line, columns
from gateway.extract.pdf_paragraphs import paragraphs

LETTER = 0.75  # of the height that is found around a line of letters
ALIKE = 0.3  # sizes that differ by less are the same: what is found varies
UPRIGHT = 1.5  # times as high as wide: a vertical line
LONG = 3  # times as long as thick: its angle can be trusted
_LONG_SOUND = re.compile(r"(?<=[\u30a1-\u30fa\u30fc])[\u4e00\u2014-](?![\u4e00-\u9fff])")


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of text: its corners from the upper left one clockwise, in pixels."""

    text: str
    score: float
    corners: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class _Box:
    """A line as it would lie if the page had been put straight on the glass."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def is_upright(self) -> bool:
        return self.y1 - self.y0 > UPRIGHT * (self.x1 - self.x0) and len(self.text) > 1

    @property
    def size(self) -> float:
        return LETTER * min(self.x1 - self.x0, self.y1 - self.y0)


def texts(seen: Sequence[Seen]) -> Iterator[str]:
    """The paragraphs of a page: columns, and vertical text from right to left."""
    boxes = [box for box in _straight(seen) if box.text]
    upright = sum(len(box.text) for box in boxes if box.is_upright)
    is_vertical = upright * 2 > sum(len(box.text) for box in boxes)
    for column in columns(_lines(boxes, is_vertical=is_vertical), is_vertical=is_vertical):
        for paragraph in paragraphs(column):
            yield paragraph.text


def _lines(boxes: Sequence[_Box], *, is_vertical: bool) -> list[Line]:
    """As the reading order wants them: to the right and downwards."""
    usual = median(box.size for box in boxes) if boxes else 0.0
    lines = []
    for box in boxes:
        edges = (box.x0, box.y0, box.x1, box.y1)
        if is_vertical:
            edges = (box.y0, -box.x1, box.y1, -box.x0)
        is_usual = abs(box.size - usual) <= ALIKE * usual
        lines.append(Line(box.text, *edges, size=usual if is_usual else box.size))
    return lines


def _straight(seen: Sequence[Seen]) -> Iterator[_Box]:
    slant = _slant(seen)
    cos, sin = math.cos(-slant), math.sin(-slant)
    for each in seen:
        width, height = _sides(each)
        turned = [(x * cos - y * sin, x * sin + y * cos) for x, y in each.corners]
        x = sum(x for x, _ in turned) / len(turned)
        y = sum(y for _, y in turned) / len(turned)
        yield _Box(
            text=_mended(each.text),
            x0=x - width / 2,
            y0=y - height / 2,
            x1=x + width / 2,
            y1=y + height / 2,
        )


def _slant(seen: Sequence[Seen]) -> float:
    """The usual angle of long lines, in radians."""
    angles = []
    for each in seen:
        (x0, y0), (x1, y1), _, (x3, y3) = each.corners
        width, height = _sides(each)
        if width >= LONG * height:
            angles.append(math.atan2(y1 - y0, x1 - x0))
        elif height >= LONG * width:
            angles.append(math.atan2(x0 - x3, y3 - y0))
    return median(angles) if angles else 0.0


def _sides(seen: Seen) -> tuple[float, float]:
    first, second, _, last = seen.corners
    return max(math.dist(first, second), 1.0), max(math.dist(first, last), 1.0)


def _mended(text: str) -> str:
    """Of vertical lines the long sound of katakana comes as the number one."""
    return _LONG_SOUND.sub("\u30fc", unspaced(text.strip()))
