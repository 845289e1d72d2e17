"""Word .docx: headings, paragraphs, tables, text boxes and notes in reading order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract import docx_parts
from gateway.extract.archives import Archive
from gateway.extract.docx_parts import W
from gateway.extract.docx_text import (
    BOX,
    NOTE_REFERENCES,
    NoteMarks,
    paragraph_text,
    within,
)
from gateway.extract.reading import Document, ReadOptions, bounded, refuse
from gateway.extract.tables import row_blocks

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
BODY = "word/document.xml"
_PARAGRAPH, _TABLE = f"{W}p", f"{W}tbl"
_BLOCKS = frozenset({_PARAGRAPH, _TABLE})
_BOXES = frozenset({BOX})
_REFERENCES = frozenset(NOTE_REFERENCES)
MAX_SPAN = 64  # columns that one merged cell may claim
HERE = Locator()


def read_docx(archive: Archive, options: ReadOptions) -> Document:
    """The document with all changes accepted. Comments are left out."""
    root = docx_parts.root_of(archive, BODY)
    body = None if root is None else root.find(f"{W}body")
    if body is None:
        raise refuse("extract_crashed", "no body")
    blocks = _Reader(archive).document(body)
    return Document(bounded(blocks, options.max_chars), MEDIA_TYPE)


class _Reader:
    """Walks a body with the styles and notes it refers to."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._levels: Mapping[str, int] = docx_parts.heading_levels(archive)
        self._notes = docx_parts.notes(archive)
        self._marks = NoteMarks()

    def document(self, body: Any) -> Iterator[Block]:
        yield from self._edges("header")
        yield from self._blocks(body)
        yield from self._edges("footer")

    def _edges(self, kind: str) -> Iterator[Block]:
        """Each different header or footer once, however many sections repeat it."""
        seen: set[str] = set()
        for root in docx_parts.edges(self._archive, kind):
            lines = (paragraph_text(element) for element in root.iter(_PARAGRAPH))
            text = "\n".join(line for line in lines if line)
            if any(character.isalpha() for character in text) and text not in seen:
                seen.add(text)
                yield Block(text, HERE)

    def _blocks(self, container: Any) -> Iterator[Block]:
        for element in within(container, _BLOCKS):
            if element.tag == _PARAGRAPH:
                yield from self._paragraph(element)
            else:
                yield from self._table(element)

    def _paragraph(self, paragraph: Any) -> Iterator[Block]:
        text = paragraph_text(paragraph)
        if text:
            yield Block(text, HERE, heading_level=self._level(paragraph))
        for box in within(paragraph, _BOXES):
            yield from self._blocks(box)
        yield from self._notes_of(paragraph)

    def _level(self, paragraph: Any) -> int | None:
        own = docx_parts.outline_level(paragraph)
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        return own or (None if style is None else self._levels.get(style.get(f"{W}val", "")))

    def _notes_of(self, element: Any) -> Iterator[Block]:
        for reference in within(element, _REFERENCES):
            key = (NOTE_REFERENCES[reference.tag], reference.get(f"{W}id", ""))
            note = self._notes.get(key)
            text = "" if note is None else " ".join(self._lines(note))
            if text:
                yield Block(f"{self._marks.of(*key)} {text}", HERE)

    def _table(self, table: Any) -> Iterator[Block]:
        rows = [self._row(row) for row in within(table, frozenset({f"{W}tr"})) if _is_kept(row)]
        if len(rows) > 1 and max(len(row) for row in rows) > 1:
            yield from row_blocks(rows, [HERE] * len(rows), has_header=True)
        else:  # a frame drawn with a table
            yield from (Block(cell, HERE) for row in rows for cell in row)
        yield from self._notes_of(table)

    def _row(self, row: Any) -> list[str]:
        cells: list[str] = []
        for cell in within(row, frozenset({f"{W}tc"})):
            properties = cell.find(f"{W}tcPr")
            is_continued = properties is not None and _continues(properties)
            cells.append("" if is_continued else "\n".join(self._lines(cell)))
            cells += [""] * (_span(properties) - 1)  # empty cells keep the columns
        return cells

    def _lines(self, container: Any) -> Sequence[str]:
        lines: list[str] = []
        for element in within(container, _BLOCKS):
            if element.tag == _PARAGRAPH:
                lines.append(paragraph_text(element))
                lines += (line for box in within(element, _BOXES) for line in self._lines(box))
            else:
                lines += (
                    " / ".join(cell for cell in self._row(row) if cell)
                    for row in within(element, frozenset({f"{W}tr"}))
                )
        return [line for line in lines if line]


def _is_kept(row: Any) -> bool:
    return row.find(f"{W}trPr/{W}del") is None


def _continues(properties: Any) -> bool:
    """The lower part of a cell merged downwards; its text stands in the first one."""
    merge = properties.find(f"{W}vMerge")
    return merge is not None and merge.get(f"{W}val", "continue") == "continue"


def _span(properties: Any) -> int:
    value = None if properties is None else docx_parts.attribute(properties, "gridSpan")
    return min(int(value), MAX_SPAN) if value and value.isascii() and value.isdigit() else 1
