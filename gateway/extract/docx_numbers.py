"""Automatic numbers of headings and lists: they stand on the page, but not in the text."""

import re
from dataclasses import dataclass, replace
from typing import Any

from gateway.extract.counting import MOST, counted
from gateway.extract.docx_styles import Style, Styles, W, number_of, value_of
from gateway.extract.xml import number

LEVELS = 9
BULLET = "•"
_PLACE = re.compile(r"%([1-9])")
_VAL = f"{W}val"


@dataclass(frozen=True, slots=True)
class _Level:
    """How one level of a list counts."""

    start: int = 1
    form: str = "decimal"
    text: str = ""
    restart: int | None = None  # after which level, 1 to 9; 0 never, None each above
    is_legal: bool = False  # all its numbers in digits
    is_apart: bool = True  # a tab or a blank comes after it
    style: str = ""


class Numbering:
    """Counts through a document; every numbered paragraph asks once, in order."""

    def __init__(self, root: Any | None, styles: Styles) -> None:
        self._styles = styles
        self._lists: dict[str, tuple[str, Any]] = {}  # numId -> (abstract id, its element)
        self._abstract: dict[str, Any] = {}
        self._levels: dict[str, tuple[_Level, ...]] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[str] = set()
        if root is not None:
            for element in root.iter(f"{W}abstractNum"):
                self._abstract[element.get(f"{W}abstractNumId", "")] = element
            for element in root.iter(f"{W}num"):
                abstract = value_of(element, "abstractNumId") or ""
                self._lists[element.get(f"{W}numId", "")] = abstract, element

    def label(self, properties: Any | None, style: Style) -> str:
        """What stands before the paragraph, with the blank after it; nothing without a list."""
        if not self._lists or (properties is None and style.number is None):
            return ""
        number_id, level = number_of(properties)
        named = "" if properties is None else value_of(properties, "pStyle") or ""
        if number_id is None:
            number_id = style.number
            level = style.number_level if level is None else level
            if number_id in self._lists and level is None:
                level = self._level_of_style(number_id, named)
        if number_id not in self._lists:  # 0 takes a paragraph out of its style's list
            return ""
        return self._next(number_id, min(level or 0, LEVELS - 1))

    def _level_of_style(self, number_id: str, style: str) -> int:
        levels = self._levels_of(number_id)
        return next((at for at, each in enumerate(levels) if style and each.style == style), 0)

    def _next(self, number_id: str, at: int) -> str:
        levels = self._levels_of(number_id)
        counts = self._counts.setdefault(self._lists[number_id][0], [None] * LEVELS)
        self._begin(number_id, counts)
        count = counts[at]
        counts[at] = levels[at].start if count is None else min(count + 1, MOST)
        for below in range(at + 1, LEVELS):
            restart = levels[below].restart
            if restart is None or at < restart:
                counts[below] = None
        return _shown(levels, counts, at)

    def _begin(self, number_id: str, counts: list[int | None]) -> None:
        """A list that says where it starts does so when it comes first."""
        if number_id in self._begun:
            return
        self._begun.add(number_id)
        for override in self._lists[number_id][1].iter(f"{W}lvlOverride"):
            at = number(override.get(f"{W}ilvl"))
            if at is not None and at < LEVELS and override.find(f"{W}startOverride") is not None:
                counts[at] = None

    def _levels_of(self, number_id: str) -> tuple[_Level, ...]:
        if number_id not in self._levels:
            self._levels[number_id] = tuple(self._read_levels(number_id))
        return self._levels[number_id]

    def _read_levels(self, number_id: str) -> list[_Level]:
        abstract, element = self._lists[number_id]
        levels = [_Level()] * LEVELS
        _fill(levels, self._definition(abstract))
        for override in element.iter(f"{W}lvlOverride"):
            at = number(override.get(f"{W}ilvl"))
            if at is None or at >= LEVELS:
                continue
            _fill(levels, override)
            start = number(value_of(override, "startOverride"))
            if start is not None:
                levels[at] = replace(levels[at], start=start)
        return levels

    def _definition(self, abstract: str) -> Any | None:
        """A list may borrow the levels of the list of a style."""
        element = self._abstract.get(abstract)
        link = None if element is None else value_of(element, "numStyleLink")
        if link is None:
            return element
        for other in self._abstract.values():
            if value_of(other, "styleLink") == link:
                return other
        return element


def _fill(levels: list[_Level], definition: Any | None) -> None:
    for element in () if definition is None else definition.findall(f"{W}lvl"):
        at = number(element.get(f"{W}ilvl"))
        if at is not None and at < LEVELS:
            levels[at] = _level(element)


def _level(element: Any) -> _Level:
    start, restart = (number(value_of(element, name)) for name in ("start", "lvlRestart"))
    legal = element.find(f"{W}isLgl")
    return _Level(
        start=1 if start is None else start,
        form=value_of(element, "numFmt") or "decimal",
        text=(value_of(element, "lvlText") or "")[:200],
        restart=restart,
        is_legal=legal is not None and legal.get(_VAL, "1") not in {"0", "false", "off"},
        is_apart=value_of(element, "suff") != "nothing",
        style=value_of(element, "pStyle") or "",
    )


def _shown(levels: tuple[_Level, ...], counts: list[int | None], at: int) -> str:
    level = levels[at]
    if level.form == "bullet":
        return f"{BULLET} "

    def place(match: re.Match[str]) -> str:
        of = int(match[1]) - 1
        count = counts[of]
        form = "decimal" if level.is_legal else levels[of].form
        return counted(levels[of].start if count is None else count, form)

    text = _PLACE.sub(place, level.text)
    return f"{text} " if text.strip() and level.is_apart else text
