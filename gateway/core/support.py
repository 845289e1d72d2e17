"""Whether a passage supports a sentence that cites it, by rule and without a model (F3)."""

import re
from collections.abc import Sequence
from enum import StrEnum

from gateway.core.matching import match_text, script
from gateway.core.support_contrast import (
    is_added,
    is_done_to_doer,
    is_of_other_topic,
    is_reversed,
)
from gateway.core.support_evidence import Clause, Evidence, clauses, squeezed
from gateway.core.support_numbers import CODES, OTHER, Number, numbers
from gateway.core.support_pairing import is_mispaired
from gateway.core.support_parties import (
    is_alike_passive,
    is_done_by_other,
    is_given_to_other,
    swaps,
)
from gateway.core.support_polarity import (
    contradicts,
    contradicts_answer,
    denies_alike,
    is_answered,
    is_of_one_deed,
    names_deed,
    says_no,
    waives,
)
from gateway.core.support_powers import is_held_by_other
from gateway.core.support_spelling import spelled_out
from gateway.core.support_tables import is_of_other_row
from gateway.core.support_words import content, coverage, is_turned, overlap, words

# of a sentence's words that its passage must hold: no paraphrase shows less (chosen by
# cross-validation; English has more words for a thing and fewer letters in common)
MIN_SHARE, MIN_SHARE_LATIN = 0.3, 0.15
NUMBERED = 0.5  # of that, where its numbers are the passage's and speak for it as well
# in Han letters: a stretch that the passage does not hold at all
MAX_INVENTED, MAX_INVENTED_LATIN = 5.5, 9.5
INVENTED_NUMBERED = 1.5  # times that, likewise
MIN_WEIGHT = 4.0  # in Han letters: with less, there are too few words to tell
MAX_COUNTED = 9  # things that a writer may have counted up
SAME_DENIED = 0.5  # how much of a clause with a no in it the claim must speak of
ALL_DENIED = 0.99  # how much of a claim a clause must hold that says more
TIED = 0.2  # so little less alike, and a clause may be the one meant as well
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_LETTER = re.compile(r"(?<![A-Za-z0-9'’.])(?<!\d )[B-HJ-Z](?![A-Za-z0-9'’.])")  # hall C, B 棟
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
    found = _fault_in_any_language(folded, evidence)
    if found or script(claim) != evidence.script:
        return found
    return _fault_of_words(claim, folded, evidence) or _fault_of_clauses(folded, evidence)


def _fault_in_any_language(folded: str, evidence: Evidence) -> Fault | None:
    """Numbers, part numbers and the cells of tables are found as they stand."""
    if _has_wrong_number(folded, evidence):
        return Fault.NUMBER
    if _has_wrong_code(folded, evidence):
        return Fault.NAME
    is_other = is_of_other_row(folded, evidence.rows) and not says_no(folded)
    return Fault.PAIRING if is_other else None


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
    least, most = _limits(folded, is_latin=evidence.script == "en")
    if found.weight >= MIN_WEIGHT and found.share < least:
        return Fault.OTHER_WORDS
    if found.invented >= most:
        return Fault.INVENTED
    names = {name.lower() for name in _NAME.findall(claim)} - _CALENDAR
    if any(letter not in evidence.letters for letter in _LETTER.findall(claim)):
        return Fault.NAME
    is_title = len(names) * 2 > len(claim.split())
    if not is_title and any(name not in evidence.folded for name in names):
        return Fault.NAME
    return None


def _limits(folded: str, *, is_latin: bool) -> tuple[float, float]:
    """What share a passage must hold, and how long a stretch it may lack: its numbers, where
    the claim has them, speak for it as well.
    """
    least = MIN_SHARE_LATIN if is_latin else MIN_SHARE
    most = MAX_INVENTED_LATIN if is_latin else MAX_INVENTED
    if any(number.dimension and not number.is_rate for number in numbers(folded)):
        return least * NUMBERED, most * INVENTED_NUMBERED
    return least, most


