"""Code pages of Rich Text: of the document and of each of its fonts."""

from itertools import pairwise

from gateway.extract.encodings import strict

SYMBOL = "symbol"  # pictures for letters
_WIDE = frozenset({"cp932", "cp949", "gb18030", "cp950", "johab"})
_OTHER = {"cp950": ("big5hkscs",), "cp1252": ("latin-1",)}  # where the first one can't read it
_BY_CHARSET = {
    2: SYMBOL, 77: "mac-roman", 78: "cp932", 79: "cp949", 80: "gb18030", 81: "cp950",
    128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp437",
}  # fmt: skip
_BY_PAGE = {
    437: "cp437", 850: "cp850", 852: "cp852", 866: "cp866", 874: "cp874", 932: "cp932",
    936: "gb18030", 949: "cp949", 950: "cp950", 1250: "cp1250", 1251: "cp1251", 1252: "cp1252",
    1253: "cp1253", 1254: "cp1254", 1255: "cp1255", 1256: "cp1256", 1257: "cp1257",
    1258: "cp1258", 1361: "johab", 10000: "mac-roman", 10001: "cp932", 10002: "cp950",
    10003: "cp949", 10008: "gb18030", 54936: "gb18030", 65001: "utf-8",
}  # fmt: skip
ANSI = "cp1252"
CODECS = tuple(codec for codec in (*_BY_CHARSET.values(), *_BY_PAGE.values()) if codec != SYMBOL)
_BULLET = "•"
_SYMBOLS = range(0xF000, 0xF100)  # where Word puts the characters of such fonts


def by_page(number: int) -> str:
    """The decoder of a Windows or Macintosh code page; Western for an unknown one."""
    return _BY_PAGE.get(number, ANSI)


def by_charset(number: int) -> str:
    """The decoder of a font's character set; empty for the document's own."""
    return _BY_CHARSET.get(number, "")


def decoded(run: bytes, font: str, document: str) -> str:
    """A run of bytes in one font; `font` is empty where it follows the document."""
    if font == SYMBOL:
        return "".join(_BULLET if code > 0x20 else " " for code in run)
    codec = font or (document if document not in _WIDE or _has_pair(run) else ANSI)
    for each in (codec, *_OTHER.get(codec, ()), document):
        text = strict(run, each)
        if text is not None:
            return text
    return run.decode(codec, "replace")


def _has_pair(run: bytes) -> bool:
    """Two bytes in a row above ASCII: accented letters of a Western font rarely have them."""
    return any(one > 0x7F and two > 0x7F for one, two in pairwise(run))


def character(code: int) -> str:
    """A character by its number."""
    return _BULLET if code in _SYMBOLS else chr(code) if code else ""
