"""Markdown: headings as a tree, tables as rows, code and all other text as it is written."""

import re
from collections.abc import Iterable, Iterator, Sequence

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.reading import Document, ReadOptions, bounded
from gateway.extract.tables import row_blocks
from gateway.extract.text import lines_of, text_of

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t\u3000]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DIVIDER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELLS = re.compile(r"(?<!\\)\|")
_COMMENT = re.compile(r"<!--.*?-->")
HERE = Locator()


def read_markdown(data: bytes, options: ReadOptions) -> Document:
    """Blocks of a Markdown file, with the characters of the source."""
    text = text_of(data, options)
    lines = list(_without_comments(lines_of(text)))
    return Document(bounded(_blocks(lines), options.max_chars), "text/markdown")


def _without_comments(lines: Iterable[str]) -> Iterator[str]:
    """A reader of the page doesn't see comments; code keeps what looks like one."""
    fence = ""
    is_comment = False
    for line in lines:
        text = line
        if is_comment:
            _, end, text = line.partition("-->")
            is_comment = not end
        mark = _FENCE.match(text)
        if fence:
            fence = "" if _closing(fence).match(text) else fence
        elif mark:
            fence = mark[1]
        else:
            text, start, _ = _COMMENT.sub("", text).partition("<!--")
            is_comment = is_comment or bool(start)
        yield text


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    paragraph: list[str] = []
    at = _after_front_matter(lines)
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        is_table = "|" in line and at + 1 < len(lines) and _is_divider(lines[at + 1])
        if fence or is_table or not line.strip() or _HEADING.match(line):
            yield from _paragraph(paragraph)
            paragraph = []
        if fence:
            end = _fence_end(lines, at, fence[1])
            yield Block("\n".join(lines[at:end]), HERE)
            at = end
        elif is_table:
            end = _table_end(lines, at)
            yield from _table(lines[at:end])
            at = end
        else:
            yield from _heading(line)
            if _is_underline(line, paragraph):
                yield _underlined(line, paragraph)
                paragraph = []
            elif line.strip() and not _HEADING.match(line):
                paragraph.append(line)
            at += 1
    yield from _paragraph(paragraph)


def _heading(line: str) -> Iterator[Block]:
    match = _HEADING.match(line)
    if match:
        yield Block(match[2] or "", HERE, heading_level=len(match[1]))


def _is_underline(line: str, paragraph: Sequence[str]) -> bool:
    return len(paragraph) == 1 and _UNDERLINE.match(line) is not None


def _underlined(line: str, paragraph: Sequence[str]) -> Block:
    return Block(paragraph[0].strip(), HERE, heading_level=1 if "=" in line else 2)


def _paragraph(lines: Sequence[str]) -> Iterator[Block]:
    text = "\n".join(lines)
    if text.strip():
        yield Block(text, HERE)


def _after_front_matter(lines: Sequence[str]) -> int:
    """Settings of a site generator between two lines of dashes are no text."""
    if lines and lines[0].rstrip() == "---":
        for at in range(1, min(len(lines), 100)):
            if lines[at].rstrip() in {"---", "..."}:
                return at + 1
            if lines[at].strip() and ":" not in lines[at] and lines[at][:1] not in " -#":
                return 0
    return 0


def _fence_end(lines: Sequence[str], start: int, mark: str) -> int:
    closing = _closing(mark)
    for at in range(start + 1, len(lines)):
        if closing.match(lines[at]):
            return at + 1
    return len(lines)


def _closing(mark: str) -> re.Pattern[str]:
    return re.compile(rf" {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$")


def _is_divider(line: str) -> bool:
    return "-" in line and "|" in line and _DIVIDER.match(line) is not None


def _table_end(lines: Sequence[str], start: int) -> int:
    at = start + 2
    while at < len(lines) and "|" in lines[at]:
        at += 1
    return at


def _table(lines: Sequence[str]) -> Iterator[Block]:
    rows = [[cell.strip() for cell in _CELLS.split(line.strip().strip("|"))] for line in lines]
    del rows[1]  # the divider
    yield from row_blocks(rows, [HERE] * len(rows), has_header=True)
