"""The strings that a workbook's cells share, without readings over the characters."""

import re
from functools import lru_cache
from html import unescape

from gateway.extract.reading import refuse
from gateway.extract.xlsx_stream import Attributes, Stream

MAX_STRINGS = 2_000_000
MAX_CHARS = 64 * 1024 * 1024
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def unescaped(text: str) -> str:
    """`_x000D_` is how a character stands there that XML does not allow."""
    if "_x" not in text:
        return text
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


_MARKED = re.compile(r"&#?\w{1,8};")


@lru_cache(1024)  # texts of a column come again and again
def unescaped_marks(text: str) -> str:
    """`&lt;` and `&#21697;` as the characters they are."""
    return _MARKED.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    return _CHARACTERS[match[0]]


class _Characters(dict[str, str]):
    """What each mark stands for, remembered: the same few thousand come again and again."""

    def __missing__(self, mark: str) -> str:
        name = mark[1:-1]
        if name.startswith("#"):
            code = int(name[2:], 16) if name[1:2] in {"x", "X"} else int(name[1:])
            character = "" if code in _SURROGATES else chr(code)
        else:
            character = unescape(mark)
        self[mark] = character
        return character


_SURROGATES = range(0xD800, 0xE000)
_CHARACTERS = _Characters()


def shared_strings(data: bytes) -> list[str]:
    """In their order. ExtractionError: `document_limits` where they are too much."""
    reading = _Strings()
    reading.read(data)
    return reading.strings


class _Strings:
    def __init__(self) -> None:
        self.strings: list[str] = []
        self._runs: list[str] = []
        self._is_open = False
        self._is_text = False
        self._chars = 0
        self._stream = Stream(
            {"sst": _descend, "si": self._string, "r": _descend, "t": self._run}, self._text
        )
        self._stream.watch_ends(self._end)

    def read(self, data: bytes) -> None:
        self._stream.read(data)
        self._close()

    def _string(self, _attributes: Attributes) -> None:
        self._close()
        self._is_open = True

    def _run(self, _attributes: Attributes) -> None:
        self._is_text = True

    def _text(self, text: str) -> None:
        if self._is_text:
            self._runs.append(text)
            self._chars += len(text)

    def _end(self, _name: str) -> None:
        self._is_text = False

    def _close(self) -> None:
        if not self._is_open:
            return
        if len(self.strings) >= MAX_STRINGS or self._chars > MAX_CHARS:
            raise refuse("document_limits", "too many shared strings")
        self.strings.append(unescaped("".join(self._runs)))
        self._runs.clear()


def _descend(_attributes: Attributes) -> None:
    """Nothing to note, but what stands within counts."""
