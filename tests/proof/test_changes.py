"""Who listens is told which agents read something else, by real operations, once and in time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.changes import Change, Changes, Subscription
from gateway.core.access import Agent, BindingRole
from gateway.core.agents import AgentSettings
from tests.proof.revoking import Scene, scene


@asynccontextmanager
async def listening(it: Scene) -> AsyncIterator[tuple[Changes, Subscription]]:
    """The hub at work, and one who has heard how things stand."""
    changes = it.app.changes
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(changes.run())
        with changes.subscribe() as listener:
            await heard(listener)
            yield changes, listener
        running.cancel()


async def heard(listener: Subscription) -> Change:
    async with asyncio.timeout(10):
        return await listener.next()


async def _second_agent(it: Scene) -> None:
    await it.app.store.agents.put(Agent("a2", "小二", department="Back"))
    await it.app.store.agents.bind("a2", it.boss.id, BindingRole.OWNER)
    await it.app.turns.agents.create(AgentSettings("a2", "小二", department="Back"))


def by_hand(it: Scene) -> Any:
    path = it.app.home / "agents" / "a1" / "agent.toml"
    path.write_text('[agent]\nname = "小禾"\n[knowledge]\ncollections = []\n', "utf-8")
    return asyncio.sleep(0)


TOLD: list[tuple[str, Callable[[Scene], Awaitable[Any]], set[str]]] = [
    ("a grant is taken", lambda it: it.share(), {"a1"}),
    ("another agent gets one", lambda it: it.share(("agent", "a1"), ("agent", "a2")), {"a2"}),
    (
        "its department gets one",
        lambda it: it.share(("agent", "a1"), ("department", "Back")),
        {"a2"},
    ),
    ("archived", lambda it: it.do("agents.archive", agent_id="a1"), {"a1"}),
    (
        "its list is narrowed",
        lambda it: it.do("agents.knowledge.set", agent_id="a1", collections=[]),
        {"a1"},
    ),
    ("its file is edited by hand", by_hand, {"a1"}),
    (
        "the collection is deleted",
        lambda it: it.do(
            "knowledge.collections.delete", collection=it.shelf.id, confirm_name="Handbook"
        ),
        {"a1"},
    ),
]


@pytest.mark.parametrize(("act", "agents"), [row[1:] for row in TOLD], ids=[r[0] for r in TOLD])
async def test_a_change_of_an_agents_side_is_told(
    tmp_path: Path, act: Callable[[Scene], Awaitable[Any]], agents: set[str]
) -> None:
    async with scene(tmp_path) as it:
        await _second_agent(it)
        await it.share(("agent", "a1"))
        async with listening(it) as (_, listener):
            await act(it)
            change = await heard(listener)
        assert change.agents == agents
        assert change.collections == {it.shelf.id}
        assert change.generation == it.app.store.access.now() == await it.app.store.generation()


async def test_what_changes_no_agents_side_is_not_told(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        await it.share(("agent", "a1"))
        async with listening(it) as (changes, listener):
            await it.do("accounts.update", account="lin", department="HR")
            await it.do("links.remove", channel="fake", account_name="main", sender="s1")
            await it.share(("agent", "a1"), ("user", it.person.id))
            await it.do("knowledge.sources.delete", source_id=it.source_id)
            await changes.look()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await listener.next()
            await it.share()
            assert (await heard(listener)).agents == {"a1"}


async def test_who_does_not_take_what_is_told_gets_it_as_one(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        await _second_agent(it)
        await it.share(("agent", "a1"))
        async with listening(it) as (changes, slow):
            with changes.subscribe() as quick:
                for readers in ((), (("agent", "a2"),), (("agent", "a1"),)):
                    await it.share(*readers)
                    await changes.look()
                    while True:  # the hub may have looked by itself, too
                        change = await heard(quick)
                        if change.generation == it.app.store.access.now():
                            break
                assert (await heard(slow)).agents == {"a1", "a2"}
            await it.share()
            await changes.look()
            assert (await heard(slow)).agents == {"a1"}


async def test_a_change_is_counted_before_whoever_made_it_knows_that_it_is_done(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as it:
        for n in range(50):
            before = it.app.store.access.now()
            await it.share(("agent", "a1")) if n % 2 else await it.share()
            assert it.app.store.access.now() > before


async def test_a_change_that_failed_is_not_counted(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        before = it.app.store.access.now()
        with pytest.raises(Exception, match=r".+"):
            await it.do("knowledge.grants.replace", collection="handbook", version=99, grants=[])
        assert it.app.store.access.now() == before == await it.app.store.generation()
