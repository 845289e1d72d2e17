"""What was proposed, as files that only the gateway's user reads, under names of our own."""

import asyncio
import errno
import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from gateway.core.proposals import PREVIEW_BYTES, preview
from gateway.errors import GatewayError, InvalidRequestError, StoreError
from gateway.knowledge.beneath import opened, opened_beneath

CHUNK_BYTES = 1 << 20
ATTACHMENTS = "attachments"
_NO_FILE = InvalidRequestError("path", reason="path: a file in attachments/")

Open = Callable[[], BinaryIO]


class ProposalFolder:
    """`knowledge/proposals/`: a file belongs to a pending card, or it goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: set[str] = set()  # being written: their cards are still to come

    async def start(self) -> None:
        """Make the folder, readable by us alone; a link in its place goes."""
        await asyncio.to_thread(_made, self._folder)

    @contextmanager
    def held(self, names: Sequence[str]) -> Iterator[None]:
        """No sweep takes these meanwhile."""
        self._held.update(names)
        try:
            yield
        finally:
            self._held.difference_update(names)

    async def keep(self, name: str, source: Open, most_bytes: int) -> tuple[str, int]:
        """Copy under `name`; (SHA-256, bytes). `too_large`; StoreError; what `source` raises."""
        return await asyncio.to_thread(_kept, self._folder / name, source, most_bytes)

    async def open(self, name: str, sha256: str) -> BinaryIO | None:
        """The file from its start, or None where it is gone or holds other bytes by now."""
        return await asyncio.to_thread(_same, self._folder / name, sha256)

    def path(self, name: str) -> Path:
        """Where it lies."""
        return self._folder / name

    async def preview(self, name: str) -> str | None:
        """Its first characters, where it is a text."""
        return await asyncio.to_thread(_preview, self._folder / name)

    async def remove(self, names: Collection[str]) -> None:
        """OSError where one cannot be removed; the others are gone all the same."""
        await asyncio.to_thread(_removed, [self._folder / name for name in names])

    async def list(self) -> frozenset[str]:
        """All names but those being written."""
        return await asyncio.to_thread(_listed, self._folder) - self._held


def opened_attachment(agents: Path, agent_id: str, path: str) -> BinaryIO:
    """A file in the agent's own `attachments/`, by a way that no link can bend.

    InvalidRequestError for whatever is not there, alike.
    """
    parts = path.split("/")
    if parts[0] == ATTACHMENTS:
        parts = parts[1:]
    if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise _NO_FILE
    try:
        return opened_beneath(agents, [agent_id, ATTACHMENTS, *parts])
    except OSError as error:
        raise _NO_FILE from error


def _made(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def _kept(path: Path, source: Open, most_bytes: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with source() as read:
        try:
            with _created(path) as file:
                while chunk := read.read(CHUNK_BYTES):
                    size += len(chunk)
                    if size > most_bytes:
                        limit_mb = most_bytes // 1_000_000
                        raise GatewayError("proposal", code="too_large", limit_mb=limit_mb)
                    digest.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            is_full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
            code = "store_full" if is_full else "store_unavailable"
            raise StoreError(str(error), code=code) from error
    _sync(path.parent)
    return digest.hexdigest(), size


def _created(path: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _same(path: Path, sha256: str) -> BinaryIO | None:
    try:
        with ExitStack() as undo:
            file = undo.enter_context(opened(path))
            digest = hashlib.sha256()
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
            if digest.hexdigest() != sha256:
                return None
            file.seek(0)
            undo.pop_all()
            return file
    except OSError:
        return None


def _preview(path: Path) -> str | None:
    try:
        with opened(path) as file:
            head = file.read(PREVIEW_BYTES + 1)
    except OSError:
        return None
    return preview(head[:PREVIEW_BYTES], is_whole=len(head) <= PREVIEW_BYTES)


def _removed(paths: Sequence[Path]) -> None:
    failure: OSError | None = None
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            failure = error
    if failure is not None:
        raise failure


def _listed(folder: Path) -> frozenset[str]:
    with os.scandir(folder) as entries:
        return frozenset(each.name for each in entries if not each.is_dir(follow_symlinks=False))
