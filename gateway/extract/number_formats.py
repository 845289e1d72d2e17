"""Excel's number formats: what a sheet's reader sees of a value (ECMA-376 part 1, 18.8.31)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from gateway.extract.number_formats_dates import MOST_SERIAL, DateSection
from gateway.extract.number_formats_digits import NumberSection, general
from gateway.extract.number_formats_parts import Part, Section, sections_of

MOST_CODE_CHARS = 1_000  # Excel itself allows 255
_NOTHING = re.compile(r"\s*;[\s;]*")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """One format: `number` and `text` give what is shown of a value."""

    number: Callable[[float], str]
    text: Callable[[str], str] | None = None  # None: text is shown as it is
    is_general: bool = False
    is_invisible: bool = False  # `;;;`, which hides whatever the cell holds


GENERAL = NumberFormat(general, is_general=True)


def number_format(code: str, *, is_1904: bool = False, region: str = "") -> NumberFormat:
    """The format of that code; `region` (zh-TW, ja, ...) names months unless the code does."""
    if code.strip().lower() in {"general", "@", ""} or len(code) > MOST_CODE_CHARS:
        return GENERAL
    if _NOTHING.fullmatch(code) and code.count(";") >= 2:
        return NumberFormat(lambda _value: "", lambda _text: "", is_invisible=True)
    sections = sections_of(code)
    has_text = len(sections) > 1 and (len(sections) > 3 or sections[-1].has("text"))
    numbers = (sections[:-1] if has_text else sections)[:3]
    shown = [_shown(section, is_1904=is_1904, region=region) for section in numbers]
    choose = _conditional if any(section.condition for section in numbers) else _by_sign

    def number(value: float) -> str:
        at, is_minus_shown = choose(numbers, value)
        if at >= len(shown) or not isfinite(value):
            return general(value)
        text = shown[at](value if numbers[at].is_date else abs(value))
        return f"-{text}" if is_minus_shown and not numbers[at].is_date and text else text

    texts = sections[-1] if has_text or sections[-1].has("text") else None
    return NumberFormat(number, _text_of(texts) if texts else None)


def _shown(section: Section, *, is_1904: bool, region: str) -> Callable[[float], str]:
    if section.has("general") or section.has("text"):
        return lambda value: _with_value(section.parts, general(value))
    if not section.is_date:
        return NumberSection(section.parts).show
    dates = DateSection(section.parts, section.locale, region, is_1904=is_1904)

    def show(value: float) -> str:
        if value >= MOST_SERIAL or (value < 0 and not dates.is_elapsed):
            return general(value)  # Excel fills the cell with number signs
        return dates.show(value)

    return show


def _text_of(section: Section) -> Callable[[str], str]:
    return lambda text: _with_value(section.parts, text)


def _with_value(parts: Sequence[Part], value: str) -> str:
    shown = (value if part.kind in {"text", "general"} else part.shown for part in parts)
    return "".join(shown).strip()


def _by_sign(sections: Sequence[Section], value: float) -> tuple[int, bool]:
    """(section, whether a minus is to be put before it)."""
    if len(sections) == 1:
        return 0, value < 0
    if value < 0:
        return 1, False
    return (2 if value == 0 and len(sections) > 2 else 0), False


def _conditional(sections: Sequence[Section], value: float) -> tuple[int, bool]:
    first = sections[0].condition
    second = sections[1].condition if len(sections) > 1 else None
    is_negative = value < 0
    if first and first.holds(value):
        return 0, is_negative and not first.is_negative_only
    if second and second.holds(value):
        return 1, is_negative and not second.is_negative_only
    if first is None and not second:
        return _by_sign(sections, value)
    if first is None and value > 0:
        return 0, False
    rest = 2 if first and second else 1
    return rest, is_negative and not (first and first.is_complement_negative)
