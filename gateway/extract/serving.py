"""A zygote's work: warm up once, then fork one confined child for each document."""

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gateway.errors import ExtractionError
from gateway.extract import sandbox
from gateway.extract.kinds import is_picture
from gateway.extract.reading import Document, ReadOptions
from gateway.extract.wire import (
    Answer,
    Begun,
    DrawnAnswer,
    Progress,
    Read,
    Refused,
    Request,
    Status,
    WireBlock,
    WireWarning,
    frame,
)

CONTROL = 0  # standard input is the socket to the supervisor
IDLE_S = 60.0
MESSAGE_BYTES = 65_536
STOP = b"stop"
CHUNK_BYTES = 1 << 20

ReadDocument = Callable[[bytes, str, ReadOptions], Document]  # (bytes, name, options)
DrawPage = Callable[[bytes, Request], DrawnAnswer]
PROGRESS_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Job:
    """A request with its two descriptors: the file and the pipe for the answer."""

    request: Request
    file: int
    answer: int

    def close(self) -> None:
        os.close(self.file)
        os.close(self.answer)


_Work = Callable[[Job, bytes], Answer | DrawnAnswer]


def serve(read: ReadDocument, warm: Callable[[], None], idle_s: float = IDLE_S) -> None:
    """Answer requests until the supervisor is gone or nothing came for `idle_s`.

    After `warm`, `read` must open no file any more.
    """
    _serve(lambda job, data: _wire(read(data, job.request.name, _options(job))), warm, idle_s)


def serve_pictures(draw: DrawPage, warm: Callable[[], None], idle_s: float = IDLE_S) -> None:
    """As `serve`, for what answers with a picture instead of text."""
    _serve(lambda job, data: draw(data, job.request), warm, idle_s)


def _serve(work: _Work, warm: Callable[[], None], idle_s: float) -> None:
    sandbox.die_with_parent()
    sandbox.preload()
    warm()
    with socket.socket(fileno=CONTROL) as control:
        while _ready([control.fileno()], idle_s):
            message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 2)
            if not message:
                return
            if message != STOP:  # one that came when its child had ended already
                status = _run(_job(message, descriptors), control, work)
                control.send(msgspec.msgpack.encode(status))


def _ready(descriptors: list[int], timeout_s: float) -> set[int]:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(timeout_s * 1000)}


def _job(message: bytes, descriptors: list[int]) -> Job:
    request = msgspec.msgpack.decode(message, type=Request)
    file, answer = descriptors
    return Job(request, file, answer)


def _run(job: Job, control: socket.socket, work: _Work) -> Status:
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        exit_code = 1
        try:
            control.close()
            _work_in_child(job, work, parent)
            exit_code = 0
        finally:
            os._exit(exit_code)  # whatever went wrong: never back into the zygote's loop
    job.close()
    return _watch(child, job.request.timeout_s, control)


def _watch(child: int, timeout_s: float, control: socket.socket) -> Status:
    """Wait for the end; kill after the time limit, or when the supervisor says or ends."""
    handle = os.pidfd_open(child)
    try:
        ready = _ready([handle, control.fileno()], timeout_s)
    finally:
        os.close(handle)
    if handle not in ready:
        _kill(child)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return Status(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        is_timeout=not ready or code == -signal.SIGXCPU,
    )


def _kill(child: int) -> None:
    for end in (os.killpg, os.kill):  # the group may not exist yet
        try:
            end(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


# ---------------------------------------------------------------- in the child


def _work_in_child(job: Job, work: _Work, parent: int) -> None:
    sandbox.leave_terminal()
    sandbox.die_with_parent()
    if os.getppid() != parent:
        return  # the zygote died before the line above
    request = job.request
    sandbox.set_limits(memory_mb=request.memory_mb, cpu_s=int(request.timeout_s) + 1)
    try:
        sandbox.confine()
        is_sandboxed = True
    except sandbox.SandboxUnavailableError:
        is_sandboxed = False
    _write(job.answer, frame(Begun(is_sandboxed)))
    if is_sandboxed or not request.is_sandbox_required:
        answer = _answer(job, work)
    else:
        answer = Refused("sandbox_unavailable")
    _write(job.answer, frame(answer))


def _answer(job: Job, work: _Work) -> Answer | DrawnAnswer:
    data = b""
    try:
        data = _all_of(job.file)
        return work(job, data)
    except ExtractionError as error:
        return Refused(error.code, is_picture(data))
    except (MemoryError, RecursionError):
        return Refused("extract_oom")


def _options(job: Job) -> ReadOptions:
    request = job.request
    told_at = 0.0

    def tell(done: int, of: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= PROGRESS_EVERY_S:
            told_at = time.monotonic()
            _write(job.answer, frame(Progress(done, of)))

    return ReadOptions(
        request.max_chars, request.charset, request.include_hidden, request.page, tell
    )


def _wire(document: Document) -> Read:
    headers: dict[str, int] = {}
    sheets: dict[str, int] = {}
    blocks = tuple(
        WireBlock(
            text=block.text,
            heading_level=block.heading_level or 0,
            page=block.locator.page or 0,
            row=block.locator.row or 0,
            is_row=block.is_row,
            header=_number(headers, block.header),
            slide=block.locator.slide or 0,
            sheet=_number(sheets, block.locator.sheet),
        )
        for block in document.blocks
    )
    warnings = tuple(WireWarning(each.code, each.pages, each.detail) for each in document.warnings)
    return Read(
        blocks=blocks,
        headers=tuple(headers),
        media_type=document.media_type,
        warnings=warnings,
        pages=document.pages,
        sheets=tuple(sheets),
        title=document.title,
        pictured=document.pictured,
    )


def _number(seen: dict[str, int], text: str | None) -> int:
    return seen.setdefault(text, len(seen) + 1) if text else 0


def _all_of(file: int) -> bytes:
    data = bytearray()
    while part := os.read(file, CHUNK_BYTES):
        data += part
    return bytes(data)


def _write(answer: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(answer, view) :]
