"""Lines of a PDF page, turned so that every page reads to the right and downwards."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import pymupdf

from gateway.extract.pdf_joins import marked, unspaced
from gateway.extract.pdf_layout import Line, bands
from gateway.extract.pdf_rules import PALE, Box, Grid
from gateway.extract.pdf_tables import with_tables
from gateway.extract.pdf_visible import Sight

_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP  # ligatures are spread
_RULES = pymupdf.TEXT_COLLECT_VECTORS
MANY_BYTES = 300_000  # of a page's drawing, packed: a map, whose lines are no table's
FEW_LETTERS = 16  # so few on a page that is a picture are a stamp
PICTURE_SHARE = 0.5  # of the page
LITTLE_TEXT = 250  # letters: beside a picture of some size the page says most by it
PICTURED_SHARE = 0.1  # of the page, that size
DRAWING_BYTES = 20_000  # packed; a chart or a plan in lines instead
STACKED = 0.6  # of its letters stand one below the other: a vertical page
PITCH = (0.7, 1.7)  # distance of letters in a vertical line, in font sizes
RUN_GAP = 0.6  # font sizes between letters of one vertical run
UPRIGHT = (4, 1.4)  # letters and font sizes of a number set upright in a vertical line
ACROSS = (1.0, 0.0)
VERTICAL, SLANTED = "vertical", "slanted"

Turn = Callable[[Box], Box]


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of one page, those of one direction together, the most frequent one first."""

    number: int
    groups: tuple[tuple[Line, ...], ...] = ()
    is_picture: bool = False
    is_pictured: bool = False  # has little text beside a picture or a drawing
    has_hidden: bool = False
    slanted: tuple[str, ...] = ()  # lines that run across the page: most often a watermark
    area: Box = (0.0, 0.0, 0.0, 0.0)  # of the page, as the first group is turned
    main: int = 0  # the group of the most frequent direction
    is_vertical: bool = False  # that group is
    letters: str = field(default="", compare=False)

    @property
    def lines(self) -> Iterator[Line]:
        return (line for group in self.groups for line in group)


def read_page(page: Any, number: int) -> Page:
    """RuntimeError from the library where the page is broken."""
    found = _text_of(page)
    bounds: Box = tuple(page.rect)
    sight = Sight(page, found["blocks"], bounds)
    lines = [
        _Raw(line, sight, block["number"])
        for block in found["blocks"]
        if block["type"] == 0
        for line in block["lines"]
    ]
    raw = [line for line in lines if line.text and not line.text.isspace()]
    letters = _letters(raw)
    share = _picture_share(page) if letters < LITTLE_TEXT else 0.0
    is_picture = letters < FEW_LETTERS and share > PICTURE_SHARE
    groups = _directions([line for line in raw if line.direction != SLANTED])
    main = next(iter(groups), (1, 0))
    turn = _TURNS[main]
    turned = _turned(groups)
    if turned and main != VERTICAL:
        rules = _rules(found["blocks"], turn)
        turned[0] = main, with_tables(turned[0][1], rules, _splitter(page, turn))
    return Page(
        number=number,
        groups=tuple(group for _, group in turned),
        is_picture=is_picture,
        is_pictured=letters < LITTLE_TEXT and _says_by_picture(page, share),
        has_hidden=sight.has_hidden,
        slanted=tuple(line.text.strip() for line in raw if line.direction == SLANTED),
        area=turn(bounds),
        main=next((at for at, (key, _) in enumerate(turned) if key == main), 0),
        is_vertical=main == VERTICAL,
        letters="".join("".join(line.text.split()) for line in raw),
    )


def _text_of(page: Any) -> Any:
    """With what is drawn, which tells tables and hidden text; without it where it is too much."""
    if _drawing_bytes(page) <= MANY_BYTES:
        try:
            return page.get_text("dict", flags=_FLAGS | _RULES)
        except MemoryError:
            return page.get_text("dict", flags=_FLAGS)
    return page.get_text("dict", flags=_FLAGS)


def _drawing_bytes(page: Any) -> int:
    lengths = (page.parent.xref_get_key(xref, "Length") for xref in page.get_contents())
    return sum(int(value) for kind, value in lengths if kind == "int")


class _Raw:
    """A line as the library gives it, without what nobody sees of it."""

    __slots__ = ("box", "centre", "direction", "is_bold", "size", "text")

    def __init__(self, line: Any, sight: Sight, order: int) -> None:
        spans = sight.seen(line["spans"], order)
        self.text = unspaced("".join([marked(span) for span in spans]))
        self.box: Box = line["bbox"]
        way = line["dir"]
        self.direction: object = way if way == ACROSS else _direction(*way)
        if line["wmode"] == 1:
            self.direction = VERTICAL
        self.size = max([span["size"] for span in spans], default=1.0) or 1.0
        self.is_bold = all(map(_is_bold, spans))
        self.centre = (self.box[1] + self.box[3]) / 2


def _direction(x: float, y: float) -> object:
    way = (round(x), round(y))
    return way if way in _TURNS and max(abs(x), abs(y)) > 0.95 else SLANTED


def _is_bold(span: Any) -> bool:
    return bool(span["flags"] & 16 or span["char_flags"] & 8) or not span["text"].strip()


# ---------------------------------------------------------------- directions


