"""Run as a program: stores messages without end and prints the ids of each stored body."""

import asyncio
import sys
from pathlib import Path

from gateway.store import open_store
from tests.contract.world import World
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock


async def write_bodies(home: Path) -> None:
    clock = WoundClock()
    async with open_store(home, clock, RealIds()) as store:
        world = World(store, clock)

        async def deliver() -> None:
            while True:
                ids = [RealIds().new() for _ in range(3)]
                await store.inbox.put([(each, world.message(chat=each)) for each in ids], 9)
                sys.stdout.write(" ".join(ids) + "\n")
                sys.stdout.flush()

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(deliver())


if __name__ == "__main__":
    asyncio.run(write_bodies(Path(sys.argv[1])))
