"""A worksheet part, however it is written, as a stream of elements."""

from gateway.extract.reading import refuse
from gateway.extract.sheets import Sheet
from gateway.extract.sheets_cells import merged_range
from gateway.extract.xlsx_cells import YES, Cells, is_zero
from gateway.extract.xlsx_rows import plain_rows, read_plain_rows
from gateway.extract.xlsx_stream import Attributes, Stream

_DIGITS = "0123456789"
_NOTHING, _VALUE, _FORMULA = range(3)  # what text belongs to


def read_sheet(data: bytes, cells: Cells) -> Sheet:
    """What the sheet shows. ExtractionError: `document_limits`, or what is no sheet.

    Most programs write rows in one plain way, which is read without an event for each element.
    """
    rows = plain_rows(data)
    if rows is None:
        _Elements(cells).read(data)
    else:
        _Elements(cells).read(data[: rows.start] + data[rows.end :])
        for odd in read_plain_rows(data, rows, cells):
            _Elements(cells).read(odd)
    cells.close_row()
    cells.sheet.rows.sort(key=lambda row: row.number)  # as they are, but for broken writers
    return cells.sheet


class _Elements:
    """Tells a Cells what the elements of a sheet say."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._column = -1
        self._type = self._style = self._value = ""
        self._formula: str | None = None
        self._into = _NOTHING
        self._is_rich = False
        self._stream = Stream(
            {
                **dict.fromkeys(("worksheet", "sheetData", "cols", "mergeCells", "is"), _descend),
                "col": self._start_column,
                "row": self._start_row,
                "c": self._start_cell,
                "v": self._start_value,
                "t": self._start_value,
                "f": self._start_formula,
                "r": self._start_run,
                "mergeCell": self._merge,
            },
            self._text,
        )

    def read(self, data: bytes) -> None:
        self._stream.read(data)
        try:
            self._close_cell()
        except ValueError as error:
            raise refuse("extract_crashed", "no such string") from error

    def _start_column(self, attributes: Attributes) -> None:
        if attributes.get("hidden") in YES or is_zero(attributes.get("width")):
            self._cells.hide_columns(int(attributes["min"]), int(attributes["max"]))

    def _start_row(self, attributes: Attributes) -> None:
        self._close_cell()
        number = attributes.get("r")
        is_hidden = attributes.get("hidden") in YES or is_zero(attributes.get("ht"))
        self._cells.start_row(int(number) if number else None, is_hidden=is_hidden)
        self._column = -1
        self._into = _NOTHING

    def _start_cell(self, attributes: Attributes) -> None:
        self._close_cell()
        reference = attributes.get("r")
        if reference is None:
            self._column += 1
        else:
            self._column = self._cells.columns[reference.rstrip(_DIGITS)]
        self._type = attributes.get("t", "")
        self._style = attributes.get("s", "")
        self._into = _NOTHING
        if self._is_rich:
            self._is_rich = False
            self._stream.watch_ends(None)

    def _close_cell(self) -> None:
        if self._value or self._formula is not None:
            value = self._value if self._value.strip() else ""
            self._cells.add(self._column, self._type, self._style, value, self._formula)
            self._value, self._formula = "", None

    def _start_value(self, _attributes: Attributes) -> None:
        self._into = _VALUE

    def _start_formula(self, _attributes: Attributes) -> None:
        self._into = _FORMULA
        self._formula = ""

    def _start_run(self, _attributes: Attributes) -> None:
        self._is_rich = True  # blanks between the runs' elements are no text
        self._stream.watch_ends(self._end_run)

    def _end_run(self, _name: str) -> None:
        self._into = _NOTHING

    def _text(self, text: str) -> None:
        if self._into == _VALUE:
            self._value += text
        elif self._into == _FORMULA and self._formula is not None:
            self._formula += text

    def _merge(self, attributes: Attributes) -> None:
        self._close_cell()
        found = merged_range(attributes.get("ref", ""))
        if found:
            self._cells.sheet.merged.append(found)


def _descend(_attributes: Attributes) -> None:
    """Nothing to note, but what stands within counts."""
