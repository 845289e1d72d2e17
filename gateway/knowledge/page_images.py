"""Pictures of pages: kept ones, else drawn once for all who wait for the same one."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from gateway.errors import GatewayError, InvalidRequestError, NotFoundError
from gateway.interfaces import Blobs, PageImages
from gateway.interfaces.pages import DPI

LEAST_DPI, MOST_DPI = 36, 200
COUNTS_KEPT = 10_000
_T = TypeVar("_T")
Key = tuple[str, int, int]  # (SHA-256, dpi, page from 1)


class Renderer(Protocol):
    """Draws in the sandbox (gateway/extract/page_renderer.py)."""

    async def count(self, path: Path) -> int: ...
    async def draw(self, path: Path, page: int, dpi: int) -> bytes: ...


class Pictures(Protocol):
    """Keeps what was drawn (gateway/store/picture_folder.py)."""

    async def find(self, key: Key) -> bytes | None: ...
    async def put(self, key: Key, png: bytes) -> None: ...
    async def forget(self, sha256: str) -> None: ...
    async def originals(self) -> frozenset[str]: ...


class KeptPageImages:
    """Implements interfaces.PageImages. What belongs to an original that went is never given."""

    def __init__(self, blobs: Blobs, renderer: Renderer, pictures: Pictures) -> None:
        self._blobs = blobs
        self._renderer = renderer
        self._pictures = pictures
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._under_way: dict[Key, asyncio.Future[Any]] = {}

    async def count(self, sha256: str) -> int:
        """As PageImages.count; known ones cost a look whether the original is still there."""
        path = self._path(sha256)
        await _require(path)
        if sha256 in self._counts:
            self._counts.move_to_end(sha256)
            return self._counts[sha256]
        return await self._shared((sha256, 0, 0), lambda: self._counted(sha256, path))

    async def count_file(self, path: Path) -> int:
        """Pages of another file of the gateway's own, one that waits for approval; never kept."""
        return await self._renderer.count(path)

    async def png(self, sha256: str, page: int, *, dpi: int = DPI) -> bytes:
        """As PageImages.png."""
        path = self._path(sha256)
        key = sha256, min(max(dpi, LEAST_DPI), MOST_DPI), page
        if page < 1 or page > self._counts.get(sha256, page):
            await _require(path)
            raise NotFoundError("page")
        kept = await self._pictures.find(key)
        if kept is None:
            kept = await self._shared(key, lambda: self._drawn(key, path))
        await _require(path)  # last, so that nothing is given that was deleted meanwhile
        return kept

    async def forget(self, sha256: str) -> None:
        """As PageImages.forget."""
        self._counts.pop(sha256, None)
        await self._pictures.forget(sha256)

    async def keep_only(self, used: frozenset[str]) -> None:
        """Forget what belongs to none of these originals; part of each sweep, and so of a start."""
        for sha256 in await self._pictures.originals() - used:
            await self.forget(sha256)

    # ---------------------------------------------------------------- once for all

    async def _shared(self, key: Key, work: Callable[[], Awaitable[_T]]) -> _T:
        """The first to ask does it for all who want the same; if it is cancelled, the next does."""
        while (going := self._under_way.get(key)) is not None:
            await asyncio.wait([going])
            if not going.cancelled():
                found: _T = going.result()
                return found
        mine = asyncio.get_running_loop().create_future()
        self._under_way[key] = mine
        try:
            made = await work()
        except GatewayError as error:
            mine.set_exception(error)
            mine.exception()  # nobody else may have asked
            raise
        else:
            mine.set_result(made)
            return made
        finally:
            del self._under_way[key]
            mine.cancel()  # where nothing came of it

    async def _counted(self, sha256: str, path: Path) -> int:
        count = await self._renderer.count(path)
        self._counts[sha256] = count
        while len(self._counts) > COUNTS_KEPT:
            self._counts.popitem(last=False)
        return count

    async def _drawn(self, key: Key, path: Path) -> bytes:
        sha256, dpi, page = key
        png = await self._renderer.draw(path, page, dpi)
        await self._pictures.put(key, png)
        if not await asyncio.to_thread(path.is_file):  # it went meanwhile, perhaps before `put`
            await self.forget(sha256)
        return png

    def _path(self, sha256: str) -> Path:
        try:
            return self._blobs.path(sha256)
        except InvalidRequestError as error:  # a page of the web that was never fetched has none
            raise NotFoundError("original") from error


async def _require(path: Path) -> None:
    if not await asyncio.to_thread(path.is_file):
        raise NotFoundError("original")


async def keeps_nothing(_used: frozenset[str]) -> None:
    """Where no pictures are drawn."""


KeepOnly = Callable[[frozenset[str]], Awaitable[None]]
fits: type[PageImages] = KeptPageImages
