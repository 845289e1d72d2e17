"""Pages of the web without a network: what each address answers, and what was asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway.errors import UpstreamError


@dataclass
class FakePage:
    """One answer, in two pieces."""

    body: bytes = b""
    media_type: str = "text/html"
    charset: str | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body[:7]
        yield self.body[7:]


@dataclass
class FakeWeb:
    """`pages` by address; an error is raised, an address that is not there fails."""

    pages: dict[str, FakePage | UpstreamError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, url: str) -> AsyncIterator[FakePage]:
        """As GuardedFetch.open."""
        self.asked.append(url)
        found = self.pages.get(url, UpstreamError("nobody", code="url_fetch_failed"))
        if isinstance(found, UpstreamError):
            raise found
        yield found
