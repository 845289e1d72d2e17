"""Takes the workbook's stream out of an OLE file ([MS-CFB]); loops and lies end at once.

The library's own way follows a chain of sectors that bites its tail for ever.
"""

import struct
from collections.abc import Iterator, Sequence

from gateway.extract.reading import refuse

NAMES = ("Workbook", "Book")  # of Excel 97 and of Excel 5
_HEADER_BYTES = 512
_ENTRY_BYTES = 128
_IN_HEADER = 109  # sectors of the allocation table that the header names itself
_LAST_SECTOR = 0xFFFFFFFA
_ROOT = 5  # a directory entry's kind


def workbook_stream(data: bytes) -> bytes:
    """The records of the workbook. ExtractionError where its sectors cannot be found."""
    try:
        return _Container(data).workbook()
    except (struct.error, ValueError) as error:
        raise refuse("extract_crashed", "no whole OLE file") from error


class _Container:
    """The sectors of a file and which one follows which."""

    def __init__(self, data: bytes) -> None:
        shift, self._small_shift = struct.unpack_from("<HH", data, 30)
        if not 7 <= shift <= 16 or not 2 <= self._small_shift < shift:
            raise ValueError(shift)
        self._data = data
        self._size = 1 << shift
        (self._directory,) = struct.unpack_from("<I", data, 48)
        self._cutoff, small_table = struct.unpack_from("<II", data, 56)
        self._next = self._numbers(self._table_sectors())
        self._small_next = self._numbers(self._chain(small_table, self._next))

    def workbook(self) -> bytes:
        directory = self._joined(self._chain(self._directory, self._next))
        entries = [
            directory[at : at + _ENTRY_BYTES]
            for at in range(0, len(directory) - _ENTRY_BYTES + 1, _ENTRY_BYTES)
        ]
        root = next((entry for entry in entries if entry[66] == _ROOT), None)
        for name in NAMES:
            for entry in entries:
                if _name(entry) == name:
                    return self._stream(entry, root)
        raise refuse("unsupported_format", "no workbook in this container")

    def _stream(self, entry: bytes, root: bytes | None) -> bytes:
        start, size = struct.unpack_from("<II", entry, 116)
        if size >= self._cutoff or root is None:
            found = self._joined(self._chain(start, self._next))
        else:
            (of_small,) = struct.unpack_from("<I", root, 116)
            small = self._joined(self._chain(of_small, self._next))
            width = 1 << self._small_shift
            sectors = self._chain(start, self._small_next)
            found = b"".join(small[at * width : (at + 1) * width] for at in sectors)
        if len(found) < size:
            raise refuse("extract_crashed", "the workbook is cut off")
        return found[:size]

    def _table_sectors(self) -> Iterator[int]:
        """The sectors of the allocation table: named in the header, then in a chain."""
        yield from (each for each in self._named(76, _IN_HEADER) if each < _LAST_SECTOR)
        after, count = struct.unpack_from("<II", self._data, 68)
        in_sector = self._size // 4 - 1
        for _ in range(min(count, len(self._data) // self._size + 1)):
            if after >= _LAST_SECTOR:
                return
            *found, after = self._named((after + 1) * self._size, in_sector + 1)
            yield from (each for each in found if each < _LAST_SECTOR)

    def _named(self, at: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f"<{count}I", self._data, at)

    def _numbers(self, sectors: Iterator[int]) -> Sequence[int]:
        table = self._joined(sectors)
        return struct.unpack(f"<{len(table) // 4}I", table[: len(table) // 4 * 4])

    def _joined(self, sectors: Iterator[int]) -> bytes:
        """No more than the file has, however often a sector is named."""
        parts: list[bytes] = []
        room = len(self._data)
        for sector in sectors:
            start = (sector + 1) * self._size
            parts.append(self._data[start : start + self._size])
            room -= self._size
            if room < -_HEADER_BYTES:
                raise ValueError(sector)
        return b"".join(parts)

    def _chain(self, sector: int, following: Sequence[int]) -> Iterator[int]:
        for _ in range(len(following) + 1):
            if sector >= _LAST_SECTOR:
                return
            yield sector
            if sector >= len(following):
                return  # behind the table: the file was cut or never said more
            sector = following[sector]
        raise ValueError(sector)


def _name(entry: bytes) -> str:
    length = min(64, int.from_bytes(entry[64:66], "little"))
    return entry[: max(0, length - 2)].decode("utf-16-le", "replace")
