"""CSV and its relatives: the dialect is found in the content, each row carries the header row."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.reading import Document, ReadOptions, bounded
from gateway.extract.text import text_of

CELL_JOIN = " | "
_DELIMITERS = "\t;|,"  # where two cut alike, the comma is the likelier one inside a cell
_CELL_CHARS = 131_072  # the library's own limit; a document's is max_source_chars
_LOOKED_AT = 200  # rows, to find the delimiter
_NUMBER = re.compile(r"[\s\d.,%$€¥￥+\-/:()]*\d[\s\d.,%$€¥￥+\-/:()]*")
_NUMBER_CHARS = 60
_YEAR = re.compile(r"(?:19|20)\d\d")
_SAID = re.compile(
    r"\"?sep=(.)\"?\n", re.IGNORECASE
)  # a line that spreadsheets obey and don't show


def read_table(data: bytes, options: ReadOptions) -> Document:
    """Rows with their numbers, 1 being the first that a spreadsheet shows (usually the header)."""
    text = text_of(data, options)
    said = _SAID.match(text)
    rows = _rows(text[said.end() :], said[1]) if said else _rows(text, _delimiter(text))
    head = _head(rows)
    places = (Locator(row=number, row_end=number) for number in count(1))
    blocks = row_blocks(chain(head, rows), places, has_header=names_columns(head))
    return Document(bounded(blocks, options.max_chars), "text/csv")


def row_blocks(
    rows: Iterable[Sequence[str]], places: Iterable[Locator], *, has_header: bool
) -> Iterator[Block]:
    """A block for each row that says something; the header is not one unless it is all.

    `places` has one for each row, at least. A row that repeats the header is left out.
    """
    header = ""
    first: Locator | None = None
    has_body = False
    for row, place in zip(rows, places, strict=False):
        text = _line(row)
        if not text or text == header:
            continue
        if has_header and not header:
            header, first = text, place
            continue
        yield Block(text, place, is_row=True, header=header)
        has_body = True
    if first is not None and not has_body:
        yield Block(header, first, is_row=True)


def _line(row: Sequence[str]) -> str:
    cells = [" ".join(cell.split()) for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return CELL_JOIN.join(cells) if any(cells) else ""


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(max(_CELL_CHARS, len(text)))
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _head(rows: Iterator[list[str]]) -> list[list[str]]:
    """The rows up to the second one with text in it."""
    head: list[list[str]] = []
    filled = 0
    for row in rows:
        head.append(row)
        filled += any(cell.strip() for cell in row)
        if filled > 1:
            break
    return head


def _delimiter(text: str) -> str:
    """The one that cuts most rows into the same number of cells, more than one."""
    head = "\n".join(text.split("\n", _LOOKED_AT)[:_LOOKED_AT])

    def agreement(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _rows(head, delimiter) if row)
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        return (times / max(1, widths.total()) if width > 1 else 0.0, width)

    return max(_DELIMITERS, key=agreement)


def names_columns(rows: Sequence[Sequence[str]]) -> bool:
    """The first row names the columns unless it has numbers, like the data below; years may be."""
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    if len(filled) < 2:
        return False
    first = [cell.strip() for cell in filled[0] if cell.strip()]
    numbers = [cell for cell in first if _is_number(cell)]
    is_years = len(numbers) < len(first) and len(set(numbers)) == len(numbers) > 1
    return not numbers or (is_years and all(_YEAR.fullmatch(number) for number in numbers))


def _is_number(cell: str) -> bool:
    return len(cell) <= _NUMBER_CHARS and _NUMBER.fullmatch(cell) is not None
