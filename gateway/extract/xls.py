"""Old Excel .xls (BIFF): the rows of each sheet as its reader sees them, by xlrd."""

import struct
from collections.abc import Iterator
from typing import Any

import xlrd
from xlrd.biffh import error_text_from_code

from gateway.core.documents import Block
from gateway.extract.number_formats import NumberFormat, number_format
from gateway.extract.number_formats_builtin import builtin_code, region_of
from gateway.extract.reading import Document, ReadOptions, bounded, refuse
from gateway.extract.sheets import MAX_CELLS, Notices, Sheet, SheetRow, sheet_blocks
from gateway.extract.xls_container import workbook_stream

MEDIA_TYPE = "application/vnd.ms-excel"
# what the library meets broken files with
_BROKEN = (
    xlrd.XLRDError, struct.error, ArithmeticError, AssertionError, AttributeError,
    EOFError, LookupError, NotImplementedError, TypeError, ValueError,
)  # fmt: skip
# the encodings that a file may name
CODECS = (
    "utf_16_le", "latin_1", "iso-8859-1", "cp437", "cp720", "cp737", "cp775", "cp850", "cp852",
    "cp855", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp864", "cp865", "cp866",
    "cp869", "cp874", "cp932", "cp936", "cp949", "cp950", "cp1250", "cp1251", "cp1252", "cp1253",
    "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "johab", "mac_roman", "mac_greek",
    "mac_cyrillic", "mac_latin2", "mac_iceland", "mac_turkish",
)  # fmt: skip
_COUNTRIES = {
    81: "ja",
    82: "ko",
    86: "zh-CN",
    852: "zh-TW",
    886: "zh-TW",
}  # by their dialling codes
_OF_THE_REGION = frozenset({14, 22, *range(27, 37), *range(50, 59)})  # formats without an own code


def read_xls(data: bytes, options: ReadOptions) -> Document:
    """The visible cells of the visible sheets. ExtractionError with the code of A9."""
    stream = workbook_stream(data)
    try:
        book = xlrd.open_workbook(
            file_contents=stream,
            logfile=_Silence(),
            use_mmap=False,
            formatting_info=True,  # without it no row is known to be hidden
            on_demand=True,
            ragged_rows=True,
        )
        reading = _Reading(book, options)
        blocks = bounded(reading.blocks(), options.max_chars)
    except _BROKEN as error:
        is_locked = isinstance(error, xlrd.XLRDError) and "encrypted" in str(error)
        raise refuse("encrypted" if is_locked else "extract_crashed") from error
    return Document(blocks, MEDIA_TYPE, reading.notices.warnings())


class _Silence:
    """Takes what the library would print."""

    def write(self, _text: str) -> None:
        return None


class _Reading:
    """One pass over a workbook's sheets."""

    def __init__(self, book: Any, options: ReadOptions) -> None:
        self.notices = Notices()
        self._book = book
        self._options = options
        self._cells = 0
        self._has_hidden = False
        fonts = ((font.name, font.character_set) for font in book.font_list)
        country = next((_COUNTRIES[code] for code in book.countries if code in _COUNTRIES), "")
        self._region = country or region_of(fonts, book.sheet_names())
        self._formats: dict[int, NumberFormat] = {}

    def blocks(self) -> Iterator[Block]:
        for number in range(self._book.nsheets):
            self._options.on_progress(number, self._book.nsheets)
            sheet = self._book.sheet_by_index(number)
            self._has_hidden = sheet.visibility > 0 and not self._options.include_hidden
            if not self._has_hidden:
                yield from sheet_blocks(self._sheet(sheet))
            if self._has_hidden:
                self.notices.hidden.append(sheet.name)
            self._book.unload_sheet(number)

    def _sheet(self, sheet: Any) -> Sheet:
        merged = [(top + 1, left, end, right - 1) for top, end, left, right in sheet.merged_cells]
        found = Sheet(sheet.name, merged=merged)
        hidden = {at for at, column in sheet.colinfo_map.items() if column.hidden}
        if self._options.include_hidden:
            hidden = set()
        filled = 0
        for at in range(sheet.nrows):
            cells, numbers = self._row(sheet, at)
            if not cells:
                continue
            info = sheet.rowinfo_map.get(at)
            is_hidden = info is not None and info.hidden and not self._options.include_hidden
            seen = {} if is_hidden else {at: cells[at] for at in cells if at not in hidden}
            self._has_hidden = self._has_hidden or len(seen) < len(cells)
            if seen:
                found.rows.append(SheetRow(at + 1, seen, numbers, filled))
            filled = at + 1
        return found

    def _row(self, sheet: Any, at: int) -> tuple[dict[int, str], int]:
        """(column -> what is shown, how many of them are numbers)."""
        cells: dict[int, str] = {}
        numbers = 0
        kinds = sheet.row_types(at)
        for column, (kind, value) in enumerate(zip(kinds, sheet.row_values(at), strict=True)):
            if kind in {xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK}:
                continue
            shown = self._shown(kind, value, self._format(sheet.cell_xf_index(at, column)))
            if shown and not shown.isspace():
                cells[column] = shown
                numbers += kind in {xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE}
        self._cells += len(cells)
        if self._cells > MAX_CELLS:
            raise refuse("document_limits", "too many cells")
        return cells, numbers

    def _shown(self, kind: int, value: Any, form: NumberFormat) -> str:
        if form.is_invisible and not self._options.include_hidden:
            self._has_hidden = self._has_hidden or bool(value)
            return ""
        if kind == xlrd.XL_CELL_TEXT:
            return form.text(value) if form.text and not form.is_invisible else str(value)
        if kind == xlrd.XL_CELL_BOOLEAN:
            return "TRUE" if value else "FALSE"
        if kind == xlrd.XL_CELL_ERROR:
            return str(error_text_from_code.get(value, "#N/A"))
        return (_GENERAL if form.is_invisible else form).number(float(value))

    def _format(self, style: int) -> NumberFormat:
        key = self._book.xf_list[style].format_key if style < len(self._book.xf_list) else 0
        if key not in self._formats:
            own = self._book.format_map.get(key)
            code = "" if own is None else own.format_str
            if key in _OF_THE_REGION or not code:
                code = builtin_code(key, self._region)
            is_1904 = self._book.datemode == 1
            self._formats[key] = number_format(code, is_1904=is_1904, region=self._region)
        return self._formats[key]


_GENERAL = number_format("General")
