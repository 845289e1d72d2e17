"""security_audit.jsonl: lines are only ever added, each once, whatever ended the writing."""

import os
from collections.abc import Sequence
from pathlib import Path

_BLOCK_BYTES = 64 * 1024


def append(file: Path, lines: Sequence[bytes]) -> None:
    """Write those of `lines` that the end of the file does not hold yet, and wait for the disk.

    A process that was killed after writing and before the store knew of it left whole lines,
    which are recognised, and perhaps the beginning of one, which goes. OSError; a link is none
    of ours.
    """
    is_new = not file.exists()
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        written, end = _repaired(descriptor, lines)
        _write(descriptor, end + b"".join(line for line in lines if line not in written))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        _sync_folder(file.parent)


def _repaired(descriptor: int, lines: Sequence[bytes]) -> tuple[frozenset[bytes], bytes]:
    """Whole lines at the end, as far back as `lines` can reach, and what ends a last one.

    The beginning of one of `lines` is ours and goes; of anybody else's words nothing does.
    """
    size = os.fstat(descriptor).st_size
    start = max(0, size - sum(len(line) for line in lines) - _BLOCK_BYTES)
    whole, _, last = _read(descriptor, start, size).rpartition(b"\n")
    written = frozenset(line + b"\n" for line in whole.split(b"\n"))
    if not last:
        return written, b""
    if any(line.startswith(last) for line in lines):
        os.ftruncate(descriptor, size - len(last))
        return written, b""
    return written, b"\n"


def _read(descriptor: int, start: int, end: int) -> bytes:
    blocks = []
    while start < end:
        block = os.pread(descriptor, min(_BLOCK_BYTES, end - start), start)
        if not block:
            break
        blocks.append(block)
        start += len(block)
    return b"".join(blocks)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
