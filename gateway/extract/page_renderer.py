"""Has pages drawn by a confined child, one at a time, with a queue that has an end."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import structlog

from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError, GatewayError, NotFoundError
from gateway.extract.png_checks import MOST_BYTES, checked_png
from gateway.extract.untrusted import MAX_PAGES, known_refusal
from gateway.extract.wire import Begun, Drawn, DrawnAnswer, Refused, Request, frames
from gateway.extract.zygote import Result, Task, Zygote, raise_unless_done

log = structlog.get_logger()

COMMAND = (sys.executable, "-I", "-m", "gateway.extract.page_child")
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
FRAME_BYTES = 4_096  # of the answer beside the picture
PAGE_S = 10.0  # for a page
MEMORY_MB = 1_024  # or less, by `extract_memory_mb`
MOST_WAITING = 64
MOST_WAIT_S = 30.0  # in the queue
LATE_AT = 2  # pages of one file in a row that took too long: its others would hold all up
LATE_FOR_S = 60.0  # and are not tried for so long


@dataclass(frozen=True, slots=True)
class Lane:
    """How long a page may take, and who waits how long for it."""

    page_s: float = PAGE_S
    most_waiting: int = MOST_WAITING
    most_wait_s: float = MOST_WAIT_S
    late_for_s: float = LATE_FOR_S


def _nobody(_done: int, _of: int) -> None:
    return None


class PageRenderer:
    """Its zygote is not the one that reads documents: a long reading holds no page up."""

    def __init__(
        self, limits: KnowledgeLimits, command: Sequence[str] = COMMAND, lane: Lane = Lane()
    ) -> None:
        self._limits = limits
        self._zygote = Zygote(tuple(command), ENVIRONMENT)
        self._bounds = lane
        self._lane = asyncio.Lock()
        self._waiting = 0
        self._late: dict[Path, list[float]] = {}  # when its last pages took too long

    async def count(self, path: Path) -> int:
        """Pages of the file. ExtractionError; GatewayError `pages_busy`."""
        return (await self._drawn(path, 0, 0)).pages

    async def draw(self, path: Path, page: int, dpi: int) -> bytes:
        """Page `page`, from 1, as a checked PNG. As `count`, and NotFoundError for no such page."""
        drawn = await self._drawn(path, page, dpi)
        if not drawn.png:
            raise NotFoundError("page")
        return await asyncio.to_thread(checked_png, drawn.png)

    async def close(self) -> None:
        """End the process and with it a child that still draws."""
        await self._zygote.close()

    async def _drawn(self, path: Path, page: int, dpi: int) -> Drawn:
        task = Task(path, self._request(page, dpi), MOST_BYTES + FRAME_BYTES, _nobody)
        result = await self._in_turn(task)
        try:
            raise_unless_done(result, over="document_limits")
        except ExtractionError as error:
            if error.code == "extract_timeout":
                self._late.setdefault(path, []).append(asyncio.get_running_loop().time())
            raise
        self._late.pop(path, None)
        drawn, is_sandboxed = _decoded(result.output)
        if not is_sandboxed and not self._limits.may_run_unsandboxed:
            raise ExtractionError("drawn without sandbox", code="sandbox_unavailable")
        return drawn

    async def _in_turn(self, task: Task) -> Result:
        if self._waiting >= self._bounds.most_waiting:
            raise GatewayError("too many pages wait to be drawn", code="pages_busy")
        self._waiting += 1
        try:
            try:
                async with asyncio.timeout(self._bounds.most_wait_s):
                    await self._lane.acquire()
            finally:
                self._waiting -= 1
        except TimeoutError as error:
            raise GatewayError("the pages before took too long", code="pages_busy") from error
        try:
            self._refuse_slow(task.path)
            return await self._zygote.ask(task)
        except FileNotFoundError as error:
            raise NotFoundError("original") from error
        except OSError as error:  # no process, no descriptor: the next one may find some
            await self._zygote.close()
            raise ExtractionError(repr(error)) from error
        finally:
            self._lane.release()

    def _refuse_slow(self, path: Path) -> None:
        """Files that were slow long ago are forgotten on the way."""
        since = asyncio.get_running_loop().time() - self._bounds.late_for_s
        self._late = {each: late for each, late in self._late.items() if late[-1] > since}
        if len(self._late.get(path, ())) >= LATE_AT:
            raise ExtractionError("its pages before took too long", code="extract_timeout")

    def _request(self, page: int, dpi: int) -> Request:
        limits = self._limits
        return Request(
            name="",
            charset="",
            include_hidden=False,
            max_chars=0,
            timeout_s=self._bounds.page_s,
            memory_mb=min(limits.extract_memory_mb, MEMORY_MB),
            is_sandbox_required=not limits.may_run_unsandboxed,
            page=page,
            dpi=dpi,
        )


def _decoded(output: bytes) -> tuple[Drawn, bool]:
    """What the child said, and whether it was confined. ExtractionError."""
    try:
        begun, answer = frames(output)
        is_sandboxed = msgspec.msgpack.decode(begun, type=Begun).is_sandboxed
        said: DrawnAnswer = msgspec.msgpack.decode(answer, type=Drawn | Refused)
    except (ValueError, msgspec.MsgspecError) as error:
        raise ExtractionError("what drew the page does not decode") from error
    if isinstance(said, Refused):
        raise ExtractionError("refused", code=known_refusal(said.code))
    if not 0 < said.pages <= MAX_PAGES:
        raise ExtractionError("an impossible number of pages")
    return said, is_sandboxed
