"""Has files read by a confined child: hands them over, judges what returns."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from gateway.core.documents import Extracted, SourceWarning
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract import ocr
from gateway.extract.untrusted import IsPicture, accept
from gateway.extract.wire import Request
from gateway.extract.zygote import OnProgress, Result, Task, Zygote, raise_unless_done

log = structlog.get_logger()

COMMAND = (sys.executable, "-I", "-m", "gateway.extract.child")
BYTES_A_CHAR = 4  # output over max_source_chars times this is refused (A10)
FRAME_BYTES = 4096  # of a page's answer beside its text
NAME_CHARS = 200  # its end tells the kind
CHARSET_CHARS = 40
NO_TEXT = "no_text_layer"


def _nobody(_done: int, _of: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class _Wish:
    """One document, and who is told how far it is."""

    path: Path
    name: str
    charset: str
    on_progress: OnProgress


class ExtractionSupervisor:
    """Implements interfaces.Extractor. One document at a time; the event loop never waits.

    Pictures are read by a process of their own, beside the next document.
    """

    def __init__(
        self,
        limits: KnowledgeLimits,
        command: Sequence[str] = COMMAND,
        ocr_command: Sequence[str] | None = ocr.COMMAND,
    ) -> None:
        self._limits = limits
        self._zygote = Zygote(tuple(command))
        self._ocr_zygote = Zygote(tuple(ocr_command), ocr.ENVIRONMENT) if ocr_command else None
        self._lock, self._ocr_lock = asyncio.Lock(), asyncio.Lock()

    async def extract(
        self, path: Path, name: str, *, charset: str = "", on_progress: OnProgress = _nobody
    ) -> Extracted:
        """Read `path`; `name` and `charset` are hints. ExtractionError with the code of A9.

        `on_progress` gets (pages or sheets done, all) now and then, in the event loop.
        """
        wish = _Wish(path, name[-NAME_CHARS:], charset[:CHARSET_CHARS], on_progress)
        try:
            return self._judged(await self._extract(wish))
        except (ExtractionError, asyncio.CancelledError):
            raise
        except Exception as error:  # boundary: a bug here must not stop the queue
            log.exception("extraction_supervisor_failed")
            await self.close()
            raise ExtractionError(repr(error)) from error

    async def close(self) -> None:
        """End both processes and with them a child that still reads."""
        await self._zygote.close()
        if self._ocr_zygote is not None:
            await self._ocr_zygote.close()

    def _judged(self, extracted: Extracted) -> Extracted:
        if extracted.is_sandboxed:
            return extracted
        if not self._limits.may_run_unsandboxed:
            raise ExtractionError("read without sandbox", code="sandbox_unavailable")
        warnings = (*extracted.warnings, SourceWarning("extract_unsandboxed"))
        return replace(extracted, warnings=warnings)

    async def _extract(self, wish: _Wish) -> Extracted:
        try:
            text: Extracted | None = await self._read(wish)
        except ExtractionError as error:
            is_picture = isinstance(error, IsPicture) or error.code == NO_TEXT
            if not (self._limits.ocr and is_picture):
                raise
            text = None
        has_gaps = text is None or any(each.code == ocr.WITHOUT for each in text.warnings)
        if not (self._limits.ocr and has_gaps):
            assert text is not None
            return text
        if self._ocr_zygote is not None:
            return await self._with_pictures(self._ocr_zygote, wish, text)
        if text is None:
            raise ExtractionError("the package is missing", code="ocr_unavailable")
        return text

    async def _read(self, wish: _Wish) -> Extracted:
        limits = self._limits
        request = self._request(wish, limits.extract_timeout_secs, limits.max_source_chars)
        loop = asyncio.get_running_loop()

        def tell(done: int, of: int) -> None:
            loop.call_soon_threadsafe(wish.on_progress, done, of)

        most = limits.max_source_chars * BYTES_A_CHAR
        async with self._lock:
            result = await self._zygote.ask(Task(wish.path, request, most, tell))
        return await _accepted(result, limits.max_source_chars)

    async def _with_pictures(
        self, zygote: Zygote, wish: _Wish, text: Extracted | None
    ) -> Extracted:
        limits = self._limits

        async def read_page(page: int, seconds: float, max_chars: int) -> Extracted:
            request = self._request(wish, seconds, max_chars, page)
            pages = 0

            def tell(_done: int, of: int) -> None:
                nonlocal pages
                pages = of

            most = max_chars * BYTES_A_CHAR + FRAME_BYTES
            task = Task(wish.path, request, most, tell)
            try:
                return await _accepted(await zygote.ask(task), max_chars, is_page=True)
            except ExtractionError as error:
                raise ocr.PageError(error.code, pages) from error

        bounds = ocr.Bounds(
            limits.ocr_page_timeout_secs,
            limits.ocr_timeout_secs,
            limits.max_source_chars,
            wish.on_progress,
        )
        async with self._ocr_lock:
            return await ocr.complete(read_page, text, bounds)

    def _request(self, wish: _Wish, seconds: float, max_chars: int, page: int = 0) -> Request:
        limits = self._limits
        return Request(
            name=wish.name,
            charset=wish.charset,
            include_hidden=limits.index_hidden,
            max_chars=max_chars,
            timeout_s=seconds,
            memory_mb=max(limits.extract_memory_mb, ocr.MEMORY_MB if page else 0),
            is_sandbox_required=not limits.may_run_unsandboxed,
            page=page,
        )


async def _accepted(result: Result, max_chars: int, *, is_page: bool = False) -> Extracted:
    raise_unless_done(result, over="too_many_chars")
    return await asyncio.to_thread(accept, result.output, max_chars, may_be_empty=is_page)
