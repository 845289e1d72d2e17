"""The folded copy of a text, for matching only: one form for what readers take as the same."""

import re
import unicodedata
from dataclasses import dataclass

from gateway.core.variants import RADICALS, VARIANTS

_IGNORED = (  # soft hyphen, zero-width and direction marks, variation selectors, accents
    (0x00AD, 0x00AD),
    (0x0300, 0x036F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2069),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xE0100, 0xE01EF),
)
_LATIN = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # no database takes these


def _pairs(table: str) -> dict[int, str | None]:
    letters = "".join(table.split())
    return {ord(a): b for a, b in zip(letters[::2], letters[1::2], strict=True)}


def _table() -> dict[int, str | None]:
    table = _pairs(RADICALS) | _pairs(VARIANTS)
    table[ord("ς")] = "σ"  # str.lower() picks between them by what follows
    for code in _LATIN:
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base != chr(code):
            table[code] = base
    for first, last in _IGNORED:
        table.update(dict.fromkeys(range(first, last + 1)))
    return table


_FOLDED = _table()


def _joins_previous(letter: str) -> bool:
    """NFKC may merge this letter with the ones before it."""
    first = unicodedata.normalize("NFKD", letter)[0]
    return (
        unicodedata.combining(first) != 0
        or "\u1161" <= first <= "\u11ff"  # Hangul vowels and finals
        or first in "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6"
        or first in "\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35\U00011127\U000113be\U000114b0\U000115af"
        or first in "\U0001133e\U00011357\U000114ba\U000114bd\U00011930"
    )


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; `offsets[i]` is where the original of `text[i]` begins.

    `offsets` has one entry more than `text`: the length of the original.
    """

    text: str
    offsets: tuple[int, ...]


def storable(text: str) -> str:
    """The text with blanks for NUL and lone surrogates, which neither database nor model takes."""
    return _UNSTORABLE.sub(" ", text)


def match_text(text: str) -> str:
    """NFKC, lower case, CJK radicals and traditional forms folded letter by letter, accents off.

    Lone surrogates and NUL become blanks. Equal to `fold(text).text`.
    """
    if text.isascii():
        return text.lower().replace("\0", " ")
    return unicodedata.normalize("NFKC", storable(text)).lower().translate(_FOLDED)


def fold(text: str) -> Folded:
    """The folded copy and the way back, since NFKC changes lengths (㈱, ½, ㍻, ﾊﾟ)."""
    if text.isascii():
        return Folded(match_text(text), tuple(range(len(text) + 1)))
    folded: list[str] = []
    offsets: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and not text[end].isascii() and _joins_previous(text[end]):
            continue
        piece = match_text(text[start:end])
        folded.append(piece)
        offsets.extend([start] * len(piece))
        start = end
    return Folded("".join(folded), (*offsets, len(text)))
