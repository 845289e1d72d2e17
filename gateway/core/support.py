"""Whether a passage supports a sentence that cites it, by rule and without a model (F3)."""

import re
from enum import StrEnum

from gateway.core.matching import match_text, script
from gateway.core.support_evidence import Clause, Evidence, clauses, squeezed
from gateway.core.support_numbers import CODES, numbers
from gateway.core.support_pairing import is_mispaired
from gateway.core.support_polarity import contradicts, is_alike_passive, swaps
from gateway.core.support_words import content, coverage, is_turned, overlap, words

MIN_SHARE = 0.4  # of a sentence's words that its passage must hold
MIN_SHARE_NUMBERED = 0.3  # where its numbers are the passage's as well
MAX_INVENTED = 5.5  # in Han letters: a stretch that the passage does not hold at all
MIN_SHARE_FEW = 0.15  # and where there are few other words
MIN_WEIGHT = 4.0  # in Han letters: with less, there are too few words to tell
MIN_WEIGHT_NUMBERED = 6.0
SAME_DENIED = 0.5  # how much of a clause with a no in it the claim must speak of
TIED = 0.2  # so little less alike, and a clause may be the one meant as well
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_LETTER = re.compile(r"(?<![A-Za-z0-9'’.])(?<!\d )[B-HJ-Z](?![A-Za-z'’.])")  # hall C, B 棟
_CALENDAR = frozenset(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday".split()
)


class Fault(StrEnum):
    """Why a passage does not support a sentence."""

    OTHER_WORDS = "other_words"
    INVENTED = "invented"
    NUMBER = "number"
    PAIRING = "pairing"  # a number that the passage gives for something else
    NAME = "name"
    NEGATION = "negation"
    PARTY = "party"


def fault(claim: str, evidence: Evidence) -> Fault | None:
    """Why the passage does not support the claim, None where it does or nobody can tell.

    Across scripts words cannot meet, and only numbers and part numbers are compared.
    """
    folded = match_text(claim)
    if squeezed(folded) in evidence.squeezed:
        return None  # quoted as it stands
    if _has_wrong_number(folded, evidence):
        return Fault.NUMBER
    if _has_wrong_code(folded, evidence):
        return Fault.NAME
    if script(claim) != evidence.script:
        return None
    return _fault_of_words(claim, folded, evidence) or _fault_of_clauses(folded, evidence)


def share(claim: str, evidence: Evidence) -> float:
    """How much of a claim's words the passage holds, 0 where there are too few to tell."""
    found = coverage(words(match_text(claim)), evidence.words)
    return found.share if found.weight >= MIN_WEIGHT else 0.0


def is_about_anything(claim: str) -> bool:
    """There is something in it that a passage could hold or lack."""
    folded = match_text(claim)
    return bool(content(words(folded))) or bool(numbers(folded))


def _fault_of_words(claim: str, folded: str, evidence: Evidence) -> Fault | None:
    found = coverage(words(folded), evidence.words)
    if found.weight >= MIN_WEIGHT and found.share < _least(found.weight, folded):
        return Fault.OTHER_WORDS
    if found.invented >= MAX_INVENTED:
        return Fault.INVENTED
    names = {name.lower() for name in _NAME.findall(claim)} - _CALENDAR
    if any(letter not in evidence.letters for letter in _LETTER.findall(claim)):
        return Fault.NAME
    is_title = len(names) * 2 > len(claim.split())
    if not is_title and any(name not in evidence.folded for name in names):
        return Fault.NAME
    return None


def _least(weight: float, folded: str) -> float:
    """What share a passage must hold: its numbers, where it has them, speak for it as well."""
    if not any(number.dimension and not number.is_rate for number in numbers(folded)):
        return MIN_SHARE
    if weight >= MIN_WEIGHT_NUMBERED:
        return MIN_SHARE_NUMBERED
    return MIN_SHARE_FEW if weight > MIN_WEIGHT else 0.0


def _fault_of_clauses(folded: str, evidence: Evidence) -> Fault | None:
    for clause in clauses(folded):
        alike = evidence.nearest(clause.words, TIED)
        if alike and all(_contradicts(clause, each) for each in alike):
            return Fault.NEGATION
        nearest = evidence.nearest(clause.words)
        if nearest and all(_swaps(clause, each) for each in nearest):
            return Fault.PARTY
    return Fault.PAIRING if is_mispaired(folded, evidence) else None


def _contradicts(claim: Clause, clause: Clause) -> bool:
    """Only where both speak of the same: what is denied must be what is claimed."""
    if clause.is_row or overlap(clause.words, claim.words) < SAME_DENIED:
        return False
    return contradicts(claim.text, clause.text)


def _swaps(claim: Clause, clause: Clause) -> bool:
    if clause.is_row:
        return False
    return swaps(claim.text, clause.text) or (
        is_alike_passive(claim.text, clause.text) and is_turned(claim.words, clause.words)
    )


def _has_wrong_number(folded: str, evidence: Evidence) -> bool:
    has_rates = any(number.is_rate for number in evidence.numbers)
    return any(
        not any(number.agrees(known) for known in evidence.numbers)
        for number in numbers(folded)
        if has_rates or not number.is_rate
    )


def _has_wrong_code(folded: str, evidence: Evidence) -> bool:
    known = evidence.folded.replace("-", "").replace(" ", "")
    return any(code.replace("-", "") not in known for code in CODES.findall(folded))
