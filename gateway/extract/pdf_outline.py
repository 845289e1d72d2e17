"""The outline of a PDF: titles with their pages, found again in the text."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.extract.pdf_paragraphs import Paragraph, plain

MAX_OUTLINE = 5_000
TITLE_CHARS = 200
NUMBER_CHARS = 12  # that the page has before a title and the outline hasn't, or the reverse
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """A title of the outline and how far down its page it points, in points."""

    level: int
    title: str
    y: float = 0.0
    is_told: bool = False  # its text stands on the page

    @property
    def key(self) -> str:
        return plain(self.title)


Outline = Mapping[int, Sequence[Entry]]  # page number -> the titles that begin on it


def outline_of(pdf: Any) -> Outline:
    """Empty if there is none, or one that is damaged: no reason to lose the text."""
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    try:
        entries = pdf.get_toc(simple=False)[:MAX_OUTLINE]
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError, RecursionError):
        return found
    for at, (level, title, page, *more) in enumerate(entries):
        text = " ".join(str(title).split())[:TITLE_CHARS]
        number = page if page >= 1 else _below(entries, at)
        if text and 1 <= number <= pdf.page_count:
            depth = min(max(int(level), 1), DEEPEST)
            found[number].append(Entry(depth, text, _y(more[0] if more else {})))
    return found


def _below(entries: Sequence[Any], at: int) -> int:
    """A part without a place of its own begins with its first chapter."""
    for level, _, page, *_ in entries[at + 1 : at + 50]:
        if level <= entries[at][0]:
            return 0
        if page >= 1:
            return int(page)
    return 0


def _y(more: Any) -> float:
    to = more.get("to") if isinstance(more, dict) else None
    return float(to.y) if to is not None else 0.0


def titled(found: Sequence[Paragraph], entries: Sequence[Entry]) -> Iterator[Paragraph | Entry]:
    """The paragraphs of a page with its titles: each in place of its text, or where it points."""
    places: defaultdict[int, list[Entry]] = defaultdict(list)
    replaced: dict[int, int] = {}  # first paragraph of a title's text -> how many
    least = 0
    for entry in entries:
        start, count = _text_of(found, entry, replaced)
        if count:
            replaced[start] = count
            entry = replace(entry, is_told=True)  # noqa: PLW2901 - what is known of it now
        else:
            start = max(least, _place_of(found, entry))
        places[start].append(entry)
        least = start
    gone = 0
    for at, paragraph in enumerate(found):
        yield from places.pop(at, ())
        gone = max(gone - 1, replaced.get(at, 0))
        if not gone:
            yield paragraph
    for rest in places.values():
        yield from rest


def _text_of(found: Sequence[Paragraph], entry: Entry, taken: Mapping[int, int]) -> tuple[int, int]:
    """(index, how many paragraphs): the title as it stands on the page, largest letters first."""
    key = entry.key
    exact = [at for at, each in enumerate(found) if at not in taken and plain(each.text) == key]
    if not exact:
        exact = [
            at
            for at, each in enumerate(found)
            if at not in taken and _is_nearly(plain(each.text), key)
        ]
    if exact:
        return max(exact, key=lambda at: (found[at].size, -at)), 1
    for at in range(len(found) - 1):  # its number in a line of its own
        if at not in taken and plain(found[at].text + found[at + 1].text) == key:
            return at, 2
    return 0, 0


def _is_nearly(text: str, key: str) -> bool:
    """One of them has a number that the other hasn't."""
    shorter, longer = sorted((text, key), key=len)
    return (
        len(shorter) > 1
        and len(longer) - len(shorter) <= NUMBER_CHARS
        and longer.endswith(shorter)
        and not any(c.isalpha() for c in longer[: -len(shorter)].translate(_COUNTERS))
    )


_COUNTERS = str.maketrans(
    dict.fromkeys("第章節节條条編编部篇一二三四五六七八九十百零ivxlabcdefg", "1")
)


def _place_of(found: Sequence[Paragraph], entry: Entry) -> int:
    """The first paragraph at or below the point the title names."""
    if entry.y <= 0:
        return 0
    below = (at for at, each in enumerate(found) if each.y >= entry.y - each.size / 2)
    return next(below, 0)
