"""A reader without a sandbox: paragraphs of UTF-8, failures and interruptions on demand."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from gateway.core.documents import Block, Extracted, SourceWarning
from gateway.core.passages import Locator
from gateway.errors import ExtractionError
from gateway.interfaces import Extractor


class FakeExtractor:
    """`codes` by name are raised; `meanwhile` is awaited while a file is being read."""

    def __init__(self) -> None:
        self.codes: dict[str, str] = {}
        self.documents: dict[str, Extracted] = {}  # by name, in place of the file's own text
        self.warnings: tuple[SourceWarning, ...] = ()
        self.meanwhile: Callable[[str], Awaitable[None]] | None = None
        self.read: list[str] = []
        self.charsets: list[str] = []
        self.progress: tuple[tuple[int, int], ...] = ()
        self.title = ""
        self.media_type = "text/plain"

    async def extract(
        self,
        path: Path,
        name: str,
        *,
        charset: str = "",
        on_progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> Extracted:
        self.read.append(name)
        self.charsets.append(charset)
        for done, of in self.progress:
            on_progress(done, of)
        if self.meanwhile:
            await self.meanwhile(name)
        if name in self.codes:
            raise ExtractionError(name, code=self.codes[name])
        if name in self.documents:
            return self.documents[name]
        text = path.read_bytes().decode()  # noqa: ASYNC240 - a few bytes of a test
        blocks = tuple(
            Block(part, Locator(page=page)) for page, part in enumerate(text.split("\n\n"), 1)
        )
        return Extracted(
            blocks, self.media_type, self.title, warnings=self.warnings, pages=len(blocks)
        )

    async def close(self) -> None:
        return None


fits: type[Extractor] = FakeExtractor
