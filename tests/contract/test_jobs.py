"""Jobs: once while waiting, oldest due first, claims that expire, never twice side by side."""

from datetime import datetime, timedelta

from gateway.store import Store
from tests.contract.world import World
from tests.fakes.wound_clock import WoundClock

HOUR = timedelta(hours=1)


async def test_a_job_waits_once_and_the_earlier_time_holds(store: Store, clock: WoundClock) -> None:
    now = clock.now()
    await store.jobs.put("embed", "s1", now + 2 * HOUR)
    await store.jobs.put("embed", "s1", now + HOUR)
    await store.jobs.put("embed", "s1", now + 3 * HOUR)
    assert await store.jobs.waiting() == {"embed": 1}
    assert await store.jobs.claim(["embed"], "w", now, now + HOUR) is None
    job = await store.jobs.claim(["embed"], "w", now + HOUR, now + 2 * HOUR)
    assert job is not None
    assert (job.kind, job.key, job.attempts) == ("embed", "s1", 1)


async def test_the_oldest_due_job_of_the_kinds_asked_comes_first(
    store: Store, clock: WoundClock
) -> None:
    now = clock.now()
    for kind, key, late in (("embed", "b", 2), ("embed", "a", 1), ("ingest", "c", 0)):
        await store.jobs.put(kind, key, now - HOUR + timedelta(minutes=late))
    claimed = []
    while job := await store.jobs.claim(["embed"], "w", now, now + HOUR):
        claimed.append(job.key)
    assert claimed == ["a", "b"]
    assert await store.jobs.waiting() == {"ingest": 1}


async def test_a_claim_expires_and_counts_an_attempt(store: Store, clock: WoundClock) -> None:
    now = clock.now()
    await store.jobs.put("ingest", "s1", now)
    first = await store.jobs.claim(["ingest"], "w1", now, now + HOUR)
    assert await store.jobs.claim(["ingest"], "w2", now, now + HOUR) is None
    later = clock.wind(hours=1)
    again = await store.jobs.claim(["ingest"], "w2", later, later + HOUR)
    assert first is not None
    assert again is not None
    assert (again.id, again.attempts) == (first.id, 2)
    await store.jobs.finish(again.id)
    await store.jobs.finish(again.id)
    assert await store.jobs.waiting() == {}


async def test_a_renewed_claim_holds_on(store: Store, clock: WoundClock) -> None:
    now = clock.now()
    await store.jobs.put("ingest", "s1", now)
    job = await store.jobs.claim(["ingest"], "w1", now, now + HOUR)
    assert job is not None
    await store.jobs.renew(job.id, now + 3 * HOUR)
    later = clock.wind(hours=2)
    assert await store.jobs.claim(["ingest"], "w2", later, later + HOUR) is None
    assert await store.jobs.waiting() == {}
    await store.jobs.release(job.id, later)
    await store.jobs.renew(job.id, later + HOUR)  # given back: there is nothing to hold
    assert await store.jobs.claim(["ingest"], "w2", later, later + HOUR) is not None


async def test_work_that_arrives_while_it_runs_is_done_afterwards(
    store: Store, clock: WoundClock
) -> None:
    now = clock.now()
    await store.jobs.put("embed", "s1", now)
    running = await store.jobs.claim(["embed"], "w", now, now + HOUR)
    assert running is not None
    await store.jobs.put("embed", "s1", now)
    assert await store.jobs.waiting() == {"embed": 1}
    assert await store.jobs.claim(["embed"], "w", now, now + HOUR) is None  # not side by side
    await store.jobs.finish(running.id)
    second = await store.jobs.claim(["embed"], "w", now, now + HOUR)
    assert second is not None
    assert (second.id != running.id, second.attempts) == (True, 1)


async def test_a_released_job_keeps_its_attempts_and_absorbs_its_twin(
    store: Store, clock: WoundClock
) -> None:
    now = clock.now()
    await store.jobs.put("embed", "s1", now)
    running = await store.jobs.claim(["embed"], "w", now, now + HOUR)
    assert running is not None
    await store.jobs.put("embed", "s1", now)
    await store.jobs.release(running.id, now + HOUR)
    assert await store.jobs.waiting() == {"embed": 1}
    assert await store.jobs.claim(["embed"], "w", now, now + HOUR) is None
    again = await store.jobs.claim(["embed"], "w", now + HOUR, now + 2 * HOUR)
    assert again is not None
    assert (again.id, again.attempts) == (running.id, 2)


async def test_jobs_of_a_removed_source_go_with_it(world: World, store: Store) -> None:
    now = world.clock.now()
    source = await world.source(await world.collection(await world.account()))
    running = await store.jobs.claim(["ingest"], "w", now, now + HOUR)
    await store.jobs.put("embed", source.id, now)
    await store.sources.remove(source.id, now)
    assert running is not None
    await store.jobs.release(running.id, now)
    await store.jobs.finish(running.id)
    assert await store.jobs.waiting() == {"optimize_index": 1}
    assert await store.jobs.claim(["optimize_index"], "w", now, now + HOUR) is None
    soon = clock_after(world)
    assert await store.jobs.claim(["optimize_index"], "w", soon, soon + HOUR) is not None


def clock_after(world: World) -> datetime:
    """Within the 20 minutes of DESIGN section 8.9."""
    return world.clock.wind(minutes=10)
