"""What a Rich Text file says of its fonts and styles, and what a group of it inherits."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.extract.rtf_charsets import ANSI, by_charset, by_page, decoded
from gateway.extract.rtf_words import named_level

MOST_LEVEL = 6
_OUTLINE = range(9)  # 9 is the body's


@dataclass(slots=True)
class State:
    """What a group inherits and gives back at its end."""

    font: int = -1
    fallback: int = 1  # characters after \u for readers that don't know it
    is_skipped: bool = False
    is_hidden: bool = False  # hidden text, or deleted with changes being tracked
    is_deleted: bool = False
    place: str = ""  # "fonts", "styles", "title": text that isn't the document's
    inner: str = ""  # the destination that is shown although its parent isn't
    at_end: Callable[[], None] | None = None


class Tables:
    """Code pages of the document and its fonts, heading levels of its styles."""

    def __init__(self) -> None:
        self.page = ANSI
        self.default_font = -1
        self.named = 0  # the font or style that is being told of
        self.style_name = ""
        self._fonts: dict[int, str] = {}
        self._levels: dict[int, int] = {}

    def add_charset(self, number: int) -> None:
        """The character set of the named font."""
        self._fonts[self.named] = by_charset(number)

    def add_page(self, number: int) -> None:
        """The code page of the named font."""
        self._fonts[self.named] = by_page(number)

    def add_level(self, number: int | None) -> None:
        """The outline level of the named style, 0 being the first."""
        level = outline_level(number)
        if level is not None:
            self._levels[self.named] = level

    def end_style(self) -> None:
        """The name of the style is whole."""
        level = named_level(self.style_name)
        self.style_name = ""
        if level is not None:
            self._levels[self.named] = level

    def level_of(self, style: int) -> int | None:
        """The heading level of a style."""
        return self._levels.get(style)

    def decoded(self, run: bytes, font: int) -> str:
        """A run of bytes in a font."""
        return decoded(run, self._fonts.get(font, ""), self.page)


def outline_level(number: int | None) -> int | None:
    """1 to 6 for a heading."""
    return min((number or 0) + 1, MOST_LEVEL) if number in _OUTLINE else None
