"""The index: whole revisions swapped in, words found, and never a text outside the scope."""

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.access import AccountRole
from gateway.core.passages import COLLECTION_SHIFT, Passage
from gateway.core.scope import Scope
from gateway.errors import ConflictError
from gateway.store import Store
from tests.contract.world import World, revision

OPERATORS = (
    "don't", "multi-agent", "20.04", "@nasa", 'a"b', "NEAR(", "AND", "OR", "NOT", "*", "x:y", "^",
    "C++", "tokens:特休", "特休*", '" OR "', "a\0b", "\ud800", "特\udfff休", "-特休", "{x}", "(",
    ")", "'; DROP TABLE passages; --", "", " ", "。", "😀", "\U000323af", "NEAR(a b, 2)", '""""',
)  # fmt: skip


async def test_words_are_found_best_first_with_ties_by_id(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    await world.text(hr, "特休七日 HR", "病假三十日", "特休與病假", "特休七日 HR")
    scope = await world.scope(ken)
    hits = await store.passages.lexical(scope, ["特休", "病假"], 9)
    ids = [hit[0] for hit in hits.hits]
    scores = [hit[1] for hit in hits.hits]
    assert (await store.passages.load(scope, ids))[0].text == "特休與病假"
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    same = [each for each, score in hits.hits if score == hits.hits[1][1]]
    assert same == sorted(same)
    assert (hits.passages_total, hits.document_frequency) == (4, {"特休": 3, "病假": 2})
    assert await store.passages.lexical(scope, ["特休", "病假"], 9) == hits
    assert (await store.passages.lexical(scope, ["特休", "病假"], 2)).hits == hits.hits[:2]
    assert [each.ordinal for each in await world.found(scope, "hr")] == [0, 3]


async def test_phrases_are_required(world: World, store: Store) -> None:
    ken = await world.account("ken")
    await world.text(await world.collection(ken), "annual leave days", "leave annual days", "other")
    scope = await world.scope(ken)

    async def ordinals(terms: list[str], *phrases: list[str]) -> list[int]:
        hits = await store.passages.lexical(scope, terms, 9, phrases)
        found = await store.passages.load(scope, [hit[0] for hit in hits.hits])
        return sorted(each.ordinal for each in found)

    assert await ordinals(["annual", "days"]) == [0, 1]
    assert await ordinals(["days"], ["annual", "leave"]) == [0]
    assert await ordinals([], ["annual", "leave"]) == [0]
    assert await ordinals(["nothing"], ["annual", "leave"]) == [0]
    assert await ordinals(["days"], ["annual", "leave"], ["leave", "annual"]) == []


@pytest.mark.parametrize("word", ["假", "請假", "HR", "修復 ok", "㈱", "ＨＲ", "人事"])
async def test_short_words_are_found_in_every_form(world: World, word: str) -> None:
    ken = await world.account("ken")
    await world.text(
        await world.collection(ken), "請假單 假 hr 修復 OK 株式會社 (株) 人事", "something else"
    )
    found = await world.found(await world.scope(ken), word)
    assert [each.ordinal for each in found] == [0]


async def test_nothing_in_a_question_is_an_operator(world: World, store: Store) -> None:
    ken = await world.account("ken")
    await world.text(await world.collection(ken), "特休 and near not or", "別的 x y nasa")
    scope = await world.scope(ken)
    for text in OPERATORS:
        await world.found(scope, text)  # as asked
        for terms, phrases in (([text], []), (["x", text], []), (["x"], [[text, "y"]])):
            await store.passages.lexical(scope, terms, 9, phrases)
    for text in ("tokens:別的", "x NOT y"):  # as bare terms: a column filter, an exclusion
        assert (await store.passages.lexical(scope, [text], 9)).hits == ()
    many = await store.passages.lexical(scope, [f"w{n}" for n in range(300)] + ["x"], 9)
    assert len(many.hits) == 1


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    readers=st.lists(st.sets(st.integers(0, 3)), min_size=5, max_size=5),
    removed=st.sets(st.integers(0, 4), max_size=2),
    seed=st.integers(0, 1000),
)
async def test_nothing_outside_the_scope_is_found_loaded_or_counted(
    world: World, store: Store, readers: list[set[int]], removed: set[int], seed: int
) -> None:
    chance = random.Random(seed)
    boss = await world.account(role=AccountRole.ADMIN)
    people = [await world.account() for _ in range(4)]
    collections = [await world.collection(boss) for _ in readers]
    for collection, who in zip(collections, readers, strict=True):
        await world.share(collection, boss, *(people[n] for n in who))
        texts = [f"特休 {chance.choice(['七日', '十日'])}" for _ in range(chance.randint(1, 4))]
        await world.text(collection, *texts)
    everything = await world.scope(boss)
    all_ids = [each.id for each in await world.found(everything, "特休", 9999)]
    first = {person.id: await world.scope(person) for person in people}
    for n in removed:
        await store.collections.remove(collections[n].id)
    for n, person in enumerate(people):
        allowed = {c.id for c, who in zip(collections, readers, strict=True) if n in who}
        allowed -= {collections[each].id for each in removed}
        scope = first[person.id]  # even a scope from before a removal
        found = await world.found(scope, "特休 七日", 9999)
        loaded = await store.passages.load(scope, all_ids)
        around = [await store.passages.around(scope, each, 2) for each in all_ids]
        reached = {each.collection_id for some in (found, loaded, *around) for each in some}
        assert reached == allowed
        assert await store.passages.searchable(scope, "m") == (len(loaded), 0)
        assert len(found) == len(loaded)


