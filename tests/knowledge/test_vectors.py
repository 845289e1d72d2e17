"""Blocks of vectors: exact against the plain sum, whatever comes and goes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.calibration import Calibration, Logistic
from gateway.interfaces import PassageVectors, Vector
from gateway.knowledge.vector_blocks import FIRST_CAPACITY, Block, scan
from gateway.knowledge.vectors import VectorIndex
from tests.fakes.knowledge import FakeLibrary

DIMENSION = 8
RULE = Logistic(0.0, {}, 0.5)


def unit(*shape: int, seed: int) -> Vector:
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


steps = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "compact"]), st.integers(1, 12), st.integers(1, 4)),
    max_size=40,
)


@settings(deadline=None)
@given(steps, st.integers(1, 6))
def test_a_block_is_the_plain_sum_of_what_is_in_it(
    changes: list[tuple[str, int, int]], limit: int
) -> None:
    block, plain = Block(DIMENSION), dict[int, Vector]()
    for at, (kind, passage_id, pieces) in enumerate(changes):
        if kind == "put":
            plain[passage_id] = unit(pieces, DIMENSION, seed=at)
            block.extend({passage_id: plain[passage_id]})
        elif kind == "remove":
            assert block.remove(passage_id) is (plain.pop(passage_id, None) is not None)
        else:
            block = block.compacted()
        assert len(block) == len(plain)
    query = unit(DIMENSION, seed=1)
    best = sorted(((float((v @ query).max()), -k) for k, v in plain.items()), reverse=True)
    nearest = scan([block.view], query, limit, also=[1, 99])
    assert [found for found, _ in nearest.ranked] == [-k for _, k in best[:limit]]
    np.testing.assert_allclose([s for _, s in nearest.ranked], [s for s, _ in best[:limit]], 1e-4)
    assert set(nearest.cosines) == {1} & plain.keys()


def test_what_is_removed_is_wiped_from_memory() -> None:
    block = Block(DIMENSION)
    block.extend({1: unit(2, DIMENSION, seed=1), 2: unit(1, DIMENSION, seed=2)})
    shown = block.view
    block.remove(1)
    assert not shown.rows[:2].any()
    assert shown.rows[2].any()


def test_growing_keeps_earlier_views_whole() -> None:
    block = Block(DIMENSION)
    block.extend({1: unit(1, DIMENSION, seed=1)})
    shown = block.view
    block.extend({k: unit(2, DIMENSION, seed=k) for k in range(2, FIRST_CAPACITY + 2)})
    assert len(shown.ids) == 1
    assert len(block.view.ids) == FIRST_CAPACITY + 1
    np.testing.assert_array_equal(shown.rows[0], block.view.rows[0])


def test_ties_at_the_border_go_to_the_smaller_id() -> None:
    same = unit(1, DIMENSION, seed=1)
    blocks = [Block(DIMENSION), Block(DIMENSION)]
    blocks[0].extend({9: same, 4: same})
    blocks[1].extend({7: same, 2: same})
    nearest = scan([block.view for block in blocks], same[0], 3)
    assert [found for found, _ in nearest.ranked] == [2, 4, 7]


async def test_the_index_follows_the_store_and_keeps_to_the_collections() -> None:
    library = FakeLibrary()
    index = VectorIndex(library, "m")
    rows = {k: unit(2, DIMENSION, seed=k) for k in range(1, 9)}
    for k in rows:
        library.add(k, "x", collection="even" if k % 2 == 0 else "odd")

    async def put(*ids: int) -> None:
        batch = [PassageVectors(k, library.passages[k].collection_id, "en", rows[k]) for k in ids]
        await library.put("m", batch)

    async def near(*names: str) -> list[int]:
        nearest = await index.nearest(names, (rows[2][0], "en"), 9)
        return [found for found, _ in nearest.ranked]

    assert await near("even", "odd") == []
    await put(1, 2, 3, 4)
    assert sorted(await near("even")) == [2, 4]
    assert (await near("even"))[0] == 2
    await put(6, 8)
    library.remove(2)
    assert sorted(await near("even")) == [4, 6, 8]
    assert sorted(await near("even", "odd", "nowhere")) == [1, 3, 4, 6, 8]
    for k in (4, 6, 8):
        library.remove(k)
    assert await near("even") == []


async def test_vectors_are_centred_on_their_language() -> None:
    library = FakeLibrary()
    zh, en = unit(2, DIMENSION, seed=5)
    signal = unit(2, DIMENSION, seed=6)
    for k in (1, 2, 3):
        library.add(k, "x")
    texts = {1: (zh, signal[1], "zh"), 2: (en, signal[0], "en"), 3: (en, signal[1], "en")}
    rows = [
        PassageVectors(k, "faq", script, ((3 * mean + s) / np.linalg.norm(3 * mean + s))[None])
        for k, (mean, s, script) in texts.items()
    ]
    await library.put("m", rows)
    question = (3 * zh + signal[0]) / np.linalg.norm(3 * zh + signal[0])
    means = {"zh": tuple(3 * zh / 3.2), "en": tuple(3 * en / 3.2)}
    centring = Calibration("m", RULE, RULE, RULE, question_means=means, passage_means=means)
    plain, centred = VectorIndex(library, "m"), VectorIndex(library, "m", centring)
    assert (await plain.nearest(["faq"], (question, "zh"), 1)).ranked[0][0] == 1
    assert (await centred.nearest(["faq"], (question, "zh"), 1)).ranked[0][0] == 2
