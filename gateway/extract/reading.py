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


Reader = Callable[[bytes, int], Document]  # (bytes, greatest number of characters)


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