def _fault_of_clauses(folded: str, evidence: Evidence) -> Fault | None:
    claims = tuple(clauses(folded))
    if is_reversed(folded, claims, evidence):
        return Fault.NEGATION
    if is_added(folded, claims, evidence):
        return Fault.INVENTED
    if _is_of_other_party(folded, claims, evidence):
        return Fault.PARTY
    if any(is_of_other_topic(claim, evidence) for claim in claims):
        return Fault.PAIRING
    found = (_fault_of_clause(claim, evidence) for claim in claims)
    return next(filter(None, found), None) or _fault_of_whole(folded, claims, evidence)


def _is_of_other_party(folded: str, claims: Sequence[Clause], evidence: Evidence) -> bool:
    sentences = [each.text for each in evidence.sentences]
    return is_held_by_other(folded, sentences) or is_done_to_doer(claims, evidence)


def _fault_of_clause(claim: Clause, evidence: Evidence) -> Fault | None:
    if _is_denied(claim, evidence):
        return Fault.NEGATION
    nearest = [each for each in evidence.nearest(claim.words) if not each.is_question]
    return Fault.PARTY if nearest and all(_swaps(claim, each) for each in nearest) else None


def _fault_of_whole(folded: str, claims: Sequence[Clause], evidence: Evidence) -> Fault | None:
    if any(is_done_by_other(claim.text, evidence.texts) for claim in claims):
        return Fault.PARTY
    return Fault.PAIRING if is_mispaired(folded, evidence) else None


def _is_denied(claim: Clause, evidence: Evidence) -> bool:
    """All that speaks of the same says the reverse, and nothing denies what the claim denies."""
    near = evidence.nearest(claim.words, TIED)
    alike = [each for each in near if _is_same(claim, each)]
    if not alike or any(denies_alike(claim.whole, each.whole) for each in near):
        return False
    return all(_contradicts(claim, each) for each in alike)


def _is_same(claim: Clause, clause: Clause) -> bool:
    """Both speak of the same: what is denied must be what is claimed.

    A question does where its answer is told; a clause that says more than the claim does where
    the deed that is denied is named.
    """
    if clause.is_question and not is_answered(clause.answer):
        return False
    if contradicts(claim.whole, clause.whole) and not is_of_one_deed(claim.whole, clause.whole):
        return False
    if overlap(clause.words, claim.words) >= SAME_DENIED:
        return True
    found = coverage(claim.words, clause.words)
    is_all = found.weight >= MIN_WEIGHT and found.share >= ALL_DENIED
    return is_all and names_deed(claim.whole, clause.whole)


def _contradicts(claim: Clause, clause: Clause) -> bool:
    if clause.is_row:
        return False
    if clause.is_question:
        return contradicts_answer(claim.whole, clause.answer)
    return contradicts(claim.whole, clause.whole) or waives(claim.text, clause.text)


def _swaps(claim: Clause, clause: Clause) -> bool:
    if clause.is_row:
        return False
    if swaps(claim.text, clause.text) or is_given_to_other(claim.text, clause.text):
        return True
    return is_alike_passive(claim.text, clause.text) and is_turned(claim.words, clause.words)


def _has_wrong_number(folded: str, evidence: Evidence) -> bool:
    has_rates = any(number.is_rate for number in evidence.numbers)
    return any(
        not any(number.agrees(known) for known in evidence.numbers)
        for number in numbers(folded)
        if (has_rates or not number.is_rate) and not _is_counted_up(number, evidence)
    )


def _is_counted_up(number: Number, evidence: Evidence) -> bool:
    """`these 2 cars`: the writer counted, where the passage gives no number of such things."""
    if number.dimension != OTHER or number.amount > MAX_COUNTED:
        return False
    return not any(known.counted == number.counted for known in evidence.numbers)


def _has_wrong_code(folded: str, evidence: Evidence) -> bool:
    codes = CODES.findall(spelled_out(folded))
    known = spelled_out(evidence.folded).replace("-", "").replace(" ", "") if codes else ""
    return any(code.replace("-", "") not in known for code in codes)
