"""The outline of a PDF: titles with their pages, found again in the text."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.extract.pdf_errors import BROKEN
from gateway.extract.pdf_paragraphs import Paragraph, plain

MAX_OUTLINE = 5_000
MANY_ENTRIES = 100  # of one page: the others must be written just as on it
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
    except (*BROKEN, TypeError, AttributeError, RecursionError):
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
    texts = _Texts(found)
    least = 0
    for number, entry in enumerate(entries):
        start = texts.take(entry.key, may_differ=number < MANY_ENTRIES)
        if start is None:
            least = max(least, _place_of(found, entry))
            places[least].append(entry)
        else:
            least = start
            places[start].append(replace(entry, is_told=True))
    for at, paragraph in enumerate(found):
        yield from places.pop(at, ())
        if at not in texts.taken:
            yield paragraph
    for rest in places.values():
        yield from rest


class _Texts:
    """The paragraphs of a page by their text; each is the text of one title at most."""

    def __init__(self, found: Sequence[Paragraph]) -> None:
        self._found = found
        self._texts = [plain(each.text) for each in found]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for at, text in enumerate(self._texts):
            self._places[text].append(at)
        self.taken: set[int] = set()

    def take(self, key: str, *, may_differ: bool) -> int | None:
        """Where a title stands, in the largest letters if several times."""
        exact = self._free(self._places.get(key, ()))
        if not exact and may_differ:
            free = self._free(range(len(self._texts)))
            cut = next((at for at in free if self._is_cut(at, key)), None)
            if cut is not None:  # its number in a line of its own
                self.taken.update((cut, cut + 1))
                return cut
            exact = [at for at in free if _is_nearly(self._texts[at], key)]
        if not exact:
            return None
        best = max(exact, key=lambda at: (self._found[at].size, -at))
        self.taken.add(best)
        return best

    def _free(self, places: Iterable[int]) -> Sequence[int]:
        return [at for at in places if at not in self.taken]

    def _is_cut(self, at: int, key: str) -> bool:
        return key.startswith(self._texts[at]) and "".join(self._texts[at : at + 2]) == key


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
