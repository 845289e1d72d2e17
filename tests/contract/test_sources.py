"""Documents: added once, states, and a removal that leaves nothing but its tombstone."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gateway.core.audit import SecurityEvent
from gateway.core.documents import SourceState, SourceWarning, StatusDetail
from gateway.errors import NotFoundError
from gateway.store import Store
from tests.contract.world import World, citation
from tests.fakes.wound_clock import WoundClock


async def test_the_same_bytes_at_once_become_one_source_with_one_job(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    hr, other = await world.collection(ken), await world.collection(ken)
    drafts = [world.new_source(hr, data="same") for _ in range(5)]
    other_file = world.new_source(hr, data="different")
    answers = await asyncio.gather(*(store.sources.add(each) for each in [*drafts, other_file]))
    assert [is_new for _, is_new in answers] == [True, False, False, False, False, True]
    assert {source.id for source, _ in answers} == {drafts[0].id, other_file.id}
    assert (await store.sources.add(world.new_source(other, data="same")))[1]
    assert await store.jobs.waiting() == {"ingest": 3}
    assert await store.sources.list(hr.id) == [answers[0][0], answers[5][0]]
    with pytest.raises(NotFoundError):
        await store.sources.add(world.new_source(replace(hr, id="none")))


async def test_states_keep_detail_and_warnings_and_clear_the_code(
    world: World, store: Store
) -> None:
    source = await world.source(await world.collection(await world.account()))
    warning = SourceWarning("no_text_layer", (2, 3))
    steps: tuple[tuple[SourceState, dict[str, Any], object], ...] = (
        (SourceState.EXTRACTING, {}, (None, None, (), 1)),
        (
            SourceState.READY,
            {"status_detail": StatusDetail.HYBRID, "warnings": [warning]},
            (StatusDetail.HYBRID, None, (warning,), 1),
        ),
        (SourceState.EXTRACTING, {}, (StatusDetail.HYBRID, None, (warning,), 2)),
        (
            SourceState.READY,
            {"error_code": "extract_timeout"},
            (StatusDetail.HYBRID, "extract_timeout", (warning,), 2),
        ),
        (SourceState.QUEUED, {"warnings": []}, (StatusDetail.HYBRID, None, (), 2)),
    )
    for state, changes, expected in steps:
        assert await store.sources.set_state(source.id, state, **changes)
        now = await store.sources.find(source.id)
        assert now is not None
        assert now.state is state
        assert (now.status_detail, now.error_code, now.warnings, now.attempts) == expected
    assert not await store.sources.set_state("none", SourceState.READY)


async def test_usage_counts_sources_passages_and_bytes(world: World, store: Store) -> None:
    hr = await world.collection(await world.account())
    one, two = await world.text(hr, "一", "二"), await world.source(hr)
    assert await store.sources.usage() == {hr.id: (2, 2, one.size_bytes + two.size_bytes)}


async def test_a_removed_source_takes_everything_with_it(
    world: World, store: Store, clock: WoundClock
) -> None:
    ken = await world.account("ken")
    hr = await world.collection(ken)
    source, kept = await world.text(hr, "特休七日"), await world.text(hr, "特休十日")
    turn = world.turn(citations=[citation(source, 1), citation(kept, 2)])
    await store.turns.record(turn)
    scope = await world.scope(ken)
    [gone] = [each for each in await world.found(scope, "特休") if each.source_id == source.id]
    event = SecurityEvent("knowledge_source_deleted", clock.now(), ken.id, {"id": source.id})
    assert await store.sources.remove(source.id, clock.now(), event=event) == source.sha256
    assert await store.sources.remove(source.id, clock.now()) is None
    assert await store.sources.find(source.id) is None
    assert await store.sources.title_of(source.id) == ("手冊", hr.id, True)
    assert await store.sources.title_of(kept.id) == ("手冊", hr.id, False)
    assert {each.source_id for each in await world.found(scope, "特休")} == {kept.id}
    assert list(await store.passages.load(scope, [gone.id])) == []
    assert await store.passages.searchable(scope, "m") == (1, 0)
    record = await store.turns.find(turn.id)
    assert record is not None
    assert [(each.title, each.locator, each.excerpt) for each in record.citations] == [
        ("", "", ""),
        ("手冊", "p. 1", "摘錄"),
    ]
    assert record.citations[0].source_id == source.id  # for forgetting
    assert not await store.sources.set_state(source.id, SourceState.READY)
    assert not await world.read(source, "回來")
    assert await store.jobs.waiting() == {"ingest": 1, "optimize_index": 1}
    assert await store.check() == ()


async def test_bytes_that_another_collection_uses_stay(world: World, store: Store) -> None:
    ken = await world.account("ken")
    one = await world.source(await world.collection(ken), data="same")
    two = await world.source(await world.collection(ken), data="same")
    assert await store.sources.remove(one.id, world.clock.now()) is None
    assert await store.sources.remove(two.id, world.clock.now()) == two.sha256


async def test_the_text_of_unsent_replies_goes_with_the_source_they_rest_on(
    world: World, store: Store, clock: WoundClock
) -> None:
    hr = await world.collection(await world.account())
    source, other = await world.text(hr, "特休七日"), await world.text(hr, "別的")
    turns = [world.turn(citations=[citation(each)]) for each in (source, other)]
    await store.inbox.put([(each.id, world.message(chat=each.id)) for each in turns], 9)
    for turn in turns:
        await store.turns.record(turn)
        calls = [world.call(turn.id, seq, chat=turn.id) for seq in (0, 1)]
        await store.inbox.answered(turn.id, calls, clock.now())
    await store.sources.remove(source.id, clock.now())
    [dead] = await store.outbox.listed(["dead"], 9)
    assert (dead["id"], dead["reason"]) == (f"{turns[0].id}/1", "source_removed")
    due = await store.outbox.claim("w", clock.wind(minutes=1), clock.now(), 9)
    # the first call of the reply is still owed, without the text: the way to the chat is kept
    assert [each.call.turn_id for each in due] == [turn.id for turn in turns]
    assert [each.call.parts for each in due] == [(), ("答",)]
    assert [each.call.extra for each in due] == [None, {"text": "答"}]
    assert due[0].call.reply_handle == due[1].call.reply_handle is not None


async def test_a_deletion_counts_the_generation_and_its_repeat_does_not(
    world: World, store: Store
) -> None:
    source = await world.source(await world.collection(await world.account()))
    before = store.access.now()
    assert before == await store.generation()
    await store.sources.remove(source.id, world.clock.now())
    assert store.access.now() == await store.generation() == before + 1
    await store.sources.remove(source.id, world.clock.now())
    assert store.access.now() == before + 1


async def test_a_deletion_while_the_text_is_read_leaves_nothing_behind(
    world: World, store: Store
) -> None:
    ken = await world.account("ken")
    source = await world.source(await world.collection(ken))
    _, is_written = await asyncio.gather(
        store.sources.remove(source.id, world.clock.now()), world.read(source, *["特休"] * 50)
    )
    assert await world.found(await world.scope(ken), "特休") == []
    assert not await world.read(source, "特休")
    assert await store.check() == ()
    assert is_written in {True, False}  # either order is right; the end is the same
