"""security_audit.jsonl: a line an event, once, whatever is in it and whatever ends the writing."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core.audit import SecurityEvent
from gateway.store import Store, audit_file, open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

ROOT = Path(__file__).parents[2]
NASTY = ['"}\n{"seq":1,"event":"forged"}', "a\u2028b\u2029c\x85d", "\x00", "\ud800", "\r\n", "資料"]
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(), max_size=40))
details = st.dictionaries(
    texts, st.one_of(texts, st.integers(-(2**53), 2**53), st.booleans(), st.none()), max_size=5
)


def lines_of(file: Path) -> list[dict[str, Any]]:
    """As the strictest reader would: nothing but a line feed ends a line, all of it is ASCII."""
    data = file.read_bytes()
    assert data.endswith(b"\n")
    assert len(data.decode("ascii").splitlines()) == data.count(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


@given(batches=st.lists(st.lists(details, max_size=4), min_size=1, max_size=3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_lines_parse_back_to_exactly_the_events(
    store: Store, clock: WoundClock, tmp_path: Path, batches: list[list[dict[str, Any]]]
) -> None:
    file = tmp_path / "security_audit.jsonl"
    while await store.audit.export(file):
        pass
    before = len(lines_of(file)) if file.exists() else 0
    for batch in batches:
        for each in batch:
            await store.audit.event(SecurityEvent("changed", clock.now(), "ken", each))
        await store.audit.export(file)
    events = [each for batch in batches for each in batch]
    written = lines_of(file)[before:] if file.exists() else []
    assert [line["details"] for line in written] == events
    assert [line["event"] for line in written] == ["changed"] * len(events)
    seqs = [line["seq"] for line in written]
    assert seqs == sorted(set(seqs))


@pytest.mark.parametrize("name", NASTY)
async def test_no_name_of_an_event_or_an_actor_forges_a_line(
    store: Store, clock: WoundClock, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "security_audit.jsonl"
    await store.audit.event(SecurityEvent(name, clock.now(), name, {name: name}))
    await store.audit.export(file)
    [line] = lines_of(file)
    assert line["details"] == {name: name}


async def fill(home: Path, count: int) -> None:
    clock = WoundClock()
    async with open_store(home, clock, RealIds()) as store:
        for n in range(count):
            await store.audit.event(SecurityEvent(f"event{n}", clock.now(), "ken", {"n": n}))


async def export_all(home: Path, file: Path) -> list[str]:
    async with open_store(home, WoundClock(), RealIds()) as store:
        while await store.audit.export(file):
            pass
    return [line["event"] for line in lines_of(file)]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("after_bytes", [0, 1, 60, 95, 200, -1])
async def test_a_kill_while_writing_neither_loses_nor_repeats_a_line(
    home: Path, tmp_path: Path, after_bytes: int
) -> None:
    file = tmp_path / "security_audit.jsonl"
    await fill(home, 5)
    command = [sys.executable, "-m", "tests.contract.killed_exporter"]
    killed = await asyncio.to_thread(
        subprocess.run,
        [*command, str(home), str(file), str(after_bytes)],
        cwd=ROOT,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert await export_all(home, file) == [f"event{n}" for n in range(5)]


def line(n: int) -> bytes:
    return json.dumps({"seq": n, "event": "x" * (n % 7)}).encode() + b"\n"


@given(already=st.integers(0, 6), count=st.integers(1, 6), torn=st.integers(0, 200))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_part_of_a_batch_was_written_the_rest_follows(
    tmp_path: Path, already: int, count: int, torn: int
) -> None:
    file = tmp_path / "part.jsonl"
    old = b"".join(line(n) for n in range(already))
    batch = [line(n) for n in range(already, already + count)]
    whole = b"".join(batch)
    file.write_bytes(old + whole[: min(torn, len(whole))])
    audit_file.append(file, batch)
    assert file.read_bytes() == old + whole


@pytest.mark.parametrize("words", [b"somebody else's", b'{"seq":0}', b"x" * 200_000])
def test_what_is_not_ours_stays_and_ends_where_ours_begins(tmp_path: Path, words: bytes) -> None:
    file = tmp_path / "security_audit.jsonl"
    file.write_bytes(words)
    file.chmod(0o644)
    audit_file.append(file, [line(1)])
    assert file.read_bytes() == words + b"\n" + line(1)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"kept")
    (tmp_path / "security_audit.jsonl").symlink_to(target)
    with pytest.raises(OSError, match="security_audit"):
        audit_file.append(tmp_path / "security_audit.jsonl", [line(1)])
    assert target.read_bytes() == b"kept"


async def test_events_of_a_restored_store_are_written_though_their_numbers_were_used(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "security_audit.jsonl"
    file.write_bytes(b"".join(line(n) for n in range(1, 9)))
    await fill(home, 3)
    assert (await export_all(home, file))[-3:] == ["event0", "event1", "event2"]


async def test_a_rotated_file_is_begun_anew(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "security_audit.jsonl"
    await fill(home, 2)
    await export_all(home, file)
    file.rename(tmp_path / "security_audit.jsonl.1")
    await fill(home, 1)
    assert await export_all(home, file) == ["event0"]
