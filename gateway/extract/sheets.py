"""What the readers of old and new workbooks share: tables, their header rows, merged cells."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from gateway.core.documents import Block, SourceWarning
from gateway.core.passages import Locator
from gateway.extract.reading import refuse
from gateway.extract.tables import CELL_JOIN, row_blocks

MAX_CELLS = 2_000_000  # with something in them (FEATURES A10)
MAX_MERGE_STEPS = 1_000_000
_DENSE_COLUMNS = 256  # a wider table has gaps, not columns
_BATCH_ROWS = 500
_LOOKED_AT = 20  # rows of a table, to find its header row
_TITLE_ROWS = 10  # more than these stand above no header
_HEADER_SHARE = 0.6  # of the widest row's cells; titles and dates above a table have fewer
_NUMBER_CHARS = 60
_NUMBER = re.compile(r"[\s\d.,%$€¥￥+\-/:()]*\d[\s\d.,%$€¥￥+\-/:()]*")
_TIME = re.compile(r"(?:(?:19|20)\d\d|民國\d{2,3})(?:[年/.\-]\d{0,2}(?:[月/.\-](?:\d\d?日?)?)?)?")


@dataclass(slots=True)
class SheetRow:
    """A row that shows something: column (from 0) to text."""

    number: int  # as Excel shows it
    cells: dict[int, str]
    numbers: int  # how many of the cells are numbers or dates
    after: int  # the last row above it with anything in it, hidden or not; 0 is none


@dataclass(slots=True)
class Sheet:
    """One sheet as its reader sees it; merged ranges are (row, column, row, column)."""

    name: str
    rows: list[SheetRow] = field(default_factory=list)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Notices:
    """Which sheets the uploader should know something about."""

    hidden: list[str] = field(default_factory=list)
    uncached: list[str] = field(default_factory=list)

    def warnings(self) -> tuple[SourceWarning, ...]:
        named = (("hidden_content_skipped", self.hidden), ("uncached_formula", self.uncached))
        return tuple(SourceWarning(code, (), ", ".join(names)) for code, names in named if names)


def sheet_blocks(sheet: Sheet) -> Iterator[Block]:
    """A block for each row, those of a table with its header row."""
    _clear_merged(sheet)
    header: SheetRow | None = None
    for region in _with_apart_headers(_regions(sheet.rows)):
        at = _header_at(region, is_first=header is None)
        titles = region[: at or 0]
        if at is not None:
            header = region[at]
        yield from _row_blocks(sheet.name, titles, None)
        yield from _row_blocks(sheet.name, region if at is None else region[at + 1 :], header)
        if at is not None and at + 1 == len(region):
            yield from _row_blocks(sheet.name, region[at:], None)


def _regions(rows: Sequence[SheetRow]) -> Iterator[list[SheetRow]]:
    """The rows between blank ones; a hidden row is not blank."""
    region: list[SheetRow] = []
    for row in rows:
        if not row.cells:
            continue
        if region and row.number - row.after > 1:
            yield region
            region = []
        region.append(row)
    if region:
        yield region


def _with_apart_headers(regions: Iterable[list[SheetRow]]) -> Iterator[list[SheetRow]]:
    """A row alone that names the columns of the numbers below the gap belongs to them."""
    alone: list[SheetRow] = []
    for region in regions:
        if alone:
            below = region[:_LOOKED_AT]
            is_theirs = any(row.numbers for row in below) and all(
                row.cells.keys() <= alone[0].cells.keys() for row in below
            )
            if is_theirs:
                region[:0] = alone
            else:
                yield alone
            alone = []
        if len(region) == 1 and len(region[0].cells) > 1 and not region[0].numbers:
            alone = region
        else:
            yield region
    if alone:
        yield alone


# ---------------------------------------------------------------- the header row


def _header_at(region: Sequence[SheetRow], *, is_first: bool) -> int | None:
    """Where the header row stands: below title rows, which are narrower than the table."""
    head = region[:_LOOKED_AT]
    widest = max(len(row.cells) for row in head)
    if widest < 2:
        return None
    enough = max(2, widest * _HEADER_SHARE)
    at = next((i for i, row in enumerate(head) if len(row.cells) >= enough), len(head))
    if at >= min(len(region) - 1, _TITLE_ROWS):
        return None
    below = region[at + 1 : at + _LOOKED_AT]
    has_numbers_below = any(row.numbers for row in below)
    is_header = _names_columns(region[at], below) and (is_first or has_numbers_below)
    return at if is_header else None


def _names_columns(row: SheetRow, below: Sequence[SheetRow]) -> bool:
    """No numbers, like the data below has them; years and months may name columns too."""
    times = {column for column, text in row.cells.items() if _TIME.fullmatch(text.strip())}
    others = [text for column, text in row.cells.items() if column not in times]
    if not others or row.numbers > len(times):
        return False
    if any(_NUMBER.fullmatch(text.strip()) for text in others if len(text) <= _NUMBER_CHARS):
        return False
    shown = (row.cells.get(column, "").strip() for row in below for column in times)
    return not times or not any(_TIME.fullmatch(text) for text in shown)


# ---------------------------------------------------------------- rows


def _row_blocks(sheet: str, rows: Sequence[SheetRow], header: SheetRow | None) -> Iterator[Block]:
    columns = sorted(set().union(*(row.cells for row in rows), header.cells if header else ()))
    names = [header] if header else []
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH_ROWS)):
        batch = names + batch
        places = [Locator(sheet=sheet, row=row.number, row_end=row.number) for row in batch]
        yield from row_blocks(_dense(batch, columns), places, has_header=header is not None)


def _dense(rows: Sequence[SheetRow], columns: list[int]) -> Iterator[list[str]]:
    """The cells under each other, without the columns that are empty everywhere."""
    for row in rows:
        if list(row.cells) == columns:
            yield [CELL_JOIN.join(row.cells.values())]  # nothing is empty: the same line
        elif len(columns) <= _DENSE_COLUMNS:
            yield [row.cells.get(column, "") for column in columns]
        else:
            yield list(_compact(row.cells))


def _compact(cells: dict[int, str]) -> Iterator[str]:
    """One empty cell for each gap, however wide."""
    last = -1
    for column in sorted(cells):
        if column > last + 1:
            yield ""
        yield cells[column]
        last = column


# ---------------------------------------------------------------- merged cells


def _clear_merged(sheet: Sheet) -> None:
    """A merged cell shows what stands in its upper left one; the others may hold old values."""
    numbers = [row.number for row in sheet.rows]
    steps = 0
    for top, left, bottom, right in sheet.merged:
        start, end = bisect_left(numbers, top), bisect_right(numbers, bottom)
        for row in sheet.rows[start:end]:
            covered = [
                column
                for column in row.cells
                if left <= column <= right and (row.number, column) != (top, left)
            ]
            steps += 1 + len(row.cells)
            for column in covered:
                del row.cells[column]
        if steps > MAX_MERGE_STEPS:
            raise refuse("document_limits", "merged cells over each other")
