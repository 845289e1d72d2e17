"""Dates, times and durations by Excel's rules, in the calendars of Taiwan and Japan too."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gateway.extract.number_formats_parts import Part
from gateway.extract.number_formats_words import Words, era, language_of, roc_era, words

MOST_SERIAL = 2_958_466  # the first day that Excel does not show: 10000-01-01
_EPOCH_1904 = date(1904, 1, 1)
_EPOCH = date(1899, 12, 31)
_LEAP_DAY_THAT_WAS_NOT = 60  # 1900-02-29 in Excel's count
DAY_S = 86_400
_ZEROS = re.compile(r"0{1,6}")


@dataclass(frozen=True, slots=True)
class _Moment:
    """A serial number taken apart."""

    year: int
    month: int
    day: int
    weekday: int  # 0 is Sunday
    second: int  # of the day, rounded to what is shown
    fraction: int  # in the digits that are shown
    total_s: int  # since the epoch, for durations

    @property
    def hour(self) -> int:
        return self.second // 3600

    @property
    def minute(self) -> int:
        return self.second // 60 % 60


class DateSection:
    """A section of a format that has a part of a date or time."""

    def __init__(self, parts: Sequence[Part], locale: str, region: str, *, is_1904: bool) -> None:
        self._parts = _with_minutes(_with_fractions(parts))
        self._language = language_of(locale)
        self._words = words(self._language)
        self._own_words = words(self._language or region)  # for `aaaa`, which only Asia's Excel has
        self._is_1904 = is_1904
        self._is_12_hours = any(part.kind == "half" for part in parts)
        has_era = any(part.kind == "date" and part.shown[0] == "g" for part in self._parts)
        is_japanese = has_era or region == "ja"
        self._calendar = self._language or ("ja" if is_japanese else "")
        digits = [len(part.shown) - 1 for part in self._parts if part.kind == "fraction"]
        has_seconds = any(part.shown[0] == "s" for part in self._parts if part.kind != "literal")
        self._digits = max(digits, default=0) if has_seconds or digits else 3
        self._shows_fraction = bool(digits)
        self._shows: dict[str, Callable[[str, _Moment], str]] = {
            "elapsed": self._elapsed,
            "half": self._half,
            "fraction": self._fraction,
            "minute": _minute,
            "date": self._piece,
        }
        self.is_elapsed = any(part.kind == "elapsed" for part in parts)

    def show(self, serial: float) -> str:
        moment = self._moment(abs(serial))
        text = "".join(self._part(part, moment) for part in self._parts).strip()
        return f"-{text}" if serial < 0 else text

    def _moment(self, serial: float) -> _Moment:
        steps = round(serial * DAY_S * 10**self._digits + 1e-6)
        total_s, fraction = divmod(steps, 10**self._digits)
        days, second = divmod(total_s, DAY_S)
        year, month, day, weekday = _date(days, is_1904=self._is_1904)
        return _Moment(year, month, day, weekday, second, fraction, total_s)

    def _part(self, part: Part, moment: _Moment) -> str:
        show = self._shows.get(part.kind)
        return show(part.shown, moment) if show else part.shown

    def _elapsed(self, shown: str, moment: _Moment) -> str:
        unit = {"h": 3600, "m": 60, "s": 1}[shown[0]]
        return f"{moment.total_s // unit:0{len(shown)}}"

    def _fraction(self, shown: str, moment: _Moment) -> str:
        return f".{f'{moment.fraction:0{self._digits}}'[: len(shown) - 1]}"

    def _half(self, shown: str, moment: _Moment) -> str:
        before, after = shown.split("/")
        if shown.lower() == "am/pm":
            before, after = self._words.halves
        return before if moment.hour < 12 else after

    def _piece(self, shown: str, moment: _Moment) -> str:
        letter, length = shown[0], len(shown)
        if letter in "eg":
            return self._of_era(letter, length, moment)
        if letter in "yb":
            year = moment.year + (543 if letter == "b" else 0)
            return f"{year % 100:02}" if length < 3 else f"{year:04}"
        if letter == "m":
            return _month(length, moment, self._words)
        if letter in "da":
            return _day(letter, length, moment, self._own_words if letter == "a" else self._words)
        return self._time(letter, length, moment)

    def _time(self, letter: str, length: int, moment: _Moment) -> str:
        number = moment.second % 60
        if letter == "h":
            number = moment.hour
            if self._is_12_hours:
                number = number % 12 or 12
        return f"{number:0{min(length, 2)}}"

    def _of_era(self, letter: str, length: int, moment: _Moment) -> str:
        if self._calendar == "zh-TW":
            names, year = roc_era(moment.year)
        elif self._calendar == "ja":
            names, year = era(moment.year, moment.month, moment.day)
        else:
            names, year = ("", "", ""), moment.year
        if letter == "g":
            return names[min(length, 3) - 1]
        return f"{year:0{min(length, 2)}}"


def _date(days: int, *, is_1904: bool) -> tuple[int, int, int, int]:
    """(year, month, day, weekday): days that no calendar has are Excel's own."""
    if is_1904:
        found = _EPOCH_1904 + timedelta(min(days, MOST_SERIAL - 1_463))
    elif days == _LEAP_DAY_THAT_WAS_NOT:
        return 1900, 2, 29, 3
    elif days == 0:
        return 1900, 1, 0, 6
    else:
        real = days if days < _LEAP_DAY_THAT_WAS_NOT else days - 1
        found = _EPOCH + timedelta(min(real, MOST_SERIAL - 2))
    weekday = (days - 1) % 7 if not is_1904 else found.isoweekday() % 7
    return found.year, found.month, found.day, weekday


def _minute(shown: str, moment: _Moment) -> str:
    return f"{moment.minute:0{min(len(shown), 2)}}"


def _month(length: int, moment: _Moment, names: Words) -> str:
    if length < 3:
        return f"{moment.month:0{length}}"
    name = names.months[moment.month - 1]
    if length == 5:
        return name[:1]
    return name if length == 4 else names.short_months[moment.month - 1]


def _day(letter: str, length: int, moment: _Moment, names: Words) -> str:
    if letter == "d" and length < 3:
        return f"{moment.day:0{length}}"
    days = names.days if length >= 4 else names.short_days
    return days[moment.weekday]


def _with_fractions(parts: Sequence[Part]) -> list[Part]:
    """`.00` behind seconds as one part, other placeholders as the characters they are."""
    text = "".join(part.shown if part.kind in {"digit", "point"} else "x" for part in parts)
    joined: list[Part] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        behind = _ZEROS.match(text, at + 1) if part.kind == "point" else None
        zeros = len(behind[0]) if behind else 0
        if zeros:
            joined.append(Part("fraction", "." + "0" * zeros))
        elif part.kind in {"date", "elapsed", "half"}:
            joined.append(
                Part(part.kind, part.shown if part.kind == "half" else part.shown.lower())
            )
        else:
            joined.append(Part("literal", part.shown))
        at += 1 + zeros
    return joined


def _with_minutes(parts: Sequence[Part]) -> list[Part]:
    """`m` and `mm` behind hours or before seconds are minutes."""
    found = list(parts)
    units = [i for i, part in enumerate(found) if part.kind in {"date", "elapsed", "fraction"}]
    for place, at in enumerate(units):
        part = found[at]
        if part.kind != "date" or part.shown not in {"m", "mm"}:
            continue
        before = found[units[place - 1]].shown[0] if place else ""
        after = found[units[place + 1]].shown[0] if place + 1 < len(units) else ""
        if before == "h" or after == "s":
            found[at] = Part("minute", part.shown)
    return found
