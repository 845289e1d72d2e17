"""One order out of two ranked lists: the calibrated blend, or reciprocal rank fusion."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

RANK_CONSTANT = 60  # the usual value; large enough that rank 1 does not drown rank 2
PER_SOURCE = 3
COSINE_WEIGHT = 0.45  # measured on the public sets (docs: retrieval); bm25 has the rest
BM25_CEILING = 2.2  # k1 + 1: what a term can give at most, times its idf

Ranked = Sequence[tuple[int, float]]  # (passage id, raw score), best first


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage's place in the fused order, with what each list said of it; ranks from 1."""

    passage_id: int
    score: float
    lexical_rank: int | None = None
    vector_rank: int | None = None
    lexical_score: float | None = None
    cosine: float | None = None


def reciprocal_rank(lexical: Ranked, vector: Ranked) -> tuple[Fused, ...]:
    """Σ 1 / (60 + rank), best first; ties go to the smaller id."""

    def score(found: Fused) -> float:
        ranks = (found.lexical_rank, found.vector_rank)
        return sum(1 / (RANK_CONSTANT + rank) for rank in ranks if rank is not None)

    return _fuse(lexical, vector, {}, score)


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
    ceiling = BM25_CEILING * max(idf_sum, 1e-9)
    unknown = median(cosine for _, cosine in vector) if vector else 0.0

    def score(found: Fused) -> float:
        cosine = unknown if found.cosine is None else found.cosine
        return weight * cosine + (1 - weight) * (found.lexical_score or 0.0) / ceiling

    return _fuse(lexical, vector, cosines, score)


def _fuse(
    lexical: Ranked,
    vector: Ranked,
    cosines: Mapping[int, float],
    score: Callable[[Fused], float],
) -> tuple[Fused, ...]:
    words = {found: (rank, value) for rank, (found, value) in enumerate(lexical, start=1)}
    near = {found: (rank, value) for rank, (found, value) in enumerate(vector, start=1)}
    fused = []
    for passage_id in words.keys() | near.keys():
        lexical_rank, lexical_score = words.get(passage_id, (None, None))
        vector_rank, cosine = near.get(passage_id, (None, cosines.get(passage_id)))
        found = Fused(passage_id, 0.0, lexical_rank, vector_rank, lexical_score, cosine)
        fused.append(_scored(found, score(found)))
    return tuple(sorted(fused, key=lambda found: (-found.score, found.passage_id)))


def _scored(found: Fused, score: float) -> Fused:
    return Fused(
        found.passage_id,
        score,
        found.lexical_rank,
        found.vector_rank,
        found.lexical_score,
        found.cosine,
    )


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
