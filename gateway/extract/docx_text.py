"""The text of Word paragraphs as a reader of the accepted document sees it."""

from collections.abc import Iterator
from typing import Any

from gateway.extract.docx_parts import W

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
BOX = f"{W}txbxContent"
ALTERNATIVES = f"{_MC}AlternateContent"
NOTE_REFERENCES = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}

# deleted or moved away, field codes, furigana, properties, comments; boxes come as own blocks
_SKIPPED = frozenset(
    {
        f"{W}{name}"
        for name in (
            "del", "moveFrom", "delText", "delInstrText", "instrText", "rt", "pPr", "rPr",
            "sectPr", "tblPr", "trPr", "tcPr", "sdtPr", "commentReference", "annotationRef",
        )
    }
)  # fmt: skip
_MARKS = {
    f"{W}tab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
}


class NoteMarks:
    """Numbers footnotes and endnotes in the order in which they come."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], int] = {}

    def of(self, kind: str, note_id: str) -> str:
        return f"※{self._seen.setdefault((kind, note_id), len(self._seen) + 1)}"


def paragraph_text(paragraph: Any) -> str:
    """Insertions in, deletions and hidden runs out; notes come after it, not within a word."""
    return "".join(_text(paragraph)).strip()


def _text(element: Any) -> Iterator[str]:
    for child in visible(element):
        tag = child.tag
        if tag in {f"{W}t", _MATH_TEXT}:
            yield child.text or ""
        elif tag in _MARKS:
            yield _MARKS[tag]
        elif tag != BOX:
            yield from _text(child)


def visible(element: Any) -> Iterator[Any]:
    """The children that a reader sees; of an alternative only the one that is used."""
    for child in element:
        if child.tag in _SKIPPED or (child.tag == f"{W}r" and _is_hidden(child)):
            continue
        if child.tag == ALTERNATIVES:
            yield from _chosen(child)
        else:
            yield child


def _chosen(alternatives: Any) -> Iterator[Any]:
    for name in ("Choice", "Fallback"):
        found = alternatives.find(f"{_MC}{name}")
        if found is not None and len(found):
            yield from visible(found)
            return


def _is_hidden(run: Any) -> bool:
    vanish = run.find(f"{W}rPr/{W}vanish")
    return vanish is not None and vanish.get(f"{W}val", "1") not in {"0", "false", "off"}


def within(element: Any, tags: frozenset[str]) -> Iterator[Any]:
    """The outermost visible descendants of those kinds, in order."""
    for child in visible(element):
        if child.tag in tags:
            yield child
        else:
            yield from within(child, tags)
