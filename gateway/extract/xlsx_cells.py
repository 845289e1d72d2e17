"""Cells as they are written become what Excel shows, row by row."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway.extract.number_formats import NumberFormat
from gateway.extract.number_formats_digits import general
from gateway.extract.reading import refuse
from gateway.extract.sheets import MAX_CELLS, Sheet, SheetRow
from gateway.extract.sheets_cells import column_of, serial_of
from gateway.extract.xlsx_strings import unescaped, unescaped_marks

LAST_ROW = 1_048_576
LAST_COLUMN = 16_384
YES = frozenset({"1", "true", "on"})
_GENERAL_CHARS = 11
_CACHED = 20_000  # shown numbers remembered for each format
_STYLE = "0"  # of a cell that names none
# what General shows as it is written, if there is room
_SHORT = re.compile(r"-?(?:[1-9]\d*|0(?=\.))(?:\.\d*[1-9])?|0").fullmatch
_ATTRIBUTE = re.compile(r' (r|hidden|ht)="([^"]*)"')
TEXTS = frozenset({"s", "str", "inlineStr"})
_INLINE = frozenset({"str", "inlineStr"})
_NUMBERS = frozenset({"", "n"})
Show = Callable[[str, str], str]  # (value as written, style) -> what is shown
FORMULA = "="  # stands for the type of a cell that has no value yet
Fill = Callable[..., None]
Token = tuple[str, str, str, str, str, str, str]


class _Columns(dict[str, int]):
    """Letters to column from 0. ValueError: there is no such column."""

    def __missing__(self, letters: str) -> int:
        self[letters] = column = column_of(letters, LAST_COLUMN)
        return column


@dataclass(frozen=True, slots=True)
class SheetOptions:
    """What a sheet's cells refer to, and how much of it is wanted."""

    strings: Sequence[str]
    formats: Mapping[str, NumberFormat]  # by the style's number as written; others are General
    is_1904: bool
    include_hidden: bool
    max_chars: int  # of all cells; whoever joins them counts exactly
    max_cells: int = MAX_CELLS


