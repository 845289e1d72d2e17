"""Pictures of pages without a sandbox: a small PNG each, and what was asked."""

import hashlib
from dataclasses import dataclass, field

from gateway.errors import ExtractionError, NotFoundError
from gateway.interfaces.pages import DPI, PageImages


@dataclass
class FakePageImages:
    """`pages` of every original; an error, if set, in the place of each answer."""

    pages: int = 45
    error: ExtractionError | None = None
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def count(self, sha256: str) -> int:
        if self.error is not None:
            raise self.error
        return self.pages

    async def png(self, sha256: str, page: int, *, dpi: int = DPI) -> bytes:
        self.asked.append((sha256, page))
        if self.error is not None:
            raise self.error
        if not 1 <= page <= self.pages:
            raise NotFoundError("page")
        return b"\x89PNG\r\n\x1a\n" + hashlib.sha256(f"{sha256}/{page}/{dpi}".encode()).digest()

    async def forget(self, sha256: str) -> None:
        return


fits: type[PageImages] = FakePageImages
