"""A section in its own words: the one or two sentences that say most about it."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gateway.core.cutting import cut
from gateway.core.documents import Chunk, Section, WholeText
from gateway.core.excerpts import clip, one_line
from gateway.core.injection import hides_instruction, looks_like_instruction
from gateway.core.matching import match_text, query_terms, script, sentences
from gateway.core.passages import Locator
from gateway.core.sectioning import within

SUMMARY_CHARS = 200
MATERIAL = 300  # sentences of a section that are weighed, the first ones
FEW_CHARS = 10  # a shorter sentence says little
SECOND = 0.5  # of the first one's weight, for a second sentence
UNFINISHED = 0.25  # what a line without a full stop counts
SHORT = 0.3
EARLY = 0.5  # what the first sentence counts more than a late one
OF_TITLE = 2.0  # what a word of the heading counts more
EDGE = 20  # letters of a sentence's ends that tell that a flagged passage has some of it

_ENDS = re.compile(r"[。！？!?｡.]+[」』”’）)\]】\"']*$")
_TIES = ("；", ";")
_WRAPPED = re.compile(r"(?<=[A-Za-z0-9,;)`])\n(?=[a-z(`])")  # a line end within an English sentence


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str  # in one line
    terms: tuple[str, ...]  # each once, in order: sums come out the same each time

    @property
    def is_whole(self) -> bool:
        return _ENDS.search(self.text) is not None


def with_summaries(
    whole: WholeText, chunks: Sequence[Chunk], sections: Sequence[Section]
) -> tuple[Section, ...]:
    """Sections with what their text, and that of the sections below, says most clearly.

    Nothing is taken from passages that look like instructions. A section without a sentence of its
    own says its title; "" only where nothing of it may be used.
    """
    own = _own(whole, chunks, sections)
    having = Counter(term for lines in own.values() for line in lines for term in line.terms)
    total = sum(map(len, own.values()))
    rarity = {term: math.log((total + 1) / count) for term, count in having.items()}
    return tuple(
        replace(
            section,
            summary=_summary(_material(own, sorted(below)), _terms(section.title), rarity)
            or acceptable(section.title),
        )
        for section, below in within(sections)
    )


def materials(
    whole: WholeText, chunks: Sequence[Chunk], sections: Sequence[Section], most: int
) -> Mapping[int, str]:
    """By section the text that a model may be given: nothing flagged, at most `most` characters."""
    own = _own(whole, chunks, sections)
    return {
        section.ordinal: cut("\n".join(line.text for line in _material(own, sorted(below))), most)
        for section, below in within(sections)
    }


def acceptable(text: str) -> str:
    """A summary in one line and within the length; "" where it reads like an instruction."""
    line = one_line(text)
    if len(line) > SUMMARY_CHARS:
        begun = cut(line, SUMMARY_CHARS)
        ends = [end for _, end in sentences(begun) if _ENDS.search(begun[:end].rstrip())]
        line = begun[: ends[-1]].rstrip() if ends else _clipped(line)
    return "" if _is_suspect(line) else line


def _clipped(line: str) -> str:
    return clip(cut(line, SUMMARY_CHARS - 1) + "…", SUMMARY_CHARS)


# ---------------------------------------------------------------- sentences


def _own(
    whole: WholeText, chunks: Iterable[Chunk], sections: Sequence[Section]
) -> Mapping[int, Sequence[_Sentence]]:
    """By section its own sentences, those of the sections below not among them."""
    flagged = "\n".join("".join(chunk.text.split()) for chunk in chunks if chunk.is_flagged)
    titles = {section.title for section in sections}
    found: dict[int, list[_Sentence]] = defaultdict(list)
    seen: dict[int, set[str]] = defaultdict(set)
    for ordinal, text in _segments(whole, sections):
        for line in _lines(_WRAPPED.sub(" ", text)):
            if line in titles or line in seen[ordinal] or _is_in(line, flagged):
                continue
            seen[ordinal].add(line)
            found[ordinal].append(_Sentence(line, _terms(line)))
    return found


def _lines(text: str) -> Iterator[str]:
    """Whole sentences, each in one line; what a semicolon ties together is one."""
    begun = 0
    for _, end in sentences(text):
        line = one_line(text[begun:end])
        if line.endswith(_TIES) and end < len(text) and not text[:end].endswith("\n"):
            continue
        begun = end
        if line:
            yield line


def _segments(whole: WholeText, sections: Sequence[Section]) -> Iterator[tuple[int, str]]:
    """(section, text) in reading order."""
    starts = [start for start, _ in whole.places]
    homes = list(_homes([place for _, place in whole.places], sections))
    runs = [at for at, home in enumerate(homes) if not at or home != homes[at - 1]]
    for at, following in pairwise((*runs, len(homes))):
        end = starts[following] if following < len(starts) else len(whole.text)
        home = homes[at]
        if home is not None:
            yield home, whole.text[starts[at] : end]


def _homes(places: Sequence[Locator], sections: Sequence[Section]) -> Iterator[int | None]:
    """For each place the section it is in: the next one with its path, else the one before."""
    headed = [section for section in sections if section.ordinal >= 0]
    leads = [section for section in sections if section.ordinal < 0]
    by_path: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, section in enumerate(headed):
        by_path[section.locator.heading].append(number)
    at = -1
    for place in places:
        known = by_path.get(place.heading, ())
        at = next((number for number in known if number >= at), at)
        if at >= 0:
            yield headed[at].ordinal
        else:
            yield _lead_of(place, leads).ordinal if leads else None


def _lead_of(place: Locator, leads: Sequence[Section]) -> Section:
    """The sheet, or the range of pages, that a place without headings is in."""
    for lead in leads:
        is_sheet = lead.locator.sheet == place.sheet
        is_page = place.page is None or place.page <= (lead.locator.page_end or place.page)
        if is_sheet and is_page:
            return lead
    return leads[-1]


def _is_in(line: str, flagged: str) -> bool:
    """Whether a flagged passage has the sentence, or one of its ends."""
    if not flagged:
        return False
    letters = "".join(line.split())
    return letters[:EDGE] in flagged or letters[-EDGE:] in flagged


def _terms(text: str) -> tuple[str, ...]:
    return query_terms(text).terms


# ---------------------------------------------------------------- which of them


def _material(
    own: Mapping[int, Sequence[_Sentence]], ordinals: Sequence[int]
) -> Sequence[_Sentence]:
    lines: list[_Sentence] = []
    for ordinal in ordinals:
        lines += own.get(ordinal, ())[: MATERIAL - len(lines)]
        if len(lines) >= MATERIAL:
            break
    return lines


def _summary(
    lines: Sequence[_Sentence], title: Collection[str], rarity: Mapping[str, float]
) -> str:
    if not lines:
        return ""
    often = Counter(term for line in lines for term in line.terms)
    weights = {
        term: count * rarity[term] * (OF_TITLE if term in title else 1.0)
        for term, count in often.items()
    }
    fitting = [at for at, line in enumerate(lines) if len(line.text) <= SUMMARY_CHARS]
    scores = {at: _score(lines[at], at, weights) for at in fitting}
    best = _first_of(lines, scores)
    if best is None:
        return acceptable(min(lines, key=lambda line: len(line.text)).text)
    return _with_second(lines, best, scores, weights)


def _with_second(
    lines: Sequence[_Sentence],
    best: int,
    scores: Mapping[int, float],
    weights: Mapping[str, float],
) -> str:
    """Beside the best one that says other things, where both fit."""
    known, room = frozenset(lines[best].terms), SUMMARY_CHARS - len(lines[best].text) - 1
    left = {term: weight for term, weight in weights.items() if term not in known}
    others = {
        at: _score(lines[at], at, left)
        for at in scores
        if at != best and len(lines[at].text) <= room
    }
    alone = lines[best].text
    second = _first_of(lines, others)
    if second is None or others[second] < SECOND * scores[best] or not lines[second].is_whole:
        return alone
    both = _joined(lines, sorted((best, second)))
    return alone if _is_suspect(both) else both


def _first_of(lines: Sequence[_Sentence], scores: Mapping[int, float]) -> int | None:
    """The best of them that does not read like an instruction."""
    ranked = sorted(scores, key=lambda at: (-scores[at], at))
    return next((at for at in ranked if not _is_suspect(lines[at].text)), None)


def _score(line: _Sentence, at: int, weights: Mapping[str, float]) -> float:
    said = sum(weights.get(term, 0.0) for term in line.terms)
    score = said / math.sqrt(len(line.terms) + 3) * (1.0 + EARLY / (1 + at))
    if not line.is_whole:
        score *= UNFINISHED
    return score * (SHORT if len(line.text) < FEW_CHARS else 1.0)


def _joined(lines: Sequence[_Sentence], chosen: Sequence[int]) -> str:
    texts = [lines[at].text for at in chosen]
    return ("" if script(texts[0]) != "en" else " ").join(texts)


def _is_suspect(text: str) -> bool:
    return looks_like_instruction(match_text(text)) or hides_instruction(text)
