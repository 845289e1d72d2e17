"""Files of a platform onto our disk: cut at the cap, within what one sender and all may hold."""

import asyncio
import errno
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import structlog

from gateway.core.messages import Attachment, Sender
from gateway.errors import GatewayError
from gateway.interfaces import Channel, Ids

log = structlog.get_logger()
MEBIBYTE = 1024 * 1024
TOO_LARGE = frozenset({"too_large", "url_too_large", "payload_too_large"})


@dataclass(frozen=True, slots=True)
class DownloadLimits:
    """What one file, one sender over all chats, and all of them together may take."""

    file_bytes: int = 25 * MEBIBYTE
    sender_bytes: int = 100 * MEBIBYTE
    total_bytes: int = 1024 * MEBIBYTE
    total_s: float = 60.0  # of one file
    at_once: int = 32  # a slow one holds up no more than its own place


class Refusal(StrEnum):
    """Why a file is not kept."""

    TOO_LARGE = "too_large"
    FULL = "full"
    UNAVAILABLE = "unavailable"


class NotKept(Exception):
    """A download that came to nothing, and left nothing."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A whole file on disk under a name of our own."""

    path: Path
    size: int  # bytes
    sha256: str


class Downloads:
    """One folder of files nobody else may read."""

    def __init__(self, folder: Path, ids: Ids, limits: DownloadLimits = DownloadLimits()) -> None:
        self._folder = folder
        self._ids = ids
        self._limits = limits
        self._held: Counter[Sender] = Counter()  # bytes on disk, and those on their way
        self._slots = asyncio.Semaphore(limits.at_once)

    @property
    def limits(self) -> DownloadLimits:
        """What was set."""
        return self._limits

    async def empty(self) -> None:
        """Begin with nothing: what lies there is a dead process's."""
        await asyncio.to_thread(_emptied, self._folder)

    async def fetch(
        self,
        attachment: Attachment,
        channel: Channel,
        sender: Sender,
        is_wanted: Callable[[], bool],
    ) -> Downloaded:
        """NotKept; whatever the platform says of the size, no byte over the cap is written."""
        if (attachment.size_bytes or 0) > self._limits.file_bytes:
            raise NotKept(Refusal.TOO_LARGE)
        async with self._slots:
            incoming, is_whole = _Incoming(self._folder / self._ids.new()), False
            try:
                async with asyncio.timeout(self._limits.total_s):
                    await self._stream(attachment, channel, sender, incoming, is_wanted)
                is_whole = True
            except (GatewayError, OSError, TimeoutError) as error:
                raise NotKept(_refusal(error, channel)) from error
            finally:
                if not is_whole:
                    await self.remove(sender, incoming.path, incoming.size)
        return Downloaded(incoming.path, incoming.size, incoming.digest.hexdigest())

    async def remove(self, sender: Sender, path: Path, size: int) -> None:
        """The bytes are gone when it returns."""
        self._held[sender] -= size
        if self._held[sender] <= 0:
            del self._held[sender]
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def _stream(
        self,
        attachment: Attachment,
        channel: Channel,
        sender: Sender,
        incoming: "_Incoming",
        is_wanted: Callable[[], bool],
    ) -> None:
        file = await asyncio.to_thread(_created, incoming.path)
        try:
            async with _closing(channel.fetch(attachment)) as chunks:
                async for chunk in chunks:
                    if not is_wanted():
                        raise NotKept(Refusal.UNAVAILABLE)
                    self._take(sender, incoming, len(chunk))
                    await asyncio.to_thread(incoming.write, file, chunk)
        finally:
            await asyncio.to_thread(file.close)

    def _take(self, sender: Sender, incoming: "_Incoming", count: int) -> None:
        limits = self._limits
        if incoming.size + count > limits.file_bytes:
            raise NotKept(Refusal.TOO_LARGE)
        if (
            self._held[sender] + count > limits.sender_bytes
            or self._held.total() + count > limits.total_bytes
        ):
            raise NotKept(Refusal.FULL)
        self._held[sender] += count
        incoming.size += count


class _Incoming:
    """A file while it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, file: BinaryIO, chunk: bytes) -> None:
        file.write(chunk)
        self.digest.update(chunk)


@asynccontextmanager
async def _closing(chunks: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[bytes]]:
    """Lets go of the platform's connection where we stop reading before its end."""
    if isinstance(chunks, AsyncGenerator):
        async with aclosing(chunks):
            yield chunks
    else:
        yield chunks


def _refusal(error: Exception, channel: Channel) -> Refusal:
    if isinstance(error, GatewayError) and error.code in TOO_LARGE:
        return Refusal.TOO_LARGE
    code = error.code if isinstance(error, GatewayError) else ""
    log.warning("file not kept", channel=channel.name, error=type(error).__name__, code=code)
    is_full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    return Refusal.FULL if is_full else Refusal.UNAVAILABLE


def _created(path: Path) -> BinaryIO:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _emptied(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
