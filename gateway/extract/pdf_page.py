"""Lines of a PDF page, turned so that every page reads to the right and downwards."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pymupdf

from gateway.extract.pdf_joins import unspaced
from gateway.extract.pdf_layout import Line

_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP  # ligatures are spread
FEW_LETTERS = 16  # so few on a page that is a picture are a stamp
PICTURE_SHARE = 0.5  # of the page
STACKED = 0.6  # of its letters stand one below the other: a vertical page
PITCH = (0.7, 2.2)  # distance of letters in a vertical line, in font sizes

Box = tuple[float, float, float, float]
Turn = Callable[[Box], Box]


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of one page, those of one direction together, the most frequent one first."""

    number: int
    groups: tuple[tuple[Line, ...], ...] = ()
    is_picture: bool = False

    @property
    def lines(self) -> Iterator[Line]:
        return (line for group in self.groups for line in group)

    @property
    def letters(self) -> str:
        return "".join(c for line in self.lines for c in line.text if not c.isspace())


def read_page(page: Any, number: int) -> Page:
    """RuntimeError from the library where the page is broken."""
    found = [
        line for block in page.get_text("dict", flags=_FLAGS)["blocks"] for line in block["lines"]
    ]
    raw = [_Raw(line) for line in found]
    raw = [line for line in raw if line.text.strip()]
    is_picture = _letters(raw) < FEW_LETTERS and _picture_share(page) > PICTURE_SHARE
    return Page(number, tuple(_groups(raw)), is_picture)


class _Raw:
    """A line as the library gives it."""

    __slots__ = ("box", "centre", "direction", "is_vertical", "size", "text")

    def __init__(self, line: Any) -> None:
        spans = line["spans"]
        self.text = unspaced("".join(span["text"] for span in spans))
        self.box: Box = tuple(line["bbox"])
        self.is_vertical = line["wmode"] == 1
        self.direction = (round(line["dir"][0]), round(line["dir"][1]))
        self.size = max((span["size"] for span in spans), default=1.0) or 1.0
        self.centre = (self.box[1] + self.box[3]) / 2


def _groups(lines: Sequence[_Raw]) -> Iterator[tuple[Line, ...]]:
    """Each direction is read by itself; letters drawn one below the other are one, too."""
    stacked = _stacked(lines)
    found: dict[object, list[_Raw]] = {}
    for at, line in enumerate(lines):
        is_vertical = line.is_vertical or at in stacked
        direction: object = "vertical" if is_vertical else line.direction
        found.setdefault(direction if direction in _TURNS else (1, 0), []).append(line)
    for key, group in sorted(found.items(), key=lambda item: -_letters(item[1])):
        turn = _TURNS[key]
        yield tuple(Line(line.text, *turn(line.box), size=line.size) for line in group)


def _letters(lines: Sequence[_Raw]) -> int:
    return sum(len(line.text) for line in lines)


# (x0, y0, x1, y1) of the page -> of a page that reads to the right and downwards
_TURNS: dict[object, Turn] = {
    (1, 0): lambda box: box,
    (0, -1): lambda box: (-box[3], box[0], -box[1], box[2]),
    (0, 1): lambda box: (box[1], -box[2], box[3], -box[0]),
    (-1, 0): lambda box: (-box[2], -box[3], -box[0], -box[1]),
    "vertical": lambda box: (box[1], -box[2], box[3], -box[0]),  # columns from right to left
}


def _stacked(lines: Sequence[_Raw]) -> frozenset[int]:
    """Single letters with their next one below rather than beside: vertical, drawn one by one."""
    single = [at for at, line in enumerate(lines) if len(line.text.strip()) <= 2]
    if len(single) < STACKED * len(lines) or len(single) < 4:
        return frozenset()
    places = {at: ((lines[at].box[0] + lines[at].box[2]) / 2, lines[at].centre) for at in single}
    below = {at for at in single if _has_next(places, at, lines[at].size, is_below=True)}
    beside = {at for at in single if _has_next(places, at, lines[at].size, is_below=False)}
    if len(below) <= len(beside):
        return frozenset()
    return frozenset(single)


def _has_next(
    places: dict[int, tuple[float, float]], at: int, size: float, *, is_below: bool
) -> bool:
    x, y = places[at]
    for other_x, other_y in _near(places, at):
        along, across = (other_y - y, other_x - x) if is_below else (other_x - x, other_y - y)
        if PITCH[0] * size <= along <= PITCH[1] * size and abs(across) <= size * 0.3:
            return True
    return False


def _near(places: dict[int, tuple[float, float]], at: int) -> Iterator[tuple[float, float]]:
    """Letters drawn shortly before or after: comparing all with all would be quadratic."""
    for other in range(at - 64, at + 65):
        if other != at and other in places:
            yield places[other]


def _picture_share(page: Any) -> float:
    area = abs(page.rect.width * page.rect.height) or 1.0
    boxes = (pymupdf.Rect(info["bbox"]) & page.rect for info in page.get_image_info())
    return max((abs(box.width * box.height) for box in boxes), default=0.0) / area
