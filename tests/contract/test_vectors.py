"""Vectors follow their passages, and `changes` tells of every put and every removal once."""

from dataclasses import replace

import numpy as np

from gateway.core.access import EmbeddingPolicy, Sensitivity
from gateway.core.documents import SourceState, StatusDetail
from gateway.core.passages import Passage
from gateway.interfaces import PassageVectors
from gateway.store import Store
from tests.contract.world import World


def vectors_of(passage: Passage, first: float = 1.0, rows: int = 2) -> PassageVectors:
    matrix = np.full((rows, 4), first, np.float32)
    return PassageVectors(passage.id, passage.collection_id, "zh", matrix)


async def test_vectors_come_back_as_they_were(world: World, store: Store) -> None:
    ken = await world.account("ken")
    source = await world.text(await world.collection(ken), "甲", "乙")
    await world.text(await world.collection(ken), "丙")
    missing = await store.vectors.without_vectors("m", source.id, 9)
    assert [each.text for each in missing] == ["甲", "乙"]
    assert len(await store.vectors.without_vectors("m", None, 9)) == 3
    assert len(await store.vectors.without_vectors("m", None, 1)) == 1
    assert await store.vectors.put("m", [vectors_of(missing[0], 0.5)]) == 1
    assert [p.text for p in await store.vectors.without_vectors("m", source.id, 9)] == ["乙"]
    assert len(await store.vectors.without_vectors("other", source.id, 9)) == 2
    mark, [row], gone = await store.vectors.changes("m", 0)
    assert (mark > 0, list(gone)) == (True, [])
    assert (row.passage_id, row.collection_id, row.script) == (
        missing[0].id,
        missing[0].collection_id,
        "zh",
    )
    assert row.vectors.shape == (2, 4)
    assert row.vectors.dtype == np.dtype(np.float32)
    assert (row.vectors == 0.5).all()
    assert await store.passages.searchable(await world.scope(ken), "m") == (3, 1)
    assert await store.passages.searchable(await world.scope(ken), "other") == (3, 0)


async def test_changes_are_incremental_removals_too(world: World, store: Store) -> None:
    hr = await world.collection(await world.account())
    source = await world.text(hr, "甲", "乙", "丙")
    one, two, three = await store.vectors.without_vectors("m", None, 9)
    await store.vectors.put("m", [vectors_of(each) for each in (one, two)])
    await store.vectors.put("other", [vectors_of(one)])
    mark, rows, _ = await store.vectors.changes("m", 0)
    assert [row.passage_id for row in rows] == [one.id, two.id]
    assert await store.vectors.changes("m", mark) == (mark, [], [])
    await store.vectors.put("m", [vectors_of(three), vectors_of(one, 0.25)])
    mark, rows, gone = await store.vectors.changes("m", mark)
    assert [(row.passage_id, row.vectors[0, 0]) for row in rows] == [(three.id, 1), (one.id, 0.25)]
    assert await world.read(source, "丙", "甲", "丁")  # 乙 goes, the others keep their vectors
    mark, rows, gone = await store.vectors.changes("m", mark)
    assert ([row.passage_id for row in rows], list(gone)) == ([], [two.id])
    [new] = await store.vectors.without_vectors("m", None, 9)
    assert new.text == "丁"
    await store.sources.remove(source.id, world.clock.now())
    mark, rows, gone = await store.vectors.changes("m", mark)
    assert ([row.passage_id for row in rows], list(gone)) == ([], [one.id, three.id])
    assert await store.vectors.put("m", [vectors_of(each) for each in (one, new)]) == 0
    assert (await store.vectors.changes("m", 0))[1:] == ([], [])


async def test_a_model_is_forgotten_whole(world: World, store: Store) -> None:
    await world.text(await world.collection(await world.account()), "甲", "乙")
    passages = await store.vectors.without_vectors("m", None, 9)
    for model in ("m", "other"):
        await store.vectors.put(model, [vectors_of(each) for each in passages])
    mark, _, _ = await store.vectors.changes("m", 0)
    assert await store.vectors.remove_model("m") == 2
    after, rows, gone = await store.vectors.changes("m", mark)
    assert (list(rows), list(gone)) == ([], [each.id for each in passages])
    assert len((await store.vectors.changes("other", 0))[1]) == 2
    await store.vectors.put("m", [vectors_of(passages[0])])
    _, rows, gone = await store.vectors.changes("m", mark)  # gone and back: only its new row
    assert ([row.passage_id for row in rows], list(gone)) == ([passages[0].id], [passages[1].id])
    assert after < (await store.vectors.changes("m", after))[0]


