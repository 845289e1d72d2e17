"""Pages that are pictures: has them read one by one, and puts them into the document."""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from gateway.core.documents import Block, Extracted, SourceWarning
from gateway.core.passages import Locator
from gateway.errors import ExtractionError

ENVIRONMENT = {"ORT_DISABLE_TELEMETRY": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
PACKAGE = "rapidocr"
WITHOUT, READ = "pages_without_text", "ocr_text"
MEMORY_MB = 1_536  # a page with its models takes up to 900 of address space
IN_A_ROW = 3  # failures before anything could be read: the rest would end like them

# of the document, not of one of its pages: every page would end like this
FINAL = frozenset({"too_many_chars", "sandbox_unavailable", "encrypted", "unsupported_format"})


class PageError(ExtractionError):
    """A page could not be read; `pages` of the whole file, 0 where that never became known."""

    def __init__(self, code: str, pages: int) -> None:
        super().__init__("a page", code=code)
        self.pages = pages


# (page from 1, seconds it may take, characters it may bring) -> that page alone; PageError
ReadPage = Callable[[int, float, int], Awaitable[Extracted]]


def is_installed() -> bool:
    """Whether the optional package is here; it is imported by the OCR process alone."""
    return find_spec(PACKAGE) is not None


# None: nothing to read pictures with
COMMAND = (sys.executable, "-I", "-m", "gateway.extract.ocr_child") if is_installed() else None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What reading the pictures of one document may take."""

    page_s: float
    document_s: float
    max_chars: int
    on_progress: Callable[[int, int], None]


@dataclass(slots=True)
class _Reading:
    """How far it is."""

    read: dict[int, Extracted] = field(default_factory=dict)
    failures: list[PageError] = field(default_factory=list)
    chars: int = 0
    pages: int = 0  # of the document, once it is known


async def complete(read_page: ReadPage, text: Extracted | None, bounds: Bounds) -> Extracted:
    """`text` with its pages that had none, or a document of pictures alone.

    A page that fails stays without text. ExtractionError where there is no text at all.
    """
    wanted = _missing(text) if text else ()
    told = text.pages or 0 if text else 0
    chars = sum(len(block.text) for block in text.blocks) if text else 0
    reading = _Reading(chars=chars, pages=told)
    until = time.monotonic() + bounds.document_s
    done, at = (told - len(wanted), 0) if text else (0, 0)
    while (page := _next(wanted, at, reading, is_all=text is None)) is not None:
        left = until - time.monotonic()
        if left <= 0 or (not reading.pages and len(reading.failures) >= IN_A_ROW):
            break
        await _read(read_page, page, reading, (min(bounds.page_s, left), bounds.max_chars))
        at += 1
        if reading.pages:
            bounds.on_progress(min(done + at, reading.pages), reading.pages)
    return _merged(text, reading) if text else _alone(reading, is_late=time.monotonic() >= until)


def _missing(text: Extracted) -> tuple[int, ...]:
    return tuple(page for each in text.warnings if each.code == WITHOUT for page in each.pages)


def _next(wanted: Sequence[int], at: int, reading: _Reading, *, is_all: bool) -> int | None:
    if not is_all:
        return wanted[at] if at < len(wanted) else None
    return at + 1 if not reading.pages or at < reading.pages else None


async def _read(read_page: ReadPage, page: int, reading: _Reading, may: tuple[float, int]) -> None:
    seconds, max_chars = may
    try:
        found = await read_page(page, seconds, max_chars - reading.chars)
    except PageError as error:
        if error.code in FINAL:
            raise
        reading.failures.append(error)
        reading.pages = reading.pages or error.pages
        return
    reading.pages = reading.pages or found.pages or page
    reading.chars += sum(len(block.text) for block in found.blocks)
    blocks = tuple(Block(block.text, Locator(page=page)) for block in found.blocks)
    reading.read[page] = replace(found, blocks=blocks)  # the page that was asked for


# ---------------------------------------------------------------- one document of both


def _alone(reading: _Reading, *, is_late: bool) -> Extracted:
    found = [reading.read[page] for page in sorted(reading.read)]
    blocks = tuple(block for page in found for block in page.blocks)
    if not any(character.isalnum() for block in blocks for character in block.text):
        if reading.failures:
            raise reading.failures[0]
        code = "extract_timeout" if is_late else "empty_text"
        raise ExtractionError("no text in the pictures", code=code)
    return Extracted(
        blocks=blocks,
        media_type=found[0].media_type,
        warnings=_warnings((), reading, range(1, reading.pages + 1)),
        pages=reading.pages,
        is_sandboxed=all(page.is_sandboxed for page in found),
    )


def _merged(text: Extracted, reading: _Reading) -> Extracted:
    return replace(
        text,
        blocks=_in_order(text.blocks, reading),
        warnings=_warnings(text.warnings, reading, _missing(text)),
        is_sandboxed=text.is_sandboxed and all(p.is_sandboxed for p in reading.read.values()),
    )


def _in_order(blocks: Sequence[Block], reading: _Reading) -> tuple[Block, ...]:
    """A page that was read goes before the first block of a later one."""
    waiting = sorted(reading.read)
    merged: list[Block] = []
    for block in blocks:
        while waiting and block.locator.page is not None and waiting[0] < block.locator.page:
            merged += reading.read[waiting.pop(0)].blocks
        merged.append(block)
    for page in waiting:
        merged += reading.read[page].blocks
    return tuple(merged)


def _warnings(
    before: Sequence[SourceWarning], reading: _Reading, wanted: Sequence[int]
) -> tuple[SourceWarning, ...]:
    read = tuple(page for page in sorted(reading.read) if reading.read[page].blocks)
    without = tuple(page for page in wanted if page not in read)
    others = (each for each in before if each.code != WITHOUT)
    both = (SourceWarning(WITHOUT, without), SourceWarning(READ, read))
    return (*(each for each in both if each.pages), *others)
