"""The text of Word paragraphs as a reader of the accepted document sees it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.extract.docx_styles import Style, Styles, W, is_on
from gateway.extract.docx_symbols import symbol

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
BOX = f"{W}txbxContent"
GRAPHIC = "{http://schemas.openxmlformats.org/drawingml/2006/main}graphicData"
ALTERNATIVES = f"{_MC}AlternateContent"
_NOTES = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}
_FIELD_CODE, _FIELD_RESULT = "begin", "separate"

# deleted or moved away, field codes, furigana, properties, comments, other files
_SKIPPED = frozenset(
    f"{W}{name}"
    for name in (
        "del", "moveFrom", "delText", "delInstrText", "instrText", "rt", "pPr", "rPr", "rubyPr",
        "sectPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "sdtEndPr", "smartTagPr",
        "customXmlPr", "fldData", "ffData", "object", "altChunk", "annotationRef",
        "commentReference", "commentRangeStart", "commentRangeEnd", "bookmarkStart",
        "bookmarkEnd", "proofErr", "lastRenderedPageBreak", "softHyphen",
    )
)  # fmt: skip
_MARKS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
}
_HARMLESS = frozenset(  # around or beside text, never with any that isn't seen
    f"{W}{name}"
    for name in (
        "t", "r", "pPr", "rPr", "sdtPr", "sdtEndPr", "sectPr", "tblPr", "tblGrid", "trPr", "tcPr",
        "smartTagPr", "customXmlPr", "rubyPr", "bookmarkStart", "bookmarkEnd", "proofErr",
        "lastRenderedPageBreak", "commentRangeStart", "commentRangeEnd", "commentReference",
        "annotationRef", "softHyphen",
    )
)  # fmt: skip
_PARAGRAPH = f"{W}p"
_PLAIN, _PROPERTIES = f"{W}t", f"{W}rPr"
_TEXTS = frozenset({_PLAIN, f"{_M}t"})


@dataclass(slots=True)
class Paragraph:
    """A paragraph's own text, and what hangs on it and comes after it."""

    text: str = ""
    level: int | None = None  # of a heading
    boxes: tuple[Any, ...] = ()
    graphics: tuple[Any, ...] = ()  # charts and diagrams
    notes: tuple[tuple[str, str], ...] = ()  # (kind, id)


