"""Pictures of pages without a sandbox: their number in bytes, broken or late on demand."""

from gateway.errors import ExtractionError, GatewayError, NotFoundError
from gateway.interfaces import PageImages
from gateway.interfaces.pages import DPI


class DrawnPages:
    """`pages` of every original; 0: it is no file with pages."""

    def __init__(self) -> None:
        self.pages = 0
        self.broken: set[int] = set()
        self.busy = 0  # times that it is busy before it draws
        self.drawn: list[int] = []

    async def count(self, sha256: str) -> int:
        self._wait_in_line()
        if not self.pages:
            raise ExtractionError(sha256, code="unsupported_format")
        return self.pages

    async def png(self, sha256: str, page: int, *, dpi: int = DPI) -> bytes:
        if page > await self.count(sha256):
            raise NotFoundError
        if page in self.broken:
            raise ExtractionError("broken", code="extract_crashed")
        self.drawn.append(page)
        return b"\x89PNG\r\n\x1a\n" + f"page {page}".encode()

    def _wait_in_line(self) -> None:
        if self.busy:
            self.busy -= 1
            raise GatewayError("busy", code="pages_busy")

    async def forget(self, sha256: str) -> None:
        return None


fits: type[PageImages] = DrawnPages
