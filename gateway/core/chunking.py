"""From the blocks of a document to passages of about 500 characters and its section tree."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gateway.core.cutting import Sizes, cut, spans
from gateway.core.documents import Block, Chunk, Extracted, Section
from gateway.core.injection import WINDOW, hides_instruction, looks_like_instruction
from gateway.core.matching import match_text
from gateway.core.passages import Locator

TARGET = 500  # characters (FEATURES A11)
MOST = 640  # a CJK passage of this length stays under 450 tokens of the default model
OVERLAP = 80  # repeated where a border falls inside a paragraph
WHOLE = 300  # a paragraph of this length stands alone: mixing it blurs what the passage is about
TINY = 60  # shorter than this (a title line) joins even what must then be cut
SHORT = 120  # shorter than this, a section or the end of a page joins what follows
HEADER_MOST = 200  # of a header row, repeated in each passage of its rows
PIECE = Sizes(target=250, most=300, overlap=0)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A block with its place in the section tree."""

    text: str
    locator: Locator
    section: int | None
    is_heading: bool = False
    header: str | None = None  # None: not a row of a table


@dataclass(frozen=True, slots=True)
class _Draft:
    """A passage before its copy is folded; `fresh` counts from where nothing is repeated."""

    text: str
    locator: Locator
    section: int | None
    fresh: int = 0


def chunk(extracted: Extracted) -> tuple[tuple[Chunk, ...], tuple[Section, ...]]:
    """Passages in reading order, and the heading tree they belong to."""
    sections, units = _outline(extracted.blocks)
    drafts = [draft for group in _joined(_groups(units)) for draft in _drafts(group)]
    folded = [match_text(draft.text) for draft in drafts]
    flags = _flags(drafts, folded)
    chunks = tuple(
        Chunk(
            ordinal=ordinal,
            text=draft.text,
            match_text=folded[ordinal],
            locator=draft.locator,
            section=draft.section,
            is_flagged=flags[ordinal],
        )
        for ordinal, draft in enumerate(drafts)
    )
    return chunks, sections


def pieces(text: str) -> tuple[str, ...]:
    """Parts of about 250 characters for additional vectors; none for a passage up to 300."""
    if len(text) <= PIECE.most:
        return ()
    parts = (text[span.start : span.end].strip() for span in spans(text, PIECE))
    return tuple(part for part in parts if part)


# ---------------------------------------------------------------- section tree


def _outline(blocks: Sequence[Block]) -> tuple[tuple[Section, ...], list[_Unit]]:
    sections: list[Section] = []
    units: list[_Unit] = []
    open_sections: list[Section] = []  # from the root down to the current one
    for block in blocks:
        text = block.text.strip()
        if not text:
            continue
        if block.heading_level is not None:
            while open_sections and open_sections[-1].level >= block.heading_level:
                open_sections.pop()
            parent = open_sections[-1].ordinal if open_sections else None
            title = cut(" ".join(text.split()), HEADER_MOST)
            locator = replace(block.locator, heading=(*_path(open_sections), title))
            section = Section(len(sections), parent, block.heading_level, title, locator)
            sections.append(section)
            open_sections.append(section)
        units.append(_unit(block, text, open_sections))
    return tuple(_with_ends(sections, units)), units


def _with_ends(sections: Sequence[Section], units: Iterable[_Unit]) -> Iterator[Section]:
    """Each with the last page that text of it, or of a section within it, stands on."""
    ends = [section.locator.page or 0 for section in sections]
    for unit in units:
        if unit.section is not None and unit.locator.page is not None:
            ends[unit.section] = max(ends[unit.section], unit.locator.page)
    for section in reversed(sections):  # children come after their parents
        if section.parent is not None:
            ends[section.parent] = max(ends[section.parent], ends[section.ordinal])
    for section, end in zip(sections, ends, strict=True):
        yield replace(section, locator=replace(section.locator, page_end=end or None))


def _unit(block: Block, text: str, open_sections: Sequence[Section]) -> _Unit:
    path = _path(open_sections) or block.locator.heading
    return _Unit(
        text=text,
        locator=replace(block.locator, heading=path),
        section=open_sections[-1].ordinal if open_sections else None,
        is_heading=block.heading_level is not None,
        header=block.header.strip() if block.is_row else None,
    )


def _path(open_sections: Iterable[Section]) -> tuple[str, ...]:
    return tuple(section.title for section in open_sections)


# ---------------------------------------------------------------- which blocks belong together


def _groups(units: Iterable[_Unit]) -> Iterator[list[_Unit]]:
    """Runs of blocks of one page and section that make one passage, or are too long for one.

    No passage goes over slides: each is a thing of its own, and shown as such.
    """
    group: list[_Unit] = []
    for unit in units:
        if group and not _continues(group, unit):
            yield group
            group = []
        group.append(unit)
    if group:
        yield group


