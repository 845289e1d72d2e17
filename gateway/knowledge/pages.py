"""A page of the web as bytes to be read: only HTML and text, at most what the fetch allows."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from gateway.errors import UpstreamError

PLAIN = "text/plain"
NAMES = {
    "text/html": "page.html",
    "application/xhtml+xml": "page.html",
    "text/markdown": "page.md",
    "text/csv": "page.csv",
    "text/tab-separated-values": "page.tsv",
}


class Answer(Protocol):
    """What an address answered (gateway/fetching.py: Opened)."""

    @property
    def media_type(self) -> str: ...
    @property
    def charset(self) -> str | None: ...
    def chunks(self) -> AsyncIterator[bytes]: ...


Fetch = Callable[[str], AbstractAsyncContextManager[Answer]]


@dataclass(frozen=True, slots=True)
class Page:
    """The decoded body, and what the reader may take as hints."""

    body: bytes
    name: str
    charset: str


async def fetched(fetch: Fetch, address: str) -> Page:
    """The page as it is now; UpstreamError `url_blocked`, `url_too_large`, `url_fetch_failed`.

    The last also for what is neither HTML nor text. `fetch` is GuardedFetch.open.
    """
    async with fetch(address) as answer:
        media_type = answer.media_type
        if not is_page(media_type):
            raise UpstreamError("neither HTML nor text", code="url_fetch_failed")
        body = b"".join([chunk async for chunk in answer.chunks()])
        return Page(body, _name(media_type, address), answer.charset or "")


def is_page(media_type: str) -> bool:
    """Whether it is HTML or text."""
    return media_type.startswith("text/") or media_type in NAMES


def _name(media_type: str, address: str) -> str:
    """Servers call Markdown and CSV plain text: then the address tells more."""
    if media_type != PLAIN:
        return NAMES.get(media_type, "page.txt")
    last = address.partition("?")[0].rpartition("/")[2]
    return last if last.endswith((".md", ".markdown", ".csv", ".tsv")) else "page.txt"
