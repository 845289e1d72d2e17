"""The processes that test_blobs.py has killed: each adds, removes and sweeps, and dies at a point.

Started once with everything imported; forks one process after the other on the same home. Each
dies right before some step in the folder of originals; the last one lives.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from gateway.store import open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import Shelf

STEPS = frozenset({"open", "os.link", "os.remove", "os.mkdir", "os.utime", "tempfile.mkstemp"})
MOST = 40


async def work(home: Path, run: int) -> None:
    clock = WoundClock()
    async with open_store(home, clock, RealIds()) as store:
        shelf = Shelf(store, clock)
        collection = await shelf.collection()
        arm(home, run)
        gone = await shelf.add(collection, "gone.txt", f"gone {run}")
        await shelf.add(collection, "kept.txt", f"kept {run}")
        await shelf.add(collection, "again.txt", f"kept {run}")
        await shelf.library.remove(gone.id)
        clock.wind(days=4_000)  # all files are old now
        await shelf.ingestion.drain()


def arm(home: Path, run: int) -> None:
    folder, left = str(home / "knowledge" / "blobs"), run

    def step(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS and str(args[0]).startswith(folder):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)


def main() -> None:
    home, every = Path(sys.argv[1]), int(sys.argv[2])
    for run in range(0, MOST, every):
        child = os.fork()
        if child == 0:
            asyncio.run(work(home, run))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{code}\n")
        if code != -signal.SIGKILL:
            return


if __name__ == "__main__":
    main()
