"""Text as Office draws it on slides, in shapes, charts and diagrams: paragraphs with levels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gateway.extract.counting import MOST, counted
from gateway.extract.xml import number_in

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_BREAK, _FIELD, _RUN = f"{A}br", f"{A}fld", f"{A}t"
_SKIPPED = frozenset({f"{A}pPr", f"{A}rPr", f"{A}endParaRPr"})
_DEEPEST = 8
_COUNTED = (  # beginnings of the names of automatic numbers, longest first
    ("ea1JpnKor", "japaneseCounting"),
    ("ea1JpnChs", "japaneseCounting"),
    ("ea1Cht", "taiwaneseCountingThousand"),
    ("ea1Chs", "chineseCountingThousand"),
    ("circleNum", "decimalEnclosedCircle"),
    ("alphaLc", "lowerLetter"),
    ("alphaUc", "upperLetter"),
    ("romanLc", "lowerRoman"),
    ("romanUc", "upperRoman"),
)
_AROUND = (("ParenBoth", "(", ")"), ("ParenR", "", ")"), ("Period", "", "."), ("Minus", "- ", " -"))


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph of a shape; `level` 0 is the outermost."""

    text: str
    level: int


def lines_of(body: Any) -> Iterator[Line]:
    """The paragraphs with text of an element that holds `a:p` right below it."""
    counts = [0] * (_DEEPEST + 1)
    for paragraph in body.iterchildren(f"{A}p"):
        properties = paragraph.find(f"{A}pPr")
        level = 0 if properties is None else min(number_in(properties.attrib, "lvl", 0), _DEEPEST)
        text = "".join(_text(paragraph)).strip()
        numbering = None if properties is None else properties.find(f"{A}buAutoNum")
        counts[level + 1 :] = [0] * (_DEEPEST - level)
        if numbering is None:
            counts[level] = 0
        if not text:
            continue
        if numbering is not None:
            counts[level] = min(counts[level] + 1, MOST)
            text = f"{_label(numbering, counts[level])} {text}"
        yield Line(text, level)


def text_of(body: Any) -> str:
    """The paragraphs in lines."""
    return "\n".join(line.text for line in lines_of(body))


def _text(element: Any) -> Iterator[str]:
    for child in element:
        tag = child.tag
        if tag in {_RUN, _MATH}:
            yield (child.text or "").replace("\v", "\n")
        elif tag == _BREAK:
            yield "\n"
        elif tag in _SKIPPED or (tag == _FIELD and _is_of_the_page(child)):
            continue
        elif tag == f"{_MC}AlternateContent":
            yield from (text for form in child[:1] for text in _text(form))
        else:
            yield from _text(child)


def _is_of_the_page(field: Any) -> bool:
    kind = str(field.get("type", ""))
    return kind.startswith(("slidenum", "datetime", "header", "footer"))


def _label(numbering: Any, count: int) -> str:
    kind = numbering.get("type", "arabicPeriod")
    start = number_in(numbering.attrib, "startAt", 1)
    form = next((form for name, form in _COUNTED if kind.startswith(name)), "decimal")
    text = counted(start + count - 1, form)
    for end, left, right in _AROUND:
        if kind.endswith(end):
            return f"{left}{text}{right}"
    return text
