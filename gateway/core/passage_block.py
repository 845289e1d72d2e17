"""The block of passages a model reads: written so that no document can forge it, and read back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.citations import escape_marks
from gateway.core.turns import PresentedPassage

OPEN = "<knowledge_passages>"
CLOSE = "</knowledge_passages>"
BAR = "│ "
TITLE_CHARS = 200
_SEPARATOR = " · "

_LINE_BREAK = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# controls, surrogates, and what reorders or hides text; a model would see other words than we
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BLANKS = re.compile(r"\s+")
_DELIMITER = re.compile(r"<(?=[\s/]*knowledge_passages)", re.IGNORECASE)
_IN_HEADER = str.maketrans({"<": "＜", ">": "＞", "│": "|", "·": "・"})
_HEADER = re.compile(r"\[([0-9]+)\] (.*?)(?: · (.*))?")


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage exactly as the model reads it: `title` and `locator` one line each."""

    n: int
    title: str
    locator: str
    text: str


def shown(presented: PresentedPassage) -> ShownPassage:
    """What is left of a passage on its way into the prompt.

    Text: line breaks of every kind become newlines, invisible controls go, its own marks like
    `[3]` are escaped. Title and locator: the same, on one line, without the signs that build the
    block, at most TITLE_CHARS characters.
    """
    passage = presented.passage
    return ShownPassage(
        presented.n,
        _one_line(passage.title),
        _one_line(passage.locator.label()),
        escape_marks(_visible(passage.text)),
    )


def render_passages(presented: Sequence[PresentedPassage]) -> str:
    """The whole block; every line of a document begins with a bar, headers never do."""
    lines = [OPEN]
    for passage in map(shown, presented):
        lines.append(_header(passage))
        lines.extend(f"{BAR}{line}" for line in passage.text.split("\n"))
    return "\n".join([*lines, CLOSE])


def parse_passages(text: str) -> tuple[ShownPassage, ...]:
    """The inverse: `parse_passages(render_passages(p)) == tuple(map(shown, p))`.

    Reads the first block of a message, whatever stands around it; no block, no passages.
    """
    passages: list[ShownPassage] = []
    for header, body in _entries(_block(text)):
        n, title, locator = header.groups(default="")
        passages.append(ShownPassage(int(n), title, locator, "\n".join(body)))
    return tuple(passages)


def defuse(text: str) -> str:
    """A person's words with invisible controls gone and delimiters that open nothing."""
    return _DELIMITER.sub("＜", _visible(text))


def _block(text: str) -> list[str]:
    lines = text.split("\n")
    if OPEN not in lines:
        return []
    inside = lines[lines.index(OPEN) + 1 :]
    return inside[: inside.index(CLOSE)] if CLOSE in inside else []


def _entries(block: Sequence[str]) -> list[tuple[re.Match[str], list[str]]]:
    entries: list[tuple[re.Match[str], list[str]]] = []
    for line in block:
        header = _HEADER.fullmatch(line)
        if header:
            entries.append((header, []))
        elif entries:
            entries[-1][1].append(line.removeprefix(BAR))
    return entries


def _header(passage: ShownPassage) -> str:
    place = f"{_SEPARATOR}{passage.locator}" if passage.locator else ""
    return f"[{passage.n}] {passage.title}{place}"


def _visible(text: str) -> str:
    return _UNSEEN.sub("", _LINE_BREAK.sub("\n", text))


def _one_line(text: str) -> str:
    line = _BLANKS.sub(" ", _visible(text)).translate(_IN_HEADER).strip()
    return escape_marks(line[:TITLE_CHARS].rstrip())  # last: a joined line can make a new mark
