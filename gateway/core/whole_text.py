"""A whole document's text, and windows of it that cut no character people see (FEATURES C1)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import regex

from gateway.core.documents import Block, Chunk, WholeText
from gateway.core.folding import storable
from gateway.core.passages import Locator, Passage

_GRAPHEME = regex.compile(r"\X")
_HEADING = 200  # characters of one in a place
_REPEATED = 80  # characters at most that a passage repeats of the one before


def whole_of(blocks: Iterable[Block]) -> WholeText:
    """All blocks in reading order, a line each; the header of a table above its first row."""
    lines: list[str] = []
    places: list[tuple[int, Locator]] = []
    at, header = 0, ""
    for block, place in _placed(blocks):
        text = storable(block.text.strip())
        above = storable(block.header.strip()) if block.is_row else ""
        if above and above != header:
            text = f"{above}\n{text}"
        header = above
        if not places or places[-1][1] != place:
            places.append((at, place))
        lines.append(text)
        at += len(text) + 1
    return WholeText("\n".join(lines), tuple(places))


def _placed(blocks: Iterable[Block]) -> Iterator[tuple[Block, Locator]]:
    """Blocks that say something, each below its headings."""
    above: list[Block] = []
    for block in blocks:
        if not block.text.strip():
            continue
        if block.heading_level is not None:
            while above and (above[-1].heading_level or 0) >= block.heading_level:
                above.pop()
            above.append(block)
        path = tuple(storable(" ".join(each.text.split()))[:_HEADING] for each in above)
        yield block, replace(block.locator, heading=path or block.locator.heading)


def joined(passages: Sequence[Passage]) -> WholeText:
    """As near as passages come to it: what one repeats of the one before is taken out once."""
    return _joined((passage.text, passage.locator) for passage in passages)


def joined_chunks(chunks: Sequence[Chunk]) -> WholeText:
    """The same of passages as they are stored."""
    return _joined((chunk.text, chunk.locator) for chunk in chunks)


def _joined(passages: Iterable[tuple[str, Locator]]) -> WholeText:
    text = ""
    places = []
    for said, locator in passages:
        most = min(_REPEATED, len(text), len(said))
        same = next((n for n in range(most, 0, -1) if text.endswith(said[:n])), 0)
        if text and not same:
            text += "\n"
        places.append((len(text), locator))
        text += said[same:]
    return WholeText(text, tuple(places))


def window(text: str, offset: int, limit: int) -> str:
    """From code point `offset` on, at most `limit`: whole graphemes, or a part of a first one that
    is longer than all of the window.
    """
    end = offset + limit
    if end >= len(text):
        return text[offset:]
    border = offset
    for grapheme in _GRAPHEME.finditer(text, offset):
        if grapheme.end() > end:
            break
        border = grapheme.end()
    return text[offset : end if border == offset else border]


def place_of(whole: WholeText, first: int, end: int) -> str:
    """Where the characters from `first` to before `end` stand: `p. 3–4`, "" where nothing says."""
    if not whole.places:
        return ""
    starts = [start for start, _ in whole.places]
    begin = whole.places[max(bisect_right(starts, first) - 1, 0)][1]
    last = whole.places[max(bisect_right(starts, max(end - 1, first)) - 1, 0)][1]
    return _span(begin, last)


def _span(first: Locator, last: Locator) -> str:
    if first.page is not None and last.page is not None:
        return replace(first, page_end=last.page_end or last.page).label()
    if first.row is not None and last.row is not None and first.sheet == last.sheet:
        return replace(first, row_end=last.row_end or last.row).label()
    begins, ends = first.label(), last.label()
    return begins if begins == ends or not ends else f"{begins} – {ends}"
