"""The gateway's end of one embedding worker: start it, ask it, let it go."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.frames import FAILED, READY, REPLY, REQUEST
from models.recipe import Recipe

Vector = NDArray[np.float32]
ROOT = Path(__file__).parents[1]
_START_S = 60.0
# One heap that keeps its pages: the buffers of a run (10 MB) are not given back and fetched again
# a hundred times a second, and memory stays flat whatever the lengths.
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "LC_ALL": "C.UTF-8",
    "ORT_DISABLE_TELEMETRY": "1",  # else the runtime looks up its maker's hosts
}
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; "
    "from models.worker import main; "
    "sys.exit(main(int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))"
)


class WorkerLost(Exception):
    """The worker died, hangs or broke the protocol; another one may do better."""


class EmbedFailed(Exception):
    """The worker is well, but this text could not be embedded."""


class WorkerProcess:
    """One text at a time; an answer nobody waits for any more is skipped by the next reader."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._number = 0
        self.is_surplus = False  # started only for a backlog

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def ask(self, kind: int, text: str, deadline_s: float) -> Vector:
        """Shape (d,). Raises WorkerLost, EmbedFailed."""
        body = text.encode("utf-8", "replace")  # a lone surrogate is no reason to fail
        self._number += 1
        number = self._number
        try:
            async with asyncio.timeout(deadline_s):
                self._writer.write(REQUEST.pack(number, kind, len(body)) + body)
                await self._writer.drain()
                status, reply = await self._reply(number)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise WorkerLost(type(error).__name__) from error
        if status == FAILED:
            raise EmbedFailed(reply.decode())
        return np.frombuffer(reply, np.float32)

    async def ready(self) -> None:
        """Wait until the model is loaded; WorkerLost when it cannot be."""
        try:
            async with asyncio.timeout(_START_S):
                status, reply = await self._reply(0)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise WorkerLost(f"did not start: {type(error).__name__}") from error
        if status != READY:
            raise WorkerLost(f"did not load: {reply.decode()}")

    async def _reply(self, number: int) -> tuple[int, bytes]:
        while True:
            header = await self._reader.readexactly(REPLY.size)
            found, status, size = REPLY.unpack(header)
            body = await self._reader.readexactly(size)
            if found == number:
                return status, body

    def dismiss(self) -> None:
        """The worker ends once it has nothing to do; needs no waiting."""
        self._writer.close()

    def kill(self) -> None:
        self._writer.close()
        if self._process.returncode is None:
            self._process.kill()

    async def ended(self) -> None:
        await self._process.wait()


async def start(folder: Path, recipe: Recipe) -> WorkerProcess:
    """A worker with the model of `folder` loaded. Raises WorkerLost."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-c", _PROGRAM, str(ROOT), str(theirs.fileno()), str(folder)),
                *(str(os.getpid()), msgspec.json.encode(recipe).decode()),
                pass_fds=(theirs.fileno(),),
                env=_ENVIRONMENT,
                stdin=asyncio.subprocess.DEVNULL,
            )
    except OSError as error:
        ours.close()
        raise WorkerLost(f"cannot run: {error}") from error
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    worker = WorkerProcess(process, reader, writer)
    is_ready = False
    try:
        await worker.ready()
        is_ready = True
    finally:
        if not is_ready:
            worker.kill()
    return worker
