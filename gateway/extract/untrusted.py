"""What the reading child wrote is untrusted: decode by type, check ranges, clean the text."""

import re
from collections.abc import Iterator

import msgspec

from gateway.core.cutting import cut
from gateway.core.documents import Block, Extracted, SourceWarning
from gateway.core.passages import Locator
from gateway.errors import ExtractionError
from gateway.extract.wire import Answer, Begun, Progress, Read, Refused, WireBlock, frames

# what a reader may refuse with; every other code is the gateway's own to give
REFUSALS = frozenset(
    {
        "unsupported_format",
        "legacy_office",
        "encrypted",
        "no_text_layer",
        "empty_text",
        "encoding_unknown",
        "document_limits",
        "too_many_chars",
        "extract_crashed",
        "extract_oom",
        "sandbox_unavailable",
    }
)
WARNINGS = frozenset(
    {"pages_without_text", "garbled_text", "uncached_formula", "hidden_content_skipped"}
)
MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,80}")
MAX_PAGES = 100_000
MAX_ROW = 10_000_000
MAX_WARNED_PAGES = 1_000
TITLE_CHARS = 200  # of a document's title, a sheet's name or a warning's detail


class IsPicture(ExtractionError):
    """An image file: only OCR can read it."""


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def accept(data: bytes, max_chars: int, *, may_be_empty: bool = False) -> Extracted:
    """The document in the child's output. ExtractionError: refused, or not what was agreed.

    A single page `may_be_empty`, a document may not.
    """
    try:
        begun, *between, answer = frames(data)
        is_sandboxed = msgspec.msgpack.decode(begun, type=Begun).is_sandboxed
        for told in between:
            msgspec.msgpack.decode(told, type=Progress)
        said: Answer = msgspec.msgpack.decode(answer, type=Read | Refused)
    except (ValueError, msgspec.MsgspecError) as error:
        raise ExtractionError("the reader's output does not decode") from error
    if isinstance(said, Refused):
        refused = IsPicture if said.is_picture else ExtractionError
        raise refused("refused by the reader", code=known_refusal(said.code))
    blocks = tuple(_blocks(said))
    if sum(len(block.text) for block in blocks) > max_chars:
        raise ExtractionError("over the limit of characters", code="too_many_chars")
    if not may_be_empty and not any(
        character.isalnum() for block in blocks for character in block.text
    ):
        raise ExtractionError("no letter in the document", code="empty_text")
    return Extracted(
        blocks=blocks,
        media_type=_media_type(said.media_type),
        title=_name(said.title),
        warnings=tuple(_warnings(said)),
        pages=said.pages,
        is_sandboxed=is_sandboxed,
        pictured=tuple(_pictured(said)),
    )


def clean(text: str) -> str:
    """Without control characters; line ends as line feeds, other separators as blanks."""
    return _CONTROLS.sub(_replaced, text.replace("\r\n", "\n"))


def _replaced(match: re.Match[str]) -> str:
    return "\n" if match[0] in "\r\x0b\x0c\x85\u2028\u2029" else ""


def known_refusal(code: str) -> str:
    """The code itself where a child may give it; every other one means that it went wrong."""
    return code if code in REFUSALS else "extract_crashed"


def _media_type(said: str) -> str:
    return said if MEDIA_TYPE.fullmatch(said) else "application/octet-stream"


def _blocks(said: Read) -> Iterator[Block]:
    pages = said.pages if said.pages is not None else 0
    _within(pages, MAX_PAGES)
    headers = tuple(clean(header) for header in said.headers)
    sheets = tuple(_name(sheet) for sheet in said.sheets)
    for block in said.blocks:
        _within(block.page, pages)
        _within(block.row, MAX_ROW)
        _within(block.heading_level, 6)
        _within(block.header, len(headers))
        _within(block.slide, MAX_PAGES)
        _within(block.sheet, len(sheets))
        text = clean(block.text)
        if text.strip():
            header = headers[block.header - 1] if block.header else ""
            yield _block(block, text, header, sheets[block.sheet - 1] if block.sheet else None)


def _block(block: WireBlock, text: str, header: str, sheet: str | None) -> Block:
    locator = Locator(
        page=block.page or None,
        slide=block.slide or None,
        sheet=sheet,
        row=block.row or None,
        row_end=block.row or None,
    )
    return Block(text, locator, block.heading_level or None, block.is_row, header)


def _warnings(said: Read) -> Iterator[SourceWarning]:
    for warning in said.warnings[: len(WARNINGS)]:
        for page in warning.pages:
            _within(page, said.pages or 0)
        if warning.code in WARNINGS:
            pages = warning.pages[:MAX_WARNED_PAGES]
            yield SourceWarning(warning.code, pages, _name(warning.detail))


def _pictured(said: Read) -> Iterator[int]:
    for page in said.pictured[:MAX_WARNED_PAGES]:
        _within(page, said.pages or 0)
        yield page


def _name(text: str) -> str:
    return cut(" ".join(clean(text).split()), TITLE_CHARS)


def _within(number: int, greatest: int) -> None:
    if not 0 <= number <= greatest:
        raise ExtractionError("the reader named a place outside the document")
