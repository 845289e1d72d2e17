"""The access log and the exported security events."""

import json
from pathlib import Path

from gateway.core.audit import AccessAction, AccessEntry, SecurityEvent
from gateway.store import Store
from tests.fakes.wound_clock import WoundClock


def entry(clock: WoundClock, action: AccessAction, *collections: str) -> AccessEntry:
    return AccessEntry(
        action, clock.now(), "ken", "hana", "line", "U1", "t1", "特休", collections, ("1", "2")
    )


async def test_entries_come_newest_first_by_collection_or_denied(
    store: Store, clock: WoundClock
) -> None:
    search = entry(clock, AccessAction.SEARCH, "c1", "c2")
    denied = entry(clock, AccessAction.DENIED, "c2")
    inject = entry(clock, AccessAction.AUTO_INJECT, "c10")
    for each in (search, denied, inject):
        await store.audit.record(each)
    assert await store.audit.entries(None, 9) == [inject, denied, search]
    assert await store.audit.entries(None, 1) == [inject]
    assert await store.audit.entries("c1", 9) == [search]
    assert await store.audit.entries("c2", 9) == [denied, search]
    assert await store.audit.entries("c2", 9, denied_only=True) == [denied]
    assert await store.audit.entries('"', 9) == []


async def test_queries_are_cut_and_old_rows_purged(store: Store, clock: WoundClock) -> None:
    await store.audit.record(
        AccessEntry(AccessAction.SEARCH, clock.now(), query="\ud800" + "字" * 900)
    )
    [kept] = await store.audit.entries(None, 9)
    assert kept.query == "\ufffd" + "字" * 499
    assert await store.audit.purge(clock.now()) == 0
    assert await store.audit.purge(clock.wind(days=1)) == 1
    assert await store.audit.entries(None, 9) == []


async def test_security_events_are_exported_once_in_order(
    store: Store, clock: WoundClock, tmp_path: Path
) -> None:
    file = tmp_path / "security_audit.jsonl"
    for n in range(3):
        await store.audit.event(SecurityEvent(f"event{n}", clock.now(), "ken", {"n": n, "a": None}))
    assert [await store.audit.export(file), await store.audit.export(file)] == [3, 0]
    await store.audit.event(SecurityEvent("last\nline", clock.now(), "ken", {}))
    assert await store.audit.export(file) == 1
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["event0", "event1", "event2", "last\nline"]
    assert lines[0] == {
        "seq": 1,
        "event": "event0",
        "at": "2026-03-02T09:00:00Z",
        "actor": "ken",
        "details": {"n": 0, "a": None},
    }
    assert file.stat().st_mode & 0o777 == 0o600
