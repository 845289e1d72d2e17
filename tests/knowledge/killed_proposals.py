"""The processes that test_proposals_killed.py has killed: each decides, and dies at one point.

Started once with everything imported; forks one process for each (home, point) that is named.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.core.access import Account, AccountRole
from gateway.knowledge.proposals import FromAgent
from gateway.store import open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import OWNER, Shelf
from tests.knowledge.test_proposals import World

TURN = "01a22e5d-d99e-7589-b5f4-2cd53797cb53"
TEXT = "員工停車位每月租金為八百元。"
PROPOSING = ["copied", "carded"]
APPROVING = ["blob kept", "in the transaction", "committed", "file removed"]
REJECTING = ["rejected"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def world_at(shelf: Shelf, home: Path) -> World:
    """The world as it stands in a home."""
    handbook = await shelf.store.collections.find_by_slug("handbook")
    assert handbook is not None
    world = World(shelf, home, handbook, Account("mei", "mei", "Mei", AccountRole.MEMBER))
    await world.proposals.start()
    return world


def dying(plain: Any, *, after: bool) -> Any:
    async def called(*args: Any, **over: Any) -> Any:
        if after:
            await plain(*args, **over)
        die()

    return called


def dying_in_it(write: Any) -> Any:
    """All is written, and nothing of it committed."""

    async def called(unit: Callable[[Any], Any]) -> Any:
        def killed(connection: Any) -> None:
            unit(connection)
            die()

        return await write(killed)

    return called


def arm(world: World, point: str) -> None:
    cards: Any = world.store.proposals
    folder: Any = world.folder
    if point in PROPOSING:
        cards.put = dying(cards.put, after=point == "carded")
    elif point == "in the transaction":
        approve = cards.approve

        async def decide(*args: Any) -> Any:
            cards._database.write = dying_in_it(cards._database.write)
            return await approve(*args)

        cards.approve = decide
    elif point == "file removed":
        folder.remove = dying(folder.remove, after=True)
    elif point == "rejected":
        cards.reject = dying(cards.reject, after=True)
    else:
        cards.approve = dying(cards.approve, after=point == "committed")


async def run(home: Path, point: str) -> None:
    async with open_store(home, WoundClock(), RealIds()) as store:
        world = await world_at(Shelf(store, WoundClock()), home)
        pending = sorted(await store.proposals.pending())
        arm(world, point)
        if point in PROPOSING:
            await world.proposals.from_agent(
                world.turn(turn_id=TURN), "handbook", FromAgent(text=TEXT)
            )
        elif point in REJECTING:
            await world.approvals.reject(OWNER, pending[0])
        else:
            await world.approvals.approve(OWNER, pending[0])


def main() -> None:
    children = []
    for home, point in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        child = os.fork()
        if child == 0:
            asyncio.run(run(Path(home), point))
            os._exit(0)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"ended {os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main()
