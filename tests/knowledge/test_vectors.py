"""Blocks of vectors: exact against the plain sum, whatever comes and goes."""

import asyncio
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.calibration import Calibration, Logistic
from gateway.interfaces import PassageVectors, Vector
from gateway.knowledge.vector_blocks import FIRST_CAPACITY, Block, Nearest, View, pack
from gateway.knowledge.vector_field import PLAIN_BELOW
from gateway.knowledge.vector_scan import SCREENED_FROM, Wanted, scan, scan_together
from gateway.knowledge.vectors import SCOPES_KEPT, VectorIndex
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
    nearest = scan([block.view], query, limit, also=[[1, 99]])
    assert [found for found, _ in nearest.ranked] == [-k for _, k in best[:limit]]
    np.testing.assert_allclose([s for _, s in nearest.ranked], [s for s, _ in best[:limit]], 1e-4)
    assert set(nearest.cosines) == {1} & plain.keys()


def test_what_is_removed_is_wiped_from_memory() -> None:
    block = Block(DIMENSION)
    block.extend({1: unit(2, DIMENSION, seed=1), 2: unit(1, DIMENSION, seed=2)})
    shown = block.view
    kinds = shown.space.arrays()[:-1]
    assert all(each[:2].any() and each[2].any() for each in kinds)
    block.remove(1)
    assert not any(each[:2].any() for each in kinds)
    assert all(each[2].any() for each in kinds)


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


