"""Pictures of pages on disk, by original: what was not looked at for longest makes room."""

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import structlog

log = structlog.get_logger()

Key = tuple[str, int, int]  # (SHA-256 of the original, dpi, page from 1)

_HASH = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"([1-9][0-9]{0,3})-([1-9][0-9]{0,5})\.png")
_PARTIAL = ".partial-"


class PictureFolder:
    """`pages/ab/abcd…/<dpi>-<page>.png`, 0600 in folders of 0700. Each method is one thread hop.

    Nothing here is worth an error to who asks: a picture that cannot be kept is drawn again.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        """What a process before left behind is taken over, oldest look first."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._sizes: OrderedDict[Key, int] = OrderedDict()
        self._bytes = 0
        self._is_known = False

    async def find(self, key: Key) -> bytes | None:
        """The picture, or None; looking keeps it from making room."""
        return await asyncio.to_thread(self._find, key)

    async def put(self, key: Key, png: bytes) -> None:
        """Keep it, whole or not at all."""
        await asyncio.to_thread(self._put, key, png)

    async def forget(self, sha256: str) -> None:
        """Remove all of an original."""
        await asyncio.to_thread(self._forget, sha256)

    async def originals(self) -> frozenset[str]:
        """SHA-256 of every original with a picture here."""
        return await asyncio.to_thread(self._originals)

    # ---------------------------------------------------------------- in a thread

    def _find(self, key: Key) -> bytes | None:
        with self._lock:
            self._know()
            if key not in self._sizes:
                return None
            path = self._path(key)
            try:
                png = path.read_bytes()
                os.utime(path)  # so that a later start knows the order, too
            except OSError:
                self._drop(key)
                return None
            self._sizes.move_to_end(key)
            return png

    def _put(self, key: Key, png: bytes) -> None:
        with self._lock:
            self._know()
            if len(png) > self._most_bytes:
                return
            self._drop(key)
            try:
                self._write(self._path(key), png)
            except OSError as error:
                log.warning("page_not_kept", reason=error.strerror)
                return
            self._sizes[key] = len(png)
            self._bytes += len(png)
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._sizes)))

    def _forget(self, sha256: str) -> None:
        with self._lock:
            self._know()
            for key in [each for each in self._sizes if each[0] == sha256]:
                self._drop(key)
            if _HASH.fullmatch(sha256):
                shutil.rmtree(self._of(sha256), ignore_errors=True)

    def _originals(self) -> frozenset[str]:
        with self._lock:
            self._know()
            return frozenset(key[0] for key in self._sizes)

    def _know(self) -> None:
        """Look at what is there, once; other files are no business of ours but half-written ones
        are removed.
        """
        if self._is_known:
            return
        self._is_known = True
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for partial in self._folder.glob(f"{_PARTIAL}*"):
            partial.unlink(missing_ok=True)
        for _, key, size in sorted(self._found()):
            self._sizes[key] = size
            self._bytes += size
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._sizes)))

    def _found(self) -> Iterator[tuple[float, Key, int]]:
        for path in self._folder.glob("??/*/*.png"):
            sha256, named = path.parent.name, _FILE.fullmatch(path.name)
            if named and _HASH.fullmatch(sha256) and path.parent == self._of(sha256):
                told = path.stat()
                yield told.st_mtime, (sha256, int(named[1]), int(named[2])), told.st_size

    def _drop(self, key: Key) -> None:
        self._bytes -= self._sizes.pop(key, 0)
        path = self._path(key)
        try:
            path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            log.warning("page_not_removed", reason=error.strerror)
            return
        with contextlib.suppress(OSError):  # others of it are still there
            path.parent.rmdir()

    def _write(self, path: Path, png: bytes) -> None:
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=self._folder, prefix=_PARTIAL)  # 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(png)
            Path(partial).replace(path)
        except OSError:
            Path(partial).unlink(missing_ok=True)
            raise

    def _of(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256

    def _path(self, key: Key) -> Path:
        sha256, dpi, page = key
        return self._of(sha256) / f"{dpi}-{page}.png"
