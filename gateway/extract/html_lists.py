"""Marks that a browser puts before the items of a list."""

from collections.abc import Mapping
from dataclasses import dataclass

BULLET = "• "
_MOST = 1_000_000
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_ROMAN_MOST = 3999
_LETTERS = 26


@dataclass(slots=True)
class Items:
    """Counts the items of one list."""

    is_numbered: bool = False
    style: str = "1"
    at: int = 1
    step: int = 1

    @classmethod
    def numbered(cls, attributes: Mapping[str, str]) -> "Items":
        """Of an <ol>."""
        start = _number(attributes.get("start", "")) or 1
        step = -1 if "reversed" in attributes else 1
        return cls(is_numbered=True, style=attributes.get("type", "1"), at=start, step=step)

    def mark(self, attributes: Mapping[str, str]) -> str:
        """For the next item, whose attributes these are."""
        if not self.is_numbered:
            return BULLET
        own = _number(attributes.get("value", ""))
        self.at = self.at if own is None else own
        shown = _shown(self.at, self.style)
        self.at += self.step
        return f"{shown}. "


def _number(text: str) -> int | None:
    text = text.strip()
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        return None
    return max(-_MOST, min(_MOST, int(text[:8])))


def _shown(number: int, style: str) -> str:
    if style in {"a", "A"} and 0 < number <= _LETTERS:
        return chr(ord(style) + number - 1)
    if style in {"i", "I"} and 0 < number <= _ROMAN_MOST:
        roman = _roman(number)
        return roman.upper() if style == "I" else roman
    return str(number)


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text
