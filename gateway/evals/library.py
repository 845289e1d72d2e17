"""What an evaluation needs of the gateway: a throw-away library that works like a real one."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from gateway.core.followups import Wording
from gateway.core.passages import SearchMode, SearchResult


class Library(Protocol):
    """One collection in a new home, with the gateway's own extraction, indexing and search."""

    async def ingest(self, path: Path) -> str:
        """Read one document through the same child process as an upload, and index it.

        The id of its source. Raises ExtractionError.
        """
        ...

    def embed(self) -> AsyncIterator[int]:
        """Make all vectors that are missing; yields after each batch how many passages have
        theirs. Raises ModelError.
        """
        ...

    async def size(self) -> tuple[int, int]:
        """(passages, bytes of their vectors)."""
        ...

    async def search(
        self, wordings: Sequence[Wording], limit: int, mode: SearchMode
    ) -> SearchResult:
        """As the gateway searches, without a row in the access log."""
        ...


OpenLibrary = Callable[[Path], AbstractAsyncContextManager[Library]]
"""Opens a library in the (empty) folder given, with the model of the options."""
