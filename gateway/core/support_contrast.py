"""Whether a sentence says in words of its own the reverse of what its passage says."""

import re
from collections.abc import Iterator, Sequence

from gateway.core.matching import match_text
from gateway.core.support_evidence import SAME_MATTER, Clause, Evidence
from gateway.core.support_opposites import AXES, CONDITIONS, FREE
from gateway.core.support_parties import is_alike_passive
from gateway.core.support_polarity import HAN_LETTERS, any_of, is_restricted, says_no
from gateway.core.support_words import content, coverage, overlap, words

TIED = 0.2  # so little less alike, and a clause may be the one meant as well
ALL = 0.99  # of a denied clause's words in the claim
MIN_DENIED = 2.0  # in Han letters: less names no deed
MIN_ADDED = 3.0  # in Han letters: a demand that the passage does not hold
TOPIC = 2  # units at the beginning that tell what a clause is about
_INSTEAD = any_of(
    ("ではなく", "じゃなく", "でなく", "而非", "而不", "代わり", "rather than", "instead")
)
_DEMAND = re.compile(
    rf"\s*(?:{match_text('但|唯|惟|且|並|方')})?[{HAN_LETTERS}]{{0,4}}?"
    rf"(?:{match_text('僅限|只限|須|需|必須|應先')})"
)
_UPON = re.compile(
    r"\b(?:upon|only if|provided(?: that)?|unless|if|once|when|after|as long as|until|on) (.*)$"
)
_TO = re.compile(r"\bto (?:the |an? |their |his |its )?([a-z]+(?: [a-z]+)?)")
_NAME = rf"{HAN_LETTERS}\u30a1-\u30fa\u30fc"
_SOME_ONLY = (
    re.compile(
        rf"(?:^|[,;])\s*(?:{match_text('只有|僅有|惟有|僅限|僅')})"
        rf"(?![\d一二三四五六七八九十{match_text('兩')}半])[{HAN_LETTERS}]{{2}}"
    ),
    re.compile(
        rf"[{_NAME}]{{2}}(?<![回度日月年人名個件枚台間分週])(?:のみ|(?<!いた)だけ(?!で)|に限[りるら])"
    ),
    re.compile(r"(?:^|[,;] )\s*only [a-z]+"),
)
_LIMITS = any_of(
    (
        *("只", "僅", "限", "才", "始", "除", "のみ", "だけ", "しか", "専", "以外", "なければ"),
        *("でない", r"\bonly\b", "exclusive", "sole", "except", "unless", "other than"),
        *(r"\bno one\b", "nobody", "dedicated", "reserved"),
    )
)


def is_reversed(folded: str, claims: Sequence[Clause], evidence: Evidence) -> bool:
    """The claim says the reverse of the clauses, or of the sentence, that speak of the same."""
    if any(_is_opposed(claim, evidence) for claim in claims):
        return True
    if any(_does_what_is_denied(claim, evidence) for claim in claims):
        return not _INSTEAD.search(folded)
    said = _sentence(folded, evidence)
    if _ignores_condition(folded, said):
        return True
    is_of_some = any(pattern.search(folded) for pattern in _SOME_ONLY)
    return is_of_some and not evidence.rows and not _LIMITS.search(said)


def is_added(folded: str, claims: Sequence[Clause], evidence: Evidence) -> bool:
    """The claim makes a demand, sets a condition or gives for free what the passage does not."""
    one, known = FREE
    if evidence.script == "en":
        return any(_is_upon_other(claim, evidence) for claim in claims)
    if one.search(folded) and not known.search(evidence.folded):
        return True
    demands = (coverage(each.words, evidence.words) for each in claims[1:] if _is_demand(each))
    return any(found.invented >= MIN_ADDED for found in demands)


def is_done_to_doer(claims: Sequence[Clause], evidence: Evidence) -> bool:
    """The doer and the one to whom it is done have changed places (English)."""
    if evidence.script != "en":
        return False
    for claim in claims:
        near = _told(evidence.nearest(claim.words, TIED), claim)
        if near and all(_is_to(claim, each) for each in near):
            return True
    return False


