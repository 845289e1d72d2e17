"""What a file is by its content; its name is only a hint among the kinds of text."""

import re
from collections.abc import Iterator
from enum import StrEnum

from gateway.extract.reading import refuse


class Kind(StrEnum):
    """What can be read."""

    PDF = "pdf"
    ZIP = "zip"  # a container; its parts tell more
    TEXT = "text"
    MARKDOWN = "markdown"
    TABLE = "table"


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OTHERS = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"ID3", b"\xff\xfb",
    b"RIFF", b"OggS", b"fLaC", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"\x7fELF", b"MZ",
    b"SQLite format 3", b"{\\rtf", b"BZh", b"\xfd7zXZ", b"%!PS", b"\x00\x00\x01\x00", b"wOF",
)  # fmt: skip
_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
_TABLES = (".csv", ".tsv", ".tab")
PDF_WITHIN = 1024  # other programs write a few bytes before the mark, and viewers accept it


def kind_of(data: bytes, name: str) -> Kind:
    """The kind, or ExtractionError where the content says that it can't be read."""
    if b"%PDF-" in data[:PDF_WITHIN]:
        return Kind.PDF
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Kind.ZIP
    if data.startswith(_OLE):
        raise refuse(_ole_code(data))
    if data.startswith(_OTHERS) or data[4:8] == b"ftyp":
        raise refuse("unsupported_format")
    lower = name.lower()
    if lower.endswith(_MARKDOWN):
        return Kind.MARKDOWN
    return Kind.TABLE if lower.endswith(_TABLES) else Kind.TEXT


_WEB_PAGE = re.compile(r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!doctype\s+html|<html)", re.IGNORECASE)


def is_web_page(text: str) -> bool:
    """Mark-up whose tags, scripts and menus are no text for people."""
    return _WEB_PAGE.match(text[:1000]) is not None


# ---------------------------------------------------------------- old Office files

_ENTRY_BYTES = 128  # of an OLE directory; the stream's first sector stands at 116
_ENCRYPTED_BIT = 0x01  # in byte 11 of a Word file's first block
_FILEPASS = 0x002F  # the record of an encrypted workbook


def _ole_code(data: bytes) -> str:
    if any(_streams(data, "EncryptedPackage")):
        return "encrypted"
    for start in _streams(data, "WordDocument"):
        flags = int.from_bytes(data[start + 11 : start + 12], "little")
        return "encrypted" if flags & _ENCRYPTED_BIT else "legacy_office"
    for name in ("Workbook", "Book"):
        for start in _streams(data, name):
            return "encrypted" if _has_filepass(data, start) else "unsupported_format"
    if any(_streams(data, "PowerPoint Document")):
        return "legacy_office"
    return "unsupported_format"


def _streams(data: bytes, name: str) -> Iterator[int]:
    """Where the streams of that name begin, by the directory entries that name them."""
    sector_bytes = 1 << min(int.from_bytes(data[30:32], "little"), 16)
    for match in re.finditer(re.escape(f"{name}\0".encode("utf-16-le")), data):
        entry = match.start()
        if entry % _ENTRY_BYTES == 0:
            sector = int.from_bytes(data[entry + 116 : entry + 120], "little")
            yield (sector + 1) * sector_bytes


def _has_filepass(data: bytes, start: int) -> bool:
    for _ in range(10):  # it comes right after the first records
        record = int.from_bytes(data[start : start + 2], "little")
        if record == _FILEPASS:
            return True
        start += 4 + int.from_bytes(data[start + 2 : start + 4], "little")
    return False
