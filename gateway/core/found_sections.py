"""What a search found, by section, as a program is shown it (FEATURES B1, B3)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.core.outlines import SectionHit
from gateway.core.passage_block import BAR, shown
from gateway.core.passages import Locator, Passage
from gateway.core.turns import PresentedPassage

WHOLE_PAGES = 5  # a section of at most so many pages is told of with all of them
_NOWHERE = Locator()
# at the start of a line: what would pass for a heading, a list or a rule of ours
_OURS = re.compile(r"\s*(?:#|[-*+=_~>│]|input/)")
_IN_HEADING = str.maketrans({"(": "（", ")": "）", "#": "＃"})


@dataclass(frozen=True, slots=True)
class FoundSection:
    """A section with the passages of it that answer, in the order of the search."""

    source_id: str
    document: str  # title of the source
    title: str
    summary: str
    path: tuple[str, ...]
    pages: tuple[int, ...]  # ascending; none where the format has none
    first_page: int | None
    last_page: int | None
    passages: tuple[Passage, ...]

    @property
    def matching_pages(self) -> tuple[int, ...]:
        """Those that hold a passage, in the order of the search."""
        return tuple(dict.fromkeys(page for each in self.passages for page in pages_of(each)))


def pages_of(passage: Passage) -> tuple[int, ...]:
    """The pages a passage stands on."""
    first = passage.locator.page
    if first is None:
        return ()
    last = passage.locator.page_end
    return tuple(range(first, max(first, last or first) + 1))


def found_sections(
    passages: Sequence[Passage], sections: Mapping[int, SectionHit]
) -> tuple[FoundSection, ...]:
    """Each section once, where its best passage stood; a passage without one is its own heading's,
    or its document's.
    """
    grouped: dict[tuple[str, object], list[Passage]] = {}
    for passage in passages:
        section = sections.get(passage.id)
        part: object = section.ordinal if section is not None else passage.locator.heading
        grouped.setdefault((passage.source_id, part), []).append(passage)
    return tuple(_section(some, sections.get(some[0].id)) for some in grouped.values())


def _section(passages: Sequence[Passage], section: SectionHit | None) -> FoundSection:
    best = passages[0]
    heading = best.locator.heading
    on = sorted({page for each in passages for page in pages_of(each)})
    first = section.first_page if section is not None else None
    last = section.last_page if section is not None else None
    if on:  # a range that does not hold what was found there is none
        first, last = min(first or on[0], on[0]), max(last or on[-1], on[-1])
    pages = tuple(on)
    if first is not None and last is not None and last - first < WHOLE_PAGES:
        pages = tuple(range(first, last + 1))
    return FoundSection(
        best.source_id,
        best.title,
        section.title if section is not None else (heading[-1] if heading else best.title),
        section.summary if section is not None else "",
        section.path if section is not None else heading,
        pages,
        first,
        last,
        tuple(passages),
    )


def section_lines(section: FoundSection) -> list[str]:
    """`## title (document, pages: 3, 4)`, then the summary and the passages.

    No line of a document can be taken for a heading or a list of ours: such a line has a bar
    before it.
    """
    document, title = _word(section.document), _word(section.title)
    numbers = ", ".join(str(page) for page in section.pages)
    where = f"{document}, pages: {numbers}" if numbers else document
    lines = [f"## {title} ({where})"]
    texts = [_visible(passage.text) for passage in section.passages]
    summary = _visible(section.summary)
    if summary and _squeezed(summary) not in _squeezed("".join(texts)):
        texts = [summary, *texts]
    for text in texts:
        lines.extend(_plain(line) for line in text.split("\n"))
    return lines


def pictured(sections: Sequence[FoundSection], most: int) -> tuple[tuple[str, int], ...]:
    """(source id, page) of the pages to show: those that match first, then the sections' others."""
    matching = [(each.source_id, page) for each in sections for page in each.matching_pages]
    others = [(each.source_id, page) for each in sections for page in each.pages]
    return tuple(dict.fromkeys([*matching, *others]))[:most]


def one_word(text: str) -> str:
    """A title or a name on one line, without what builds a heading."""
    return _word(text)


def _word(text: str) -> str:
    passage = Passage(0, "", "", "", 0, text, "", _NOWHERE)
    return shown(PresentedPassage(0, passage)).title.translate(_IN_HEADING)


def _visible(text: str) -> str:
    passage = Passage(0, "", "", "", 0, "", text, _NOWHERE)
    return shown(PresentedPassage(0, passage)).text.strip("\n")


def _plain(line: str) -> str:
    return f"{BAR}{line}" if _OURS.match(line) else line


def _squeezed(text: str) -> str:
    return "".join(text.split())
