"""What a .docx keeps beside its body: heading styles, notes, headers and footers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gateway.extract.archives import Archive
from gateway.extract.xml import parse

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
TRANSITIONAL = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_HEADING_NAME = re.compile(r"(?:heading|標題|标题|見出し)\s*([1-6])", re.IGNORECASE)
MAX_STYLE_CHAIN = 20


def root_of(archive: Archive, name: str) -> Any | None:
    """The part's root element in the transitional name space, or None."""
    data = archive.find(name)
    return None if data is None else parse(data.replace(STRICT, TRANSITIONAL))


def heading_levels(archive: Archive) -> Mapping[str, int]:
    """Style id -> heading level 1 to 6, through the styles a style is based on."""
    root = root_of(archive, "word/styles.xml")
    if root is None:
        return {}
    styles = {style.get(f"{W}styleId"): style for style in root.iter(f"{W}style")}
    levels = ((name, _style_level(styles, name)) for name in styles if name)
    return {name: level for name, level in levels if level}


def _style_level(styles: Mapping[str, Any], name: str | None) -> int | None:
    for _ in range(MAX_STYLE_CHAIN):
        style = styles.get(name or "")
        if style is None:
            return None
        shown = attribute(style, "name") or ""
        match = _HEADING_NAME.fullmatch(shown)
        if match:
            return int(match[1])
        if shown.lower() == "title":
            return 1
        level = outline_level(style)
        if level is not None:
            return level
        name = attribute(style, "basedOn")
    return None


def outline_level(element: Any) -> int | None:
    """The outline level in an element's paragraph properties, 1 to 6."""
    found = element.find(f"{W}pPr/{W}outlineLvl")
    value = "" if found is None else found.get(f"{W}val", "")
    return int(value) + 1 if value in {"0", "1", "2", "3", "4", "5"} else None


def attribute(element: Any, name: str) -> str | None:
    """The `val` of a child element."""
    child = element.find(f"{W}{name}")
    return None if child is None else child.get(f"{W}val")


def notes(archive: Archive) -> Mapping[tuple[str, str], Any]:
    """(kind, id) -> the note's element, for footnotes and endnotes."""
    found: dict[tuple[str, str], Any] = {}
    for kind in ("footnote", "endnote"):
        root = root_of(archive, f"word/{kind}s.xml")
        if root is not None:
            for note in root.iter(f"{W}{kind}"):
                if note.get(f"{W}type") in {None, "normal"}:  # others are separator lines
                    found[kind, note.get(f"{W}id", "")] = note
    return found


def edges(archive: Archive, kind: str) -> Iterator[Any]:
    """The roots of all headers or footers, in the order of their names."""
    for name in sorted(archive.names):
        if re.fullmatch(rf"word/{kind}\d*\.xml", name):
            root = root_of(archive, name)
            if root is not None:
                yield root
