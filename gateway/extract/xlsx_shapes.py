"""The shape that most rows of a sheet share, as one pattern for a whole row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.extract.xlsx_cells import FORMULA, TEXTS, Token

MAX_COLUMNS = 200
MAX_SHAPES = 16  # of one sheet; making a pattern costs as much as reading a hundred rows
_ROW = r'<row r="(\d+)"((?: (?!xmlns)[\w:.]+="[^"<]*")*) ?>'
_ATTRIBUTES = r'(?: \w+="[^"<]*")*'
_FORMULA = f"<f{_ATTRIBUTES}(?:>[^<]*</f>|/>)"


@dataclass(frozen=True, slots=True)
class RowShape:
    """Which cells a row has; the groups are its number, other attributes and the values."""

    pattern: re.Pattern[str]
    letters: tuple[str, ...]  # of the cells with a value
    kinds: tuple[str, ...]
    styles: tuple[str, ...]


class RowShapes:
    """Notes the rows that were read cell by cell, and makes a shape of those seen twice."""

    def __init__(self) -> None:
        self._seen: dict[tuple[tuple[str, ...], ...], RowShape | None] = {}
        self._made = 0

    def of(self, tokens: Sequence[Token]) -> RowShape | None:
        """The shape of a row (its own token first), once it is worth one."""
        cells = tokens[1:]
        is_row = 0 < len(cells) <= MAX_COLUMNS and not tokens[0][0]
        if not is_row or not all(letters for letters, *_ in cells):
            return None
        key = tuple(
            (letters, style, kind, "f" if formula else "", "v" if value else "t" if text else "")
            for letters, style, kind, formula, value, text, _ in cells
        )
        if any(kind in TEXTS and formula and not value for _, _, kind, formula, value in key):
            return None  # calculated, and nothing came out
        if key not in self._seen:
            if len(self._seen) < MAX_SHAPES * MAX_SHAPES:
                self._seen[key] = None
            return None
        shape = self._seen[key]
        if shape is None and self._made < MAX_SHAPES:
            self._made += 1
            shape = self._seen[key] = _shape(key)
        return shape


def _shape(key: Sequence[tuple[str, ...]]) -> RowShape:
    filled = [cell for cell in key if cell[3] or cell[4]]
    return RowShape(
        pattern=re.compile(_ROW + "".join(_cell(*cell) for cell in key) + "</row>"),
        letters=tuple(cell[0] for cell in filled),
        kinds=tuple(cell[2] if cell[4] else FORMULA for cell in filled),
        styles=tuple(cell[1] or "0" for cell in filled),
    )


def _cell(letters: str, style: str, kind: str, formula: str, value: str) -> str:
    head = f'<c r="{letters}\\d+"'
    head += f' s="{style}"' if style else ""
    head += f' t="{kind}"' if kind else ""
    if not value and not formula:
        return head + "(?:/>|></c>)"
    if not value:
        return head + f"><f{_ATTRIBUTES}>([^<]*)</f>(?:<v></v>|<v ?/>)?</c>"
    if value == "t":
        return head + "><is><t>([^<]+)</t></is></c>"
    return head + f">{_FORMULA if formula else ''}<v>([^<]+)</v></c>"
