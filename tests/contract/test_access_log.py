"""The access log as owners and admins page through it, and how it is kept small."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.access_log import Mark
from gateway.core.audit import AccessAction, AccessEntry
from gateway.store import Store
from tests.fakes.wound_clock import WoundClock

KINDS = st.tuples(
    st.sampled_from([AccessAction.SEARCH, AccessAction.LIST, AccessAction.DENIED]),
    st.frozensets(st.sampled_from(["c1", "c2", "c3"])),
    st.sampled_from([0.0, 0.0, 1.0]),
)


async def pages(store: Store, collection: str | None, limit: int) -> list[AccessEntry]:
    seen: list[AccessEntry] = []
    before: Mark | None = None
    while True:
        if collection is None:
            page = await store.audit.denied(limit, before)
        else:
            page = await store.audit.reads_of(collection, limit, before)
        assert len(page.entries) <= limit
        seen += page.entries
        before = page.next
        if before is None:
            return seen


@given(kinds=st.lists(KINDS, max_size=25), limit=st.integers(1, 6))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_pages_hold_the_rows_that_concern_a_collection_once_and_no_others(
    store: Store,
    clock: WoundClock,
    kinds: list[tuple[AccessAction, frozenset[str], float]],
    limit: int,
) -> None:
    await store.audit.purge(clock.wind(days=1))
    written = []
    for n, (action, collections, later_s) in enumerate(kinds):
        at = clock.wind(seconds=later_s)
        entry = AccessEntry(action, at, query=str(n), collections=tuple(sorted(collections)))
        written.append(entry)
        await store.audit.record(entry)
    newest = written[::-1]
    is_denied = AccessAction.DENIED
    for collection in ("c1", "c2", "c3", "none"):
        expected = [e for e in newest if collection in e.collections and e.action is not is_denied]
        assert await pages(store, collection, limit) == expected
    assert await pages(store, None, limit) == [e for e in newest if e.action is is_denied]


async def test_the_purge_takes_what_is_old_in_steps_and_leaves_the_rest(
    store: Store, clock: WoundClock
) -> None:
    old = AccessEntry(AccessAction.SEARCH, clock.now(), collections=("gone",))
    for _ in range(1_201):
        await store.audit.record(old)
    border = clock.wind(days=1)
    kept = replace(old, at=border, collections=("c1",))
    await store.audit.record(kept)
    assert await store.audit.purge(border) == 1_201
    assert await store.audit.entries(None, 9) == [kept]
    assert await pages(store, "gone", 9) == []
    assert await pages(store, "c1", 9) == [kept]
    assert await store.audit.purge(border) == 0


async def test_a_homes_key_is_its_own_and_stays(store: Store) -> None:
    key = await store.audit.question_key()
    assert len(key) == 32
    assert len(set(key)) > 8
    assert await store.audit.question_key() == key
