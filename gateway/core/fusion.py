"""One order out of two ranked lists: the calibrated blend, or reciprocal rank fusion."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

RANK_CONSTANT = 60  # the usual value; large enough that rank 1 does not drown rank 2
PER_SOURCE = 3
COSINE_WEIGHT = 0.45  # where nothing else was fitted; bm25 has the rest
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

    def score(words: _Place, near: _Place) -> float:
        return sum(1 / (RANK_CONSTANT + place[0]) for place in (words, near) if place[0])

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

    def score(words: _Place, near: _Place) -> float:
        cosine = unknown if near[1] is None else near[1]
        return weight * cosine + (1 - weight) * (words[1] or 0.0) / ceiling

    return _fuse(lexical, vector, cosines, score)


_Place = tuple[int | None, float | None]  # rank in a list, and what the list said
_NOWHERE: _Place = (None, None)


def _fuse(
    lexical: Ranked,
    vector: Ranked,
    cosines: Mapping[int, float],
    score: Callable[[_Place, _Place], float],
) -> tuple[Fused, ...]:
    words: dict[int, _Place] = {hit[0]: (rank, hit[1]) for rank, hit in enumerate(lexical, 1)}
    near: dict[int, _Place] = {found: (None, cosine) for found, cosine in cosines.items()}
    near.update((hit[0], (rank, hit[1])) for rank, hit in enumerate(vector, 1))
    known = words.keys() | {found for found, _ in vector}
    places = ((found, words.get(found, _NOWHERE), near.get(found, _NOWHERE)) for found in known)
    order = sorted((-score(said, close), found, said, close) for found, said, close in places)
    return tuple(
        Fused(found, -value, said[0], close[0], said[1], close[1])
        for value, found, said, close in order
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
