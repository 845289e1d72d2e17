"""References to cells, and dates that are written as text."""

import re
from datetime import date, datetime, timedelta

_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")
_LEAP_DAY_SERIAL = 60  # Excel counts a 29 February 1900
_DAY_S = 86_400


def column_of(letters: str, last: int) -> int:
    """`A` is 0. ValueError: no column of a sheet of that many."""
    number = 0
    for letter in letters.upper():
        if not "A" <= letter <= "Z":
            raise ValueError(letters)
        number = number * 26 + ord(letter) - 64
    if not 1 <= number <= last:
        raise ValueError(letters)
    return number - 1


def merged_range(reference: str) -> tuple[int, int, int, int] | None:
    """(row, column, row, column) of `B2:C3`, rows from 1 and columns from 0."""
    match = _RANGE.fullmatch(reference)
    if match is None or match[3] is None:
        return None
    left, right = (_number(match[at]) for at in (1, 3))
    return int(match[2]), left, int(match[4]), right


def _number(letters: str) -> int:
    return column_of(letters, 26**3 + 26**2 + 26)


def serial_of(text: str, *, is_1904: bool) -> float | None:
    """The serial number of an ISO 8601 date, or of a time of no day."""
    try:
        moment = datetime.fromisoformat(
            text if "T" in text or "-" in text else f"1899-12-31T{text}"
        )
    except ValueError:
        return None
    days = (moment.date() - (date(1904, 1, 1) if is_1904 else date(1899, 12, 31))).days
    if "-" not in text:
        days = 0
    elif not is_1904 and days >= _LEAP_DAY_SERIAL:
        days += 1
    return days + (moment - datetime.combine(moment, datetime.min.time(), moment.tzinfo)) / (
        timedelta(seconds=_DAY_S)
    )
