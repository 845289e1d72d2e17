"""Excel .xlsx and .xlsm: the rows of each sheet as its reader sees them. Comments are left out."""

from collections.abc import Iterator

from gateway.core.documents import Block
from gateway.extract.archives import Archive
from gateway.extract.packages import Package
from gateway.extract.reading import Document, ReadOptions, bounded, refuse
from gateway.extract.sheets import MAX_CELLS, Notices, sheet_blocks
from gateway.extract.xlsx_cells import Cells, SheetOptions
from gateway.extract.xlsx_parts import SheetPart, Workbook, workbook
from gateway.extract.xlsx_sheet import read_sheet
from gateway.extract.xlsx_strings import shared_strings

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_VALUE_ENDS = (b"</v>", b"</is>", b":v>")
_SPARE_CHARS = 2  # times: blanks and header rows are read too, and the exact count comes later


def read_xlsx(archive: Archive, package: Package, options: ReadOptions) -> Document:
    """The visible cells of the visible sheets. ExtractionError with the code of A9."""
    reading = _Reading(archive, workbook(package), options)
    blocks = bounded(reading.blocks(), options.max_chars)
    return Document(blocks, MEDIA_TYPE, reading.notices.warnings())


class _Reading:
    """One pass over a workbook's sheets."""

    def __init__(self, archive: Archive, book: Workbook, options: ReadOptions) -> None:
        self.notices = Notices()
        self._archive = archive
        self._book = book
        self._options = options
        self._cells = 0

    def blocks(self) -> Iterator[Block]:
        sheets = [sheet for sheet in self._book.sheets if self._is_wanted(sheet)]
        shared = self._archive.find(self._book.strings) if self._book.strings else None
        strings = shared_strings(shared) if shared else []
        for done, sheet in enumerate(sheets):
            self._options.on_progress(done, len(sheets))
            options = SheetOptions(
                strings=strings,
                formats=self._book.formats,
                is_1904=self._book.is_1904,
                include_hidden=self._options.include_hidden,
                max_chars=self._options.max_chars * _SPARE_CHARS,
                max_cells=MAX_CELLS - self._cells,
            )
            yield from self._sheet(sheet, Cells(sheet.name, options))

    def _sheet(self, sheet: SheetPart, cells: Cells) -> Iterator[Block]:
        part = self._archive.find(sheet.part) or b""
        self._check_size(part)
        found = read_sheet(part, cells)
        self._cells += cells.count
        if cells.has_hidden:
            self.notices.hidden.append(sheet.name)
        if cells.has_uncached:
            self.notices.uncached.append(sheet.name)
        return sheet_blocks(found)

    def _is_wanted(self, sheet: SheetPart) -> bool:
        if sheet.is_hidden and not self._options.include_hidden:
            self.notices.hidden.append(sheet.name)
            return False
        return True

    def _check_size(self, data: bytes) -> None:
        """Before the sheet is read, by the ends of values; the reading counts again."""
        values = sum(data.count(end) for end in _VALUE_ENDS)
        if self._cells + values > MAX_CELLS:
            raise refuse("document_limits", "too many cells")
