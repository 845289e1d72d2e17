"""One order out of two ranked lists: the calibrated blend, or reciprocal rank fusion."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

RANK_CONSTANT = 60  # the usual value; large enough that rank 1 does not drown rank 2
PER_SOURCE = 3
COSINE_WEIGHT = 0.45  # where nothing else was fitted; bm25 has the rest
BM25_CEILING = 2.2  # k1 + 1: what a term can give at most, times its idf

Ranked = Sequence[tuple[int, float]]  # (passage id, raw score), best first


class Fused(NamedTuple):
    """A passage's place in the fused order, with what each list said of it; ranks from 1."""

    passage_id: int
    score: float
    lexical_rank: int | None = None
    vector_rank: int | None = None
    lexical_score: float | None = None
    cosine: float | None = None


def reciprocal_rank(lexical: Ranked, vector: Ranked) -> tuple[Fused, ...]:
    """Σ 1 / (60 + rank), best first; ties go to the smaller id."""
    scores: dict[int, float] = {}
    for ranked in (lexical, vector):
        for rank, (found, _said) in enumerate(ranked, 1):
            scores[found] = scores.get(found, 0.0) + 1 / (RANK_CONSTANT + rank)
    return _in_order(scores, lexical, vector, {})


def blend(
    lexical: Ranked,
    vector: Ranked,
    *,
    idf_sum: float,
    cosines: Mapping[int, float],
    weight: float = COSINE_WEIGHT,
) -> tuple[Fused, ...]:
    """Score weight · cosine + (1 - weight) · bm25 / (2.2 · Σ idf); best first, ties by id.

    Not normalised by question, so that a score means the same in every search. `cosines` has
    the cosines of lexical hits outside the vector list. A passage without a vector counts as the
    median of the vector list: neither punished nor favoured while vectors are being made.
    """
    rest = (1 - weight) / (BM25_CEILING * max(idf_sum, 1e-9))
    unknown = weight * median(cosine for _, cosine in vector) if vector else 0.0
    known = {**cosines, **dict(vector)}
    scores = {found: weight * cosine for found, cosine in vector}
    for found, words in lexical:
        near = weight * known[found] if found in known else unknown
        scores[found] = near + rest * words
    return _in_order(scores, lexical, vector, known)


def _in_order(
    scores: Mapping[int, float], lexical: Ranked, vector: Ranked, cosines: Mapping[int, float]
) -> tuple[Fused, ...]:
    words = {hit[0]: (rank, hit[1]) for rank, hit in enumerate(lexical, 1)}
    near = {hit[0]: (rank, hit[1]) for rank, hit in enumerate(vector, 1)}
    order = sorted(scores, key=lambda found: (-scores[found], found))
    fused = []
    for found in order:
        lexical_rank, lexical_score = words.get(found, _NOWHERE)
        vector_rank, cosine = near.get(found, (None, cosines.get(found)))
        fused.append(Fused(found, scores[found], lexical_rank, vector_rank, lexical_score, cosine))
    return tuple(fused)


_NOWHERE: tuple[int | None, float | None] = (None, None)


def spread(
    ranked: Sequence[int], source_of: Mapping[int, str], limit: int, per_source: int = PER_SOURCE
) -> tuple[int, ...]:
    """The first `limit` ids in order, at most `per_source` of one source.

    An id that `source_of` does not name is gone, or not for this reader: it is left out.
    """
    taken: Counter[str] = Counter()
    kept: list[int] = []
    for passage_id in ranked:
        source = source_of.get(passage_id)
        if len(kept) < limit and source is not None and taken[source] < per_source:
            taken[source] += 1
            kept.append(passage_id)
    return tuple(kept)