class TextReader:
    """Reads paragraphs: insertions in, deletions and hidden runs out, fields by their result."""

    def __init__(self, styles: Styles, *, include_hidden: bool) -> None:
        self._styles = styles
        self._include_hidden = include_hidden
        self.has_skipped = False  # hidden text
        self._out: list[str] = []
        self._into = Paragraph()
        self._fields: list[str] = []  # of the fields around, the part that is being read
        self._special: set[Any] = set()  # paragraphs that need more than their runs' text
        self._actions: Mapping[str, Callable[[Any], None] | None] = {
            **dict.fromkeys(_SKIPPED),
            **dict.fromkeys(_TEXTS, self._plain),
            **dict.fromkeys(_MARKS, self._mark),
            f"{W}r": self._run,
            f"{W}fldChar": self._field,
            f"{W}sym": self._symbol,
            f"{W}sdt": self._control,
            f"{_M}f": self._fraction,
            BOX: self._box,
            GRAPHIC: self._graphic,
            ALTERNATIVES: self._alternatives,
            **dict.fromkeys(_NOTES, self._note),
        }
        style = (f"{W}rStyle",) if styles.has_hidden else ()
        self._noted = (*(self._actions.keys() - _HARMLESS), f"{W}vanish", *style)

    def look(self, root: Any) -> None:
        """Find what is not plain text in it; to be called before its paragraphs are read."""
        for element in root.iter(*self._noted):
            around = element
            while around is not None and around not in self._special:
                if around.tag == _PARAGRAPH:
                    self._special.add(around)
                around = around.getparent()

    def read(self, paragraph: Any, style: Style) -> Paragraph:
        """The paragraph. Its text ends are trimmed; a field ends with it at the latest."""
        if paragraph not in self._special and not style.is_hidden:
            return Paragraph("".join([text.text or "" for text in paragraph.iter(_PLAIN)]).strip())
        self._out, self._into, self._fields = [], Paragraph(), []
        if style.is_hidden and not self._include_hidden:
            self._skip(paragraph)
        else:
            self._walk(paragraph)
        self._into.text = "".join(self._out).strip()
        return self._into

    def _walk(self, element: Any) -> None:
        actions, others = self._actions, self._walk
        for child in element:
            action = actions.get(child.tag, others)
            if action is not None:
                action(child)

    def _plain(self, text: Any) -> None:
        if _FIELD_CODE not in self._fields:
            self._out.append(text.text or "")

    def _mark(self, mark: Any) -> None:
        self._out.append(_MARKS[mark.tag])

    def _run(self, run: Any) -> None:
        actions, others = self._actions, self._walk
        for child in run:
            tag = child.tag
            if tag == _PLAIN and not self._fields:  # nearly always
                self._out.append(child.text or "")
                continue
            if tag == _PROPERTIES and len(child) and self._is_hidden(child):
                self._skip(run)  # they come first, so nothing was read yet
                return
            action = actions.get(tag, others)
            if action is not None:
                action(child)

    def _is_hidden(self, properties: Any) -> bool:
        if self._include_hidden:
            return False
        own = is_on(properties, "vanish")
        return self._styles.of(properties, "rStyle").is_hidden if own is None else own

    def _skip(self, element: Any) -> None:
        """Leave it out; only what says something is told about."""
        kept, self._out = self._out, []
        into, self._into = self._into, Paragraph()
        self._include_hidden = True
        self._walk(element)
        self._include_hidden = False
        self.has_skipped = self.has_skipped or any(text.strip() for text in self._out)
        self._out, self._into = kept, into

    def _field(self, mark: Any) -> None:
        match mark.get(f"{W}fldCharType"):
            case "begin":
                self._fields.append(_FIELD_CODE)
            case "separate" if self._fields:
                self._fields[-1] = _FIELD_RESULT
            case "end" if self._fields:
                self._fields.pop()

    def _symbol(self, element: Any) -> None:
        self._out.append(symbol(element.get(f"{W}char", ""), element.get(f"{W}font", "")))

    def _control(self, element: Any) -> None:
        if not is_prompt(element):
            self._walk(element)

    def _fraction(self, element: Any) -> None:
        for part in element.findall(f"{_M}num"):
            self._walk(part)
        self._out.append("/")
        for part in element.findall(f"{_M}den"):
            self._walk(part)

    def _box(self, element: Any) -> None:
        self._into.boxes += (element,)

    def _graphic(self, element: Any) -> None:
        self._into.graphics += (element,)
        self._walk(element)  # for boxes within

    def _alternatives(self, element: Any) -> None:
        for chosen in alternative(element):
            self._walk(chosen)

    def _note(self, reference: Any) -> None:
        self._into.notes += ((_NOTES[reference.tag], reference.get(f"{W}id", "")),)


def is_prompt(control: Any) -> bool:
    """A form field that still shows what to write there."""
    properties = control.find(f"{W}sdtPr")
    return properties is not None and bool(is_on(properties, "showingPlcHdr"))


def alternative(element: Any) -> Iterator[Any]:
    """Of the forms of one thing the first that has text, else the first that has anything."""
    forms = [form for form in element if len(form)]
    if forms:
        texts = (*_TEXTS, "{http://schemas.openxmlformats.org/drawingml/2006/main}t", GRAPHIC)
        yield next((form for form in forms if next(form.iter(*texts), None) is not None), forms[0])


def within(element: Any, tags: frozenset[str]) -> Iterator[Any]:
    """The outermost visible descendants of those kinds, in order."""
    for child in element:
        tag = child.tag
        if tag in tags:
            yield child
        elif tag in _SKIPPED or (tag == f"{W}sdt" and (is_prompt(child) or _is_contents(child))):
            continue
        elif tag == ALTERNATIVES:
            for chosen in alternative(child):
                yield from within(chosen, tags)
        else:
            yield from within(child, tags)


def _is_contents(control: Any) -> bool:
    """A table of contents says each heading again."""
    gallery = control.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return gallery is not None and gallery.get(f"{W}val") == "Table of Contents"
