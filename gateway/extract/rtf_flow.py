"""Paragraphs, rows and notes of Rich Text while it is read."""

from dataclasses import dataclass, field

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.tables import row_blocks

HERE = Locator()
NESTED_JOIN = " / "


@dataclass(slots=True)
class Flow:
    """One stream of text: the document's, or that of a box, a note, a header."""

    blocks: list[Block] = field(default_factory=list)
    _line: list[str] = field(default_factory=list)
    _cell: list[str] = field(default_factory=list)  # its paragraphs
    _row: list[str] = field(default_factory=list)
    _rows: list[list[str]] = field(default_factory=list)
    _inner: list[str] = field(default_factory=list)  # cells of a table inside a cell
    _after: list[Block] = field(default_factory=list)  # notes and boxes of this paragraph
    _below: list[Block] = field(default_factory=list)  # those of the table

    def add(self, text: str) -> None:
        """More of the paragraph."""
        self._line.append(text)

    def add_after(self, blocks: list[Block]) -> None:
        """What is shown beside or below this paragraph."""
        self._after += blocks

    def end_paragraph(self, *, level: int | None, is_in_table: bool) -> None:
        """A heading where it has a level; a line of its cell where it is in a table."""
        text = self._taken()
        if is_in_table:
            self._cell += [text] if text else []
            return
        self._end_table()
        if text:
            self.blocks.append(Block(text, HERE, heading_level=level))
        self.blocks += self._after
        self._after = []

    def end_cell(self) -> None:
        """The cell is whole."""
        text = self._taken()
        self._row.append("\n".join([*self._cell, *([text] if text else [])]))
        self._cell = []

    def end_inner_cell(self) -> None:
        """The same in a table within a cell, which stays text of that cell."""
        self._inner.append(self._taken())

    def end_inner_row(self) -> None:
        """One line of that cell."""
        line = NESTED_JOIN.join(text for text in self._inner if text)
        self._cell += [line] if line else []
        self._inner = []

    def end_row(self) -> None:
        """The row is whole."""
        self._rows.append(self._row)
        self._row = []
        self._below += self._after
        self._after = []

    def finish(self) -> list[Block]:
        """All blocks; what the file leaves open is ended."""
        if self._inner:
            self.end_inner_row()
        if self._cell or self._row:
            self.end_cell()
            self.end_row()
        self.end_paragraph(level=None, is_in_table=False)
        return self.blocks

    def _taken(self) -> str:
        text = "".join(self._line)
        self._line.clear()
        if any("\ud800" <= character <= "\udfff" for character in text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text.strip()

    def _end_table(self) -> None:
        rows, self._rows = [row for row in self._rows if any(row)], []
        if not rows:
            return
        if len(rows) > 1 and max(len(row) for row in rows) > 1:
            self.blocks += row_blocks(rows, [HERE] * len(rows), has_header=True)
        else:  # a frame drawn with a table
            self.blocks += (Block(cell, HERE) for row in rows for cell in row if cell)
        self.blocks += self._below
        self._below = []


@dataclass(slots=True)
class Asides:
    """Notes, numbered through, and headers and footers, each once."""

    _notes: int = 0
    _edges: set[str] = field(default_factory=set)

    def note(self, flow: Flow, blocks: list[Block]) -> None:
        """A footnote or endnote of the paragraph that is open."""
        text = " ".join(block.text for block in blocks)
        if text:
            self._notes += 1
            flow.add_after([Block(f"※{self._notes} {text}", HERE)])

    def edge(self, flow: Flow, blocks: list[Block]) -> None:
        """A header or footer, if it says something that none before has said."""
        text = "\n".join(block.text for block in blocks)
        if text not in self._edges and any(character.isalpha() for character in text):
            self._edges.add(text)
            flow.blocks.append(Block(text, HERE))
