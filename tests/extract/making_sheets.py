"""Makes workbooks for tests: .xlsx from openpyxl or from bare XML, .xls record by record."""

import io
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import openpyxl

from tests.extract.making import package

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def written(write: Callable[[Any], object]) -> bytes:
    """As openpyxl writes it; `write` gets the workbook with one empty sheet."""
    book = openpyxl.Workbook()
    write(book)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def relations(*each: tuple[str, str, str], base: str = _R) -> str:
    """(id, kind, target) of each."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{base}/{kind}" Target="{target}"/>'
        for key, kind, target in each
    )
    return f'<Relationships xmlns="{_PACKAGE}">{rows}</Relationships>'


def workbook(
    *sheets: str,
    strings: str = "",
    styles: str = "",
    states: Sequence[str] = (),
    properties: str = "",
    parts: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """One sheet named S1, S2, ... for each text, which stands within `<worksheet>`."""
    names = "".join(
        f'<sheet name="S{n}" sheetId="{n}" r:id="r{n}"'
        + (f' state="{states[n - 1]}"/>' if n <= len(states) and states[n - 1] else "/>")
        for n in range(1, len(sheets) + 1)
    )
    files: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_R}">{properties}'
        f"<sheets>{names}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            *((f"r{n}", "worksheet", f"worksheets/s{n}.xml") for n in range(1, len(sheets) + 1)),
            ("s", "sharedStrings", "sharedStrings.xml"),
            ("t", "styles", "styles.xml"),
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{styles}</styleSheet>',
    }
    for n, sheet in enumerate(sheets, 1):
        files[f"xl/worksheets/s{n}.xml"] = f'<worksheet xmlns="{MAIN}">{sheet}</worksheet>'
    return package(files | dict(parts or {}))


def rows(*each: str) -> str:
    """`<sheetData>` of rows, each the cells of one, numbered from 1."""
    inner = "".join(f'<row r="{n}">{cells}</row>' for n, cells in enumerate(each, 1))
    return f"<sheetData>{inner}</sheetData>"


def text(reference: str, value: str) -> str:
    return f'<c r="{reference}" t="inlineStr"><is><t>{value}</t></is></c>'


def formats(*codes: str) -> str:
    """Styles 0, 1, ... with those codes, within `<styleSheet>`."""
    listed = "".join(
        f'<numFmt numFmtId="{200 + n}" formatCode="{code}"/>' for n, code in enumerate(codes)
    )
    used = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(codes)))
    return f"<numFmts>{listed}</numFmts><cellXfs>{used}</cellXfs>"


# ---------------------------------------------------------------- .xls

_SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def record(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def number(row: int, column: int, value: float, style: int = 0) -> bytes:
    return record(0x0203, struct.pack("<HHHd", row, column, style, value))


def label(row: int, column: int, value: str, style: int = 0) -> bytes:
    return record(0x0204, struct.pack("<HHHHB", row, column, style, len(value), 1) + _wide(value))


def hidden_row(row: int) -> bytes:
    return record(0x0208, struct.pack("<HHHHHHI", row, 0, 9, 255, 0, 0, 0x20 | 0x100))


def hidden_column(column: int) -> bytes:
    return record(0x007D, struct.pack("<HHHHHH", column, column, 2048, 0, 1, 0))


def merged(top: int, bottom: int, left: int, right: int) -> bytes:
    return record(0x00E5, struct.pack("<HHHHH", 1, top, bottom, left, right))


def old_workbook(
    *sheets: tuple[str, int, bytes], codes: Sequence[str] = (), is_1904: bool = False
) -> bytes:
    """A BIFF8 file: (name, 0 shown / 1 hidden / 2 very hidden, records); style n has code n - 1."""
    head = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0))
    head += record(0x0042, struct.pack("<H", 1200)) + record(0x0022, struct.pack("<H", is_1904))
    head += b"".join(
        record(0x041E, struct.pack("<HHB", 200 + n, len(code), 1) + _wide(code))
        for n, code in enumerate(codes)
    )
    for key in (0, *range(200, 200 + len(codes))):
        head += record(0x00E0, struct.pack("<HHH", 0, key, 0) + bytes(14))
    listed = [
        struct.pack("<BBBB", state, 0, len(name), 1) + _wide(name) for name, state, _ in sheets
    ]
    place = len(head) + sum(8 + len(each) for each in listed) + 4
    bodies = b""
    for each, (_, _, cells) in zip(listed, sheets, strict=True):
        head += record(0x0085, struct.pack("<I", place + len(bodies)) + each)
        bodies += record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
        bodies += cells + record(0x000A)
    return container(head + record(0x000A) + bodies)


def container(stream: bytes, name: str = "Workbook") -> bytes:
    """The stream alone in an OLE file."""
    stream += bytes(max(0, 4096 - len(stream)))
    stream += bytes(-len(stream) % _SECTOR)
    sectors = len(stream) // _SECTOR
    fat_sectors = -(-(sectors + 2) // 126)
    chain = [*range(1, sectors), _END, _END, *[_FAT] * fat_sectors]
    table = struct.pack(f"<{len(chain)}I", *chain)
    table += struct.pack("<I", _FREE) * (fat_sectors * 128 - len(chain))
    directory = _entry("Root Entry", 5, 1, _END, 0) + _entry(name, 2, _FREE, 0, len(stream))
    places = [*range(sectors + 1, sectors + 1 + fat_sectors)]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6xIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, fat_sectors, sectors,
                          0, 4096, _END, 0, _END, 0)  # fmt: skip
    header += struct.pack(f"<{len(places)}I", *places)
    header += struct.pack("<I", _FREE) * (109 - len(places))
    return header + stream + directory + bytes(_SECTOR - len(directory)) + table


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    wide = _wide(name) + b"\0\0"
    body = (
        wide
        + bytes(64 - len(wide))
        + struct.pack("<HBBIII", len(wide), kind, 1, _FREE, _FREE, child)
    )
    return body + bytes(36) + struct.pack("<IQ", start, size)


def _wide(value: str) -> bytes:
    return value.encode("utf-16-le")
