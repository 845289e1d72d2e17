"""CSV and its relatives: the dialect is found in the content, each row carries the header row."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.reading import Document, ReadOptions, bounded
from gateway.extract.text import text_of

CELL_JOIN = " | "
_DELIMITERS = ",\t;|"
_CELL_CHARS = 131_072  # the library's own limit; a document's is max_source_chars
_LOOKED_AT = 200  # rows, to find the delimiter
_NUMBER = re.compile(r"[\s\d.,%$€¥￥+\-/:()]*\d[\s\d.,%$€¥￥+\-/:()]*")


def read_table(data: bytes, options: ReadOptions) -> Document:
    """Rows with their numbers, 1 being the first of the file (usually the header)."""
    text = text_of(data, options)
    rows = _rows(text, _delimiter(text))
    places = [Locator(row=number, row_end=number) for number in range(1, len(rows) + 1)]
    blocks = row_blocks(rows, places, has_header=names_columns(rows))
    return Document(bounded(blocks, options.max_chars), "text/csv")


def row_blocks(
    rows: Sequence[Sequence[str]], places: Sequence[Locator], *, has_header: bool
) -> Iterator[Block]:
    """A block for each row that says something; the header is not one unless it is all."""
    header = ""
    for row, place in zip(rows, places, strict=True):
        text = _line(row)
        if not text:
            continue
        if has_header and not header:
            header = text
            continue
        yield Block(text, place, is_row=True, header=header)
        has_header = False
    if has_header and header:
        yield Block(header, places[0], is_row=True)


def _line(row: Sequence[str]) -> str:
    cells = [" ".join(cell.split()) for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return CELL_JOIN.join(cells) if any(cells) else ""


def _rows(text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(max(_CELL_CHARS, len(text)))
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def _delimiter(text: str) -> str:
    """The one that cuts most rows into the same number of cells, more than one."""
    head = "\n".join(text.split("\n", _LOOKED_AT)[:_LOOKED_AT])

    def agreement(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _rows(head, delimiter) if row)
        width, times = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        return (times / max(1, widths.total()) if width > 1 else 0.0, width)

    return max(_DELIMITERS, key=agreement)


def names_columns(rows: Sequence[Sequence[str]]) -> bool:
    """The first row names the columns unless it has numbers, like the data below."""
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    if len(filled) < 2:
        return False
    first = [cell.strip() for cell in filled[0] if cell.strip()]
    return not any(_NUMBER.fullmatch(cell) for cell in first)
