"""The calibrated decision whether the best passages answer the question at all (A12, A15)."""

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gateway.core.calibration import Logistic
from gateway.core.common_terms import is_common
from gateway.core.fitting import probability
from gateway.core.fusion import Ranked
from gateway.core.matching import match_text, places, sentences, terms_in
from gateway.core.passages import Relevance

IDF_FLOOR = 1e-6  # as SQLite's FTS5 has it
BACKGROUND = 1_000  # passages without a term, added so that a small library can be judged too
GAP_OVER = 50  # the best cosine is compared with the median of so many
COMMON_WEIGHT = 0.5  # of a term that is in every other question; rare ones have 5 to 8
LEAST_WEIGHT = 6.0  # of a whole question: one made of common terms is never covered
USUAL_COSINE = 0.25  # centred, of the places that a library of fewer passages leaves empty
CHANCE_COSINE = 0.09  # what the nearest of ten times as many passages is nearer by chance
FEW_WORDS = 0.15  # coverage below which meaning alone may say that a passage answers
COMPARED_CHARS = 400  # of a question, for its longest verbatim run

NOTHING_FOUND = Relevance(is_relevant=False, probability=0.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a search knows of its question and of its best passages.

    `having` tells for each term of the question in how many of `passages` it stands; `texts`
    are the best passages, best first; `vector` is empty when no vectors were used.
    """

    question: str
    having: Mapping[str, int]
    passages: int
    texts: Sequence[str]
    vector: Ranked = ()
    margin: float = 0.0  # of the best passage's score over the second's


def idf(passages: int, having: int) -> float:
    """How rare a term is, as FTS5's bm25 weighs it: never below a small positive number."""
    return max(IDF_FLOOR, math.log((passages - having + 0.5) / (having + 0.5)))


def features(evidence: Evidence) -> dict[str, float]:
    """Numbers between about 0 and 1 that tell an answer from a mere best match.

    `coverage`: the share of the question's terms, rare ones counting more, that one passage
    holds; `sentence_coverage`: that two neighbouring sentences hold; `verbatim`: the longest run
    of the question that stands in a passage; `cosine` of the nearest passage or piece;
    `cosine_gap`: how far it stands out from the usual one; `cosine_rise`: above what chance
    brings in a library of this size; `margin`: how far the best passage stands out from the
    second.
    """
    weights = term_weights(evidence.having, evidence.passages)
    folded = [match_text(text) for text in evidence.texts]
    shares = [coverage(weights, text) for text in folded]
    found = {
        "coverage": max((share.passage for share in shares), default=0.0),
        "sentence_coverage": max((share.sentences for share in shares), default=0.0),
        "margin": evidence.margin,
        "verbatim": _verbatim(match_text(evidence.question[:COMPARED_CHARS]), folded),
    }
    if evidence.vector:
        cosines = [cosine for _, cosine in evidence.vector[:GAP_OVER]]
        usual = median([*cosines, *[USUAL_COSINE] * (GAP_OVER - len(cosines))])
        chance = CHANCE_COSINE * math.log10(max(1, evidence.passages))
        found |= {
            "cosine": cosines[0],
            "cosine_gap": cosines[0] - usual,
            "cosine_rise": cosines[0] - chance,
        }
    return found


def term_weights(having: Mapping[str, int], passages: int) -> dict[str, float]:
    """What each term of a question counts, by how many of `passages` have it."""
    return {term: _weight(term, n, passages) for term, n in having.items()}


def _weight(term: str, having: int, passages: int) -> float:
    """As `idf`, over the library and an imagined background, so that it is never near 0."""
    if is_common(term):
        return COMMON_WEIGHT
    without = max(0, passages - having) + BACKGROUND
    return math.log(1 + (without + 0.5) / (having + 0.5))


class Coverage(NamedTuple):
    """The weighted shares of a question's terms in a passage, and in two sentences of it."""

    passage: float
    sentences: float


def coverage(weights: Mapping[str, float], folded: str) -> Coverage:
    """How much of a question a folded passage holds: anywhere, and close together."""
    total = max(LEAST_WEIGHT, sum(weights.values()))
    held = terms_in(weights, folded)
    if not held:
        return Coverage(0.0, 0.0)
    share = sum(weights[term] for term in sorted(held)) / total
    return Coverage(share, _closest(weights, held, folded) / total)


def _closest(weights: Mapping[str, float], held: Collection[str], folded: str) -> float:
    """The most that two neighbouring sentences hold of the terms `held`."""
    ends = [end for _, end in sentences(folded)]
    each: list[set[str]] = [set() for _ in ends]
    for term, at in places(held, folded):
        each[bisect_right(ends, at)].add(term)
    pairs = [one | other for one, other in pairwise(each)] or each
    return max(sum(weights[term] for term in sorted(pair)) for pair in pairs)


def _verbatim(question: str, folded: Sequence[str]) -> float:
    longest = max((_longest_run(question, text) for text in folded), default=0)
    return longest / max(1, len(question))


def _longest_run(question: str, text: str) -> int:
    longest = 0
    for start in range(len(question)):
        while start + longest < len(question) and question[start : start + longest + 1] in text:
            longest += 1
    return longest


def decide(values: Mapping[str, float], *rules: Logistic) -> Relevance:
    """Apply fitted rules; a feature that one weighs and `values` lacks counts as 0.

    Of several, any may say yes, and the surest of those that agree speaks: so a question that
    shares a word by chance is judged no worse than one that shares none. ValueError without rules.
    """
    judged = [(probability(rule, values), rule) for rule in rules]
    found, rule = max(judged, key=lambda each: (each[0] >= each[1].cut, each[0]))
    return Relevance(found >= rule.cut, found, dict(values), rule)
