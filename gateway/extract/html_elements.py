"""What the elements of a page do to its text: blocks, headings, lists, tables, single tags."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gateway.extract.html_flow import BREAK, Flow
from gateway.extract.html_lists import Items
from gateway.extract.html_seen import Look, may_be_menu
from gateway.extract.html_tables import MAX_ROW_SPAN, MAX_SPAN, Cell, Grid

Attributes = Mapping[str, str]

MAX_TABLES = 20  # one in the other; what is deeper is only laid out
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LAST_LEVEL = 6
_BLOCKS = frozenset(
    {
        "address", "article", "blockquote", "body", "caption", "center", "dd", "details", "dialog",
        "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "form", "h1", "h2", "h3",
        "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "listing", "main",
        "ol", "p", "plaintext", "pre", "section", "summary", "sync", "table", "tbody", "td",
        "tfoot", "th", "thead", "tr", "ul", "xmp",
    }
)  # fmt: skip
_BLOCK_DISPLAYS = frozenset({"block", "flex", "grid", "list-item", "table", "flow-root"})
_KEPT_SPACE = frozenset({"pre", "listing", "xmp", "plaintext"})
_COUNTED = {
    **dict.fromkeys(("article", "main", "section"), "content"),
    **dict.fromkeys(("p", "dt", "summary", *HEADINGS), "worded"),
    "a": "link",
}
_LINKED = 0.6  # of a menu's characters stand in links
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp)|[\w-]*\d{4,}[\w-]*", re.IGNORECASE)


@dataclass(slots=True)
class Frame:
    """An element that is open; `at_end` undoes what its start did."""

    look: Look
    is_block: bool = False
    counts: list[str] = field(default_factory=list)
    at_end: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True)
class Elements:
    """The text so far and the elements that are open around it."""

    flow: Flow = field(default_factory=Flow)
    _grids: list[tuple[Grid, Flow]] = field(default_factory=list)  # with the flow around each
    _items: list[Items] = field(default_factory=list)
    _within: Counter[str] = field(default_factory=Counter)  # elements that are open, by kind
    _chars: int = 0
    _linked: int = 0
    _openers: dict[str, Callable[[Attributes, Frame], None]] = field(init=False)

    def __post_init__(self) -> None:
        self._openers = {
            **dict.fromkeys(_KEPT_SPACE, self._kept_space),
            "header": self._banner,
            "br": self._break,
            "img": self._image,
            "ul": self._bullets,
            "dir": self._bullets,
            "ol": self._numbers,
            "li": self._item,
            "table": self._table,
            "thead": self._head,
            "tr": self._row,
            "td": self._data_cell,
            "th": self._head_cell,
        }

    @property
    def is_worded(self) -> bool:
        """Within a heading or a paragraph."""
        return self._within["worded"] > 0

    def add(self, text: str, look: Look) -> None:
        """Text of an element; of a banner only headings and paragraphs, the rest is menus."""
        if not look.is_seen or (self._within["banner"] and not self.is_worded):
            return
        self.flow.add(text)
        chars = len(text) - text.count(" ") - text.count("\n")
        self._chars += chars
        self._linked += chars if self._within["link"] else 0

    def open(self, tag: str, attributes: Attributes, frame: Frame, display: str) -> None:
        """An element begins."""
        frame.is_block = tag in _BLOCKS or display in _BLOCK_DISPLAYS
        if frame.is_block:
            self.flow.flush()
        if tag in _COUNTED:
            self._count(_COUNTED[tag], frame)
        if tag in HEADINGS:
            self._heading(HEADINGS[tag], frame)
        if attributes:
            self._told(tag, attributes, frame)
        if tag in self._openers:
            self._openers[tag](attributes, frame)

    def _told(self, tag: str, attributes: Attributes, frame: Frame) -> None:
        """What attributes say of an element."""
        role = attributes.get("role", "")
        if role == "heading" and tag not in HEADINGS:
            self._heading(_level(attributes), frame)
        if role == "banner" and tag != "header":
            self._banner(attributes, frame)
        if may_be_menu(tag, attributes):
            self._menu(frame)

    def close(self, frame: Frame) -> None:
        """It ends."""
        if frame.is_block:
            self.flow.flush()
        for undo in reversed(frame.at_end):
            undo()
        if frame.counts:
            self._within.subtract(frame.counts)

    def _count(self, name: str, frame: Frame) -> None:
        self._within[name] += 1
        frame.counts.append(name)

    # ------------------------------------------------------------ runs of text

    def _heading(self, level: int, frame: Frame) -> None:
        flow = self.flow
        flow.flush()
        flow.level, frame.is_block = level, True

        def end() -> None:
            flow.level = None

        frame.at_end.append(end)

    def _kept_space(self, _attributes: Attributes, frame: Frame) -> None:
        flow = self.flow
        was_kept, flow.is_kept = flow.is_kept, True

        def end() -> None:
            flow.is_kept = was_kept

        frame.at_end.append(end)

    def _banner(self, _attributes: Attributes, frame: Frame) -> None:
        if not self._within["content"]:
            self._count("banner", frame)

    def _menu(self, frame: Frame) -> None:
        """Take back what has come since, if nearly all of it is links."""
        flow = self.flow
        flow.flush()
        blocks, chars, linked = len(flow.blocks), self._chars, self._linked
        frame.is_block = True

        def end() -> None:
            if self._linked - linked > _LINKED * (self._chars - chars):
                del flow.blocks[blocks:]

        frame.at_end.append(end)

    # ------------------------------------------------------------ lists, tables, single tags

    def _break(self, _attributes: Attributes, frame: Frame) -> None:
        self.add(BREAK, frame.look)

    def _image(self, attributes: Attributes, frame: Frame) -> None:
        text = attributes.get("alt", "").strip()
        if text and not _FILE_NAME.fullmatch(text):
            self.add(f" {text} ", frame.look)

    def _list(self, items: Items, frame: Frame) -> None:
        self._items.append(items)

        def end() -> None:
            self._items.pop()

        frame.at_end.append(end)

    def _bullets(self, _attributes: Attributes, frame: Frame) -> None:
        self._list(Items(), frame)

    def _numbers(self, attributes: Attributes, frame: Frame) -> None:
        self._list(Items.numbered(attributes), frame)

    def _item(self, attributes: Attributes, frame: Frame) -> None:
        flow = self.flow
        flow.marker = (self._items[-1] if self._items else Items()).mark(attributes)

        def end() -> None:
            flow.marker = ""

        frame.at_end.append(end)

    def _table(self, attributes: Attributes, frame: Frame) -> None:
        self._count("table", frame)
        if len(self._grids) == MAX_TABLES:
            return
        grid = Grid(attributes.get("role", "").lower() in {"presentation", "none"})
        flow = self.flow
        self._grids.append((grid, flow))

        def end() -> None:
            self._grids.pop()
            flow.blocks += grid.blocks()

        frame.at_end.append(end)

    def _grid(self) -> Grid | None:
        """The innermost table, unless it is too deep or one of its cells is open."""
        if not self._grids or self._within["table"] > len(self._grids):
            return None
        grid, outer = self._grids[-1]
        return grid if self.flow is outer else None

    def _head(self, _attributes: Attributes, frame: Frame) -> None:
        grid = self._grid()
        if grid is None:
            return
        grid.in_head = True

        def end() -> None:
            grid.in_head = False

        frame.at_end.append(end)

    def _row(self, _attributes: Attributes, _frame: Frame) -> None:
        grid = self._grid()
        if grid is not None:
            grid.add_row()

    def _cell(self, cell: Cell, attributes: Attributes, frame: Frame) -> None:
        grid = self._grid()
        if grid is None:
            return
        cell.columns = _span(attributes, "colspan", MAX_SPAN)
        cell.rows = _span(attributes, "rowspan", MAX_ROW_SPAN)
        grid.add_cell(cell)
        outer, self.flow = self.flow, cell.flow

        def end() -> None:
            self.flow = outer

        frame.at_end.append(end)

    def _data_cell(self, attributes: Attributes, frame: Frame) -> None:
        self._cell(Cell(), attributes, frame)

    def _head_cell(self, attributes: Attributes, frame: Frame) -> None:
        self._cell(Cell(is_head=True), attributes, frame)


def _level(attributes: Attributes) -> int:
    said = attributes.get("aria-level", "")
    return (
        min(int(said[:2]), _LAST_LEVEL) if said.isascii() and said.isdigit() and said != "0" else 2
    )


def _span(attributes: Attributes, name: str, most: int) -> int:
    """0 rows mean all that come."""
    said = attributes.get(name, "1").strip()[:8]
    if not said.isascii() or not said.isdigit():
        return 1
    return min(int(said), most) or (most if name == "rowspan" else 1)