def plain(rows: Mapping[int, Vector], query: Vector, limit: int) -> list[tuple[int, float]]:
    """Every passage compared, in float32 added up row by row: what a scan must equal."""
    ids = np.array(list(rows), np.int64)
    scores = np.array([np.einsum("ij,j->i", each, query).max() for each in rows.values()])
    order = np.lexsort((ids, -scores))[:limit]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def clustered(count: int, dimension: int, seed: int) -> Vector:
    """Rows as embeddings lie: in clumps, some of them the very same."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((40, dimension), np.float32)
    rows = np.float32(0.7) * chance.standard_normal((count, dimension), np.float32)
    rows += centres[chance.integers(0, 40, count)]
    again = chance.integers(0, count, (2, count // 8))
    rows[again[0]] = rows[again[1]]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    count=st.sampled_from([3, 200, PLAIN_BELOW // 2, PLAIN_BELOW, 2_000]),
    layout=st.sampled_from([(1, False), (2, False), (5, False), (12, True)]),
    pieces=st.integers(1, 6),
    limit=st.sampled_from([1, 7, 50]),
    dimension=st.sampled_from([1, 12, 64]),
)
def test_a_scan_equals_brute_force_with_ties_pieces_and_gaps(
    seed: int, count: int, layout: tuple[int, bool], pieces: int, limit: int, dimension: int
) -> None:
    collections, is_packed = layout
    matrix = clustered(count, dimension, seed)
    rows = {at: matrix[at : at + pieces] for at in range(0, count, pieces)}
    blocks = [Block(dimension) for _ in range(collections)]
    for at, vectors in rows.items():
        blocks[at % collections].extend({at: vectors})
        if is_packed and at == pieces * 9:  # some fit into the slack, others leave again
            pack(blocks)
    if is_packed:
        pack(blocks)
    for at in list(rows)[::5]:
        assert blocks[at % collections].remove(at)
        del rows[at]
    query = clustered(9, dimension, seed + 1)[0]
    found = scan([block.view for block in blocks], query, limit)
    assert list(found.ranked) == plain(rows, query, limit)


@pytest.fixture(scope="module")
def large() -> tuple[Mapping[int, Vector], Block]:
    matrix = clustered(SCREENED_FROM + 3_000, 64, 3)
    rows = {at: matrix[at : at + 3] for at in range(0, len(matrix), 3)}
    block = Block(64)
    block.extend(rows)
    for at in list(rows)[::7]:
        block.remove(at)
        del rows[at]
    return rows, block


@pytest.mark.parametrize("is_near", [True, False], ids=["near something", "near nothing"])
def test_a_screened_scan_misses_nothing(
    large: tuple[Mapping[int, Vector], Block], is_near: bool
) -> None:
    rows, block = large
    queries = clustered(9, 64, 3 if is_near else 4)[:2]
    wanted = [Wanted(query, 50) for query in queries]
    together = scan_together([block.view], wanted)
    for query, found in zip(queries, together, strict=True):
        assert list(found.ranked) == plain(rows, query, 50)
        assert scan([block.view], query, 50) == scan([block.view], query, 50, exact=True) == found


def test_what_goes_during_a_scan_is_not_found_with_its_old_score() -> None:
    block = Block(DIMENSION)
    block.extend({k: unit(1, DIMENSION, seed=k) for k in range(PLAIN_BELOW + 9)})
    view = block.view
    best = scan([view], view.rows[5], 1).ranked[0][0]
    assert best == 5
    block.remove(5)  # after the view was taken, as from another thread
    assert 5 not in dict(scan([view], unit(DIMENSION, seed=5), 9, also=[[5]]).ranked)
    assert scan([view], unit(DIMENSION, seed=5), 9, also=[[5]]).cosines == {}


def packed(count: int) -> list[Block]:
    """Small collections side by side, passage k of 2 rows in the k-th."""
    blocks = [Block(DIMENSION) for _ in range(count)]
    for k, block in enumerate(blocks):
        block.extend({k: unit(2, DIMENSION, seed=k)})
    pack(blocks)
    assert len({id(block.view.space) for block in blocks}) == 1
    return blocks


def found_in(views: list[View], seed: int, limit: int = 99) -> list[int]:
    nearest = scan(views, unit(2, DIMENSION, seed=seed)[0], limit, also=[[seed]] * len(views))
    assert set(nearest.cosines) <= {each for each, _ in nearest.ranked}
    return [found for found, _ in nearest.ranked]


def test_collections_side_by_side_are_only_seen_where_they_are_asked_for() -> None:
    blocks = packed(12)
    some = [blocks[k].view for k in (11, 3, 4, 5, 8)]
    assert found_in(some, 4)[0] == 4
    assert sorted(found_in(some, 9)) == [3, 4, 5, 8, 11]
    before = [block.view for block in blocks]
    blocks[4].extend({40: unit(1, DIMENSION, seed=40)})  # into the slack beside the next
    assert blocks[4].view.space is before[4].space
    assert sorted(found_in(before, 40)) == list(range(12))
    assert found_in([block.view for block in blocks], 40)[0] == 40
    blocks[5].remove(5)
    assert 5 not in found_in(before, 5)


def test_what_a_collection_leaves_behind_in_a_common_space_is_wiped_there_too() -> None:
    blocks = packed(12)
    before = [block.view for block in blocks]
    blocks[4].extend({40 + n: unit(2, DIMENSION, seed=40 + n) for n in range(9)})
    assert blocks[4].view.space is not before[4].space
    assert found_in(before, 4)[0] == 4  # a scan that runs sees what it began with
    for region in blocks[4].left:
        region.wipe()
    assert 4 not in found_in(before, 4)
    part = slice(before[4].first, before[4].first + 2)
    assert not any(each[part].any() for each in before[4].space.arrays()[:-1])


def test_compaction_keeps_what_lives() -> None:
    block = Block(DIMENSION)
    rows = {k: unit(1 + k % 3, DIMENSION, seed=k) for k in range(60)}
    block.extend(rows)
    for k in range(0, 60, 2):
        block.remove(k)
        del rows[k]
    smaller = block.compacted()
    assert smaller is not block
    assert len(smaller.view.ids) == 30
    query = unit(DIMENSION, seed=99)
    assert list(scan([smaller.view], query, 9).ranked) == plain(rows, query, 9)


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


async def test_the_index_packs_small_collections_and_keeps_nothing_of_what_goes() -> None:
    library = FakeLibrary()
    index = VectorIndex(library, "m")
    rows = {k: unit(1, DIMENSION, seed=k) for k in range(200)}

    async def put(*ids: int) -> None:
        for k in ids:
            library.add(k, "x", collection=f"c{k % 20:02}")
        batch = [PassageVectors(k, f"c{k % 20:02}", "en", rows[k]) for k in ids]
        await library.put("m", batch)

    async def near(k: int) -> list[int]:
        names = [f"c{n:02}" for n in range(20)]
        nearest = await index.nearest(names, (rows[k][0], "en"), 200)
        return [found for found, _ in nearest.ranked]

    there: list[int] = []
    for begin, end in ((0, 20), (20, 30), (30, 120), (120, 200)):
        await put(*range(begin, end))
        there += range(begin, end)
        for k in (begin, begin + 5):
            assert (await near(k))[0] == k
            library.remove(k)
            there.remove(k)
        assert sorted(await near(begin)) == there


async def test_many_scopes_in_turn_are_each_answered_from_their_own_collections() -> None:
    library = FakeLibrary()
    index = VectorIndex(library, "m")
    rows = unit(60, DIMENSION, seed=2)

    async def put(*ids: int) -> None:
        for k in ids:
            library.add(k, "x", collection=f"c{k % 15:02}")
        batch = [PassageVectors(k, f"c{k % 15:02}", "en", rows[k : k + 1]) for k in ids]
        await library.put("m", batch)

    await put(*range(45))
    there = set(range(45))
    scopes = list(combinations(range(15), 2))
    assert len(scopes) > SCOPES_KEPT
    for come, gone in ((range(45, 60), (3, 18)), ((3,), (7, 59)), ((), ())):
        for pair in scopes:
            names = [f"c{n:02}" for n in pair]
            nearest = await index.nearest(names, (rows[pair[0]], "en"), 99)
            assert {k for k, _ in nearest.ranked} == {k for k in there if k % 15 in pair}
        for k in gone:
            library.remove(k)
        await put(*come)
        there = set(library.passages)
        scopes.reverse()  # those asked last are asked first now


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


async def test_vectors_of_another_length_are_never_compared() -> None:
    library = FakeLibrary()
    for k in (1, 2):
        library.add(k, "x")
    index = VectorIndex(library, "m")
    await library.put("m", [PassageVectors(k, "faq", "en", unit(1, 8, seed=k)) for k in (1, 2)])
    assert len((await index.nearest(["faq"], (unit(8, seed=1), "en"), 9)).ranked) == 2
    await library.put("m", [PassageVectors(2, "faq", "en", unit(1, 12, seed=2))])  # made anew
    short = await index.nearest(["faq"], (unit(8, seed=1), "en"), 9)
    long = await index.nearest(["faq"], (unit(12, seed=2), "en"), 9)
    assert [[found for found, _ in each.ranked] for each in (short, long)] == [[1], [2]]


async def test_questions_that_arrive_together_get_each_their_own() -> None:
    library = FakeLibrary()
    matrix = clustered(8_000, DIMENSION, 5)
    for k in range(len(matrix)):
        library.add(k, "x", collection="even" if k % 2 == 0 else "odd")
    rows = [
        PassageVectors(k, library.passages[k].collection_id, "en", matrix[k : k + 1])
        for k in range(len(matrix))
    ]
    await library.put("m", rows)
    index = VectorIndex(library, "m")

    async def near(at: int, *names: str) -> Nearest:
        return await index.nearest(names, (matrix[at], "en"), 5, [at, 3])

    asked = [(at, names) for at in range(12) for names in (("even",), ("even", "odd"))]
    alone = [await near(at, *names) for at, names in asked]
    first = asyncio.ensure_future(near(0, "even"))
    await asyncio.sleep(0)
    first.cancel()  # whoever gives up holds up nobody
    assert await asyncio.gather(*(near(at, *names) for at, names in asked)) == alone


async def test_whoever_gives_up_while_vectors_are_taken_over_does_not_mix_them_up() -> None:
    library = FakeLibrary()
    matrix = unit(20_000, DIMENSION, seed=8)
    for k in range(len(matrix)):
        library.add(k, "x", collection=f"c{k % 20:02}")
    rows = [PassageVectors(k, f"c{k % 20:02}", "en", matrix[k : k + 1]) for k in range(len(matrix))]
    await library.put("m", rows)
    index = VectorIndex(library, "m")
    for _ in range(3):
        asker = asyncio.ensure_future(index.refresh())
        await asyncio.sleep(0.01)
        asker.cancel()
    for n in range(20):
        found = await index.nearest([f"c{n:02}"], (matrix[n], "en"), 2_000)
        assert sorted(k for k, _ in found.ranked) == list(range(n, len(matrix), 20))
        assert all(abs(score - matrix[k] @ matrix[n]) < 1e-5 for k, score in found.ranked)
