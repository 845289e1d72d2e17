"""Keeps the sweep of unused originals and uploads of the same bytes out of each other's way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class UploadGate:
    """Any number of uploads at once, or one sweep alone."""

    def __init__(self) -> None:
        self._uploads = 0
        self._changed = asyncio.Condition()
        self._is_sweeping = False

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
        """False while an upload is under way: the sweep then comes later."""
        async with self._changed:
            is_alone = self._uploads == 0 and not self._is_sweeping
            if is_alone:
                self._is_sweeping = True
        try:
            yield is_alone
        finally:
            if is_alone:
                async with self._changed:
                    self._is_sweeping = False
                    self._changed.notify_all()