class Cells:
    """Takes rows and cells in the order of the file and fills a Sheet."""

    def __init__(self, name: str, options: SheetOptions) -> None:
        self.sheet = Sheet(name)
        self.count = 0  # of cells with something in them, hidden ones too
        self.has_hidden = False
        self.has_uncached = False
        self._options = options
        self._strings = options.strings
        self._formats = options.formats
        self._texts = {key for key, style in options.formats.items() if style.text is not None}
        self._shown: dict[str, dict[str, str]] = {}
        self.columns = _Columns()
        self._hidden_columns: set[int] = set()
        self._shows = _Shows(
            {
                "": self._number,
                "n": self._number,
                "s": self._shared,
                "str": self._inline,
                "inlineStr": self._inline,
                "d": self._date,
                "b": _boolean,
                FORMULA: lambda formula, _style: self._uncached(formula),
            }
        )
        self._chars = 0
        self._row = self._filled = 0
        self._row_cells: dict[int, str] = {}
        self._numbers = 0
        self._is_filled = self._is_hidden = False

    def hide_columns(self, first: int, last: int) -> None:
        """Columns from 1."""
        if not self._options.include_hidden:
            self._hidden_columns.update(range(max(1, first) - 1, min(last, LAST_COLUMN)))

    def start_row(self, number: int | None, *, is_hidden: bool) -> None:
        """`number` as Excel shows it; None is the next one."""
        self.close_row()
        self._row = self._row + 1 if number is None else number
        if not 1 <= self._row <= LAST_ROW:
            raise refuse("extract_crashed", "no such row")
        self._is_hidden = is_hidden and not self._options.include_hidden

    def close_row(self) -> None:
        cells = self._row_cells
        if not cells and not self._is_filled:
            return
        if cells:
            self.sheet.rows.append(SheetRow(self._row, cells, self._numbers, self._filled))
            self.count += len(cells)
            self._chars += sum(map(len, cells.values()))
            self._row_cells = {}
        self._filled = self._row
        self._numbers = 0
        self._is_filled = False
        if self.count > self._options.max_cells:
            raise refuse("document_limits", "too many cells")
        if self._chars > self._options.max_chars:
            raise refuse("too_many_chars", "in one sheet")

    def add_plain(self, tokens: Iterable[Token]) -> None:
        """Rows and cells: letters, style, type, formula, value, inline text, row's attributes."""
        cells, is_seen = self._row_cells, False  # no row, no cell
        columns, shows = self.columns, self._shows
        for letters, style, kind, formula, value, text, row in tokens:
            if not letters:
                self._start_written_row(row)
                cells = self._row_cells
                is_seen = not self._is_hidden and not self._hidden_columns
            elif value or text:
                raw = value or text
                if "&" in raw:
                    raw = unescaped_marks(raw)
                shown = shows[kind](raw, style or _STYLE)
                if shown and is_seen:
                    cells[columns[letters]] = shown
                elif shown:
                    self._put(columns[letters], shown)
            elif formula:
                inner = formula[formula.index(">") + 1 :].removesuffix("</f>")
                self.add(columns[letters], kind, style, "", unescaped_marks(inner))

    def filling(self, letters: Sequence[str], kinds: Sequence[str], styles: Sequence[str]) -> Fill:
        """A function for rows of just these cells: number, other attributes, values.

        It changes the list of values. With `is_literal` texts stand there as they are shown.
        """
        columns = [self.columns[each] for each in letters]
        shows = [
            (at, self._general if self._is_general(kind, style) else self._shows[kind], style)
            for at, (kind, style) in enumerate(zip(kinds, styles, strict=True))
        ]
        others = [show for show in shows if kinds[show[0]] not in _INLINE or show[2] in self._texts]
        numbers = sum(self._is_general(*each) for each in zip(kinds, styles, strict=True))
        is_apart = not self._hidden_columns.isdisjoint(columns)

        def fill(number: str, rest: str, values: list[str], *, is_literal: bool) -> None:
            if "h" in rest:
                self._start_written_row(f' r="{number}"{rest}')
            else:
                self.start_row(int(number), is_hidden=False)
            for at, show, style in others if is_literal else shows:
                values[at] = show(values[at], style)
            self._numbers += numbers
            if is_apart or self._is_hidden or "" in values:
                self._put_all(columns, values)
            else:
                self._row_cells = dict(zip(columns, values, strict=True))

        return fill

    def _is_general(self, kind: str, style: str) -> bool:
        return kind in _NUMBERS and style not in self._formats

    def _put_all(self, columns: Iterable[int], shown: Iterable[str]) -> None:
        for column, text in zip(columns, shown, strict=True):
            if text:
                self._put(column, text)

    def _start_written_row(self, written: str) -> None:
        attributes = dict(_ATTRIBUTE.findall(written))
        number = attributes.get("r")
        is_hidden = attributes.get("hidden") in YES or is_zero(attributes.get("ht"))
        self.start_row(int(number) if number else None, is_hidden=is_hidden)

    def add(self, column: int, kind: str, style: str, value: str, formula: str | None) -> None:
        """A cell with its type, style, value and formula; "" where there is none."""
        if value:
            shown = self._shows[kind](value, style or _STYLE)
        else:
            shown = "" if formula is None or kind in TEXTS else self._uncached(formula)
        if shown:
            self._put(column, shown)

    def _put(self, column: int, shown: str) -> None:
        self._is_filled = True
        if self._is_hidden or column in self._hidden_columns:
            self.has_hidden = True
            self.count += 1
        else:
            self._row_cells[column] = shown

    # ------------------------------------------------------------ what a value shows, by type

    def _shared(self, value: str, style: str) -> str:
        index = int(value)
        text = self._strings[index] if 0 <= index < len(self._strings) else ""
        return self._as_text(text, style) if style in self._texts else text

    def _inline(self, text: str, style: str) -> str:
        if "_x" in text:
            text = unescaped(text)
        if style in self._texts:
            return self._as_text(text, style)
        return "" if text.isspace() else text

    def _number(self, raw: str, style: str) -> str:
        self._numbers += 1
        found = self._formats.get(style)
        if found is None:
            return self._general(raw, style)
        cache = self._shown.get(style)
        if cache is None:
            cache = self._shown[style] = {}
        shown = cache.get(raw)
        if shown is None:
            shown = self._formatted(raw, found)
            if len(cache) < _CACHED:
                cache[raw] = shown
        return shown

    def _general(self, raw: str, _style: str) -> str:
        if len(raw) <= _GENERAL_CHARS and (
            (raw.isdecimal() and raw[0] != "0") or _SHORT(raw)  # the first saves half the time
        ):
            return raw
        try:
            return general(float(raw))
        except ValueError:
            return raw.strip()

    def _formatted(self, raw: str, found: NumberFormat) -> str:
        try:
            value = float(raw)
        except ValueError:
            return raw.strip()
        return self._invisible(general(value)) if found.is_invisible else found.number(value)

    def _date(self, value: str, style: str) -> str:
        serial = serial_of(value.strip(), is_1904=self._options.is_1904)
        if serial is None or style not in self._formats:
            return value
        return self._number(repr(serial), style)

    def _as_text(self, text: str, style: str) -> str:
        found = self._formats[style]
        if not text or text.isspace():
            return ""
        if found.is_invisible:
            return self._invisible(text)
        return found.text(text) if found.text else text

    def _invisible(self, text: str) -> str:
        """What the format `;;;` hides is hidden like a row."""
        if self._options.include_hidden:
            return text
        self.has_hidden = True
        return ""

    def _uncached(self, formula: str) -> str:
        """The formula where no program has calculated it yet."""
        self.has_uncached = True
        formula = formula.strip()
        for prefix in ("_xlfn.", "_xlws.", "_xlpm."):
            formula = formula.replace(prefix, "")
        return f"={unescaped(formula) or '…'}"


class _Shows(dict[str, Show]):
    """By the type; of one that is not known, the value as it is written."""

    def __missing__(self, kind: str) -> Show:
        self[kind] = _as_written
        return _as_written


def _boolean(value: str, _style: str) -> str:
    value = value.strip()
    return "TRUE" if value in YES else "FALSE" if value else ""


def _as_written(value: str, _style: str) -> str:
    return value.strip()  # an error, which is shown so


def is_zero(size: str | None) -> bool:
    """Rows and columns of no size, which Excel hides as well."""
    return size is not None and size.strip("0.") == "" and "0" in size
