"""Which sentences of some passages answer a question, by what they share with it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gateway.core.injection import looks_like_instruction
from gateway.core.passage_block import ShownPassage
from gateway.llm.asked_for import AskedFor, Term, amounts, asked_for, with_digits, words
from gateway.llm.readable import Kind, Unit, units

MOST_QUOTES = 4
MOST_BEST = 3
LITTLE = 0.25  # share below which words say nothing of a sentence
ENOUGH = 0.45  # share of the question's words, where nobody said the passages are relevant
_NEAR_BEST = 0.85  # of the best one's value
_NEAR_SHARE = 0.95
_ABBREVIATED = 0.9
_ABOUT = 0.6  # a word that stands in the heading only
_ANSWERS = 0.9  # a word that stands in the FAQ question right above
_EXPECTED = 0.25
_LETTERS = 0.15  # single letters decide where whole words do not
_SUSPECT = 0.5
_LOOKED_AT = 12  # candidates that are read for instructions, which takes most of the time
_FIRST = 0.1  # the first passage is the nearest one by search; the next ones get less
_LONG_CHARS = 2_000.0

_OPENS_LIST = re.compile(r"(?:[：:]|如下|下列|as follows|following)\s*\Z")
_LEANS_BACK = re.compile(
    r"(?:其|此|該|前項|前述|上述|但|惟|同上|それ|これ|その|この|ただし|なお"
    r"|(?:He|She|It|This|They|These|However)\b)"
)


@dataclass(frozen=True, slots=True)
class Quote:
    """One sentence to show, from passage n."""

    n: int
    text: str


@dataclass(frozen=True, slots=True)
class _Rated:
    """A unit with its place and how well it answers."""

    passage: int  # index, best first
    at: int
    unit: Unit
    share: float  # of the question's words
    value: float
    shared: frozenset[str]
    holds_word: bool  # a word of the question, there or in its heading


def quotes(
    question: str, passages: Sequence[ShownPassage], *, are_relevant: bool, carried: str = ""
) -> tuple[Quote, ...]:
    """One to MOST_QUOTES sentences, those of the most useful passage first; () if nothing fits.

    `are_relevant`: a search has already judged that the passages answer the question; then the
    nearest sentence is shown even if it uses other words. `carried` are words of the conversation
    that the question leaves out; they weigh less than its own.
    """
    asked = asked_for(question, carried)
    parted = [units(passage) for passage in passages]
    headings = {unit.about for group in parted for unit in group}
    lent = {about: _matches(asked.terms, about) for about in headings}
    rated = [
        _rate(asked, unit, (passage, at), lent[unit.about])
        for passage, group in enumerate(parted)
        for at, unit in enumerate(group)
        if unit.kind in (Kind.SENTENCE, Kind.ROW)
    ]
    ranked = _without_suspects(rated)
    if not ranked or ranked[0].share < (0.0 if are_relevant else ENOUGH):
        return ()
    if are_relevant and _is_thin(asked, ranked[0]):
        chosen = _of_the_nearest(asked, rated)
    else:
        chosen = _best(ranked)
    chosen_places = _with_neighbours(chosen, parted)
    return tuple(
        Quote(passages[passage].n, parted[passage][at].text) for passage, at in chosen_places
    )


def _is_thin(asked: AskedFor, best: _Rated) -> bool:
    """It shares next to nothing, or only single letters, which every other sentence has."""
    has_words = any(len(term.text) > 1 for term in asked.terms)
    return best.share < LITTLE or (has_words and not best.holds_word)


def _of_the_nearest(asked: AskedFor, rated: Sequence[_Rated]) -> list[_Rated]:
    """Where words say nothing, search does: the first passage with what looks like an answer.

    A price is told by the very first or not at all: another thing's price answers nothing.
    """
    nearest = 0
    if asked.expected is not None:
        fitting = [each for each in rated if asked.expected.search(each.unit.folded)]
        nearest = min((each.passage for each in fitting), default=0)
        if asked.is_price and (not fitting or nearest > 0):
            return []
        rated = fitting or rated
    return _without_suspects([each for each in rated if each.passage == nearest])[:MOST_BEST]


def _rate(asked: AskedFor, unit: Unit, place: tuple[int, int], about: Sequence[float]) -> _Rated:
    own = _matches(asked.terms, unit.folded)
    lent = _ANSWERS if unit.follows_question else _ABOUT
    total = sum(term.weight for term in asked.terms) or 1.0
    share = sum(
        term.weight * max(mine, lent * theirs)
        for term, mine, theirs in zip(asked.terms, own, about, strict=True)
    )
    share /= total
    value = share + _FIRST / (place[0] + 1) - min(0.15, len(unit.text) / _LONG_CHARS)
    if share > 0 and asked.expected is not None and asked.expected.search(unit.folded):
        value += _EXPECTED
    value += _LETTERS * _share_of_letters(asked.letters, unit.folded)
    shared = frozenset(
        term.text
        for term, mine in zip(asked.terms, own, strict=True)
        if mine and not term.is_carried
    )
    holds_word = any(
        (mine or theirs) and len(term.text) > 1
        for term, mine, theirs in zip(asked.terms, own, about, strict=True)
    )
    return _Rated(*place, unit, share, value, shared, holds_word)


def _share_of_letters(letters: frozenset[str], folded: str) -> float:
    return len(letters.intersection(folded)) / len(letters) if letters else 0.0


def _matches(terms: Sequence[Term], folded: str) -> list[float]:
    text = with_digits(folded)
    known = amounts(text) | words(text)
    return [_match(term, text, known) for term in terms]


def _match(term: Term, text: str, known: frozenset[str]) -> float:
    if term.text in known or (not term.text.isascii() and term.text in text):
        return 1.0
    if term.abbreviates is not None and term.abbreviates.search(text):
        return _ABBREVIATED
    return 0.0


def _without_suspects(rated: Sequence[_Rated]) -> list[_Rated]:
    """The best ones first, those worded like an instruction to a model at half their value."""
    ranked = sorted(rated, key=_by_value)[:_LOOKED_AT]
    judged = (
        replace(each, value=each.value * _SUSPECT)
        if looks_like_instruction(each.unit.folded)
        else each
        for each in ranked
    )
    return sorted(judged, key=_by_value)


def _by_value(each: _Rated) -> float:
    return -each.value


def _best(ranked: Sequence[_Rated]) -> list[_Rated]:
    """The best, then what is nearly as good or holds what the others lack; nothing twice."""
    best = ranked[0]
    chosen = [best]
    shared = set(best.shared)
    texts = {_letters(best.unit)}
    most = MOST_BEST if best.share >= ENOUGH else 1  # by a thread: one sentence, no company
    for each in ranked[1:]:
        is_near = each.value >= _NEAR_BEST * best.value and each.share >= _NEAR_SHARE * best.share
        adds = len(each.shared - shared) > 1 and each.value > best.value / 2
        if len(chosen) >= most or not (is_near or adds) or _letters(each.unit) in texts:
            continue
        chosen.append(each)
        shared |= each.shared
        texts.add(_letters(each.unit))
    return chosen


def _letters(unit: Unit) -> str:
    return "".join(filter(str.isalnum, unit.folded))


def _with_neighbours(
    chosen: Sequence[_Rated], parted: Sequence[Sequence[Unit]]
) -> list[tuple[int, int]]:
    """Places to quote: passages by their best sentence, each in reading order."""
    places: dict[tuple[int, int], None] = {}
    for each in chosen:
        for at in _around(each, parted[each.passage]):
            if len(places) < MOST_QUOTES:
                places.setdefault((each.passage, at))
    order = list(dict.fromkeys(passage for passage, _ in places))
    return sorted(places, key=lambda place: (order.index(place[0]), place[1]))


def _around(each: _Rated, group: Sequence[Unit]) -> Iterator[int]:
    yield each.at
    before = each.at - 1
    if _LEANS_BACK.match(each.unit.text) and before >= 0 and group[before].kind is Kind.SENTENCE:
        yield before
    if _OPENS_LIST.search(each.unit.text):
        yield from range(each.at + 1, min(each.at + 3, len(group)))
