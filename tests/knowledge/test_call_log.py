"""What programs asked, in files: names that never clash, what goes when, a disk that is full."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.knowledge import call_log
from gateway.knowledge.call_log import Called, CallLog
from gateway.store import Store
from tests.contract.world import World
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store


@dataclass
class Desk:
    """A log over a real store."""

    store: Store
    world: World
    clock: WoundClock
    folder: Path
    calls: CallLog

    def names(self) -> set[str]:
        raw = self.folder / "raw"
        return {each.name for each in raw.iterdir()} if raw.exists() else set()

    def history(self) -> list[dict[str, object]]:
        text = (self.folder / call_log.HISTORY).read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = WoundClock()
    async with new_store(tmp_path / "home", clock, RealIds()) as store:
        folder = tmp_path / "home" / "logs"
        calls = CallLog(folder, store.answer_files, clock)
        yield Desk(store, World(store, clock), clock, folder, calls)


def called(query: str = "q", source_ids: tuple[str, ...] = (), **answer: object) -> Called:
    more = {"answer": dict(answer), "source_ids": source_ids} if answer else {}
    return Called("SearchKnowledge", "a", query, 1, 5, None, "p", None, **more)  # type: ignore[arg-type]


async def test_many_in_one_moment_have_names_and_lines_of_their_own(desk: Desk) -> None:
    asked = [called(f"q{number}", (), sections=[number]) for number in range(50)]
    await asyncio.gather(*(desk.calls.note(each) for each in asked))
    lines = desk.history()
    assert {line["query"] for line in lines} == {each.query for each in asked}
    assert {line["raw"] for line in lines} == desk.names()
    for line in lines:
        kept = json.loads((desk.folder / "raw" / str(line["raw"])).read_text("utf-8"))
        assert f"q{kept['answer']['sections'][0]}" == kept["query"] == line["query"]
        assert str(line["raw"]).startswith("searchknowledge-20260302T090000000000Z")


async def test_an_answer_goes_with_each_document_it_quotes(desk: Desk) -> None:
    shelf = await desk.world.collection(await desk.world.account())
    one, two = await desk.world.source(shelf), await desk.world.source(shelf)
    await desk.calls.note(called("one", (one.id,), sections=["of one"]))
    await desk.calls.note(called("two", (two.id,), sections=["of two"]))
    await desk.store.sources.remove(one.id, desk.clock.now())
    await desk.calls.note(called("late", (one.id,), sections=["of one"]))
    assert desk.history()[-1]["raw"] is None
    await desk.calls.sweep()
    (left,) = desk.names()
    assert "of two" in (desk.folder / "raw" / left).read_text("utf-8")


async def test_what_is_old_goes_and_the_rest_stays(desk: Desk) -> None:
    await desk.calls.note(called("old", (), sections=["old"]))
    (old,) = desk.names()
    now = desk.clock.wind(days=10)
    await desk.calls.note(called("new", (), sections=["new"]))
    (new,) = desk.names() - {old}
    for name, age in ((old, 10), (new, 0)):
        at = (now - timedelta(days=age)).timestamp()
        os.utime(desk.folder / "raw" / name, (at, at))
    with (desk.folder / call_log.HISTORY).open("ab") as file:
        file.write(b"half a li\n")
    await desk.calls.purge(now - timedelta(days=5))
    assert desk.names() == {new}
    assert [line["query"] for line in desk.history()] == ["new"]
    assert await desk.store.answer_files.names() == {new}
    assert (desk.folder / call_log.HISTORY).stat().st_mode & 0o777 == 0o600


async def test_too_many_answers_go_from_the_oldest_on(desk: Desk) -> None:
    for _ in range(4):
        await desk.calls.note(called("q", (), text="x" * 1_000))
        desk.clock.wind(seconds=1)
    first = sorted(desk.names())[:2]
    for name in first:
        os.utime(desk.folder / "raw" / name, (1, 1))
    small = CallLog(desk.folder, desk.store.answer_files, desk.clock, most_raw_bytes=2_600)
    await small.purge(desk.clock.now() - timedelta(days=36_000))
    assert len(desk.names()) == 2
    assert not desk.names() & set(first)


async def test_an_answer_without_a_row_goes_at_the_next_start(desk: Desk) -> None:
    await desk.calls.note(called("q", (), sections=[]))
    kept = desk.names()
    (desk.folder / "raw" / "searchknowledge-20260101T000000000000Z.json").write_text("{}", "utf-8")
    await desk.calls.start()
    assert desk.names() == kept


async def test_a_disk_that_takes_nothing_is_told_once(desk: Desk) -> None:
    desk.folder.mkdir(parents=True)
    (desk.folder / call_log.HISTORY).mkdir()  # as full as can be made without being root
    with capture_logs() as told:
        for _ in range(3):
            await desk.calls.note(called("secret question"))
    assert [each["event"] for each in told] == ["calls not written down"]
    assert "secret question" not in str(told)
    (desk.folder / call_log.HISTORY).rmdir()
    await desk.calls.note(called("after"))
    assert [line["query"] for line in desk.history()] == ["after"]
