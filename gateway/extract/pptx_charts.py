"""Charts as the table behind them: names of series and categories with the stored values."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.drawings import text_of
from gateway.extract.tables import row_blocks
from gateway.extract.xml import number_in

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
MAX_POINTS = 10_000  # of all series together
_NAMES = (f"{C}cat", f"{C}xVal")
_VALUES = (f"{C}val", f"{C}yVal")


def chart_blocks(root: Any, place: Locator) -> Iterator[Block]:
    """Titles in lines, then a row for each category under the names of the series."""
    titles = [_title(title) for title in root.iter(f"{C}title")]
    lines = "\n".join(dict.fromkeys(title for title in titles if title))
    if lines:
        yield Block(lines, place)
    header = [""]
    names: dict[int, str] = {}
    columns: list[Mapping[int, str]] = []
    points = 0
    for series in root.iter(f"{C}ser"):
        values = _points(series, _VALUES)
        points += len(values)
        if points > MAX_POINTS:
            break
        names = {**_points(series, _NAMES), **names}
        columns.append(values)
        header.append(_name(series))
    rows = [header] if any(header) else []
    rows += (
        [names.get(at, ""), *(column.get(at, "") for column in columns)]
        for at in sorted({*names, *(at for column in columns for at in column)})
    )
    yield from row_blocks(rows, [place] * len(rows), has_header=any(header))


def _title(title: Any) -> str:
    rich = title.find(f"{C}tx/{C}rich")
    if rich is not None:
        return text_of(rich)
    return " ".join(_cached(title.find(f"{C}tx")).values())


def _name(series: Any) -> str:
    return " ".join(_cached(series.find(f"{C}tx")).values())


def _points(series: Any, names: tuple[str, ...]) -> Mapping[int, str]:
    return next((_cached(found) for found in map(series.find, names) if found is not None), {})


def _cached(holder: Any | None) -> Mapping[int, str]:
    """Position -> what was stored there; of categories in several levels all, outermost first."""
    points: dict[int, str] = {}
    if holder is None:
        return points
    levels = list(holder.iter(f"{C}lvl"))
    for level in reversed(levels) if levels else [holder]:
        form = next((each.text or "" for each in level.iter(f"{C}formatCode")), "")
        outer = ""
        found = {number_in(point.attrib, "idx", 0): point for point in level.iter(f"{C}pt")}
        for at in sorted({*found, *points}):
            point = found.get(at)
            value = "" if point is None else (point.findtext(f"{C}v") or "").strip()
            outer = value or outer
            shown = _shown(outer if levels else value, form)
            points[at] = f"{points[at]} {shown}".strip() if at in points else shown
    if not points:
        direct = holder.findtext(f"{C}v")
        return {0: direct.strip()} if direct else points
    return points


def _shown(value: str, form: str) -> str:
    """A number without the noise of binary fractions, a share as percent."""
    try:
        figure = float(value)
    except ValueError:
        return value
    if len(value) > 40:
        return value
    if form.rstrip().endswith("%"):
        _, _, decimals = form.rstrip().rstrip("%").partition(".")
        return f"{figure * 100:.{min(len(decimals), 10)}f}%"
    return f"{figure:.15g}"
