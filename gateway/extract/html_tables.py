"""Tables of a page: rows with their header; tables that only lay text out are none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from gateway.core.documents import Block
from gateway.extract.html_flow import HERE, Flow
from gateway.extract.tables import CELL_JOIN, names_columns, row_blocks

MAX_SPAN = 64  # columns that one cell may claim
MAX_ROW_SPAN = 65_534
MAX_SPANNING = 256  # columns whose cells may reach down
MAX_FILL = 1_000_000  # empty places, in all of a table
MAX_HEADER_ROWS = 4
LONG = 600  # characters: more than a passage is no cell
NESTED_JOIN = " / "


@dataclass(slots=True)
class Cell:
    """One cell with its blocks."""

    flow: Flow = field(default_factory=Flow)
    is_head: bool = False
    columns: int = 1
    rows: int = 1

    def text(self) -> str:
        """All in one; the rows of a table inside keep their cells apart."""
        lines: list[str] = []
        header = ""
        for block in self.flow.blocks:
            if block.is_row and block.header and block.header != header:
                header = block.header
                lines.append(header.replace(CELL_JOIN, NESTED_JOIN))
            lines.append(block.text.replace(CELL_JOIN, NESTED_JOIN) if block.is_row else block.text)
        return "\n".join(lines)


@dataclass(slots=True)
class _Row:
    """The cells between <tr> and </tr>."""

    is_head: bool
    cells: list[Cell] = field(default_factory=list)

    def names_columns(self) -> bool:
        filled = [cell for cell in self.cells if cell.flow.blocks]
        return len(filled) > 1 and (self.is_head or all(cell.is_head for cell in filled))


@dataclass(slots=True)
class Grid:
    """The rows of one table while it is read."""

    is_layout: bool = False  # by what its author says
    in_head: bool = False
    _rows: list[_Row] = field(default_factory=list)

    def add_row(self) -> None:
        """A row begins."""
        self._rows.append(_Row(self.in_head))

    def add_cell(self, cell: Cell) -> None:
        """A cell of the row that is open."""
        if not self._rows:
            self.add_row()
        self._rows[-1].cells.append(cell)

    def blocks(self) -> Iterator[Block]:
        """Rows that carry the header, or the text of the cells one after the other."""
        rows = [row for row in self._rows if any(cell.flow.blocks for cell in row.cells)]
        if self.is_layout or not _is_data(rows):
            for row in rows:
                for cell in row.cells:
                    yield from cell.flow.blocks
            return
        while rows and _is_title(rows[0]):
            yield from (Block(cell.text(), HERE) for cell in rows.pop(0).cells if cell.flow.blocks)
        yield from _data(rows)


def _is_data(rows: Sequence[_Row]) -> bool:
    if len(rows) < 2 or max(len(row.cells) for row in rows) < 2:
        return False
    cells = [cell for row in rows for cell in row.cells]
    return any(cell.is_head for cell in cells) or not any(_is_long(cell) for cell in cells)


def _is_long(cell: Cell) -> bool:
    blocks = cell.flow.blocks
    if any(block.heading_level for block in blocks):
        return True
    return sum(len(block.text) for block in blocks) > LONG


def _is_title(row: _Row) -> bool:
    """One head cell over the whole width."""
    filled = [cell for cell in row.cells if cell.flow.blocks]
    return len(filled) == 1 and filled[0].is_head and filled[0].columns > 1


def _data(rows: Sequence[_Row]) -> Iterator[Block]:
    heads = 0
    while heads < min(len(rows) - 1, MAX_HEADER_ROWS) and rows[heads].names_columns():
        heads += 1
    lines = list(_placed(rows, is_repeated=False))
    if heads > 1:
        lines[:heads] = [_combined(list(_placed(rows[:heads], is_repeated=True)))]
    has_heads = any(cell.is_head for row in rows for cell in row.cells)
    has_header = heads > 0 or (not has_heads and names_columns(lines))
    yield from row_blocks(lines, [HERE] * len(lines), has_header=has_header)


def _combined(lines: Sequence[Sequence[str]]) -> list[str]:
    """Several header rows as one: what stands over a column, from the top down."""
    return [" ".join(dict.fromkeys(texts)) for texts in zip_longest(*lines, fillvalue="")]


def _placed(rows: Sequence[_Row], *, is_repeated: bool) -> Iterator[list[str]]:
    """Texts at their columns; a merged cell has its text once, or in each of its places."""
    reaching: dict[int, tuple[int, str]] = {}  # column → (rows to come, text)
    fill = MAX_FILL
    for row in rows:
        line: list[str] = []
        for cell in row.cells:
            while len(line) in reaching and fill > 0:
                line.append(reaching[len(line)][1])
                fill -= 1
            text = cell.text()
            again = text if is_repeated else ""
            first = len(line)
            line += [text, *[again] * (cell.columns - 1)]
            if cell.rows > 1 and first < MAX_SPANNING:
                spanned = (cell.rows, again)
                reaching.update(dict.fromkeys(range(first, len(line)), spanned))
        if is_repeated:
            line += [text for column, (_, text) in sorted(reaching.items()) if column >= len(line)]
        reaching = {at: (left - 1, text) for at, (left, text) in reaching.items() if left > 1}
        yield line
