"""What a file is by its content; its name is only a hint among the kinds of text."""

import re
from collections.abc import Iterator
from enum import StrEnum

from gateway.extract.reading import refuse


class Kind(StrEnum):
    """What can be read."""

    PDF = "pdf"
    ZIP = "zip"  # a container; its parts tell more
    OLD_SHEETS = "old_sheets"  # .xls
    RICH_TEXT = "rich_text"
    WEB_PAGE = "web_page"
    IMAGE = "image"
    TEXT = "text"
    MARKDOWN = "markdown"
    TABLE = "table"


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\x00", b"MM\x00*")
_MARKS = (
    ((b"PK\x03\x04", b"PK\x05\x06"), Kind.ZIP),
    ((b"{\\rtf",), Kind.RICH_TEXT),
)
_OTHERS = (
    b"ID3", b"\xff\xfb", b"RIFF", b"OggS", b"fLaC", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"\x7fELF",
    b"MZ", b"SQLite format 3", b"BZh", b"\xfd7zXZ", b"%!PS", b"\x00\x00\x01\x00", b"wOF",
)  # fmt: skip
_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
_TABLES = (".csv", ".tsv", ".tab")
PDF_WITHIN = 1024  # other programs write a few bytes before the mark, and viewers accept it


def kind_of(data: bytes, name: str) -> Kind:
    """The kind, or ExtractionError where the content says that it can't be read."""
    kind = _marked(data)
    if kind is not None:
        return kind
    if data.startswith(_OTHERS) or data[4:8] == b"ftyp":
        raise refuse("unsupported_format")
    lower = name.lower()
    if _is_web_page(data, lower):
        return Kind.WEB_PAGE
    if _DRAWING.match(_head(data[:_PEEKED])):  # an SVG image: its mark-up is no text for people
        raise refuse("unsupported_format")
    if lower.endswith(_MARKDOWN):
        return Kind.MARKDOWN
    return Kind.TABLE if lower.endswith(_TABLES) else Kind.TEXT


def is_picture(data: bytes) -> bool:
    """A file that only OCR can read."""
    is_webp = data.startswith(b"RIFF") and data[8:12] == b"WEBP"
    is_bitmap = data.startswith(b"BM") and data[6:10] == bytes(4)  # a text may begin so, too
    return data.startswith(_IMAGES) or is_webp or is_bitmap


def _marked(data: bytes) -> Kind | None:
    """The kind that the first bytes tell, if they tell one."""
    if b"%PDF-" in data[:PDF_WITHIN]:
        return Kind.PDF
    if data.startswith(_OLE):
        return _ole_kind(data)
    if is_picture(data):
        return Kind.IMAGE
    return next((kind for marks, kind in _MARKS if data.startswith(marks)), None)


_BEFORE = r"(?:\s|<\?xml[^>]{0,200}\?>|<!--.{0,1000}?-->)*+"
_WEB_PAGE = re.compile(
    _BEFORE + r"(?:<!doctype\s+html|<html|<head|<body|<sami)\b", re.IGNORECASE | re.DOTALL
)
_DRAWING = re.compile(_BEFORE + r"(?:<!doctype\s+svg|<svg)\b", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(?:[a-z]|!--|!doctype|/[a-z])", re.IGNORECASE)
_WEB_NAMES = (".html", ".htm", ".xhtml", ".xht", ".shtml", ".smi", ".sami")
_PEEKED = 8_192  # bytes
_UTF_16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def _is_web_page(data: bytes, name: str) -> bool:
    """Mark-up whose tags, scripts and menus are no text for people."""
    head = _head(data[:_PEEKED])
    if _WEB_PAGE.match(head):
        return True
    return name.endswith(_WEB_NAMES) and _TAG.search(head) is not None


def _head(data: bytes) -> str:
    codec = next((codec for mark, codec in _UTF_16 if data.startswith(mark)), "")
    if not codec and b"\0\0" in (data[0:4:2], data[1:4:2]):
        codec = "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    return data.removeprefix(b"\xef\xbb\xbf").decode(codec or "latin-1", "ignore").lstrip("\ufeff")


# ---------------------------------------------------------------- old Office files

_ENTRY_BYTES = 128  # of an OLE directory; the stream's first sector stands at 116
_ENCRYPTED_BIT = 0x01  # in byte 11 of a Word file's first block
_FILEPASS = 0x002F  # the record of an encrypted workbook


def _ole_kind(data: bytes) -> Kind:
    if any(_streams(data, "EncryptedPackage")):
        raise refuse("encrypted")
    for start in _streams(data, "WordDocument"):
        flags = int.from_bytes(data[start + 11 : start + 12], "little")
        raise refuse("encrypted" if flags & _ENCRYPTED_BIT else "legacy_office")
    for name in ("Workbook", "Book"):
        for start in _streams(data, name):
            if _has_filepass(data, start):
                raise refuse("encrypted")
            return Kind.OLD_SHEETS
    if any(_streams(data, "PowerPoint Document")):
        raise refuse("legacy_office")
    raise refuse("unsupported_format")


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