def _directions(lines: Sequence[_Raw]) -> dict[object, list[_Raw]]:
    """Each direction is read by itself; letters drawn one below the other are one, too."""
    stacked = _stacked(lines)
    found: dict[object, list[_Raw]] = {}
    for at, line in enumerate(lines):
        found.setdefault(VERTICAL if at in stacked else line.direction, []).append(line)
    if VERTICAL in found and _letters(found[VERTICAL]) * 2 > _letters(lines):
        upright = [line for line in found.get((1, 0), []) if _is_upright(line)]
        found[VERTICAL] += upright
        found[1, 0] = [line for line in found.get((1, 0), []) if not _is_upright(line)]
    groups = sorted(found.items(), key=lambda item: -_letters(item[1]))
    return {key: group for key, group in groups if group}


def _is_upright(line: _Raw) -> bool:
    most, sizes = UPRIGHT
    return len(line.text.strip()) <= most and line.box[2] - line.box[0] <= sizes * line.size


def _turned(groups: dict[object, list[_Raw]]) -> list[tuple[object, tuple[Line, ...]]]:
    """In reading order: horizontal titles above vertical text, the main direction, the others."""
    across = groups.get((1, 0), [])
    if next(iter(groups), None) != VERTICAL or not across:
        return [(key, tuple(_lines(group, key))) for key, group in groups.items()]
    top = min(line.box[1] for line in groups[VERTICAL])
    above = [line for line in across if line.box[3] <= top + line.size / 2]
    parts = [
        ((1, 0), above),
        (VERTICAL, groups[VERTICAL]),
        ((1, 0), [line for line in across if line not in above]),
        *((key, group) for key, group in groups.items() if key not in {VERTICAL, (1, 0)}),
    ]
    return [(key, tuple(_lines(group, key))) for key, group in parts if group]


def _lines(group: Sequence[_Raw], key: object) -> Iterator[Line]:
    turn = _TURNS[key]
    lines = [Line(raw.text, *turn(raw.box), size=raw.size, is_bold=raw.is_bold) for raw in group]
    return _runs(lines) if key == VERTICAL else iter(lines)


def _runs(lines: Sequence[Line]) -> Iterator[Line]:
    """Vertical text comes letter by letter; what stands close together is one run."""
    for band in bands(lines):
        start = 0
        for at, (before, after) in enumerate(pairwise(band), 1):
            if after.x0 - before.x1 > RUN_GAP * after.size:
                yield _run(band[start:at])
                start = at
        yield _run(band[start:])


def _run(band: Sequence[Line]) -> Line:
    return Line(
        "".join(line.text for line in band),
        band[0].x0,
        min(line.y0 for line in band),
        max(line.x1 for line in band),
        max(line.y1 for line in band),
        max(line.size for line in band),
    )


def _letters(lines: Sequence[_Raw]) -> int:
    return sum(len(line.text) for line in lines)


# (x0, y0, x1, y1) of the page -> of a page that reads to the right and downwards
_TURNS: dict[object, Turn] = {
    (1, 0): lambda box: box,
    (0, -1): lambda box: (-box[3], box[0], -box[1], box[2]),
    (0, 1): lambda box: (box[1], -box[2], box[3], -box[0]),
    (-1, 0): lambda box: (-box[2], -box[3], -box[0], -box[1]),
    VERTICAL: lambda box: (box[1], -box[2], box[3], -box[0]),  # columns from right to left
}


def _stacked(lines: Sequence[_Raw]) -> frozenset[int]:
    """Single letters with their next one below rather than beside: vertical, drawn one by one."""
    single = [at for at, line in enumerate(lines) if _is_upright(line)]
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


def _rules(blocks: Sequence[Any], turn: Turn) -> Iterator[tuple[Box, bool]]:
    """What is drawn in a colour that shows, turned; whether only the outline is."""
    return (
        (turn(block["bbox"]), block["stroked"] and block["isrect"])
        for block in blocks
        if block["type"] == 3 and block["color"] & PALE != PALE and block["alpha"]
    )


def _splitter(page: Any, turn: Turn) -> Callable[[Grid], Sequence[Line]]:
    """Cuts lines where a column ends; letter by letter only for pages that need it."""
    letters: list[tuple[Line, object]] = []

    def split(grid: Grid) -> Sequence[Line]:
        if not letters:
            letters.extend(_letters_of(page, turn))
        box = grid.box
        inside = [
            (letter, line)
            for letter, line in letters
            if box[0] <= letter.middle_x <= box[2] and box[1] <= letter.middle <= box[3]
        ]
        runs = groupby(inside, lambda each: (each[1], grid.cell(each[0].middle_x, each[0].middle)))
        return [_run([letter for letter, _ in run]) for _, run in runs]

    return split


def _letters_of(page: Any, turn: Turn) -> Iterator[tuple[Line, int]]:
    found = page.get_text("rawdict", flags=_FLAGS | _RULES)
    sight = Sight(page, found["blocks"], tuple(page.rect))
    number = 0
    for block in found["blocks"]:
        for line in block.get("lines", ()):
            number += 1
            for span in sight.seen(line["spans"], block["number"]):
                for char in span["chars"]:
                    text = marked({"text": char["c"], "flags": span["flags"]})
                    yield Line(text, *turn(char["bbox"]), size=span["size"]), number


def _says_by_picture(page: Any, share: float) -> bool:
    return share > PICTURED_SHARE or _drawing_bytes(page) > DRAWING_BYTES


def _picture_share(page: Any) -> float:
    area = abs(page.rect.width * page.rect.height) or 1.0
    try:
        found = page.get_image_info()
    except RuntimeError:  # a broken picture takes no text along
        return 0.0
    boxes = (pymupdf.Rect(info["bbox"]) & page.rect for info in found)
    return max((abs(box.width * box.height) for box in boxes), default=0.0) / area
