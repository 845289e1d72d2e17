"""The shapes of a slide: title first, the others in the order in which they are read out."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.drawings import A, Line, lines_of, text_of
from gateway.extract.packages import Package
from gateway.extract.pptx_graphics import graphic_blocks
from gateway.extract.tables import names_columns, row_blocks

P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_TITLES = frozenset({"title", "ctrTitle"})
_OF_THE_PAGE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})  # date, footer, number, ...
_SHAPE, _GROUP, _PICTURE = f"{P}sp", f"{P}grpSp", f"{P}pic"
_FRAME = f"{P}graphicFrame"
_GRAPHIC, _TABLE = f"{A}graphic/{A}graphicData", f"{A}tbl"
_ON = frozenset({"1", "true", "on"})
NOTES_MARK = "備註："
NOTES_CHARS = 400  # of a block of notes, so that each passage made of them has the mark
_NO_DESCRIPTION = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|emf|wmf|svg|tiff?)", re.IGNORECASE)
_MADE_BY_MACHINE = ("automatically generated", "自動產生的描述", "自动生成", "自動的に生成")


class SlideReader:
    """Reads one slide; what its layout and its master show is not the slide's own text."""

    def __init__(
        self, package: Package, part: str, place: Locator, *, include_hidden: bool
    ) -> None:
        self._package = package
        self._part = part
        self._place = place
        self._include_hidden = include_hidden
        self.has_skipped = False  # a hidden shape with text

    def blocks(self, root: Any) -> Iterator[Block]:
        """The title as heading, then all shapes; pictures speak only where nothing else does."""
        shapes = list(self._shapes(root.find(f"{P}cSld/{P}spTree")))
        titles = [shape for shape in shapes if placeholder(shape) in _TITLES]
        for shape in titles:
            text = " ".join(text_of(body_of(shape)).split())
            if text:
                yield Block(text, self._place, heading_level=1)
        is_silent = True
        for shape in shapes:
            if placeholder(shape) not in _TITLES:
                for block in self._shape(shape):
                    is_silent = False
                    yield block
        if is_silent:
            yield from self._descriptions(shapes)

    def _shapes(self, tree: Any | None) -> Iterator[Any]:
        """All shapes in order, those of groups in their place; of alternatives one."""
        for shape in () if tree is None else tree:
            if shape.tag == _ALTERNATIVES:
                yield from self._shapes(_chosen(shape))
            elif shape.tag in {_SHAPE, _GROUP, _PICTURE, _FRAME}:
                if _is_hidden(shape) and not self._include_hidden:
                    self.has_skipped = self.has_skipped or _has_text(shape)
                elif shape.tag == _GROUP:
                    yield from self._shapes(shape)
                elif placeholder(shape) not in _OF_THE_PAGE:
                    yield shape

    def _shape(self, shape: Any) -> Iterator[Block]:
        if shape.tag == _SHAPE:
            for text in outline(lines_of(body_of(shape))):
                yield Block(text, self._place)
        elif shape.tag == _FRAME:
            for graphic in shape.iterfind(_GRAPHIC):
                for table in graphic.iterfind(_TABLE):
                    yield from self._table(table)
                yield from graphic_blocks(self._package, self._part, graphic, self._place)

    def _table(self, table: Any) -> Iterator[Block]:
        rows = [[_cell(cell) for cell in row.iterfind(f"{A}tc")] for row in table.iter(f"{A}tr")]
        properties = table.find(f"{A}tblPr")
        said = None if properties is None else properties.get("firstRow")
        has_header = names_columns(rows) if said is None else said in _ON
        yield from row_blocks(rows, [self._place] * len(rows), has_header=has_header)

    def _descriptions(self, shapes: Sequence[Any]) -> Iterator[Block]:
        for shape in shapes:
            named = next(shape.iter(f"{P}cNvPr"), None)
            text = "" if named is None else " ".join(named.get("descr", "").split())
            is_told = not _NO_DESCRIPTION.fullmatch(text)
            if text and is_told and not any(mark in text for mark in _MADE_BY_MACHINE):
                yield Block(text, self._place)


def notes_blocks(root: Any, place: Locator) -> Iterator[Block]:
    """What the speaker wrote below the slide, marked; without number, date and picture."""
    lines: list[str] = []
    for shape in root.iter(_SHAPE):
        if placeholder(shape) not in _OF_THE_PAGE:
            lines += (line.text for line in lines_of(body_of(shape)))
    waiting = ""
    for line in lines:
        if waiting and len(waiting) + len(line) > NOTES_CHARS:
            yield Block(f"{NOTES_MARK}{waiting}", place)
            waiting = ""
        waiting = f"{waiting}\n{line}" if waiting else line
    if waiting:
        yield Block(f"{NOTES_MARK}{waiting}", place)


def outline(lines: Iterator[Line]) -> Iterator[str]:
    """A text for each outermost paragraph, the ones below it indented under it."""
    waiting = ""
    outermost = 0
    for line in lines:
        if waiting and line.level > outermost:
            waiting += f"\n{'  ' * (line.level - outermost)}{line.text}"
            continue
        if waiting:
            yield waiting
        waiting, outermost = line.text, line.level
    if waiting:
        yield waiting


def placeholder(shape: Any) -> str:
    """The kind of placeholder a shape fills; nothing for other shapes."""
    found = next(shape.iterfind(f"*/{P}nvPr/{P}ph"), None)
    return "" if found is None else found.get("type", "obj")


def body_of(shape: Any) -> Any:
    """The element with the shape's paragraphs; without any the shape, which holds none."""
    body = shape.find(f"{P}txBody")
    return shape if body is None else body


def _cell(cell: Any) -> str:
    is_continued = cell.get("hMerge") in _ON or cell.get("vMerge") in _ON
    body = cell.find(f"{A}txBody")
    return "" if is_continued or body is None else text_of(body)


def _chosen(alternatives: Any) -> Any | None:
    """The form with text, a chart or a diagram; the first where none has."""
    forms = [form for form in alternatives if len(form)]
    return next((form for form in forms if _has_text(form)), forms[0] if forms else None)


def _has_text(element: Any) -> bool:
    if next(element.iter(f"{A}t"), None) is not None:
        return True
    return any(len(graphic) for graphic in element.iter(f"{A}graphicData"))


def _is_hidden(shape: Any) -> bool:
    named = next(shape.iterfind(f"*/{P}cNvPr"), None)
    return named is not None and named.get("hidden") in _ON
