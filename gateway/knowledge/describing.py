"""Pages that say most by pictures are shown to a vision model; its words become passages."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from gateway.core.documents import Extracted, Source, SourceWarning
from gateway.core.limits import KnowledgeLimits
from gateway.core.page_reading import (
    WITHOUT,
    Descriptions,
    page_messages,
    paragraphs_of,
    wanted_pages,
    with_descriptions,
)
from gateway.errors import ExtractionError, GatewayError, LanguageModelError, NotFoundError
from gateway.interfaces import PageImages, Sources
from gateway.knowledge.chosen_model import ChosenModel

log = structlog.get_logger()
T = TypeVar("T")
OnProgress = Callable[[int, int], None]
# refusals of a file that may be pages of pictures all the same; drawing them tells
MAYBE_PICTURES = frozenset({"no_text_layer", "unsupported_format", "empty_text", "ocr_unavailable"})
IN_A_ROW = 3  # failures: the model is not there, and the pages that follow would end like these
BUSY_S = 2.0  # until a page is asked for again that found no place in the drawing's queue
BUSY_TRIES = 5
HEAD_BYTES = 12
_KINDS = (
    (b"%PDF", "application/pdf"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


@dataclass(slots=True)
class _Reading:
    """One document: how far it is, and what came of it."""

    source: Source
    wanted: Sequence[int]
    pages: int
    room: int  # characters
    until: float  # of time.monotonic
    said: Descriptions = field(default_factory=Descriptions)
    in_a_row: int = 0


@dataclass(frozen=True, slots=True)
class Describing:
    """Bounded by `vision_pages`, by time a page and a document, and by the document's length."""

    model: ChosenModel
    images: PageImages
    sources: Sources
    limits: KnowledgeLimits
    busy_s: float = BUSY_S

    async def complete(self, source: Source, text: Extracted, on_progress: OnProgress) -> Extracted:
        """`text` with what its pages show. What fails stays as it was, and is listed."""
        wanted = wanted_pages(text)
        if not wanted or text.pages is None or not await self._may_read(source):
            return text
        chars = sum(len(block.text) for block in text.blocks)
        said = await self._described(source, (wanted, text.pages, chars), on_progress)
        return with_descriptions(text, said)

    async def alone(
        self, source: Source, path: Path, refusal: ExtractionError, on_progress: OnProgress
    ) -> Extracted:
        """A document of pictures that was refused with `refusal`, which is raised where it has no
        pages or may not be shown; ExtractionError `vision_failed` where no page was described.
        """
        if not await self._may_read(source):
            raise refusal
        try:
            pages = await self._patiently(partial(self.images.count, source.sha256))
        except (ExtractionError, NotFoundError) as error:
            raise refusal from error
        wanted = tuple(range(1, pages + 1))
        said = await self._described(source, (wanted, pages, 0), on_progress)
        if not any(said.found.values()):
            if said.failed or not said.found:
                raise ExtractionError("no page was described", code="vision_failed")
            raise ExtractionError("blank pages", code="empty_text")
        media_type = await asyncio.to_thread(_kind, path)
        blank = Extracted((), media_type, warnings=(SourceWarning(WITHOUT, wanted),), pages=pages)
        return with_descriptions(blank, said)

    async def _may_read(self, source: Source) -> bool:
        """Files alone have pages; their collection decides where these may go."""
        return not source.address and await self.model.may_read(source.collection_id)

    async def _described(
        self, source: Source, document: tuple[Sequence[int], int, int], on_progress: OnProgress
    ) -> Descriptions:
        wanted, pages, chars = document
        reading = _Reading(
            source,
            wanted[: self.limits.vision_pages],
            pages,
            self.limits.max_source_chars - chars,
            time.monotonic() + self.limits.vision_timeout_secs,
        )
        for at, page in enumerate(reading.wanted):
            on_progress(pages - len(wanted) + at, pages)
            if reading.in_a_row >= IN_A_ROW or not await self._goes_on(reading):
                reading.said.failed += reading.wanted[at:]
                break
            await self._describe(page, reading)
        else:
            on_progress(pages - len(wanted) + len(reading.wanted), pages)
        reading.said.failed += wanted[len(reading.wanted) :]
        return reading.said

    async def _goes_on(self, reading: _Reading) -> bool:
        """There is time left, and the document is still there and may still be shown."""
        if time.monotonic() >= reading.until or reading.said.chars >= reading.room:
            return False
        now = await self.sources.find(reading.source.id)
        return now is not None and await self._may_read(now)

    async def _describe(self, page: int, reading: _Reading) -> None:
        left = reading.until - time.monotonic()
        seconds = max(min(self.limits.vision_page_timeout_secs, left), 0.0)
        try:
            png = await self._patiently(partial(self.images.png, reading.source.sha256, page))
            answer = await self.model.ask(page_messages(png), seconds)
        except (LanguageModelError, ExtractionError, NotFoundError) as error:
            log.warning("page_not_described", source=reading.source.id, page=page, code=error.code)
            reading.said.failed.append(page)
            reading.in_a_row += isinstance(error, LanguageModelError)
            return
        reading.in_a_row = 0
        reading.said.found[page] = paragraphs_of(answer)

    async def _patiently(self, draw: Callable[[], Awaitable[T]]) -> T:
        """Ask again for what found no place in the queue of those that want pages."""
        for _ in range(BUSY_TRIES):
            try:
                return await draw()
            except GatewayError as error:
                if error.code != "pages_busy":
                    raise
            await asyncio.sleep(self.busy_s)
        raise ExtractionError("too many pages are being drawn", code="extract_timeout")


def _kind(path: Path) -> str:
    """By the first bytes; it was drawn, so it is one of these."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _KINDS if head.startswith(mark)), "application/pdf")
