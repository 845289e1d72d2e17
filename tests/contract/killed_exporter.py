"""An exporter that kills its own process in the middle of writing; see test_audit_file.py."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from gateway.store import audit_file, open_store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(home: Path, file: Path, after_bytes: int) -> None:
    """Write `after_bytes` of the batch, then die; with -1 die after all of it, unmarked."""
    whole = audit_file._write

    def write(descriptor: int, data: bytes) -> None:
        whole(descriptor, data if after_bytes < 0 else data[:after_bytes])
        die()

    audit_file._write = write
    async with open_store(home, WoundClock(), RealIds()) as store:
        await store.audit.export(file)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