def is_of_other_topic(claim: Clause, evidence: Evidence) -> bool:
    """`other parents: 16 weeks`, where the passage gives them 8, and 16 to others (English)."""
    own = [number for number in claim.numbers if not number.is_rate]
    if evidence.script != "en" or len(own) != 1:
        return False
    bare = re.sub(r"\b(?:the|an?|each|every)\b", "", claim.text)
    topic = " ".join(re.findall("[a-z]+", bare)[:TOPIC])
    given = [each for each in evidence.clauses if any(map(own[0].agrees, each.numbers))]
    others = any(
        topic in each.text and own[0].is_comparable(known) and not own[0].agrees(known)
        for each in evidence.clauses
        for known in each.numbers
        if not known.is_rate
    )
    return bool(given) and others and not any(topic in each.text for each in given)


def _is_opposed(claim: Clause, evidence: Evidence) -> bool:
    near = tuple(_told(evidence.nearest(claim.words, TIED), claim))
    alike = tuple(_told(_alike(claim, evidence), claim))
    return any(
        bool(each) and all(_are_opposed(claim.text, clause.text, axis) for clause in each)
        for axis in AXES
        if _poles(claim.text, axis)
        for each in (near, alike)
    )


def _alike(claim: Clause, evidence: Evidence) -> Iterator[Clause]:
    """Single clauses only, where a whole sentence would hold more."""
    found = [(overlap(claim.words, each.words), each) for each in evidence.clauses]
    least = max(SAME_MATTER, max((share for share, _ in found), default=0.0) - TIED)
    return (each for share, each in found if share >= least)


def _told(near: Iterator[Clause] | Sequence[Clause], claim: Clause) -> list[Clause]:
    """Those that tell something; of these the ones with the claim's number and its topic."""
    found = [each for each in near if not each.is_question and not each.is_row]
    own = [number for number in claim.numbers if not number.is_rate]
    with_number = [
        each for each in found if any(one.agrees(known) for one in own for known in each.numbers)
    ]
    found = with_number or found
    topic = {unit.text for unit in content(claim.words)[:TOPIC]}
    return [each for each in found if topic <= each.words.known] or found


def _are_opposed(claim: str, clause: str, axis: Sequence[re.Pattern[str]]) -> bool:
    told, said = _poles(claim, axis), _poles(clause, axis)
    return bool(said) and told.isdisjoint(said) and says_no(claim) == says_no(clause)


def _poles(folded: str, axis: Sequence[re.Pattern[str]]) -> frozenset[int]:
    return frozenset(at for at, pole in enumerate(axis) if pole.search(folded))


def _does_what_is_denied(claim: Clause, evidence: Evidence) -> bool:
    """All that a clause with a no in it speaks of, without the no."""
    if says_no(claim.text):
        return False
    for each in evidence.clauses:
        if each.is_question or each.is_row or not says_no(each.text) or is_restricted(each.text):
            continue
        found = coverage(each.words, claim.words)
        if found.weight >= MIN_DENIED and found.share >= ALL:
            return True
    return False


def _sentence(folded: str, evidence: Evidence) -> str:
    claim = words(folded)
    best = max(evidence.sentences, key=lambda each: overlap(claim, each.words), default=None)
    return best.text if best else ""


def _ignores_condition(claim: str, sentence: str) -> bool:
    """`even if`, `regardless` against `only if`, `except`."""
    always, only = CONDITIONS
    if only.search(claim) or always.search(sentence):
        return False
    return bool(always.search(claim) and only.search(sentence))


def _is_demand(claim: Clause) -> bool:
    return _DEMAND.match(claim.text) is not None


def _is_upon_other(claim: Clause, evidence: Evidence) -> bool:
    """`upon signing` where the passage says `upon payment`."""
    match = _UPON.search(claim.text)
    if not match or not match.start() or any(map(str.isdigit, match[1])):
        return False
    condition = coverage(words(match[1]), evidence.words)
    rest = coverage(words(claim.text[: match.start()]), evidence.words)
    near = _told(evidence.nearest(claim.words, TIED), claim)
    is_other = condition.weight >= MIN_DENIED and not condition.share
    return is_other and rest.share >= 0.7 and bool(near) and all(_UPON.search(e.text) for e in near)


def _is_to(claim: Clause, clause: Clause) -> bool:
    """`the client reports to the consultant` against `the consultant reports to the client`."""
    doer, known = (next((unit.text for unit in content(of.words)), "") for of in (claim, clause))
    is_turned = doer in _receivers(clause) and known in _receivers(claim)
    return is_turned and is_alike_passive(claim.text, clause.text)


def _receivers(clause: Clause) -> frozenset[str]:
    return frozenset(unit.text for name in _TO.findall(clause.text) for unit in words(name).units)
