"""Rows as nearly every program writes them, read by patterns: far faster than by events.

A row is read so only where each of its tags is one of the few plain forms, and no comment or CDATA
section stands in the part; then a `<` begins a tag and nothing else. All other rows go back to the
stream of elements.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.extract.reading import refuse
from gateway.extract.xlsx_cells import Cells, Fill
from gateway.extract.xlsx_shapes import RowShape, RowShapes
from gateway.extract.xlsx_stream import SPACES
from gateway.extract.xlsx_strings import unescaped_marks

SLICE_BYTES = 1 << 20
_HEAD_BYTES = 4096
_START, _END, _ROW_END = b"<sheetData>", b"</sheetData>", b"</row>"
_END_OF_ROW = "</row>"
_ENCODING = re.compile(rb"""<\?xml[^>]*encoding=["'](?!utf-8["'])""", re.IGNORECASE)
_ROOT = re.compile(
    rb"""<worksheet(?=\s[^>]*?\bxmlns=["'](?:%s)["'])(?:\s+[\w:.-]+=(?:"[^"<]*"|'[^'<]*'))+\s*>"""
    % "|".join(map(re.escape, SPACES)).encode()
)
_TOKEN = re.compile(
    r'<c r="([A-Z]{1,3})\d+"(?: s="(\d+)")?(?: t="(\w+)")?(?: (?:cm|vm|ph)="\d+")* ?'
    r'(?:/>|>(<f(?: \w+="[^"<]*")* ?(?:/>|>[^<]*</f>))?(?:<v>([^<]*)</v>|<v ?/>|'
    r'<is><t(?: xml:space="preserve")?>([^<]*)</t></is>)?</c>)'
    r'|<row((?: (?!xmlns)[\w:.]+="[^"<]*")*) ?/?>'
)
_CLOSING = ("</row>", "</c>", "<v>", "</v>", "<v/>", "<v />")
_RARE = ("<is>", "</is>", "<t>", "<t ", "</t>", "<f>", "<f ", "<f/>", "</f>")


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Where the rows stand in a part, and the tag around them with all its name spaces."""

    start: int
    end: int
    root: bytes


def plain_rows(data: bytes) -> PlainRows | None:
    """Nothing, where something forbids reading them by patterns."""
    root = _ROOT.search(data, 0, _HEAD_BYTES)
    start, end = data.find(_START) + len(_START), data.rfind(_END)
    is_plain = (
        root is not None
        and root.end() <= start <= end
        and _ENCODING.match(data, 0, _HEAD_BYTES) is None
        and data.find(_START, start, end) < 0
        and b"<!" not in data
    )
    return PlainRows(start, end, root[0]) if root and is_plain else None


def read_plain_rows(data: bytes, rows: PlainRows, cells: Cells) -> Iterator[bytes]:
    """Read all rows in order; those that are not plain are given back to be read at once."""
    reading = _Rows(cells)
    start = rows.start
    while start < rows.end:
        cut = data.rfind(_ROW_END, start, min(rows.end, start + SLICE_BYTES))
        if cut < 0:
            cut = data.find(_ROW_END, start, rows.end)
        stop = rows.end if cut < 0 else cut + len(_ROW_END)
        try:
            for odd in reading.read(data[start:stop].decode()):
                yield b"%s<sheetData>%s</sheetData></worksheet>" % (rows.root, odd.encode())
        except (ValueError, OverflowError) as error:
            raise refuse("extract_crashed", "no such character, row or column") from error
        start = stop


class _Rows:
    """Reads slices of whole rows, a row at a time as long as they are alike."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._shapes = RowShapes()
        self._shape: RowShape | None = None
        self._fills: dict[int, Fill] = {}

    def read(self, text: str) -> Iterator[str]:
        at = 0
        while at < len(text):
            if self._shape is not None:
                at = self._alike(text, at, self._shape)
            end = text.find(_END_OF_ROW, at)
            end = len(text) if end < 0 else end + len(_END_OF_ROW)
            row = text[at:end]
            at = end
            found = _TOKEN.findall(row)
            if _is_all(row, len(found)):
                self._cells.add_plain(found)
                self._shape = self._shapes.of(found) or self._shape
            else:
                yield row

    def _alike(self, text: str, at: int, shape: RowShape) -> int:
        """The place behind the rows of that shape."""
        match_at = shape.pattern.match
        fill = self._fills.get(id(shape))
        if fill is None:
            fill = self._cells.filling(shape.letters, shape.kinds, shape.styles)
            self._fills[id(shape)] = fill
        while match := match_at(text, at):
            number, others, *values = match.groups()
            end = match.end()
            has_marks = text.find("&", at, end) >= 0
            if has_marks:
                values = [unescaped_marks(each) if "&" in each else each for each in values]
            is_odd = text.find("_x", at, end) >= 0 or text.find("> ", at, end) >= 0
            is_literal = not has_marks and not is_odd
            fill(number, others, values, is_literal=is_literal)
            at = end
        return at


def _is_all(text: str, found: int) -> bool:
    """Whether there is no tag beside those that the pattern found and the ends of them."""
    if text.count("<row") + text.count("<c ") != found:
        return False
    others = text.count("<") - found - sum(map(text.count, _CLOSING))
    return others == 0 or others == sum(map(text.count, _RARE))