def _continues(group: Sequence[_Unit], unit: _Unit) -> bool:
    last = group[-1]
    if last.locator.slide != unit.locator.slide:
        return False
    if _is_outline(group):
        return True  # a heading alone answers nothing
    if unit.is_heading or last.locator.page != unit.locator.page or not _is_alike(last, unit):
        return False
    length = _length(group) + len(unit.text)
    if unit.header is not None:
        return min(len(unit.header), HEADER_MOST) + length <= TARGET
    return length <= TARGET and len(unit.text) < WHOLE and not _holds_whole(group)


def _joined(groups: Iterable[list[_Unit]]) -> Iterator[list[_Unit]]:
    """Add what is too little to be found by (a page's tail, a tiny section) to what follows."""
    waiting: list[_Unit] = []
    for group in groups:
        if waiting and not _may_join(waiting, group):
            yield waiting
            waiting = []
        waiting = [*waiting, *group]
        if _length(waiting) > SHORT:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _may_join(short: Sequence[_Unit], group: Sequence[_Unit]) -> bool:
    first, last = group[0], short[-1]
    if not _is_alike(last, first) or last.locator.slide != first.locator.slide:
        return False
    if first.locator.page != last.locator.page and not first.is_heading:
        return True
    if _length(short) <= TINY and not first.is_heading:
        return True
    return _length(short) + _length(group) <= TARGET


def _is_outline(group: Sequence[_Unit]) -> bool:
    return all(unit.is_heading for unit in group)


def _is_alike(one: _Unit, other: _Unit) -> bool:
    """Both text, or both rows of one table; a description stays apart from the document's words."""
    return _kind(one) == _kind(other)


def _kind(unit: _Unit) -> tuple[str | None, str | None, bool]:
    return unit.header, unit.locator.sheet, unit.locator.is_described


def _holds_whole(group: Sequence[_Unit]) -> bool:
    return any(len(unit.text) >= WHOLE for unit in group if not unit.is_heading)


def _length(group: Sequence[_Unit]) -> int:
    return sum(len(unit.text) + 1 for unit in group)


# ---------------------------------------------------------------- the passages of one group


def _drafts(group: Sequence[_Unit]) -> Iterator[_Draft]:
    rows = [unit for unit in group if unit.header is not None]
    if not rows:
        yield from _cut(group, "")
        return
    header = cut(rows[0].header or "", HEADER_MOST)
    repeated = f"{header}\n" if header else ""
    above = [unit for unit in group if unit.header is None]
    drafts = list(_cut(rows, repeated))
    title = "".join(f"{unit.text}\n" for unit in above)
    if len(title) + len(drafts[0].text) <= MOST:
        first = drafts[0]
        drafts[0] = replace(first, text=title + first.text, fresh=0)
    else:
        yield from _cut(above, "")
    yield from drafts


def _cut(units: Sequence[_Unit], repeated: str) -> Iterator[_Draft]:
    """The text of `units` in spans, each after `repeated` and with the place of its own part."""
    text = "\n".join(unit.text for unit in units)
    sizes = Sizes(TARGET - len(repeated), MOST - len(repeated), OVERLAP)
    for span in spans(text, sizes):
        inside = tuple(_within(units, span.start, span.end))
        part = text[span.start : span.end].rstrip()
        yield _Draft(
            text=repeated + part,
            locator=_locator(inside),
            section=_main(inside)[0].section,
            fresh=len(repeated) + span.fresh - span.start if span.start else 0,
        )


def _within(units: Sequence[_Unit], start: int, end: int) -> Iterator[_Unit]:
    at = 0
    for unit in units:
        if at < end and at + len(unit.text) > start:
            yield unit
        at += len(unit.text) + 1


def _locator(units: Sequence[_Unit]) -> Locator:
    main = _main(units)
    first, last = units[0].locator, units[-1].locator
    return replace(
        first,
        page_end=last.page_end or last.page or first.page,
        row=main[0].locator.row,
        row_end=last.row_end or last.row,
        heading=_common([unit.locator.heading for unit in main]),
        is_described=main[0].locator.is_described,
    )


def _main(units: Sequence[_Unit]) -> Sequence[_Unit]:
    """The units that say something; headings only where there is nothing else."""
    return [unit for unit in units if not unit.is_heading] or units[-1:]


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The innermost heading above all of `paths`, or where the first one begins."""
    shared = 0
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        shared += 1
    return paths[0][:shared] or paths[0]


# ---------------------------------------------------------------- wording to be careful with


def _flags(drafts: Sequence[_Draft], folded: Sequence[str]) -> list[bool]:
    """Which passages look like instructions, sentences cut in two by a border included."""
    flags = [
        looks_like_instruction(copy) or hides_instruction(draft.text)
        for draft, copy in zip(drafts, folded, strict=True)
    ]
    alone = tuple(flags)
    for at, (before, after) in enumerate(pairwise(drafts)):
        border = before.text[-WINDOW:] + after.text[after.fresh :][:WINDOW]
        if not (alone[at] or alone[at + 1]) and looks_like_instruction(match_text(border)):
            flags[at] = flags[at + 1] = True
    return flags
