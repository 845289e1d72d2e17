"""What a .docx keeps beside its body: notes, headers and footers."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gateway.extract.docx_styles import W
from gateway.extract.packages import Package


class Notes:
    """Footnotes and endnotes, numbered in the order in which they come; each comes once."""

    def __init__(self, package: Package, part: str) -> None:
        self._elements: Mapping[tuple[str, str], Any] = dict(_notes(package, part))
        self._seen: set[tuple[str, str]] = set()

    def take(self, key: tuple[str, str]) -> tuple[str, Any] | None:
        """(mark, element) of the note with that kind and id, the first time it is asked for."""
        element = self._elements.get(key)
        if element is None or key in self._seen:
            return None
        self._seen.add(key)
        return f"※{len(self._seen)}", element


def _notes(package: Package, part: str) -> Iterator[tuple[tuple[str, str], Any]]:
    for kind in ("footnote", "endnote"):
        root = package.companion(part, f"{kind}s")
        for note in () if root is None else root.iter(f"{W}{kind}"):
            if note.get(f"{W}type") in {None, "normal"}:  # others are separator lines
                yield (kind, note.get(f"{W}id", "")), note


def edges(package: Package, part: str, kind: str) -> Iterator[Any]:
    """The roots of all headers or footers that the document uses."""
    names = package.related(part, kind)
    if not package.relations(part):
        folder = re.escape(posixpath.dirname(part))
        usual = re.compile(rf"{folder}/{kind}\d*\.xml")
        names = sorted(name for name in package.names if usual.fullmatch(name))
    for name in names:
        root = package.root(name)
        if root is not None:
            yield root
