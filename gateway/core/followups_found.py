"""One result out of those for several wordings of one question (FEATURES F7)."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.core import fusion
from gateway.core.followups import Wording
from gateway.core.matching import match_text, terms_in
from gateway.core.passages import Hit, SearchResult

NEAREST = 3  # the finds of a wording that its relevance was judged by

Found = tuple[Wording, SearchResult]


def fused(found: Sequence[Found], limit: int) -> SearchResult:
    """Scores are summed by weight; the decision, the mode and the rest are of the best wording.

    `found` has the message alone first. At most `limit` hits and three a source, ties by id.
    """
    if len(found) == 1:
        return replace(found[0][1], hits=found[0][1].hits[:limit])
    scores: dict[int, float] = {}
    hits: dict[int, Hit] = {}
    for wording, result in sorted(found, key=lambda each: each[0].weight):
        for hit in result.hits if wording.weight else ():
            key = hit.passage.id
            scores[key] = scores.get(key, 0.0) + wording.weight * hit.score
            hits[key] = hit  # with the evidence of the wording that counts most
    order = sorted(scores, key=lambda key: (-scores[key], key))
    ids = fusion.spread(order, {key: hit.passage.source_id for key, hit in hits.items()}, limit)
    kept = tuple(replace(hits[key], score=scores[key]) for key in ids)
    return replace(_best(found, kept), hits=kept)


def is_decided(found: Sequence[Found]) -> bool:
    """No further wording is needed to say that the finds are relevant."""
    return _best(found, fused(found, NEAREST).hits).relevance.is_relevant


def _best(found: Sequence[Found], kept: Sequence[Hit]) -> SearchResult:
    """The wording that is answered most surely, of those that may decide."""
    alone = found[0][1]
    if not kept:
        return alone
    may = [result for wording, result in found if _may_decide(wording, result, kept[0])]
    return max(may, key=lambda result: result.relevance.probability, default=alone)


def _may_decide(wording: Wording, result: SearchResult, best: Hit) -> bool:
    near = [hit.passage.id for hit in result.hits[:NEAREST]]
    if wording.weight == 0 and best.passage.id not in near:
        return False
    held = terms_in(wording.needs, match_text(best.passage.text))
    return len(held) >= wording.share * len(wording.needs)
