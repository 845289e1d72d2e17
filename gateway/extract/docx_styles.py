"""What Word's styles say of a paragraph: heading level, numbering, hidden, contents line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.extract.xml import child, number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MAX_CHAIN = 20  # styles based on styles
DEEPEST = 6  # heading level that a section may have; Word knows nine
_HEADING_NAME = re.compile(r"(?:heading|標題|标题|見出し)\s*([1-9])", re.IGNORECASE)
_CONTENTS_NAME = re.compile(r"(?:toc|contents)\s*[1-9]|table of figures", re.IGNORECASE)
_LEFT_OUT = (  # as Word writes them
    (b'<w:style w:type="table"', b"</w:style>"),
    (b"<w:latentStyles", b"</w:latentStyles>"),
)
_OFF = frozenset({"0", "false", "off"})
_VAL = f"{W}val"


@dataclass(frozen=True, slots=True)
class Style:
    """A style with all that it takes over from the styles below it."""

    level: int | None = None  # of a heading, 1 to 6
    number: str | None = None  # the list (`numId`) its paragraphs belong to
    number_level: int | None = None
    is_hidden: bool = False
    is_contents: bool = False  # a line of a table of contents, which repeats a heading


NONE = Style()


class Styles:
    """The styles by id; paragraphs that name none have the default one."""

    def __init__(self, root: Any | None) -> None:
        self._elements: dict[str, Any] = {}
        self._known: dict[str, Style] = {}
        self._default = ""
        self.has_hidden = root is not None and next(root.iter(f"{W}vanish"), None) is not None
        for element in () if root is None else root.iter(f"{W}style"):
            name = element.get(f"{W}styleId", "")
            self._elements[name] = element
            is_default = element.get(f"{W}default", "0") not in _OFF
            if is_default and element.get(f"{W}type") == "paragraph":
                self._default = name

    def of(self, properties: Any | None, kind: str = "pStyle") -> Style:
        """The style that a paragraph's or a run's properties name."""
        named = None if properties is None else value_of(properties, kind)
        if named is None:
            named = self._default if kind == "pStyle" else ""
        known = self._known.get(named)
        if known is None:
            known = self._known[named] = self._resolved(named)
        return known

    def _resolved(self, name: str) -> Style:
        chain = list(self._chain(name))
        numbers = [number_of(style.find(f"{W}pPr")) for style in chain]
        names = [value_of(style, "name") or "" for style in chain]
        return Style(
            level=_level(chain),
            number=_first(number for number, _ in numbers),
            number_level=_first(level for _, level in numbers),
            is_hidden=bool(_first(is_on(style.find(f"{W}rPr"), "vanish") for style in chain)),
            is_contents=any(_CONTENTS_NAME.fullmatch(each) for each in names),
        )

    def _chain(self, name: str | None) -> Iterator[Any]:
        for _ in range(MAX_CHAIN):
            style = self._elements.get(name or "")
            if style is None:
                return
            yield style
            name = value_of(style, "basedOn")


def lean(data: bytes) -> bytes:
    """The part without what says nothing of paragraphs, which is most of its bytes."""
    for start_mark, end_mark in _LEFT_OUT:
        kept: list[bytes] = []
        at = 0
        while (start := data.find(start_mark, at)) >= 0:
            end = data.find(end_mark, start)
            if end < 0:
                break
            kept.append(data[at:start])
            at = end + len(end_mark)
        data = b"".join([*kept, data[at:]])
    return data


def _first(values: Iterator[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _level(chain: list[Any]) -> int | None:
    for style in chain:
        shown = value_of(style, "name") or ""
        match = _HEADING_NAME.fullmatch(shown)
        if match:
            return min(int(match[1]), DEEPEST)
        if shown.lower() in {"title", "標題", "标题", "表題"}:
            return 1
        level = outline_level(style.find(f"{W}pPr"))
        if level is not None:
            return level or None
    return None


def outline_level(properties: Any | None) -> int | None:
    """The level that paragraph properties give: 1 to 6, 0 for body text, None for nothing."""
    value = number(None if properties is None else value_of(properties, "outlineLvl"))
    if value is None:
        return None
    return min(value + 1, DEEPEST) if value < 9 else 0


def settings_of(properties: Any | None) -> Mapping[str, str | None]:
    """The tags of all settings in properties, with their `val`."""
    return {} if properties is None else {each.tag: each.get(_VAL) for each in properties}


def number_of(properties: Any | None) -> tuple[str | None, int | None]:
    """(numId, level) of paragraph properties, as far as they say."""
    found = child(properties, f"{W}numPr")
    if found is None:
        return None, None
    return value_of(found, "numId"), number(value_of(found, "ilvl"))


def is_on(properties: Any | None, name: str) -> bool | None:
    """A switch in properties; None where it is not set."""
    found = child(properties, f"{W}{name}")
    return None if found is None else found.get(_VAL, "1") not in _OFF


def value_of(element: Any, name: str) -> str | None:
    """The `val` of a child element."""
    found = child(element, f"{W}{name}")
    return None if found is None else found.get(_VAL)
