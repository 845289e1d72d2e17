"""Tables with rules: the text of each cell, a line of the page for each row, the header row."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from gateway.extract.pdf_joins import joined
from gateway.extract.pdf_layout import Line, Row, Table, bands
from gateway.extract.pdf_rules import Box, Grid, grids
from gateway.extract.tables import CELL_JOIN

FILLED = 0.3  # of the cells of a table have text; fewer are a chart
FRAME_SHARE = 0.6  # of all letters in one cell: a frame around the page
FRAME_CHARS = 400
ACROSS = 1.0  # points by which a line may leave its cell
MOST_HEADERS = 4  # rows
_YEAR = re.compile(r"\s*(?:19|20)\d\d\s*")
_NUMBER = re.compile(r"[\s\d.,%$€¥￥+\-/:()]*\d[\s\d.,%$€¥￥+\-/:()]*")

Split = Callable[[Grid], Sequence[Line]]  # the lines within a grid, cut at its columns
Place = tuple[int, int]


def with_tables(
    lines: tuple[Line, ...], rules: Iterable[tuple[Box, bool]], split: Split
) -> tuple[Line, ...]:
    """Lines within a table give way to one line for each of its rows."""
    rest = lines
    rows: list[Line] = []
    for grid in grids(rules):
        inside = [line for line in rest if _is_inside(line, grid.box)]
        if not inside:
            continue
        pieces = split(grid) if any(_is_across(line, grid) for line in inside) else inside
        cells = _cells(pieces, grid)
        if _is_table(cells, grid, sum(len(line.text) for line in lines)):
            rows += _rows(cells, grid)
            rest = tuple(line for line in rest if not _is_inside(line, grid.box))
    return (*rest, *rows) if rows else lines


def _is_inside(line: Line, box: Box) -> bool:
    middle = (line.x0 + line.x1) / 2
    return box[0] <= middle <= box[2] and box[1] <= line.middle <= box[3]


def _is_across(line: Line, grid: Grid) -> bool:
    """Two cells in one line of the library."""
    first = grid.cell(line.x0 + ACROSS, line.middle)
    return first != grid.cell(max(line.x0, line.x1 - ACROSS), line.middle)


def _cells(pieces: Sequence[Line], grid: Grid) -> dict[Place, list[Line]]:
    found: defaultdict[Place, list[Line]] = defaultdict(list)
    for piece in pieces:
        if piece.text.strip():
            found[grid.cell((piece.x0 + piece.x1) / 2, piece.middle)].append(piece)
    return found


def _is_table(cells: dict[Place, list[Line]], grid: Grid, page_chars: int) -> bool:
    rows, columns = {row for row, _ in cells}, {column for _, column in cells}
    places = {place for row in grid.owner for place in row}
    most = max((sum(len(line.text) for line in found) for found in cells.values()), default=0)
    return (
        len(rows) > 1
        and len(columns) > 1
        and len(cells) >= FILLED * len(places)
        and (most < FRAME_CHARS or most < FRAME_SHARE * page_chars)
    )


def _rows(cells: dict[Place, list[Line]], grid: Grid) -> Iterator[Line]:
    texts = {place: _text(found) for place, found in cells.items()}
    table = Table(grid.xs, titles(grid.owner), _header_rows(texts, grid))
    size = median(line.size for found in cells.values() for line in found)
    for n, owners in enumerate(grid.owner):
        own = tuple(
            texts.get(place, "") if place == (n, column) else ""
            for column, place in enumerate(owners)
        )
        if not any(own):
            continue
        spread = tuple(texts.get(place, "") for place in owners)
        text = CELL_JOIN.join(cell for cell in own if cell)
        box = grid.xs[0], grid.ys[n], grid.xs[-1], grid.ys[n + 1]
        yield Line(text, *box, size, is_row=True, row=Row(table, n, own, spread))


def _text(pieces: Sequence[Line]) -> str:
    return joined(piece.text for band in bands(pieces) for piece in band).strip()


def _header_rows(texts: dict[Place, str], grid: Grid) -> int:
    """How many rows name the columns, those with a title over the whole width not counted."""
    owners = grid.owner[titles(grid.owner) :]
    if len(owners) < 2 or any(_is_number(texts.get(place, "")) for place in owners[0]):
        return 0
    top = grid.owner.index(owners[0])
    spans_columns = len(set(owners[0])) < len(owners[0])
    is_deep = any(row == top for row, _ in owners[1])
    if not spans_columns:
        return 0 if is_deep else 1  # a deep cell without a wide one begins the data
    if not is_deep:
        return 1 if any(_is_number(texts.get(place, "")) for place in owners[1]) else 2
    depth = 1
    while depth < len(owners) and any(row < top + depth for row, _ in owners[depth]):
        depth += 1
    return depth if depth < min(len(owners), MOST_HEADERS) else 0


def titles(owner: Sequence[Sequence[Place]]) -> int:
    """Rows at the top that are one cell."""
    return next((n for n, places in enumerate(owner) if len(set(places)) > 1), len(owner))


def _is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) and not _YEAR.fullmatch(text)


def header_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The names of the columns; a name above several columns stands before each of theirs."""
    if len(rows) == 1:
        return rows[0].cells
    columns = zip(*(row.spread for row in rows), strict=True)
    return tuple(" ".join(dict.fromkeys(name for name in names if name)) for names in columns)
