"""Fusing two lists, and at most three passages of a source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.fusion import PER_SOURCE, blend, reciprocal_rank, spread

ids = st.integers(1, 30)
ranked = st.lists(st.tuples(ids, st.floats(0, 1)), unique_by=lambda hit: hit[0], max_size=20).map(
    lambda hits: sorted(hits, key=lambda hit: (-hit[1], hit[0]))
)


def test_reciprocal_rank_is_the_sum_over_both_lists() -> None:
    fused = reciprocal_rank([(1, 9.0), (2, 8.0)], [(2, 0.9), (3, 0.8)])
    assert [f.passage_id for f in fused] == [2, 1, 3]
    assert [f.score for f in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    assert (fused[0].lexical_rank, fused[0].vector_rank) == (2, 1)
    assert (fused[1].lexical_score, fused[1].cosine) == (9.0, None)


def test_ties_go_to_the_smaller_id() -> None:
    assert [f.passage_id for f in reciprocal_rank([(7, 1.0)], [(4, 1.0)])] == [4, 7]


def test_the_blend_weighs_cosine_and_bm25() -> None:
    fused = blend([(1, 4.4)], [(2, 0.5)], idf_sum=4.0, cosines={1: 0.25})
    assert [f.passage_id for f in fused] == [1, 2]
    assert [f.score for f in fused] == pytest.approx([0.45 * 0.25 + 0.55 * 0.5, 0.45 * 0.5])
    assert fused[0].cosine == 0.25
    assert fused[0].vector_rank is None


def test_a_passage_without_a_vector_counts_as_the_median_one() -> None:
    vector = [(2, 0.9), (3, 0.6), (4, 0.1)]
    fused = {f.passage_id: f.score for f in blend([(1, 2.2)], vector, idf_sum=2.0, cosines={})}
    assert fused[1] == pytest.approx(0.45 * 0.6 + 0.55 * 0.5)


def test_words_alone_keep_their_order() -> None:
    fused = blend([(5, 3.0), (1, 2.0)], [], idf_sum=0.0, cosines={})
    assert [f.passage_id for f in fused] == [5, 1]


@given(ranked, ranked)
def test_nothing_is_lost_invented_or_out_of_order(
    lexical: list[tuple[int, float]], vector: list[tuple[int, float]]
) -> None:
    known = {found for found, _ in [*lexical, *vector]}
    for fused in (
        reciprocal_rank(lexical, vector),
        blend(lexical, vector, idf_sum=1.0, cosines={}),
    ):
        assert {f.passage_id for f in fused} == known
        assert list(fused) == sorted(fused, key=lambda f: (-f.score, f.passage_id))


@given(st.lists(ids, unique=True), st.dictionaries(ids, st.sampled_from("abc")), st.integers(0, 9))
def test_spread_keeps_order_limit_and_three_a_source(
    order: list[int], source_of: dict[int, str], limit: int
) -> None:
    kept = spread(order, source_of, limit)
    assert len(kept) <= limit
    assert [found for found in order if found in kept] == list(kept)
    sources = [source_of[found] for found in kept]
    assert all(sources.count(source) <= PER_SOURCE for source in sources)
    for left in set(order) - set(kept):  # each with a reason
        assert (
            left not in source_of
            or sources.count(source_of[left]) == PER_SOURCE
            or len(kept) == limit
        )
