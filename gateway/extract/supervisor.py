"""Has files read by a confined child: starts the zygote, hands files over, judges what returns."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import structlog

from gateway.core.documents import Extracted, SourceWarning
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.progress import Progressing
from gateway.extract.untrusted import accept
from gateway.extract.wire import Request, Status

log = structlog.get_logger()

COMMAND = (sys.executable, "-I", "-m", "gateway.extract.child")
BYTES_A_CHAR = 4  # output over max_source_chars times this is refused (A10)
START_S = 30.0  # of the zygote, with its imports on a busy machine
GRACE_S = 5.0  # for the zygote to carry out a time limit before it is ended itself
MESSAGE_BYTES = 65_536
PIPE_BYTES = 1 << 16
NAME_CHARS = 200  # its end tells the kind
CHARSET_CHARS = 40

OnProgress = Callable[[int, int], None]


def _nobody(_done: int, _of: int) -> None:
    return None


@dataclass(slots=True)
class _Zygote:
    """The running zygote and the socket to it."""

    process: asyncio.subprocess.Process
    control: socket.socket
    has_answered: bool = False


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be read, and who is told how far it is."""

    path: Path
    name: str
    charset: str
    on_progress: OnProgress


@dataclass(frozen=True, slots=True)
class _Result:
    """What came through the pipe, and how the child ended (None: the zygote is gone)."""

    output: bytes = b""
    status: Status | None = None
    is_over: bool = False
    is_late: bool = False


class ExtractionSupervisor:
    """Implements interfaces.Extractor. One document at a time; the event loop never waits."""

    def __init__(self, limits: KnowledgeLimits, command: Sequence[str] = COMMAND) -> None:
        self._limits = limits
        self._command = tuple(command)
        self._lock = asyncio.Lock()
        self._zygote: _Zygote | None = None

    async def extract(
        self, path: Path, name: str, *, charset: str = "", on_progress: OnProgress = _nobody
    ) -> Extracted:
        """Read `path`; `name` and `charset` are hints. ExtractionError with the code of A9.

        `on_progress` gets (pages or sheets done, all) now and then, in the event loop.
        """
        task = _Task(path, name[-NAME_CHARS:], charset[:CHARSET_CHARS], _in_loop(on_progress))
        async with self._lock:
            try:
                return await self._extract(task)
            except (ExtractionError, asyncio.CancelledError):
                raise
            except Exception as error:  # boundary: a bug here must not stop the queue
                log.exception("extraction_supervisor_failed")
                await self._end()
                raise ExtractionError(repr(error)) from error

    async def close(self) -> None:
        """End the zygote and with it a child that still reads."""
        await self._end()

    async def _extract(self, task: _Task) -> Extracted:
        result = await self._exchange(task)
        if result.status is None and not result.is_late:
            result = await self._exchange(task)  # it went idle just as it was asked
        _raise_unless_done(result)
        extracted = await asyncio.to_thread(accept, result.output, self._limits.max_source_chars)
        if extracted.is_sandboxed:
            return extracted
        if not self._limits.may_run_unsandboxed:
            raise ExtractionError("read without sandbox", code="sandbox_unavailable")
        warnings = (*extracted.warnings, SourceWarning("extract_unsandboxed"))
        return replace(extracted, warnings=warnings)

    async def _exchange(self, task: _Task) -> _Result:
        zygote = await self._started()
        try:
            result = await asyncio.to_thread(self._ask, zygote, task)
        except asyncio.CancelledError:
            await self._end()
            raise
        if result.status is None:
            await self._end()
        return result

    # ------------------------------------------------------------ in a thread

    def _ask(self, zygote: _Zygote, task: _Task) -> _Result:
        file = os.open(task.path, os.O_RDONLY | os.O_CLOEXEC)
        reading, writing = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                message = msgspec.msgpack.encode(self._request(task))
                socket.send_fds(zygote.control, [message], [file, writing])
            except (BrokenPipeError, ConnectionError):
                return _Result()
            finally:
                os.close(writing)
                os.close(file)
            return self._receive(zygote, reading, task)
        finally:
            os.close(reading)

    def _request(self, task: _Task) -> Request:
        limits = self._limits
        return Request(
            name=task.name,
            charset=task.charset,
            include_hidden=limits.index_hidden,
            max_chars=limits.max_source_chars,
            timeout_s=limits.extract_timeout_secs,
            memory_mb=limits.extract_memory_mb,
            is_sandbox_required=not limits.may_run_unsandboxed,
        )

    def _receive(self, zygote: _Zygote, reading: int, task: _Task) -> _Result:
        most = self._limits.max_source_chars * BYTES_A_CHAR
        until = time.monotonic() + self._limits.extract_timeout_secs + GRACE_S
        until += 0 if zygote.has_answered else START_S
        output = bytearray()
        told = Progressing(task.on_progress)
        while len(output) <= most and _is_ready(reading, until):
            part = os.read(reading, PIPE_BYTES)
            if not part:
                break
            output += part
            told.take(output)
        is_over = len(output) > most
        if is_over:
            with contextlib.suppress(OSError):
                zygote.control.send(b"stop")
        is_late = not _is_ready(zygote.control.fileno(), until)
        status = None if is_late else _status(zygote.control)
        zygote.has_answered = status is not None
        return _Result(bytes(output), status, is_over, is_late)

    # ------------------------------------------------------------ the zygote's life

    async def _started(self) -> _Zygote:
        if self._zygote is not None and self._zygote.process.returncode is None:
            return self._zygote
        await self._end()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                cwd="/",
            )
        self._zygote = _Zygote(process, ours)
        return self._zygote

    async def _end(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is None:
            return
        with contextlib.suppress(ProcessLookupError):
            zygote.process.kill()
        await zygote.process.wait()
        zygote.control.close()


def _in_loop(on_progress: OnProgress) -> OnProgress:
    """The same for a thread to call."""
    loop = asyncio.get_running_loop()

    def tell(done: int, of: int) -> None:
        loop.call_soon_threadsafe(on_progress, done, of)

    return tell


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


def _raise_unless_done(result: _Result) -> None:
    status = result.status
    if result.is_over:
        raise ExtractionError("output over its limit", code="too_many_chars")
    if result.is_late or (status is not None and status.is_timeout):
        raise ExtractionError("time limit", code="extract_timeout")
    if status is None:
        raise ExtractionError("the zygote ended")
    if status.signal == signal.SIGKILL:  # by the kernel: who else sends it says is_timeout
        raise ExtractionError("killed", code="extract_oom")
    if status.exit_code != 0:
        raise ExtractionError(f"exit {status.exit_code}, signal {status.signal}")
