"""Whether a sentence gives a number for what its passage gives another one for."""

import re
from collections.abc import Sequence
from itertools import pairwise

from gateway.core.support_evidence import SAME_MATTER, Clause, Evidence, clauses
from gateway.core.support_numbers import OTHER, Number, numbers
from gateway.core.support_words import Words, overlap, words

MARGIN_OF_NUMBERS = 0.2  # how much more alike the clause of another number must be
SURELY = 0.1
MARGIN_OF_ROWS = 0.15  # the same in a table, whose rows share their header
_LABEL = re.compile(r"([\u30a1-\u30fa\u30fc\u4e00-\u9fff]{2,4})[でははが:]?\s*$")


def is_mispaired(folded: str, evidence: Evidence) -> bool:
    """One of the claim's numbers is the passage's for something else."""
    told = [number for number in numbers(folded) if not number.is_rate]
    read = tuple(clauses(folded))
    if any(_is_mispaired(clause, told, evidence) for clause in read):
        return True
    if any(_are_together(first, second, evidence) for first, second in pairwise(told)):
        return False
    if _is_of_its_sentence(words(folded), told, evidence):
        return False
    return any(_is_of_other_clause(clause, told, evidence) for clause in read)


def _is_mispaired(clause: Clause, told: list[Number], evidence: Evidence) -> bool:
    """By what stands beside the number in this clause."""
    own = [number for number in clause.numbers if not number.is_rate]
    return (
        _has_other_label(clause, evidence)
        or _has_other_rate(clause, evidence)
        or any(_are_apart(first, second, told, evidence) for first, second in pairwise(own))
    )


def _has_other_label(clause: Clause, evidence: Evidence) -> bool:
    """`国内2,500円、海外6,000円`: the claim says 海外 and 2,500円."""
    own = [number for number in clause.numbers if number.dimension and not number.is_rate]
    if len(own) != 1:
        return False
    given: set[str] = set()
    others: set[str] = set()
    for each in evidence.clauses:
        for known in each.numbers:
            label = _LABEL.search(each.text[: known.at])
            if label and own[0].is_comparable(known) and not numbers(label[1]):
                (given if own[0].agrees(known) else others).add(label[1])
    return (
        bool(given)
        and not any(label in clause.text for label in given)
        and any(label in clause.text for label in others)
    )


def _has_other_rate(clause: Clause, evidence: Evidence) -> bool:
    """An amount for each day where the passage gives it for each hour."""
    found = clause.numbers
    rates = [number for number in found if number.is_rate]
    amounts = [number for number in found if number.dimension and not number.is_rate]
    if not rates or not amounts:
        return False
    beside = [
        [known for known in row if known.is_rate]
        for row in (each.numbers for each in evidence.clauses)
        if any(amounts[0].agrees(known) for known in row)
    ]
    return bool(beside) and all(
        row and not any(rate.agrees(known) for rate in rates for known in row) for row in beside
    )


def _are_together(a: Number, b: Number, evidence: Evidence) -> bool:
    rows = [each.numbers for each in evidence.sentences]
    return any(all(any(n.agrees(known) for known in row) for n in (a, b)) for row in rows)


def _is_of_other_clause(clause: Clause, told: list[Number], evidence: Evidence) -> bool:
    """The clause that it speaks of gives another number, and its own stands elsewhere."""
    own = [number for number in clause.numbers if not number.is_rate]
    if len(own) != 1:
        return False
    given, others = _alike(clause.words, own[0], told, evidence.clauses)
    margin = MARGIN_OF_ROWS if evidence.has_rows else MARGIN_OF_NUMBERS
    return others >= SAME_MATTER and others > given + margin


def _is_of_its_sentence(claim: Words, told: list[Number], evidence: Evidence) -> bool:
    """All that is claimed speaks for the sentence that gives the number, whatever a clause says:
    rules leave out what the clause before has said.
    """
    for number in told:
        given, others = _alike(claim, number, told, evidence.sentences)
        if given > others + SURELY:
            return True
    return False


def _alike(
    claim: Words, number: Number, told: list[Number], clauses_of: Sequence[Clause]
) -> tuple[float, float]:
    """How alike the clause that gives the number is, and how alike one that gives another."""
    given = others = 0.0
    for each in clauses_of:
        for known in each.numbers:
            if known.is_rate or not number.is_comparable(known):
                continue
            if number.agrees(known):
                given = max(given, overlap(claim, each.words))
            elif not any(known.agrees(other) for other in told):
                others = max(others, overlap(claim, each.words))
    return given, others


def _are_apart(a: Number, b: Number, told: list[Number], evidence: Evidence) -> bool:
    """Where the passage speaks of `a`, it gives another number of b's kind, and not `b`."""
    beside = [each.numbers for each in evidence.sentences]
    beside = [row for row in beside if any(a.agrees(known) for known in row)]
    if not beside or b.dimension in {"", OTHER} or a.dimension == b.dimension:
        return False
    for row in beside:
        kind = [known for known in row if known.dimension == b.dimension and not known.is_rate]
        place = next(known.at for known in row if a.agrees(known))
        kind.sort(key=lambda known: abs(known.at - place))
        if not kind or any(kind[0].agrees(number) for number in told):
            return False
    return True
