"""Parts: a reply cut into messages that fit the channel, with the whole footer in the last one."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice

import regex

from gateway.core import markdown
from gateway.core.messages import Limits, Unit

_GAP = "\n\n"  # between body, notice and footer
_FENCE_SHARE = 8  # a fence whose own two lines take more than this part of a part is plain text
_SURROGATE = regex.compile(r"\p{Cs}")
_NEW_LINE = regex.compile(r"\r\n?")
_GRAPHEME = regex.compile(r"\X")
_PIECE = 256  # characters
_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー]"
_LETTER = r"[\p{L}\p{N}]"
_MARKS = r"(?: ?\[[0-9]+\])*+"  # a sentence's citations stay with it
# Where to cut, best first; the part ends where the match ends.
_BREAKS = (
    regex.compile(r"(?=\n[ \t]*\n)"),
    regex.compile(r"(?=\n)"),
    regex.compile(
        rf"""[。！？｡]++[」』”’）)\]】》]*+{_MARKS}|(?<![.!?])[.!?]++["'”’)\]]*+{_MARKS}(?=\s)"""
    ),
    regex.compile(rf"[，、；：]{_MARKS}|[,;:]{_MARKS}(?=\s)"),
    regex.compile(rf"(?=[ \t\u3000])|(?<={_CJK})(?={_LETTER})|(?<={_LETTER})(?={_CJK})"),
)
_LONGEST = 24  # characters of a break: how far around the borders of the window it is looked for
_BLANK_LINES = regex.compile(r"(?:[ \t]*+\n)*+")
_BLANKS = regex.compile(r"(?:\s(?![\p{M}\u200d]))*+")  # a combining mark keeps its blank


def units(text: str, unit: Unit) -> int:
    """The length of a text as the channel counts it."""
    if unit in (Unit.UTF16, Unit.SLACK_ESCAPED):
        plain = len(text.encode("utf-16-le", "surrogatepass")) // 2
        return plain + _escaping(text) if unit is Unit.SLACK_ESCAPED else plain
    if unit is Unit.BYTES:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text)


def _escaping(text: str) -> int:
    """What the entities &amp; &lt; &gt; take beyond the characters they stand for."""
    return 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def cut_to(text: str, room: int, unit: Unit) -> str:
    """As many whole graphemes of the text as fit into `room` units."""
    ends = _grapheme_ends(text, 0, room, unit)
    return text[: ends[-1]] if ends else ""


def split(body: str, footer: str, limits: Limits, notice: str) -> tuple[str, ...]:
    """The parts of a reply: none empty, none over `part_units`, the footer whole in the last.

    Cuts fall, where the second half of a part offers one, between paragraphs, else lines,
    sentences, clauses, words, else graphemes; inside a grapheme only if it alone is too long. A
    code block that is cut is closed and opened again with its own opening line, on every channel,
    so that each part reads alone. Past `parts_per_call * max_calls` parts the body is cut and
    `notice` says so (DESIGN section 8.6). Nothing to say makes no part. Line breaks become
    LF, lone surrogates U+FFFD. `part_units` has to hold the footer and one code point.
    """
    body, footer = _closed(_clean(body)), _clean(footer)
    most = limits.parts_per_call * limits.max_calls
    cutter = _Cutter(body, limits)
    pieces = list(islice(cutter.pieces(), most + 1))
    parts = [part for _, part in pieces]
    whole = _with_footer(parts, footer, limits)
    if len(whole) <= most:
        return whole
    tail = _join(notice, footer)
    if units(tail, limits.unit) > limits.part_units:
        tail = footer  # the notice gives way before the sources do
    room = limits.part_units - units(_GAP + tail, limits.unit)
    start, _ = pieces[most - 1]
    return (*parts[: most - 1], _join(cutter.piece(start, room)[0], tail))


def _clean(text: str) -> str:
    text = _SURROGATE.sub("\ufffd", _NEW_LINE.sub("\n", text))
    return text.replace("\0", "").rstrip().lstrip("\n")


def _closed(body: str) -> str:
    """A code block left open would swallow the footer."""
    blocks = markdown.fences(body)
    is_open = bool(blocks) and blocks[-1].inner_end == blocks[-1].end
    return f"{body}\n{blocks[-1].closing}" if is_open else body


