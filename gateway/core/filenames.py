"""What a file's name becomes: a title that is one line, shows what it is and leads nowhere."""

import re
import unicodedata

from gateway.core.cutting import cut
from gateway.core.urls import readable_address

TITLE_CHARS = 200
# what a folder's files are told by (A7); what a file really is, its content says
READABLE = (
    ".pdf", ".docx", ".xlsx", ".xls", ".pptx", ".csv", ".tsv", ".txt", ".md", ".markdown",
    ".html", ".htm", ".xhtml", ".rtf", ".docm", ".dotx", ".xlsm", ".pptm", ".ppsx", ".smi",
)  # fmt: skip
UNNAMED = "document"
_SEPARATORS = re.compile(r"[/\\]")
# characters that turn the direction of what follows: "a\u202efdp.exe" would show as a pdf
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}$")


def title_of(name: str) -> str:
    """The last part of a path, without control characters, at most 200 characters long.

    The extension survives shortening. A name with nothing left becomes "document".
    """
    last = _SEPARATORS.split(_shown(name).rstrip("/\\ "))[-1].strip(" .")
    if not last:
        return UNNAMED
    extension = _EXTENSION.search(last)
    end = extension[0] if extension else ""
    return cut(last[: len(last) - len(end)], TITLE_CHARS - len(end)) + end


def one_line(title: str) -> str:
    """What a page calls itself, or where it stands: one line of at most 200 characters."""
    return cut(_shown(title).strip(), TITLE_CHARS)


def address_title(address: str) -> str:
    """The title of a page that has no other: where it stands, with the slashes of an address."""
    return one_line(readable_address(address))


def _shown(name: str) -> str:
    kept = "".join(c for c in _DIRECTIONS.sub("", name) if unicodedata.category(c) not in _UNSEEN)
    return " ".join(unicodedata.normalize("NFC", kept).split())


_UNSEEN = frozenset({"Cc", "Cs", "Cn", "Zl", "Zp"})
