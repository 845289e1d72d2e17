"""What a retrieval presents: scores of 0 to 4, what passes, and the passages as one JSON text."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.core.citations import groups
from gateway.core.passages import Hit, Passage, SearchResult

HIGHEST = 4.0  # of a reranker score
DECIMALS = 4
_REFERENCE = re.compile(r"\[(?=\s*ref_id\s*:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage and its reranker score."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage that is presented; `activity` found it first, or with the highest score."""

    activity: int
    passage: Passage
    score: float


def scored(result: SearchResult) -> tuple[Scored, ...]:
    """4 · the calibrated probability that the best passage answers · a passage's share of the
    best one's score.
    """
    if not result.hits:
        return ()
    best = result.hits[0].score
    chance = HIGHEST * result.relevance.probability
    return tuple(
        Scored(hit.passage, round(chance * _share(hit, best), DECIMALS)) for hit in result.hits
    )


def passing(result: SearchResult, threshold: float | None = None) -> tuple[Scored, ...]:
    """Those from `threshold` on; without one those from where the calibrated rule says yes."""
    if threshold is None:
        rule = result.relevance.rule
        if rule is None or not result.relevance.is_relevant:
            return ()
        threshold = round(HIGHEST * rule.cut, DECIMALS)
    return tuple(each for each in scored(result) if each.score >= threshold)


def merged(found: Mapping[int, Sequence[Scored]], most: int) -> tuple[Reference, ...]:
    """Of each passage its best find, best first; ties by activity, then by passage."""
    best: dict[int, Reference] = {}
    for activity in sorted(found):
        for each in found[activity]:
            known = best.get(each.passage.id)
            if known is None or each.score > known.score:
                best[each.passage.id] = Reference(activity, each.passage, each.score)
    ordered = sorted(best.values(), key=lambda each: (-each.score, each.activity, each.passage.id))
    return tuple(ordered[:most])


def grounding(references: Sequence[Reference]) -> str:
    """A JSON array for a model's prompt; `ref_id` is the id of the reference.

    Passages that look like instructions to a model are left out, as they are of any prompt that
    is made without the model asking.
    """
    shown = [
        {
            "ref_id": number,
            "title": each.passage.title,
            "locator": each.passage.locator.label(),
            "content": each.passage.text,
        }
        for number, each in enumerate(references)
        if not each.passage.is_flagged
    ]
    return json.dumps(shown, ensure_ascii=False)


def with_ref_ids(text: str, ids: Mapping[int, int]) -> str:
    """A checked text's marks `[n]` as `[ref_id:id]`, the form that clients of the service know.

    `ids` are the references' by n. Whatever else looks like such a mark is made harmless: it
    would cite what nobody checked.
    """
    plain = _REFERENCE.sub("〚", text)
    out: list[str] = []
    at = 0
    for mark in (each for group in groups(plain) for each in group):
        shown = "".join(f"[ref_id:{ids[n]}]" for n in mark.numbers if n in ids)
        out += [plain[at : mark.start], shown]
        at = mark.end
    return "".join(out) + plain[at:]


def _share(hit: Hit, best: float) -> float:
    return min(1.0, max(0.0, hit.score / best)) if best > 0 else 0.0
