"""What a workbook is made of: its sheets, strings and styles, found by their relationships."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.extract.number_formats import NumberFormat, number_format
from gateway.extract.number_formats_builtin import builtin_code, region_of
from gateway.extract.packages import Package, R
from gateway.extract.reading import refuse
from gateway.extract.xml import number_in

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
MAX_SHEETS = 10_000
MAX_STYLES = 66_000  # Excel itself allows 65,490
_YES = frozenset({"1", "true", "on"})


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A worksheet's name and part; charts and macros are none."""

    name: str
    part: str
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Workbook:
    """The worksheets in the order of their tabs, and what their cells refer to."""

    sheets: tuple[SheetPart, ...]
    strings: str | None  # the part's name
    formats: dict[str, NumberFormat]  # style number as cells write it; others are General
    is_1904: bool


def workbook(package: Package) -> Workbook:
    """ExtractionError where a sheet is missing: a part of a workbook is no workbook."""
    root = package.root(package.main)
    if root is None or root.tag != f"{_S}workbook":
        raise refuse("extract_crashed", "no workbook")
    sheets = tuple(_sheets(package, root))
    if len(sheets) > MAX_SHEETS:
        raise refuse("document_limits", "too many sheets")
    names = {name.lower() for name in package.names}
    if any(sheet.part.lower() not in names for sheet in sheets):
        raise refuse("extract_crashed", "a sheet is missing")
    properties = root.find(f"{_S}workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in _YES
    return Workbook(
        sheets=sheets,
        strings=next(iter(package.related(package.main, "sharedStrings")), None),
        formats=_formats(package, sheets, is_1904=is_1904),
        is_1904=is_1904,
    )


def _sheets(package: Package, root: Any) -> Iterator[SheetPart]:
    relations = package.relations(package.main)
    for sheet in root.iterfind(f"{_S}sheets/{_S}sheet"):
        relation = relations.get(sheet.get(f"{R}id", ""))
        if relation is None:
            raise refuse("extract_crashed", "a sheet is missing")
        if relation.kind == "worksheet":
            is_hidden = sheet.get("state", "visible") in {"hidden", "veryHidden"}
            yield SheetPart(sheet.get("name", ""), relation.target, is_hidden)


def _formats(
    package: Package, sheets: Iterable[SheetPart], *, is_1904: bool
) -> dict[str, NumberFormat]:
    root = package.companion(package.main, "styles")
    if root is None:
        return {}
    region = region_of(_fonts(root), (sheet.name for sheet in sheets))
    own = {
        each.get("numFmtId", ""): each.get("formatCode", "")
        for each in root.iterfind(f"{_S}numFmts/{_S}numFmt")
    }
    made: dict[str, NumberFormat] = {}
    styles: dict[str, NumberFormat] = {}
    for number, style in enumerate(root.iterfind(f"{_S}cellXfs/{_S}xf")):
        if number >= MAX_STYLES:
            raise refuse("document_limits", "too many styles")
        key = style.get("numFmtId", "0")
        if key not in made:
            code = own.get(key) or builtin_code(number_in(style.attrib, "numFmtId", 0), region)
            made[key] = number_format(code, is_1904=is_1904, region=region)
        if not made[key].is_general:
            styles[str(number)] = made[key]
    return styles


def _fonts(root: Any) -> Iterator[tuple[str, int]]:
    for font in root.iterfind(f"{_S}fonts/{_S}font"):
        name, charset = font.find(f"{_S}name"), font.find(f"{_S}charset")
        yield (
            "" if name is None else name.get("val", ""),
            0 if charset is None else number_in(charset.attrib, "val", 0),
        )
