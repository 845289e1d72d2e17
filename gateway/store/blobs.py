"""Originals as files named by their SHA-256: written aside, synced, then renamed."""

import asyncio
import contextlib
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, BinaryIO

from gateway.errors import InvalidRequestError, StoreError
from gateway.interfaces import Blobs

_CHUNK_BYTES = 1 << 20
_NAME = re.compile(r"[0-9a-f]{64}")
_PARTIAL = ".partial-"


class BlobFolder:
    """`blobs/ab/abcd…`; a file is either whole under its name, or not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def put(self, data: BinaryIO, max_bytes: int) -> tuple[str, int]:
        """StoreError `store_full`. The same bytes again: their file counts as new."""
        return await asyncio.to_thread(self._put, data, max_bytes)

    def path(self, sha256: str) -> Path:
        """InvalidRequestError for anything but a hash, so that no name leads elsewhere."""
        if not _NAME.fullmatch(sha256):
            raise InvalidRequestError("not a SHA-256", reason="sha256")
        return self._folder / sha256[:2] / sha256

    async def remove(self, sha256: str) -> None:
        path = self.path(sha256)
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def list(self) -> Sequence[tuple[str, datetime]]:
        """(SHA-256, when its bytes were last put), by name; for the sweep of orphans."""
        return await asyncio.to_thread(_listed, self._folder)

    def _put(self, data: BinaryIO, max_bytes: int) -> tuple[str, int]:
        try:
            with tempfile.NamedTemporaryFile(dir=self._folder, prefix=_PARTIAL) as partial:
                sha256, size = _copy(data, partial, max_bytes)
                partial.flush()
                os.fsync(partial.fileno())
                self._keep(Path(partial.name), self.path(sha256))
        except OSError as error:
            raise _refused(error) from error
        return sha256, size

    def _keep(self, partial: Path, path: Path) -> None:
        """Link rather than rename, so that the temporary name can go on its own."""
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _sync(self._folder)
        try:
            path.hardlink_to(partial)
        except FileExistsError:
            os.utime(path)
        _sync(path.parent)

    async def sweep_partial(self, before: datetime) -> None:
        """As Blobs.sweep_partial."""
        await asyncio.to_thread(self._sweep_partial, before)

    def _sweep_partial(self, before: datetime) -> None:
        for path in self._folder.glob(f"{_PARTIAL}*"):
            with contextlib.suppress(FileNotFoundError):  # another process is done with it
                if _changed_at(path) < before:
                    path.unlink()


def _changed_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _listed(folder: Path) -> list[tuple[str, datetime]]:
    paths = sorted(folder.glob("??/*"))
    return [(each.name, _changed_at(each)) for each in paths if _NAME.fullmatch(each.name)]


def _copy(data: BinaryIO, partial: IO[bytes], max_bytes: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while chunk := data.read(_CHUNK_BYTES):
        size += len(chunk)
        if size > max_bytes:
            raise InvalidRequestError(
                f"over {max_bytes} bytes", code="too_large", limit_mb=max_bytes // 1_000_000
            )
        digest.update(chunk)
        partial.write(chunk)
    return digest.hexdigest(), size


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(error: OSError) -> StoreError:
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    return StoreError(str(error), code="store_full" if is_full else "store_unavailable")


fits: type[Blobs] = BlobFolder