def _with_footer(parts: list[str], footer: str, limits: Limits) -> tuple[str, ...]:
    last = _join(*parts[-1:], footer)
    fits = units(last, limits.unit) <= limits.part_units
    return tuple(filter(None, (*parts[:-1], last) if fits else (*parts, footer)))


def _join(*texts: str) -> str:
    return _GAP.join(filter(None, texts))


class _Cutter:
    """Cuts one body piece by piece; positions are those of the body."""

    def __init__(self, body: str, limits: Limits) -> None:
        self._body = body
        self._limits = limits
        self._fences = [
            fence
            for fence in markdown.fences(body)
            if self._size(fence.opening + fence.closing) < limits.part_units // _FENCE_SHARE
        ]

    def _size(self, text: str) -> int:
        return units(text, self._limits.unit)

    def pieces(self) -> Iterator[tuple[int, str]]:
        """(start, part) of each piece of the whole body."""
        at = 0
        while at < len(self._body):
            start = at
            part, at = self.piece(start, self._limits.part_units)
            if part:
                yield start, part

    def piece(self, at: int, room: int) -> tuple[str, int]:
        """What fits into `room` units from `at` on, and where the next piece begins."""
        around = self._fence_around(at)
        head = f"{around.opening}\n" if around else ""
        room -= self._size(head)
        rest = self._body[at:]
        if self._size(rest) <= room:
            return head + rest, len(self._body)
        cut, tail = self._border(at, room), ""
        around = self._fence_around(cut)
        if around:
            tail = f"\n{around.closing}"
            cut = self._border(at, room - self._size(tail))
            tail = tail if self._fence_around(cut) else ""
        part = self._body[at:cut].rstrip() + tail
        return (head + part if part else ""), self._after(cut)

    def _fence_around(self, at: int) -> markdown.Fence | None:
        return next((f for f in self._fences if f.inner_start < at <= f.inner_end), None)

    def _border(self, at: int, room: int) -> int:
        """The best cut, but before the opening or closing line of a fence, never in or after it."""
        cut = _best_cut(self._body, at, room, self._limits.unit)
        for fence in self._fences:
            if fence.start < cut <= fence.inner_start:
                return fence.start
            if fence.inner_end < cut < fence.end:
                return fence.inner_end
        return cut

    def _after(self, cut: int) -> int:
        """Where the text goes on: without the blanks of the cut and a closing line that is done."""
        at = self._skip(cut)
        for fence in self._fences:
            if fence.inner_end <= at < fence.end:
                return self._skip(fence.end)
        return at

    def _skip(self, at: int) -> int:
        lines = _BLANK_LINES.match(self._body, at)
        blanks = _BLANKS.match(self._body, at)
        ends = [match.end() for match in (lines, blanks) if match]
        return next((end for end in ends if end > at), at)


def _best_cut(text: str, at: int, room: int, unit: Unit) -> int:
    ends = _grapheme_ends(text, at, room, unit)
    if not ends:
        return _code_point_end(text, at, room, unit)
    limit = ends[-1]
    half = (at + limit) // 2
    allowed = set(ends)
    for pattern in _BREAKS:
        found = pattern.finditer(text, max(at, half - _LONGEST), limit + _LONGEST)
        cuts = [match.end() for match in found if match.end() in allowed]
        if cuts and cuts[-1] >= half:
            return cuts[-1]
    return limit


def _grapheme_ends(text: str, at: int, room: int, unit: Unit) -> list[int]:
    """Where the graphemes end that fit; one code point further is read to see the last whole."""
    graphemes = list(_graphemes(text[at : at + room + 1]))
    sizes = list(accumulate(units(grapheme, unit) for grapheme in graphemes))
    ends = accumulate(map(len, graphemes), initial=at)
    return list(islice(ends, 1, 1 + bisect_right(sizes, room)))


def _graphemes(text: str) -> Iterator[str]:
    """In short pieces: to tell one flag from the next, all flags before it are looked at."""
    at, size = 0, _PIECE
    while at < len(text):
        found = _GRAPHEME.findall(text[at : at + size])
        if at + size < len(text):
            found.pop()  # it may go on
        yield from found
        at += sum(map(len, found))
        size = _PIECE if found else 2 * size


def _code_point_end(text: str, at: int, room: int, unit: Unit) -> int:
    """Where the code points end that fit: for one grapheme too long for a part."""
    while at < len(text) and units(text[at], unit) <= room:
        room -= units(text[at], unit)
        at += 1
    return at
