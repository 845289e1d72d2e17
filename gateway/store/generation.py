"""The generation of the access rules as of the newest commit, known without asking the file."""

import asyncio
import sqlite3
from collections.abc import Callable

from sqlalchemy import Connection

from gateway.store import counters

UNKNOWN = -1  # equal to no generation that a scope was decided at


class Generation:
    """Looked at on the writer's thread after each commit, read on the event loop.

    Whoever is told that a change is committed finds it counted here. A second process on the same
    file is not seen; one gateway has a home (DESIGN section 8.5).
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._listeners: list[Callable[[], None]] = []
        self._value = UNKNOWN

    def now(self) -> int:
        """As of the newest commit; UNKNOWN when the file could not say."""
        return self._value

    def listen(self, on_change: Callable[[], None]) -> None:
        """Call it on the event loop whenever the generation has changed."""
        self._listeners.append(on_change)

    def look(self, connection: Connection) -> None:
        """After a commit, on the writer's thread."""
        before = self._value
        try:
            self._value = counters.value(connection, counters.GENERATION)
        except sqlite3.Error:
            self._value = UNKNOWN
        if self._value != before and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        for on_change in self._listeners:
            on_change()
