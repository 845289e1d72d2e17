"""Where a Markdown text holds code: fenced blocks, also unclosed ones, and inline spans."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE_LINE = re.compile(
    r"""^(?P<indent>[ \t>]*+)
        (?P<bullet>(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?+   # a fence may open a list item
        (?P<run>`{3,}+|~{3,}+)
        (?P<info>[^\n]*+)""",
    re.VERBOSE | re.MULTILINE,
)
_BACKTICKS = re.compile("`++")
_PARAGRAPH_BREAK = re.compile(r"\n[ \t\r]*+\n")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block from `start` of its opening line to `end` of its closing line.

    The code stands in `inner_start` to `inner_end`; an unclosed block ends where its code ends.
    """

    start: int
    inner_start: int
    inner_end: int
    end: int
    opening: str  # the opening line without its line break: "```python"
    closing: str  # the line that would close it: "```"


def fences(text: str) -> tuple[Fence, ...]:
    """The fenced code blocks of a text in order; an unclosed one reaches the end of the text."""
    found: list[Fence] = []
    opener: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        if opener is None:
            opener = line if _opens(line) else None
        elif _closes(opener, line):
            found.append(_fence(opener, line.start(), line.end()))
            opener = None
    if opener is not None:
        found.append(_fence(opener, len(text), len(text)))
    return tuple(found)


def _opens(line: re.Match[str]) -> bool:
    return line["run"][0] == "~" or "`" not in line["info"]


def _closes(opener: re.Match[str], line: re.Match[str]) -> bool:
    is_bare = line["bullet"] is None and not line["info"].strip()
    return is_bare and line["run"].startswith(opener["run"])


def _fence(opener: re.Match[str], inner_end: int, end: int) -> Fence:
    return Fence(
        start=opener.start(),
        inner_start=min(opener.end() + 1, inner_end),
        inner_end=inner_end,
        end=end,
        opening=opener[0],
        closing=opener["indent"] + opener["run"],
    )


def prose(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each stretch of the text that is no code, in order, none empty."""
    at = 0
    for start, end in _code(text):
        if at < start:
            yield at, start
        at = end
    if at < len(text):
        yield at, len(text)


def _code(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for fence in fences(text):
        yield from _inline(text, at, fence.start)
        yield fence.start, fence.end
        at = fence.end
    yield from _inline(text, at, len(text))


def _inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = text.find("`", start, end)
    if at < 0:
        return
    for gap in _PARAGRAPH_BREAK.finditer(text, start, end):
        yield from _spans(text, at, gap.end())
        at = gap.end()
    yield from _spans(text, at, end)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Code spans of one paragraph: a run of backticks closes the nearest earlier one as long."""
    runs = [match.span() for match in _BACKTICKS.finditer(text, start, end)]
    starts_by_length: dict[int, list[int]] = defaultdict(list)
    for first, last in runs:
        starts_by_length[last - first].append(first)
    at = start
    for first, last in runs:
        if first < at:
            continue
        is_escaped = text[first - 1 : first] == "\\"
        length = last - first - is_escaped
        starts = starts_by_length.get(length, [])
        nearest = bisect_right(starts, first)
        if nearest < len(starts):
            at = starts[nearest] + length
            yield first + is_escaped, at
