"""PowerPoint .pptx: slides in the order of the presentation, with notes, tables and charts."""

from collections.abc import Iterator, Sequence
from typing import Any

from gateway.core.documents import Block, SourceWarning
from gateway.core.passages import Locator
from gateway.extract.archives import MAX_PARTS
from gateway.extract.packages import Package, R
from gateway.extract.pptx_shapes import P, SlideReader, notes_blocks
from gateway.extract.reading import Document, ReadOptions, bounded, refuse

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def read_pptx(package: Package, options: ReadOptions) -> Document:
    """Slides by their place in the presentation, hidden ones counted but skipped."""
    root = package.root(package.main)
    if root is None:
        raise refuse("extract_crashed", "no presentation")
    slides = _slides(package, root)
    reader = _Reader(package, options)
    blocks = bounded(reader.presentation(slides), options.max_chars)
    hidden = tuple(reader.hidden)
    warnings = (SourceWarning("hidden_content_skipped", hidden),) if hidden else ()
    return Document(blocks, MEDIA_TYPE, warnings, pages=len(slides))


def _slides(package: Package, root: Any) -> Sequence[str]:
    """The names of the slides' parts; a file name says nothing about the order."""
    relations = package.relations(package.main)
    found: list[str] = []
    for entry in root.iterfind(f"{P}sldIdLst/{P}sldId"):
        relation = relations.get(entry.get(f"{R}id", ""))
        if relation is None:
            raise refuse("extract_crashed", "a slide is missing")
        found.append(relation.target)
        if len(found) > MAX_PARTS:
            raise refuse("document_limits", "too many slides")
    return found


class _Reader:
    """Reads slide by slide and keeps the numbers of those with something hidden."""

    def __init__(self, package: Package, options: ReadOptions) -> None:
        self._package = package
        self._options = options
        self.hidden: list[int] = []

    def presentation(self, slides: Sequence[str]) -> Iterator[Block]:
        for number, name in enumerate(slides, 1):
            yield from self._slide(name, number)
            self._options.on_progress(number, len(slides))

    def _slide(self, name: str, number: int) -> Iterator[Block]:
        root = self._package.root(name)
        if root is None:
            raise refuse("extract_crashed", "a slide is missing")
        place = Locator(slide=number)
        with_hidden = self._options.include_hidden
        if root.get("show") in {"0", "false"} and not with_hidden:
            self.hidden.append(number)
            return
        reader = SlideReader(self._package, name, place, include_hidden=with_hidden)
        yield from reader.blocks(root)
        for notes in self._package.related(name, "notesSlide")[:1]:
            page = self._package.root(notes)
            if page is not None:
                yield from notes_blocks(page, place)
        if reader.has_skipped:
            self.hidden.append(number)
