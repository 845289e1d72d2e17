"""One order out of two searches by a weight that the asker chooses (FEATURES C1)."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.core.fusion import spread
from gateway.core.passages import Hit


def weighed(
    lexical: Sequence[Hit], semantic: Sequence[Hit], alpha: float, limit: int
) -> tuple[Hit, ...]:
    """Alpha · words + (1 - alpha) · meaning, both brought to 0..1 over what was found.

    A passage that one of the searches did not find has nothing from it. At most three a source,
    ties by id. `alpha` is between 0 and 1.
    """
    words, near = _shares(lexical, "lexical_score"), _shares(semantic, "cosine")
    found = {hit.passage.id: hit for hit in semantic}
    for hit in lexical:
        other = found.get(hit.passage.id)
        found[hit.passage.id] = hit if other is None else _both(hit, other)
    scores = {
        each: alpha * words.get(each, 0.0) + (1 - alpha) * near.get(each, 0.0) for each in found
    }
    order = sorted(scores, key=lambda each: (-scores[each], each))
    sources = {each: hit.passage.source_id for each, hit in found.items()}
    kept = spread(order, sources, limit)
    return tuple(replace(found[each], score=scores[each]) for each in kept)


def _both(words: Hit, meaning: Hit) -> Hit:
    return replace(words, vector_rank=meaning.vector_rank, cosine=meaning.cosine)


def _shares(hits: Sequence[Hit], name: str) -> dict[int, float]:
    """Raw scores between the lowest (for words: none at all) and the highest found."""
    raw = {hit.passage.id: float(getattr(hit, name) or 0.0) for hit in hits}
    if not raw:
        return {}
    most = max(raw.values())
    least = min(raw.values()) if name == "cosine" and len(raw) > 1 else min(0.0, most)
    width = most - least
    return {each: (score - least) / width if width > 0 else 1.0 for each, score in raw.items()}
