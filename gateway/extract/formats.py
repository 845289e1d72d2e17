"""The one door to every reader: what a file is decides who reads it."""

from gateway.extract.archives import Archive
from gateway.extract.docx import read_docx
from gateway.extract.html import read_web_page
from gateway.extract.kinds import Kind, kind_of
from gateway.extract.markdown import read_markdown
from gateway.extract.packages import Package
from gateway.extract.pdf import read_pdf
from gateway.extract.pptx import read_pptx
from gateway.extract.reading import Document, Reader, ReadOptions, refuse
from gateway.extract.rtf import read_rtf
from gateway.extract.tables import read_table
from gateway.extract.text import read_text
from gateway.extract.xls import read_xls
from gateway.extract.xlsx import read_xlsx

_READERS: dict[Kind, Reader] = {
    Kind.PDF: read_pdf,
    Kind.TEXT: read_text,
    Kind.MARKDOWN: read_markdown,
    Kind.TABLE: read_table,
    Kind.OLD_SHEETS: read_xls,
    Kind.WEB_PAGE: read_web_page,
    Kind.RICH_TEXT: read_rtf,
}


def read_document(data: bytes, name: str, options: ReadOptions) -> Document:
    """Read a file of any kind that can be read. ExtractionError with the code of A9."""
    kind = kind_of(data, name)
    if kind is Kind.ZIP:
        return _read_container(data, options)
    if kind not in _READERS:
        raise refuse("unsupported_format", kind)
    return _READERS[kind](data, options)


def _read_container(data: bytes, options: ReadOptions) -> Document:
    archive = Archive(data)
    package = Package(archive)
    match package.main_tag:
        case "document":
            return read_docx(package, options)
        case "presentation":
            return read_pptx(package, options)
        case "workbook":
            return read_xlsx(archive, package, options)
        case _:
            raise refuse("unsupported_format", "no Office document in this container")