async def test_vectors_of_a_removed_collection_are_not_handed_out(
    world: World, store: Store
) -> None:
    hr = await world.collection(await world.account())
    await world.text(hr, "甲")
    [passage] = await store.vectors.without_vectors("m", None, 9)
    await store.vectors.put("m", [vectors_of(passage)])
    await store.collections.remove(hr.id)
    assert (await store.vectors.changes("m", 0))[1] == []


async def test_the_count_of_passages_with_vectors_follows_every_change(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    hr, faq = [await world.collection(ken) for _ in range(2)]
    sources = [await world.text(each, "甲", "乙", "丙") for each in (hr, faq)]
    everything = await world.scope(ken)
    counts: list[tuple[int, ...]] = []

    async def count() -> None:
        """Of each collection and both, as counted, beside what is handed out row by row."""
        rows = (await store.vectors.changes("m", 0))[1]
        seen = [row.collection_id for row in rows]
        told = []
        for each in ({hr.id}, {faq.id}, {hr.id, faq.id}):
            scope = everything.narrow(frozenset(each))
            told.append((await store.passages.searchable(scope, "m"))[1])
            assert told[-1] == sum(name in each for name in seen)
        counts.append(tuple(told))

    await count()
    missing = await store.vectors.without_vectors("m", None, 9)
    for some in (missing[:2], missing[1:4], missing[4:]):  # one of them for the second time
        await store.vectors.put("m", [vectors_of(each) for each in some])
        await store.vectors.put("other", [vectors_of(each) for each in missing])
        await count()
    assert await world.read(sources[0], "丙", "丁")
    await count()
    await store.vectors.remove_model("other")
    await store.sources.remove(sources[1].id, world.clock.now())
    await count()
    await store.vectors.put("m", [vectors_of(each) for each in missing])  # gone but for one
    await count()
    await store.vectors.remove_model("m")
    await count()
    assert [each[2] for each in counts] == [0, 2, 4, 6, 4, 1, 1, 0]
    assert [each[0] for each in counts] == [0, 2, 3, 3, 1, 1, 1, 0]


async def test_what_may_not_leave_is_neither_waited_for_nor_counted_for_a_cloud(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    kept_here = await world.collection(ken, "here")
    restricted = replace(kept_here, sensitivity=Sensitivity.RESTRICTED)
    await store.collections.replace(restricted, version=kept_here.version)
    source = await world.text(await world.collection(ken, "open"), "甲")
    await world.text(kept_here, "乙")
    assert await store.vectors.excluded("cloud:acme") == {kept_here.id}
    assert await store.vectors.excluded("local:m") == frozenset()
    assert await store.coverage.of("cloud:acme") == (1, 0)
    assert await store.coverage.of("local:m") == (2, 0)
    [open_one] = await store.vectors.without_vectors("cloud:acme", None, 9)
    assert not await store.coverage.is_whole("cloud:acme")
    for model in ("cloud:acme", "local:m"):
        await store.vectors.put(model, [vectors_of(open_one)])
    assert await store.coverage.is_whole("cloud:acme")
    assert not await store.coverage.is_whole("local:m")
    assert source.collection_id == open_one.collection_id


async def test_the_store_and_the_rule_agree_on_what_may_leave(world: World, store: Store) -> None:
    ken = await world.account("ken")
    for sensitivity in Sensitivity:
        for policy in EmbeddingPolicy:
            made = await world.collection(ken, f"{sensitivity.value}-{policy.value}")
            kind = replace(made, sensitivity=sensitivity, embedding_policy=policy)
            await store.collections.replace(kind, version=made.version)
    found = await store.collections.list(await store.vectors.excluded("local:m"))
    assert found == []
    scope = await world.scope(ken)
    everything = await store.collections.list(scope.collections)
    excluded = await store.vectors.excluded("cloud:acme:443")
    assert {each.id for each in everything if not each.may_leave} == excluded
    policies = len(EmbeddingPolicy)
    expected = (len(Sensitivity) * policies, policies, len(Sensitivity) - 1)
    assert await store.coverage.kept_here() == expected


async def test_what_is_over_the_limit_is_not_waited_for(world: World, store: Store) -> None:
    source = await world.text(await world.collection(await world.account()), "甲")
    assert not await store.coverage.is_whole("m")
    over = StatusDetail.VECTOR_LIMIT
    await store.sources.set_state(source.id, SourceState.READY, status_detail=over)
    assert await store.coverage.is_whole("m")
