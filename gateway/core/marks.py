"""The grammar of citation marks: every form a model writes, and what only looks like one."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from gateway.core import markdown

BLANKS = " \t\u00a0\u3000"
_BLANK = r"[ \t\u00a0\u3000\u200b-\u200d\u2060\ufeff]*+"
_NUMBER = r"\^?[0-9０-９]++"
_DASH = r"\-‐‑–—−－~〜～"
_JOINT = rf"[,，､、;；・{_DASH}]"
_NOTE = r"†[^\[\]【】［］〔〕\n]*+"
_BODY = rf"{_BLANK}{_NUMBER}(?:{_BLANK}{_JOINT}{_BLANK}{_NUMBER})*+{_BLANK}(?:{_NOTE})?+"
# Possessive throughout, and no body holds a bracket: every start fails at the next bracket at
# the latest, so that the time is linear in the text (faults 47).
MARK = rf"\[\[{_BODY}\]\]|\\\[{_BODY}\\\]|\[{_BODY}\]|【{_BODY}】|［{_BODY}］|〔{_BODY}〕"

_TOKEN = re.compile(rf"(?P<mark>{MARK})|[\[\]()\n]")
_PLAIN = re.compile(r"\[[^†^]*\]")
_PART = re.compile(rf"(?P<number>[0-9０-９]+)|(?P<dash>[{_DASH}])")
_ADDRESS = r"(?:<|[A-Za-z][A-Za-z0-9+.\-]*:|www\.|[/#.])"
_LINK_TARGET = re.compile(rf"\((?:\s*+{_ADDRESS}|\s*+\))")
_DEFINITION = re.compile(rf":[ \t]*+{_ADDRESS}")
_LINE_START = re.compile(r"(?:\A|\n) {0,3}\Z")
_YEAR = re.compile(r"[\[［【〔][12１２][0-9０-９]{3}[\]］】〕]")
_DOCUMENT_NUMBER = re.compile(r"[ \t]*+第?[ \t]*+[0-9０-９]{1,6}[ \t]*+[号號]")
_CLOSER = {"]": "[", ")": "("}
_MAX_DIGITS = 9  # more than anybody was shown; int() refuses thousands
_FAR = 10**_MAX_DIGITS
MAX_RANGE = 20  # a wider range counts as its two ends


@dataclass(frozen=True, slots=True)
class Mark:
    """One citation mark as written; `is_glued` where a name or an index ends directly before."""

    start: int
    end: int
    numbers: tuple[int, ...]
    is_glued: bool


def find(text: str) -> Iterator[Mark]:
    """The citation marks of a text in order; never code, an index, a link or a quoted number.

    Not marks (faults 46): brackets in code, `[1]` directly after an ASCII letter or after the `]`
    of an index or the `)` of a call, link texts with an address, link definitions, `第[2]條` and
    the year of an official document's number, `〔2024〕5号`.
    """
    for start, end in markdown.prose(text):
        yield from _Scan(text).marks(start, end)


class _Scan:
    """Reads one stretch of prose from left to right, knowing which brackets index something."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._opened: list[tuple[str, bool]] = []  # bracket, whether it indexes or calls
        self._index_end = -1  # where the last index or call ended

    def marks(self, start: int, end: int) -> Iterator[Mark]:
        for token in _TOKEN.finditer(self._text, start, end):
            is_glued = self._is_glued(token.start())
            if token["mark"] is None:
                self._bracket(token, is_glued=is_glued)
            elif is_glued and _PLAIN.fullmatch(token["mark"]):
                self._index_end = token.end()
            elif not _is_quoted(token) and not _is_link(token):
                yield Mark(token.start(), token.end(), _numbers(token["mark"]), is_glued)

    def _is_glued(self, at: int) -> bool:
        before = self._text[at - 1 : at]
        return at == self._index_end or (before.isascii() and before.isalpha())

    def _bracket(self, token: re.Match[str], *, is_glued: bool) -> None:
        char = token[0]
        if char in "[(":
            self._opened.append((char, is_glued))
        elif char == "\n":
            self._opened.clear()
        elif self._opened and self._opened[-1][0] == _CLOSER[char] and self._opened.pop()[1]:
            self._index_end = token.end()


def _is_quoted(token: re.Match[str]) -> bool:
    if token.string[token.start() - 1 : token.start()] == "第":
        return True
    is_year = _YEAR.fullmatch(token["mark"]) is not None
    return is_year and _DOCUMENT_NUMBER.match(token.string, token.end()) is not None


def _is_link(token: re.Match[str]) -> bool:
    text, start, end = token.string, token.start(), token.end()
    if text[start - 1 : start] == "!" and text[end : end + 1] == "(":
        return True
    if _LINK_TARGET.match(text, end):
        return True
    before = text[max(0, start - 4) : start]
    return bool(_DEFINITION.match(text, end)) and bool(_LINE_START.search(before))


def _numbers(mark: str) -> tuple[int, ...]:
    """Every number a mark names, in its order, each once; ranges written out up to MAX_RANGE."""
    spans: list[tuple[int, int]] = []
    is_range = False
    for part in _PART.finditer(mark.partition("†")[0]):
        if part["dash"]:
            is_range = True
            continue
        digits = part["number"]
        number = int(digits) if len(digits) <= _MAX_DIGITS else _FAR
        spans.append((spans[-1][1] if is_range else number, number))
        is_range = False
    return tuple(dict.fromkeys(chain.from_iterable(map(_written_out, spans))))


def _written_out(span: tuple[int, int]) -> Iterable[int]:
    low, high = min(span), max(span)
    return range(low, high + 1) if high - low < MAX_RANGE else (low, high)
