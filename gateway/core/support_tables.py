"""Whether a sentence gives one row of a table what stands in another."""

import re
from collections.abc import Iterable, Iterator, Sequence

_CELL = " | "
_PARTS = re.compile(r"\s*(?:,(?!\d)|[、/・;])\s*")
_SHORTEST = 2  # letters of a key or value; 有 and 無 stand in many sentences

Row = tuple[str, ...]


def rows(folded: str) -> tuple[Row, ...]:
    """The rows of a table with their cells, the header first; none for other texts."""
    lines = [line for line in folded.splitlines() if _CELL in f" {line} "]
    return tuple(tuple(cell.strip() for cell in line.split("|")) for line in lines)


def is_of_other_row(folded: str, table: Sequence[Row]) -> bool:
    """The claim names one row, and holds a value that only other rows have in that column."""
    named = _named(folded, [row for row in table[1:] if len(row[0]) >= _SHORTEST])
    if len(named) != 1:
        return False  # none, or rows that are compared
    own = named[0]
    told = " \n ".join((*own, *table[0]))
    for row in table[1:]:
        for has, other in zip(own[1:], row[1:], strict=False):
            if row is own or any(_holds(folded, part) for part in _values(has)):
                continue
            if any(_holds(folded, part) and part not in told for part in _values(other)):
                return True
    return False


def _named(folded: str, table: Iterable[Row]) -> list[Row]:
    """The rows whose first cell the text names, without those that a longer name holds."""
    found = [row for row in table if _holds(folded, row[0])]
    return [row for row in found if not any(_is_part(row[0], other[0]) for other in found)]


def _is_part(name: str, other: str) -> bool:
    return name != other and name in other


def _values(cell: str) -> Iterator[str]:
    for part in _PARTS.split(cell):
        if len(part) >= _SHORTEST and not part.replace(".", "").isdecimal():
            yield part


def _holds(text: str, part: str) -> bool:
    if part.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(part)}(?![a-z0-9])", text) is not None
    return part in text
