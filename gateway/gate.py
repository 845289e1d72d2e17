"""How much is worked on side by side, so that the event loop stays free for what is urgent."""

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 0.25


class Urgency:
    """Something that a platform waits for is at work: its events are being stored."""

    def __init__(self) -> None:
        self._count = 0
        self._is_over = asyncio.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """For as long as the block takes."""
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._is_over.set()

    async def passed(self, patience_s: float) -> None:
        """Until nothing of it is at work, or patience ends: others must get on too."""
        if not self._count:
            return
        self._is_over.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._is_over.wait()


class Gate:
    """An asynchronous context manager that lets so many in at a time, first come, first served."""

    def __init__(self, at_once: int, urgency: Urgency | None = None) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._urgency = urgency

    async def __aenter__(self) -> None:
        await self._places.acquire()
        if self._urgency is None:
            return
        is_in = False
        try:
            await self._urgency.passed(PATIENCE_S)
            is_in = True
        finally:
            if not is_in:  # gave up waiting
                self._places.release()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()
