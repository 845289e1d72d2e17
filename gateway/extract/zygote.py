"""The gateway's end of one zygote: starts it, hands a file over, takes what comes back."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gateway.errors import ExtractionError
from gateway.extract.progress import Progressing
from gateway.extract.wire import Request, Status

START_S = 30.0  # of the zygote, with its imports on a busy machine
GRACE_S = 5.0  # for the zygote to carry out a time limit before it is ended itself
MESSAGE_BYTES = 65_536
PIPE_BYTES = 1 << 16

OnProgress = Callable[[int, int], None]


@dataclass(slots=True)
class _Running:
    """The process and the socket to it."""

    process: asyncio.subprocess.Process
    control: socket.socket
    has_answered: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be read, how much may come back, and who is told how far it is (in a thread)."""

    path: Path
    request: Request
    most_bytes: int
    on_progress: OnProgress


@dataclass(frozen=True, slots=True)
class Result:
    """What came through the pipe, and how the child ended (None: the zygote is gone)."""

    output: bytes = b""
    status: Status | None = None
    is_over: bool = False
    is_late: bool = False


@dataclass(slots=True)
class Zygote:
    """A reading process that is started when it is needed and goes when nobody needs it."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    _running: _Running | None = None

    @property
    def process(self) -> asyncio.subprocess.Process | None:
        """The one that runs now, if one does."""
        return self._running.process if self._running else None

    async def ask(self, task: Task) -> Result:
        """One at a time. Cancelling ends the process and its child."""
        result = await self._exchange(task)
        if result.status is None and not result.is_late:
            result = await self._exchange(task)  # it went idle just as it was asked
        return result

    async def close(self) -> None:
        """End the process and with it a child that still reads."""
        running, self._running = self._running, None
        if running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            running.process.kill()
        try:
            await running.process.wait()
        finally:
            running.control.close()

    async def _exchange(self, task: Task) -> Result:
        running = await self._started()
        try:
            result = await asyncio.to_thread(_ask, running, task)
        except asyncio.CancelledError:
            await self.close()
            raise
        if result.status is None:
            await self.close()
        return result

    async def _started(self) -> _Running:
        if self._running is not None and self._running.process.returncode is None:
            return self._running
        await self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *self.command,
                    stdin=theirs.fileno(),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=dict(self.environment),
                    cwd="/",
                )
        except (OSError, asyncio.CancelledError):
            ours.close()
            raise
        self._running = _Running(process, ours)
        return self._running


def raise_unless_done(result: Result, *, over: str) -> None:
    """ExtractionError for a child that came to a bad end; `over`: the code for too much output."""
    status = result.status
    if result.is_over:
        raise ExtractionError("output over its limit", code=over)
    if result.is_late or (status is not None and status.is_timeout):
        raise ExtractionError("time limit", code="extract_timeout")
    if status is None:
        raise ExtractionError("the zygote ended")
    if status.signal == signal.SIGKILL:  # by the kernel: who else sends it says is_timeout
        raise ExtractionError("killed", code="extract_oom")
    if status.exit_code != 0:
        raise ExtractionError(f"exit {status.exit_code}, signal {status.signal}")


# ---------------------------------------------------------------- in a thread


def _ask(running: _Running, task: Task) -> Result:
    file = os.open(task.path, os.O_RDONLY | os.O_CLOEXEC)
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        try:
            message = msgspec.msgpack.encode(task.request)
            socket.send_fds(running.control, [message], [file, writing])
        except (BrokenPipeError, ConnectionError):
            return Result()
        finally:
            os.close(writing)
            os.close(file)
        return _receive(running, reading, task)
    finally:
        os.close(reading)


def _receive(running: _Running, reading: int, task: Task) -> Result:
    until = time.monotonic() + task.request.timeout_s + GRACE_S
    until += 0 if running.has_answered else START_S
    output = bytearray()
    told = Progressing(task.on_progress)
    while len(output) <= task.most_bytes and _is_ready(reading, until):
        part = os.read(reading, PIPE_BYTES)
        if not part:
            break
        output += part
        told.take(output)
    is_over = len(output) > task.most_bytes
    if is_over:
        with contextlib.suppress(OSError):
            running.control.send(b"stop")
    is_late = not _is_ready(running.control.fileno(), until)
    status = None if is_late else _status(running.control)
    running.has_answered = status is not None
    return Result(bytes(output), status, is_over, is_late)


def _is_ready(descriptor: int, until: float) -> bool:
    poll = select.poll()  # unlike select() it takes descriptors above 1023
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, until - time.monotonic()) * 1000))


def _status(control: socket.socket) -> Status | None:
    try:
        message = control.recv(MESSAGE_BYTES)
        return msgspec.msgpack.decode(message, type=Status) if message else None
    except (OSError, msgspec.MsgspecError):
        return None
