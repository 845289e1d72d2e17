"""Files beside the library: which form a page's name has, and what is known after a deletion."""

import asyncio
from datetime import timedelta

from gateway.store import Store
from tests.contract.world import World
from tests.fakes.wound_clock import WoundClock


async def test_the_first_document_of_a_namespace_has_the_short_form_for_good(
    world: World, store: Store, clock: WoundClock
) -> None:
    shelf = await world.collection(await world.account(), "manuals")
    first, second = await world.source(shelf), await world.source(shelf)
    files = store.page_files

    async def put(source_id: str, page: int, agent: str = "a") -> str | None:
        return await files.put(agent, "manuals", source_id, page, f"{source_id}{page}", clock.now())

    assert await put(first.id, 3) == "input/knowledge/manuals/page_003.png"
    assert await put(second.id, 3) == f"input/knowledge/manuals/{second.id}/page_003.png"
    assert await put(first.id, 4) == "input/knowledge/manuals/page_004.png"
    assert await put(second.id, 3, "b") == "input/knowledge/manuals/page_003.png"
    await files.gone([each for each in await files.list() if each.source_id == first.id])
    assert await put(second.id, 5) == f"input/knowledge/manuals/{second.id}/page_005.png"
    assert await put(first.id, 9) == "input/knowledge/manuals/page_009.png"
    assert await put("nothing", 1) is None


async def test_two_that_come_first_at_once_never_share_a_path(
    world: World, store: Store, clock: WoundClock
) -> None:
    shelf = await world.collection(await world.account(), "manuals")
    sources = [await world.source(shelf) for _ in range(8)]
    puts = [
        store.page_files.put("a", "manuals", each.id, 1, each.id, clock.now()) for each in sources
    ]
    paths = await asyncio.gather(*puts)
    assert len(set(paths)) == len(sources)
    assert paths.count("input/knowledge/manuals/page_001.png") == 1


async def test_what_a_picture_showed_is_known_after_its_document_went(
    world: World, store: Store, clock: WoundClock
) -> None:
    shelf = await world.collection(await world.account(), "manuals")
    source, files = await world.source(shelf), store.page_files
    path = await files.put("a", "manuals", source.id, 1, "hash", clock.now())
    assert path is not None
    (kept,) = await files.of("a", path, "other")
    assert (kept.collection_id, kept.is_there) == (shelf.id, True)
    assert await files.of("b", path, "hash") == []
    await store.sources.remove(source.id, clock.now())
    (kept,) = await files.of("a", "elsewhere", "hash")
    assert kept.collection_id is None
    await files.gone(await files.list())
    assert await files.list() == []
    (kept,) = await files.of("a", "elsewhere", "hash")
    assert (kept.collection_id, kept.is_there) == (None, False)
    await files.forget(clock.now())
    assert await files.of("a", path, "hash") != []
    await files.forget(clock.now() + timedelta(seconds=1))
    assert await files.of("a", path, "hash") == []


async def test_a_removed_collection_takes_its_pictures_and_answers(
    world: World, store: Store, clock: WoundClock
) -> None:
    shelf = await world.collection(await world.account(), "manuals")
    source, files, answers = await world.source(shelf), store.page_files, store.answer_files
    await files.put("a", "manuals", source.id, 1, "hash", clock.now())
    assert await answers.put("one", [source.id], clock.now())
    assert await answers.lost() == []
    await store.collections.remove(shelf.id)
    assert [each.collection_id for each in await files.list()] == [None]
    assert await answers.lost() == ["one"]


async def test_answers_are_lost_with_any_of_their_documents(
    world: World, store: Store, clock: WoundClock
) -> None:
    shelf = await world.collection(await world.account())
    one, two = await world.source(shelf), await world.source(shelf)
    answers = store.answer_files
    assert await answers.put("both", [one.id, two.id], clock.now())
    assert await answers.put("second", [two.id], clock.now())
    assert await answers.put("none", [], clock.now())
    assert not await answers.put("gone", [one.id, "nothing"], clock.now())
    assert await answers.names() == {"both", "second", "none"}
    await store.sources.remove(one.id, clock.now())
    assert await answers.lost() == ["both"]
    await answers.drop(["both"])
    assert await answers.lost() == []
    await answers.forget(clock.now() + timedelta(seconds=1))
    assert await answers.names() == frozenset()
