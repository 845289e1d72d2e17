"""A passage as the sentences and table rows a person would quote from it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from gateway.core.matching import match_text, sentences
from gateway.core.passage_block import ShownPassage

MOST_CHARS = 300  # of one quoted sentence
_MERGED_CHARS = 200  # clauses between semicolons stay together up to here
_SEPARATORS = ("\t", " | ", "|")
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_BULLET = re.compile(r"^(?:[-*•・●○■□▪]\s*|#{1,6}\s+|>\s*)+")
_ENDS = re.compile(r"[。！？!?；;：:.」』）)]\s*\Z")
_QUESTION = re.compile(r"[？?]\s*\Z")
_BETWEEN_CJK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_OPEN = re.compile(r"(?:[；;，、,]|^\s*\w{1,5}[。.!！])\s*\Z")
_NUMBERING = re.compile(r"^(?:第\w{1,4}[章節节条條]|[0-9]+(?:\.[0-9]+)*[.、)）]?)\s*")
_AMOUNT = re.compile(r"[\d.,%$¥￥-]+")  # a cell like this makes a row of a header
_DIGIT = re.compile(r"\d")
_HEADING_CHARS = 40


class Kind(Enum):
    """What a line is good for."""

    HEADING = "heading"  # tells what follows is about; answers nothing itself
    QUESTION = "question"  # of an FAQ: what follows is its answer
    SENTENCE = "sentence"
    ROW = "row"  # of a table, with its header made readable


@dataclass(frozen=True, slots=True)
class Unit:
    """Something to quote: `text` as shown, `folded` for matching, `about` its headings, folded."""

    text: str
    folded: str
    kind: Kind
    about: str
    follows_question: bool = False


def units(passage: ShownPassage) -> tuple[Unit, ...]:
    """All of a passage in reading order."""
    head = match_text(f"{passage.title}\n{passage.locator}")
    lines = [line for line in passage.text.split("\n") if line.strip()]
    rows = _rows(lines)
    if rows:
        return tuple(_unit(row, Kind.ROW, head) for row in rows)
    made: list[Unit] = []
    heading = question = ""
    for text in _sentences(passage.text):
        kind = _kind(text)
        follows = bool(question) and made[-1].kind is Kind.QUESTION
        made.append(_unit(text, kind, f"{head}\n{heading}\n{question}", follows_question=follows))
        if kind is Kind.HEADING:
            heading, question = made[-1].folded, ""
        elif kind is Kind.QUESTION:
            question = made[-1].folded
    return tuple(made)


def _unit(text: str, kind: Kind, about: str, *, follows_question: bool = False) -> Unit:
    folded = match_text(text)
    shown = text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS].rstrip()}…"
    return Unit(shown, folded, kind, about, follows_question)


def _kind(text: str) -> Kind:
    if _QUESTION.search(text):
        return Kind.QUESTION
    name = _NUMBERING.sub("", text)  # 2.3 加班
    is_heading = len(name) <= _HEADING_CHARS and not _ENDS.search(name) and not _DIGIT.search(name)
    return Kind.HEADING if is_heading else Kind.SENTENCE


def _sentences(text: str) -> Iterator[str]:
    """Cleaned sentences; parts between semicolons, and a bare `Yes.`, stay with what follows."""
    waiting = ""
    for start, end in sentences(text):
        waiting += text[start:end]
        if not _OPEN.search(waiting) or len(waiting) > _MERGED_CHARS:
            yield from filter(None, [_clean(waiting)])
            waiting = ""
    yield from filter(None, [_clean(waiting)])


def _clean(text: str) -> str:
    """On one line, without list signs; a backtick could hide the mark that follows in code."""
    line = _BULLET.sub("", text.strip()).replace("`", "").strip()
    return " ".join(_BETWEEN_CJK.sub("", line).split())


def _rows(lines: Sequence[str]) -> list[str]:
    """`header: value` of each row, if all of the passage is one table under its header."""
    for separator in (each for each in _SEPARATORS if lines and each in lines[0]):
        header, *rows = [
            _cells(line, separator) for line in lines if not _RULE.fullmatch(line)
        ] or [[]]
        is_table = all(1 < len(row) <= len(header) for row in rows)
        if len(header) > 1 and rows and is_table and not any(map(_AMOUNT.fullmatch, header)):
            return [_readable(header, row) for row in rows]
    return []


def _cells(line: str, separator: str) -> list[str]:
    bare = line.strip()
    if bare.startswith("|") and "|" in separator:  # as Markdown writes tables
        bare = bare.strip("|")
    return [_clean(cell) for cell in bare.split(separator)]


def _readable(header: Sequence[str], row: Sequence[str]) -> str:
    colon, stop = (": ", "; ") if "".join(header).isascii() else ("：", "；")
    pairs = ((name, value) for name, value in zip(header, row, strict=False) if value)
    return stop.join(f"{name}{colon}{value}" if name else value for name, value in pairs)