async def test_an_empty_scope_reads_nothing(world: World, store: Store) -> None:
    ken, stranger = await world.account("ken"), await world.account("stranger")
    await world.text(await world.collection(ken), "特休")
    [hit] = await world.found(await world.scope(ken), "特休")
    empty = await world.scope(stranger)
    assert (await store.passages.lexical(empty, ["特休"], 9)).hits == ()
    assert (await store.passages.lexical(empty, ["特休"], 9)).passages_total == 0
    assert list(await store.passages.load(empty, [hit.id])) == []
    assert list(await store.passages.around(empty, hit.id, 3)) == []
    assert await store.passages.searchable(empty, "m") == (0, 0)


async def test_load_keeps_the_order_asked_and_every_detail(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    source = await world.text(hr, "甲", "乙\ud800", "丙", title="手\ud800冊")
    scope = await world.scope(ken)
    ids = [hr.no << COLLECTION_SHIFT | n for n in (3, 1, 99, 2)]
    third, first, second = await store.passages.load(scope, ids)
    assert [each.text for each in (first, second, third)] == ["甲", "乙\ufffd", "丙"]
    assert (second.is_flagged, first.is_flagged, second.ordinal) == (True, False, 1)
    assert (first.source_id, first.collection_id, first.title) == (source.id, hr.id, "手\ufffd冊")
    assert (first.locator.page, third.locator.page) == (1, 3)
    middle = await store.passages.around(scope, second.id, 0)
    assert list(middle) == [second]
    assert list(await store.passages.around(scope, second.id, 5)) == [first, second, third]
    assert list(await store.passages.around(scope, third.id, 1)) == [second, third]


async def test_a_new_revision_keeps_ids_of_unchanged_passages(world: World, store: Store) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    source = await world.text(hr, "甲乙", "丙丁", "丙丁", "戊己")
    scope = await world.scope(ken)
    low = hr.no << COLLECTION_SHIFT
    assert await world.read(source, "新的", "丙丁", "甲乙", "丙丁")
    texts = {each.id & 0xFFFF: (each.text, each.ordinal) for each in await _all(store, scope, low)}
    assert texts == {5: ("新的", 0), 2: ("丙丁", 1), 1: ("甲乙", 2), 3: ("丙丁", 3)}
    assert await world.found(scope, "戊己") == []
    now = await store.sources.find(source.id)
    assert now is not None
    assert (now.passages, {each.revision_id for each in await _all(store, scope, low)}) == (
        4,
        {now.revision_id},
    )
    assert await world.read(source, "戊己")
    assert [each.id & 0xFFFF for each in await _all(store, scope, low)] == [6]  # never 4 again
    assert await world.read(source)
    assert await store.passages.searchable(scope, "m") == (0, 0)
    assert await store.check() == ()


async def test_a_repeated_or_failing_swap_changes_nothing(world: World, store: Store) -> None:
    ken = await world.account("ken")
    source = await world.text(await world.collection(ken), "舊的內容")
    scope = await world.scope(ken)
    new = revision(source, "新的內容")
    assert [await store.passages.replace(new), await store.passages.replace(new)] == [True, True]
    before = await world.found(scope, "內容")
    twice = replace(new.sections[0], title="again")
    broken = replace(new, chunks=revision(source, "壞的").chunks, sections=(twice, twice))
    with pytest.raises(ConflictError):
        await store.passages.replace(broken)
    assert await world.found(scope, "內容") == before
    assert await store.check() == ()


async def test_searches_go_on_while_revisions_are_swapped(world: World, store: Store) -> None:
    ken = await world.account("ken")
    source = await world.text(await world.collection(ken), *[f"特休 {n}" for n in range(30)])
    scope = await world.scope(ken)

    async def swap() -> None:
        for _ in range(5):
            assert await world.read(source, *[f"特休 {n}" for n in range(random.randint(1, 30))])

    async def look() -> None:
        for _ in range(30):
            assert await world.found(scope, "特休")

    await asyncio.gather(swap(), look(), look())
    assert await store.check() == ()


async def _all(store: Store, scope: Scope, low: int) -> list[Passage]:
    return list(await store.passages.load(scope, [low | n for n in range(1, 20)]))


async def test_superseded_text_is_read_by_address_and_never_ranked(
    world: World, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    hr = await world.collection(ken)
    source = await world.text(hr, "特休七日", "病假三十日", "共同")
    scope, nobody = await world.scope(ken), await world.scope(eve)
    [first] = await world.found(scope, "特休")
    assert await world.read(source, "共同", "特休十日")
    assert [each.text for each in await world.found(scope, "特休")] == ["特休十日"]
    assert list(await store.passages.load(scope, [first.id])) == []
    around = await store.passages.around(scope, first.id, 1)
    assert [(each.text, each.revision_id) for each in around] == [
        ("特休七日", first.revision_id),
        ("病假三十日", first.revision_id),
    ]
    old = await store.passages.of_revision(scope, source.id, first.revision_id)
    assert [each.text for each in old] == ["特休七日", "病假三十日", "共同"]
    now = await store.sources.find(source.id)
    assert now is not None
    assert now.revision_id is not None
    new = await store.passages.of_revision(scope, source.id, now.revision_id)
    assert [each.text for each in new] == ["共同", "特休十日"]
    assert old[2].id == new[0].id  # what did not change is the same passage in both
    for reader in (nobody, scope.narrow(frozenset())):
        assert list(await store.passages.around(reader, first.id, 1)) == []
        assert list(await store.passages.of_revision(reader, source.id, first.revision_id)) == []
    await store.sources.remove(source.id, world.clock.now())
    assert list(await store.passages.around(scope, first.id, 1)) == []
    assert list(await store.passages.of_revision(scope, source.id, first.revision_id)) == []


async def test_only_the_newest_superseded_revisions_are_kept(world: World, store: Store) -> None:
    ken = await world.account("ken")
    source = await world.text(await world.collection(ken), "第0版")
    scope = await world.scope(ken)
    revisions = []
    for n in range(1, 6):
        world.clock.wind(seconds=1)
        now = await store.sources.find(source.id)
        assert now is not None
        revisions.append(str(now.revision_id))
        assert await world.read(source, f"第{n}版")
    kept = [await store.passages.of_revision(scope, source.id, each) for each in revisions]
    assert [[each.text for each in some] for some in kept] == [
        [], [], ["第2版"], ["第3版"], ["第4版"],
    ]  # fmt: skip
    assert await store.check() == ()
