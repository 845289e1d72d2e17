"""Gives every passage a section: also what stands before the first heading, or has none."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from gateway.core.documents import Chunk, Section
from gateway.core.passages import Locator

RANGE_PAGES = 10  # of one section, where a long document has no headings
WHOLE_PAGES = 15  # up to so many pages are one section

_Key = tuple[str, int]


def with_leads(
    chunks: Sequence[Chunk], sections: Sequence[Section]
) -> tuple[tuple[Chunk, ...], tuple[Section, ...]]:
    """Passages that all have a section, and the sections with those that were added first.

    An added one is a sheet, a range of pages or, without a title of its own, all there is. It
    counts below 0, so that the sections of headings keep their numbers.
    """
    loose = [chunk for chunk in chunks if chunk.section is None]
    if not loose:
        return tuple(chunks), tuple(sections)
    key = _keys(loose)
    groups = [tuple(group) for _, group in groupby(loose, key.__getitem__)]
    leads = tuple(
        _lead(number - len(groups), group, key[group[0]][1]) for number, group in enumerate(groups)
    )
    home = {
        chunk.ordinal: lead.ordinal
        for lead, group in zip(leads, groups, strict=True)
        for chunk in group
    }
    placed = tuple(replace(each, section=home.get(each.ordinal, each.section)) for each in chunks)
    return placed, (*leads, *sections)


def _keys(loose: Sequence[Chunk]) -> dict[Chunk, _Key]:
    """By sheet, else by ten pages where they are many, else all alike."""
    pages = [chunk.locator.page for chunk in loose if chunk.locator.page is not None]
    is_long = bool(pages) and max(pages) - min(pages) >= WHOLE_PAGES
    return {
        chunk: (
            chunk.locator.sheet or "",
            1 + ((chunk.locator.page or 1) - 1) // RANGE_PAGES if is_long else 0,
        )
        for chunk in loose
    }


def _lead(ordinal: int, group: Sequence[Chunk], part: int) -> Section:
    first, last = _pages(group)
    locator = Locator(page=first, page_end=last, sheet=group[0].locator.sheet)
    title = locator.sheet or (locator.label() if part else "")
    return Section(ordinal, None, 1, title, replace(locator, heading=(title,) if title else ()))


def _pages(group: Iterable[Chunk]) -> tuple[int | None, int | None]:
    """The first and the last page that any of it stands on."""
    places = [chunk.locator for chunk in group]
    firsts = [place.page for place in places if place.page is not None]
    lasts = [place.page_end for place in places if place.page_end is not None]
    return (min(firsts), max((*firsts, *lasts))) if firsts else (None, None)


def within(sections: Sequence[Section]) -> Iterator[tuple[Section, frozenset[int]]]:
    """Each section with the ordinals of itself and of all below it."""
    below: dict[int, set[int]] = {section.ordinal: {section.ordinal} for section in sections}
    for section in reversed(sections):  # children come after their parents
        if section.parent is not None:
            below[section.parent] |= below[section.ordinal]
    for section in sections:
        yield section, frozenset(below[section.ordinal])
