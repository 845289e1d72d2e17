"""Keeps the sweep of unused originals and uploads of the same bytes out of each other's way."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

TURN_S = 10.0  # for the uploads under way to get their sources


class UploadGate:
    """Any number of uploads at once, or one sweep alone; uploads that come wait for its turn."""

    def __init__(self, turn_s: float = TURN_S) -> None:
        self._turn_s = turn_s
        self._uploads = 0
        self._changed = asyncio.Condition()
        self._is_sweeping = False
        self._held: Counter[str] = Counter()

    @contextmanager
    def holding(self, sha256: str) -> Iterator[None]:
        """Sweeps go on, and leave this one: it is read now, and a source refers to it later."""
        self._held[sha256] += 1
        try:
            yield
        finally:
            self._held[sha256] -= 1
            if not self._held[sha256]:
                del self._held[sha256]

    def is_held(self, sha256: str) -> bool:
        """Whether a sweep has to leave it."""
        return sha256 in self._held

    @asynccontextmanager
    async def upload(self) -> AsyncIterator[None]:
        """From before the bytes are stored until a source refers to them."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_sweeping)
            self._uploads += 1
        try:
            yield
        finally:
            async with self._changed:
                self._uploads -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def sweep(self) -> AsyncIterator[bool]:
        """False where another sweep is on, or uploads take their time: it then comes later."""
        is_alone = False
        if not self._is_sweeping:
            self._is_sweeping = True
            is_alone = await self._alone()
        try:
            yield is_alone
        finally:
            if is_alone:
                await self._open()

    async def _alone(self) -> bool:
        is_alone = False
        try:
            async with asyncio.timeout(self._turn_s), self._changed:
                await self._changed.wait_for(lambda: self._uploads == 0)
            is_alone = True
        except TimeoutError:
            pass
        finally:
            if not is_alone:
                await self._open()
        return is_alone

    async def _open(self) -> None:
        async with self._changed:
            self._is_sweeping = False
            self._changed.notify_all()
