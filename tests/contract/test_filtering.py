"""Filters in the store: never wider than the scope, and what a naive look at each document says."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.documents import Source
from gateway.core.filters import Both, Either, EqualTo, Filter, Not, OneOf, Value
from gateway.store import Store
from tests.contract.world import World

# few names and values, so that they meet; some are also what the program itself knows
NAMES = st.sampled_from(["category", "年", "title", "address", 'a"b$.c', "id"])
TEXTS = st.sampled_from(["policy", "手冊", "", "1", "null", "true", 'a"]'])
VALUES = st.one_of(TEXTS, st.sampled_from([None, True, False, 0, 1, 1.0, -0.0, 2.5, 2**62]))
NOTED = st.dictionaries(NAMES, VALUES, max_size=4)
LEAVES = st.one_of(
    st.builds(EqualTo, NOTED),
    st.builds(OneOf, NAMES, st.lists(VALUES, max_size=3).map(tuple)),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Both, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Either, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)


def known_of(source: Source) -> Mapping[str, Value]:
    """What is noted down goes before what the program knows."""
    built_in = {
        "id": source.id,
        "title": source.title,
        "kind": source.kind.value,
        "media_type": source.media_type,
        "address": source.address or None,
    }
    return {**built_in, **source.metadata}


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    documents=st.lists(st.tuples(st.integers(0, 2), TEXTS, NOTED, NOTED), max_size=6),
    readable=st.sets(st.integers(0, 2)),
    filters=st.lists(FILTERS, min_size=1, max_size=6),
)
async def test_a_filter_never_widens_a_scope_and_is_the_naive_one(
    world: World,
    store: Store,
    documents: list[tuple[int, str, dict[str, Value], dict[str, Value]]],
    readable: set[int],
    filters: list[Filter],
) -> None:
    ken, lin = await world.account(), await world.account()
    shelves = [await world.collection(ken) for _ in range(3)]
    for n in readable:
        await world.share(shelves[n], ken, lin)
    passages: dict[str, set[int]] = {}
    for n, title, noted, changed in documents:
        draft = replace(world.new_source(shelves[n], title), metadata=noted)
        source, _ = await store.sources.add(draft)
        await world.read(source, "特休七日", "特休十日")
        if changed:
            await store.metadata.set(source.id, changed)
    scope, everything = await world.scope(lin), await world.scope(ken)
    for each in await world.found(everything, "特休", 99):
        passages.setdefault(each.source_id, set()).add(each.id)
    for within in filters:
        for reads in (scope, everything):
            listed = [
                each for c in sorted(reads.collections) for each in await store.sources.list(c)
            ]
            meant = [each.id for each in listed if within.matches(known_of(each))]
            wanted = sorted(number for each in meant for number in passages[each])
            assert list(await store.passages.of_filter(reads, within)) == wanted


async def test_what_is_noted_down_goes_before_what_is_known(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    scope = await world.scope(ken)
    plain = await world.text(hr, "特休", title="policy")
    noted = await world.text(hr, "特休", title="policy")
    await store.metadata.set(noted.id, {"title": "another"})
    [of_plain] = await store.passages.of_filter(scope, EqualTo({"title": "policy"}))
    [of_noted] = await store.passages.of_filter(scope, EqualTo({"title": "another"}))
    both = await store.passages.load(scope, [of_plain, of_noted])
    assert [each.source_id for each in both] == [plain.id, noted.id]


async def test_only_the_current_revision_is_meant(world: World, store: Store) -> None:
    ken = await world.account("ken")
    scope_of, hr = world.scope, await world.collection(ken)
    source = await world.text(hr, "特休七日", title="policy")
    before = await store.passages.of_filter(await scope_of(ken), EqualTo({"title": "policy"}))
    await world.read(source, "病假")
    after = await store.passages.of_filter(await scope_of(ken), EqualTo({"title": "policy"}))
    assert len(before) == len(after) == 1
    assert before != after


async def test_an_unknown_form_is_no_filter(world: World, store: Store) -> None:
    class Anything:
        def matches(self, metadata: Mapping[str, Value]) -> bool:
            return True

    ken = await world.account("ken")
    await world.collection(ken)
    with pytest.raises(TypeError):
        await store.passages.of_filter(await world.scope(ken), Anything())
