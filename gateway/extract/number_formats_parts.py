"""Takes a number format's code apart into sections and their parts."""

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_PARTS = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>general)|(?P<half>am/pm|a/p|上午/下午|午前/午後|오전/오후)"
    r"|(?P<exponent>e[+-])(?=[0#?])|(?P<date>y+|m+|d+|h+|s+|e+|g+|b+|aaaa?)"
    r"|(?P<digit>[0#?])|(?P<point>\.)|(?P<comma>,)|(?P<percent>%)|(?P<slash>/)|(?P<text>@)"
    r"|(?P<end>;)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_LITERALS = frozenset({"quoted", "escaped", "other"})
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+(?:e[+-]?\d+)?)", re.IGNORECASE)
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_HOLDS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "<>": operator.ne,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a section: a literal, a placeholder or a piece of a date."""

    kind: str  # literal, general, text, half, date, elapsed, digit, point, comma, ...
    shown: str  # what a literal shows; the letters of others as written


@dataclass(frozen=True, slots=True)
class Condition:
    """`[>=100]`: when its section is used."""

    sign: str
    limit: float

    def holds(self, value: float) -> bool:
        return bool(_HOLDS[self.sign](value, self.limit))

    @property
    def is_negative_only(self) -> bool:
        return self.sign in {"<", "<="} and self.limit <= 0

    @property
    def is_complement_negative(self) -> bool:
        return self.sign in {">", ">="} and self.limit <= 0


@dataclass(slots=True)
class Section:
    """What stands between two semicolons."""

    parts: list[Part] = field(default_factory=list)
    condition: Condition | None = None
    locale: str = ""  # `[$-404]` gives 404, `[$-ja-JP]` ja-jp

    def has(self, kind: str) -> bool:
        return any(part.kind == kind for part in self.parts)

    @property
    def is_date(self) -> bool:
        """Literals were taken out before, so that `" M"` makes no date."""
        return any(part.kind in {"date", "elapsed", "half"} for part in self.parts)


def sections_of(code: str) -> list[Section]:
    """The sections in order, at least one."""
    sections = [Section()]
    for match in _PARTS.finditer(code):
        kind = match.lastgroup or ""
        if kind == "end":
            sections.append(Section())
        elif kind == "bracket":
            sections[-1].parts += _bracket(match["bracket"], sections[-1])
        else:
            sections[-1].parts += _part(kind, match[kind])
    return sections


def _part(kind: str, text: str) -> Iterator[Part]:
    if kind in _LITERALS:
        yield Part("literal", text)
    elif kind == "space":
        yield Part("literal", " ")  # as wide as the character after it
    elif kind != "fill":  # repeated to fill the cell: nothing is to be read there
        yield Part(kind, text)


def _bracket(text: str, section: Section) -> Iterator[Part]:
    condition = _CONDITION.fullmatch(text.strip())
    if text.startswith("$"):
        symbol, _, locale = text[1:].partition("-")
        section.locale = locale.lower() or section.locale
        if symbol:
            yield Part("literal", symbol)
    elif condition:
        try:
            section.condition = Condition(condition[1], float(condition[2]))
        except ValueError:
            return
    elif _ELAPSED.fullmatch(text):
        yield Part("elapsed", text.lower())
