"""Plain text: paragraphs between blank lines."""

import re
from collections.abc import Iterator

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.extract.encodings import decode
from gateway.extract.reading import Document, ReadOptions, bounded, refuse

_BLANK_LINES = re.compile(r"\n[ \t\u3000]*\n\s*")
BYTES_A_CHAR = 4  # the most that any encoding takes


def read_text(data: bytes, options: ReadOptions) -> Document:
    """Paragraphs of a text in any encoding that can be told."""
    blocks = (Block(part, Locator()) for part in _BLANK_LINES.split(text_of(data, options)))
    return Document(bounded(blocks, options.max_chars), "text/plain")


def text_of(data: bytes, options: ReadOptions) -> str:
    """The decoded file with line feeds for line ends; refused where it can't be plain text."""
    if len(data) > options.max_chars * BYTES_A_CHAR:
        raise refuse("too_many_chars")
    text = decode(data)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if _is_binary(text):
        raise refuse("unsupported_format")
    return text


def lines_of(text: str) -> Iterator[str]:
    """Lines without their ends; only a line feed ends a line."""
    yield from text.split("\n")


def _is_binary(text: str) -> bool:
    controls = sum(text.count(chr(code)) for code in range(32) if chr(code) not in "\t\n\f\x1b")
    return controls * 50 > len(text)
