"""What every reader of a format gets and gives: bytes in, a bounded document out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gateway.core.documents import Block, SourceWarning
from gateway.errors import ExtractionError


@dataclass(frozen=True, slots=True)
class Document:
    """The blocks of a file in reading order."""

    blocks: tuple[Block, ...]
    media_type: str
    warnings: tuple[SourceWarning, ...] = ()
    pages: int | None = None
    title: str = ""  # that the document gives itself
    pictured: tuple[int, ...] = ()  # pages with pictures and little text


def _nobody(_done: int, _of: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is to be read."""

    max_chars: int = 500_000  # more is `too_many_chars`
    charset: str = ""  # that the transport declared; a hint
    include_hidden: bool = False  # sheets, rows and slides that their author hid
    page: int = 0  # from 1: that one alone, as a picture
    on_progress: Callable[[int, int], None] = _nobody  # (pages or sheets done, all)


Reader = Callable[[bytes, ReadOptions], Document]


def bounded(blocks: Iterable[Block], max_chars: int) -> tuple[Block, ...]:
    """Those with text; `too_many_chars` as soon as they are, not after the last one."""
    kept: list[Block] = []
    chars = 0
    for block in blocks:
        if not block.text.strip():
            continue
        chars += len(block.text)
        if chars > max_chars:
            raise ExtractionError(f"over {max_chars} characters", code="too_many_chars")
        kept.append(block)
    return tuple(kept)


def refuse(code: str, detail: str = "") -> ExtractionError:
    """The error that names why a file is not read."""
    return ExtractionError(detail, code=code)
