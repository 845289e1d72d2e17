"""SIGKILL while somebody proposes or decides: a card is pending or decided, with one source."""

import asyncio
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.core.access import Grant, Role, SubjectKind
from gateway.core.documents import SourceKind
from gateway.errors import ConflictError
from gateway.knowledge.proposals import FromAgent
from gateway.store import open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.killed_proposals import (
    APPROVING,
    PROPOSING,
    REJECTING,
    TEXT,
    TURN,
    world_at,
)
from tests.knowledge.shelf import OWNER, Shelf
from tests.knowledge.test_proposals import World
from tests.stores import new_store

ROOT = Path(__file__).parent.parent.parent
POINTS = [*PROPOSING, *APPROVING, *REJECTING]


async def lay(home: Path, *, with_card: bool) -> None:
    """A home where `mei` may propose for the collection of OWNER."""
    async with new_store(home, WoundClock(), RealIds()) as store:
        shelf = Shelf(store, WoundClock())
        handbook = await shelf.collection("handbook")
        grants = [
            Grant(handbook.id, SubjectKind.USER, OWNER.id, Role.OWNER),
            Grant(handbook.id, SubjectKind.USER, "mei", Role.VIEWER),
            Grant(handbook.id, SubjectKind.AGENT, "a1", Role.VIEWER),
        ]
        world = await world_at(shelf, home)
        await store.accounts.put(world.person)
        now = await store.collections.find(handbook.id)
        assert now is not None
        await store.grants.replace(handbook.id, grants, version=now.version)
        if with_card:
            await world.proposals.from_agent(
                world.turn(turn_id=TURN), "handbook", FromAgent(text=TEXT)
            )


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A home for each point, as the process that died there left it."""
    folder = tmp_path_factory.mktemp("killed")
    asyncio.run(lay(folder / "open", with_card=False))
    asyncio.run(lay(folder / "carded", with_card=True))
    homes = {point: folder / f"home-{n}" for n, point in enumerate(POINTS)}
    for point, home in homes.items():
        shutil.copytree(folder / ("open" if point in PROPOSING else "carded"), home)
    orders = [str(word) for point in POINTS for word in (homes[point], point)]
    command = [sys.executable, "-m", "tests.knowledge.killed_proposals", *orders]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    ends = [each for each in done.stdout.splitlines() if each.startswith("ended")]
    assert ends == ["ended -9"] * len(POINTS)
    return homes


@asynccontextmanager
async def restarted(home: Path) -> AsyncIterator[World]:
    async with open_store(home, WoundClock(), RealIds()) as store:
        yield await world_at(Shelf(store, WoundClock()), home)


async def sources(world: World) -> list[Any]:
    return list(await world.store.sources.list(world.handbook.id))


@pytest.mark.parametrize("point", PROPOSING)
async def test_one_who_died_proposing_left_a_card_with_its_file_or_nothing(
    killed: dict[str, Path], point: str
) -> None:
    async with restarted(killed[point]) as world:
        pending = sorted(await world.store.proposals.pending())
        assert len(pending) == (point == "carded")
        assert world.files() == pending
        turn = world.turn(turn_id=TURN)
        card = await world.proposals.from_agent(turn, "handbook", FromAgent(text=TEXT))
        assert world.files() == [card.id]
        assert pending in ([], [card.id])


@pytest.mark.parametrize("point", [*APPROVING, *REJECTING])
async def test_one_who_died_deciding_left_it_pending_or_decided_with_one_source(
    killed: dict[str, Path], point: str
) -> None:
    is_decided = point not in ("blob kept", "in the transaction")
    async with restarted(killed[point]) as world:
        pending = sorted(await world.store.proposals.pending())
        assert len(pending) == (not is_decided)
        assert world.files() == pending  # what was decided left no file behind
        found = await sources(world)
        assert len(found) == (is_decided and point not in REJECTING)
        for card_id in pending:
            await world.approvals.approve(OWNER, card_id)
            with pytest.raises(ConflictError):
                await world.approvals.approve(OWNER, card_id)
        assert world.files() == []
        await world.shelf.ingestion.drain()
        found = await sources(world)
        assert [each.kind for each in found] == [SourceKind.PASTE] * (point not in REJECTING)
        assert len(await world.shelf.found("停車位")) == len(found)
        told = "rejected" if point in REJECTING else "approved"
        assert Counter(await world.told()) == {"created": 1, told: 1}
