"""Rules drawn on a page become grids: rows, columns and the cells that are merged."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

THIN = 4.0  # points: what is narrower is a rule
SHORT = 5.0  # points: shorter ones are dots and joints
NEAR = 3.0  # points between ends that meet
ALIKE = 1.5  # points between rules that are one
PALE = 0xF0F0F0  # the bits of a colour that nobody sees on white
MANY_RULES = 6_000  # more are a drawing
MANY_LINES = 400  # of one direction, once joined
MOST_COLUMNS, MOST_ROWS = 60, 400

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line at `at`, from `start` to `end`."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Grid:
    """Edges of columns and rows; `owner[row][column]` is the cell that this place is part of."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    owner: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def box(self) -> Box:
        return self.xs[0], self.ys[0], self.xs[-1], self.ys[-1]

    @property
    def area(self) -> float:
        return (self.xs[-1] - self.xs[0]) * (self.ys[-1] - self.ys[0])

    def column(self, x: float) -> int:
        return min(max(bisect_right(self.xs, x) - 1, 0), len(self.xs) - 2)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The upper left place of the cell at a point within the grid."""
        row = min(max(bisect_right(self.ys, y) - 1, 0), len(self.ys) - 2)
        return self.owner[row][self.column(x)]


def grids(boxes: Iterable[tuple[Box, bool]]) -> list[Grid]:
    """Of boxes and whether only their outline is drawn; the smallest grid first."""
    across: list[Rule] = []
    down: list[Rule] = []
    for box, is_outline in boxes:
        _take(box, across, down, is_outline=is_outline)
        if len(across) + len(down) > MANY_RULES:
            return []
    if len(across) < 2 or len(down) < 2:
        return []
    across, down = _merged(across), _merged(down)
    if len(across) > MANY_LINES or len(down) > MANY_LINES:
        return []
    found = [grid for part in _crossing(across, down) if (grid := _grid(*part)) is not None]
    return sorted(found, key=lambda grid: grid.area)


def _take(box: Box, across: list[Rule], down: list[Rule], *, is_outline: bool) -> None:
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    if height <= THIN and width > max(SHORT, height):
        across.append(Rule((y0 + y1) / 2, x0, x1))
    elif width <= THIN and height > max(SHORT, width):
        down.append(Rule((x0 + x1) / 2, y0, y1))
    elif is_outline and width > SHORT and height > SHORT:
        across += (Rule(y, x0, x1) for y in (y0, y1))
        down += (Rule(x, y0, y1) for x in (x0, x1))


def _merged(rules: Sequence[Rule]) -> list[Rule]:
    """Pieces of one line, drawn cell by cell, become it."""
    found: list[Rule] = []
    for level in _levels(rules):
        at = sum(rule.at for rule in level) / len(level)
        start, end = level[0].start, level[0].end
        for rule in level[1:]:
            if rule.start > end + NEAR:
                found.append(Rule(at, start, end))
                start, end = rule.start, rule.end
            end = max(end, rule.end)
        found.append(Rule(at, start, end))
    return found


def _levels(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    level: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: rule.at):
        if level and rule.at - level[-1].at > ALIKE:
            yield sorted(level, key=lambda rule: rule.start)
            level = []
        level.append(rule)
    if level:
        yield sorted(level, key=lambda rule: rule.start)


def _crossing(
    across: Sequence[Rule], down: Sequence[Rule]
) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Lines that meet, directly or by way of others."""
    parents = list(range(len(across) + len(down)))
    for n, rule in enumerate(across):
        for m, other in enumerate(down, len(across)):
            if _meet(rule, other):
                parents[_root(parents, n)] = _root(parents, m)
    parts: defaultdict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for n, rule in enumerate((*across, *down)):
        parts[_root(parents, n)][n >= len(across)].append(rule)
    yield from parts.values()


def _meet(across: Rule, down: Rule) -> bool:
    return (
        across.start - NEAR <= down.at <= across.end + NEAR
        and down.start - NEAR <= across.at <= down.end + NEAR
    )


def _root(parents: list[int], n: int) -> int:
    while parents[n] != n:
        parents[n] = parents[parents[n]]
        n = parents[n]
    return n


def _grid(across: Sequence[Rule], down: Sequence[Rule]) -> Grid | None:
    if len(across) < 2 or len(down) < 2:
        return None
    xs = _edges([rule.at for rule in down], across)
    ys = _edges([rule.at for rule in across], down)
    if not (3 <= len(xs) <= MOST_COLUMNS + 1 and 3 <= len(ys) <= MOST_ROWS + 1):
        return None
    return Grid(xs, ys, _owners(xs, ys, across, down))


def _edges(places: Sequence[float], others: Sequence[Rule]) -> tuple[float, ...]:
    """Where the rules stand; at an open side, where the other rules end."""
    ends = [min(rule.start for rule in others), max(rule.end for rule in others)]
    edges: list[float] = []
    for place in sorted(places):
        if not edges or place - edges[-1] > SHORT:
            edges.append(place)
    if ends[0] < edges[0] - 2 * SHORT:
        edges.insert(0, ends[0])
    if ends[1] > edges[-1] + 2 * SHORT:
        edges.append(ends[1])
    return tuple(edges)


def _owners(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Rule], down: Sequence[Rule]
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Places without a rule between them are one cell, named by its upper left place."""
    width = len(xs) - 1
    parents = list(range(width * (len(ys) - 1)))
    walls, floors = _Walls(down), _Walls(across)
    for row in range(len(ys) - 1):
        for column in range(width):
            here = row * width + column
            if column and not walls.is_at(xs[column], (ys[row] + ys[row + 1]) / 2):
                _join(parents, here - 1, here)
            if row and not floors.is_at(ys[row], (xs[column] + xs[column + 1]) / 2):
                _join(parents, here - width, here)
    return tuple(
        tuple(divmod(_root(parents, row * width + column), width) for column in range(width))
        for row in range(len(ys) - 1)
    )


def _join(parents: list[int], one: int, other: int) -> None:
    first, second = sorted((_root(parents, one), _root(parents, other)))
    parents[second] = first


class _Walls:
    """Finds whether a rule passes a point."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = sorted(rules, key=lambda rule: rule.at)
        self._places = [rule.at for rule in self._rules]

    def is_at(self, place: float, along: float) -> bool:
        first = bisect_right(self._places, place - SHORT)
        last = bisect_right(self._places, place + SHORT)
        return any(rule.start <= along <= rule.end for rule in self._rules[first:last])
