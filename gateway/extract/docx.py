"""Word .docx: headings, paragraphs, tables, text boxes and notes in reading order."""

from collections.abc import Iterable, Iterator
from typing import Any

from gateway.core.documents import Block, SourceWarning
from gateway.core.passages import Locator
from gateway.extract.docx_numbers import Numbering
from gateway.extract.docx_parts import Notes, edges
from gateway.extract.docx_styles import Style, Styles, W, lean, outline_level
from gateway.extract.docx_tables import is_frame, rows_of, table_blocks
from gateway.extract.docx_text import Paragraph, TextReader, within
from gateway.extract.packages import Package
from gateway.extract.pptx_graphics import graphic_blocks
from gateway.extract.reading import Document, ReadOptions, bounded, refuse
from gateway.extract.xml import child, leading

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_PARAGRAPH, _TABLE = f"{W}p", f"{W}tbl"
_PROPERTIES, _MARK = f"{W}pPr", f"{W}rPr"
_GONE = (f"{W}del", f"{W}moveFrom")
_BLOCKS = frozenset({_PARAGRAPH, _TABLE})
HERE = Locator()


def read_docx(package: Package, options: ReadOptions) -> Document:
    """The document with all changes accepted. Comments and tables of contents are left out."""
    root = package.root(package.main)
    body = None if root is None else root.find(f"{W}body")
    if body is None:
        raise refuse("extract_crashed", "no body")
    reader = _Reader(package, options)
    blocks = bounded(reader.document(body), options.max_chars)
    warnings = (SourceWarning("hidden_content_skipped"),) if reader.has_skipped else ()
    return Document(blocks, MEDIA_TYPE, warnings)


class _Reader:
    """Walks a body with the styles, lists and notes it refers to."""

    def __init__(self, package: Package, options: ReadOptions) -> None:
        self._package = package
        self._part = package.main
        self._styles = Styles(package.companion(self._part, "styles", lean))
        self._numbering = Numbering(package.companion(self._part, "numbering"), self._styles)
        self._notes = Notes(package, self._part)
        self._text = TextReader(self._styles, include_hidden=options.include_hidden)
        self._references: list[tuple[str, str]] = []  # to notes, from within a table

    @property
    def has_skipped(self) -> bool:
        return self._text.has_skipped

    def document(self, body: Any) -> Iterator[Block]:
        yield from self._edges("header")
        self._text.look(body)
        yield from self._blocks(body)
        yield from self._edges("footer")

    def _edges(self, kind: str) -> Iterator[Block]:
        """Each different header or footer once, however many sections repeat it."""
        seen: set[str] = set()
        for root in edges(self._package, self._part, kind):
            self._text.look(root)
            text = "\n".join(self._lines(root))
            if any(character.isalpha() for character in text) and text not in seen:
                seen.add(text)
                yield Block(text, HERE)

    def _blocks(self, container: Any) -> Iterator[Block]:
        for item in self._items(container):
            if isinstance(item, Paragraph):
                if item.text:
                    yield Block(item.text, HERE, item.level)
                if item.boxes or item.graphics or item.notes:
                    yield from self._hanging(item)
            else:
                yield from self._table(item)

    def _hanging(self, paragraph: Paragraph) -> Iterator[Block]:
        for box in paragraph.boxes:
            yield from self._blocks(box)
        yield from self._graphics(paragraph)
        yield from self._note_blocks(paragraph.notes)

    def _graphics(self, paragraph: Paragraph) -> Iterator[Block]:
        for graphic in paragraph.graphics:
            yield from graphic_blocks(self._package, self._part, graphic, HERE)

    def _note_blocks(self, references: Iterable[tuple[str, str]]) -> Iterator[Block]:
        for key in references:
            note = self._notes.take(key)
            if note is None:
                continue
            mark, element = note
            self._text.look(element)
            text = " ".join(self._lines(element))
            if text:
                yield Block(f"{mark} {text}", HERE)

    def _items(self, container: Any) -> Iterator[Any]:
        """Paragraphs and tables; those whose end was deleted are one with the next."""
        waiting: Paragraph | None = None
        for element in within(container, _BLOCKS):
            if element.tag == _TABLE:
                yield element
                continue
            properties = leading(element, _PROPERTIES)
            style = self._styles.of(properties)
            if style.is_contents:
                continue
            paragraph = self._text.read(element, style)
            if waiting is not None:
                paragraph = _joined(waiting, paragraph)
            if properties is not None and _is_end_deleted(properties):
                waiting = paragraph
                continue
            waiting = None
            self._complete(paragraph, properties, style)
            yield paragraph
        if waiting is not None:
            yield waiting

    def _complete(self, paragraph: Paragraph, properties: Any | None, style: Style) -> None:
        """With its number before it, and its level."""
        label = self._numbering.label(properties, style)
        if label and (paragraph.text or any(character.isalpha() for character in label)):
            paragraph.text = f"{label}{paragraph.text}".strip()
        level = None if properties is None else outline_level(properties)
        paragraph.level = style.level if level is None else level or None

    def _table(self, table: Any) -> Iterator[Block]:
        rows = rows_of(table)
        if is_frame(rows):
            for row in rows:
                for cell in row.filled:
                    yield from self._blocks(cell)
            return
        around, self._references = self._references, []
        texts = [[self._cell(cell) for cell in row.cells] for row in rows]
        references, self._references = self._references, around
        yield from table_blocks(rows, texts)
        yield from self._note_blocks(references)

    def _cell(self, cell: Any | None) -> str:
        return "" if cell is None else "\n".join(self._lines(cell))

    def _lines(self, container: Any) -> list[str]:
        """What stands in a cell or a note, in lines; a table within has its rows in lines."""
        lines: list[str] = []
        for item in self._items(container):
            if isinstance(item, Paragraph):
                lines.append(item.text)
                if item.boxes or item.graphics or item.notes:
                    lines += (line for box in item.boxes for line in self._lines(box))
                    lines += (block.text for block in self._graphics(item))
                    self._references += item.notes
            else:
                cells = ([self._cell(cell) for cell in row.filled] for row in rows_of(item))
                lines += (" / ".join(cell for cell in row if cell) for row in cells)
        return [line for line in lines if line]


def _is_end_deleted(properties: Any) -> bool:
    mark = child(properties, _MARK)
    return mark is not None and any(child(mark, tag) is not None for tag in _GONE)


def _joined(first: Paragraph, second: Paragraph) -> Paragraph:
    return Paragraph(
        text=first.text + second.text,
        boxes=first.boxes + second.boxes,
        graphics=first.graphics + second.graphics,
        notes=first.notes + second.notes,
    )
