"""The grid of a Word table: merged cells once, with empty ones in their place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.docx_styles import W, is_on, settings_of
from gateway.extract.docx_text import within
from gateway.extract.tables import row_blocks
from gateway.extract.xml import child, leading, number

MAX_SPAN = 64  # columns that one merged cell may claim
Settings = Mapping[str, str | None]
_ROW_PROPERTIES, _CELL_PROPERTIES, _DELETED = f"{W}trPr", f"{W}tcPr", f"{W}del"
_DELETED_CELL, _SPAN, _BEFORE = f"{W}cellDel", f"{W}gridSpan", f"{W}gridBefore"
_DOWN, _ACROSS = f"{W}vMerge", f"{W}hMerge"
_CONTINUE = (None, "continue")
_ROWS, _CELLS = frozenset({f"{W}tr"}), frozenset({f"{W}tc"})


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row; None where a cell only continues another one."""

    cells: tuple[Any | None, ...]
    is_header: bool = False

    @property
    def filled(self) -> list[Any]:
        return [cell for cell in self.cells if cell is not None]


def rows_of(table: Any) -> list[Row]:
    """The rows of the accepted document."""
    return [
        _row(row)
        for row in within(table, _ROWS)
        if child(child(row, _ROW_PROPERTIES), _DELETED) is None
    ]


def is_frame(rows: Sequence[Row]) -> bool:
    """Drawn to put text side by side or into a frame; there is nothing to name columns."""
    return len(rows) <= 1 or max(len(row.filled) for row in rows) <= 1


def table_blocks(rows: Sequence[Row], texts: Sequence[Sequence[str]]) -> Iterator[Block]:
    """Rows with their header; a title above the header is text of its own."""
    here = Locator()
    at = 0
    while len(rows) - at > 2 and _is_title(rows[at]):
        yield Block(" ".join(texts[at]).strip(), here)
        at += 1
    heads = 1
    while at + heads < len(rows) - 1 and all(row.is_header for row in rows[at : at + heads + 1]):
        heads += 1
    header = _together(texts[at : at + heads])
    kept = [header, *texts[at + heads :]]
    yield from row_blocks(kept, [here] * len(kept), has_header=True)


def _row(row: Any) -> Row:
    properties = child(row, _ROW_PROPERTIES)
    cells: list[Any | None] = [None] * _span(settings_of(properties), _BEFORE, 0)
    for cell in within(row, _CELLS):
        own = settings_of(leading(cell, _CELL_PROPERTIES))
        if _DELETED_CELL in own:
            continue
        cells.append(None if _continues(own) else cell)
        if _SPAN in own:
            cells += [None] * (_span(own, _SPAN, 1) - 1)
    return Row(tuple(cells), bool(properties is not None and is_on(properties, "tblHeader")))


def _continues(settings: Settings) -> bool:
    """Part of a merged cell whose text stands in its first one, above or to the left."""
    down, across = settings.get(_DOWN, "restart"), settings.get(_ACROSS, "restart")
    return down in _CONTINUE or across in _CONTINUE


def _span(settings: Settings, name: str, default: int) -> int:
    value = number(settings.get(name))
    return default if value is None else min(max(value, default), MAX_SPAN)


def _is_title(row: Row) -> bool:
    return len(row.filled) == 1 and len(row.cells) > 1 and row.cells[0] is not None


def _together(texts: Sequence[Sequence[str]]) -> list[str]:
    """Several header rows as one, column by column."""
    width = max(len(row) for row in texts)
    padded = [[*row, *[""] * (width - len(row))] for row in texts]
    return [" ".join(cell for cell in column if cell) for column in zip(*padded, strict=True)]
