"""XML from a document's parts: no DTD, no entity, no network, bounded depth."""

import re
from collections.abc import Mapping
from typing import Any

from lxml import etree

from gateway.extract.reading import refuse

MAX_DEPTH = 200
_DECLARATIONS = ("<!DOCTYPE", "<!ENTITY")
_PARSER_OPTIONS = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
_NUMBER_CHARS = 6
_LIMIT_WORDS = ("depth", "huge")  # in what the parser says of its own limits
_TOO_DEEP = etree.XPath(f"boolean({'/*' * (MAX_DEPTH + 1)})")  # one pass, not in Python
_STRICT = re.compile(rb"([\"'])http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
_TRANSITIONAL = rb"\1http://schemas.openxmlformats.org/\2/2006/\3"


def parse(data: bytes) -> Any:
    """The root element. ExtractionError: `document_limits`, or `extract_crashed` if broken."""
    codecs = ("utf-16-le", "utf-16-be") if 0 in data[:4] else ("ascii",)
    if any(word.encode(codec) in data for word in _DECLARATIONS for codec in codecs):
        raise refuse("document_limits", "a document type declaration")
    try:
        root = etree.fromstring(data, etree.XMLParser(**_PARSER_OPTIONS))
    except etree.XMLSyntaxError as error:
        is_limit = any(word in str(error).lower() for word in _LIMIT_WORDS)
        raise refuse("document_limits" if is_limit else "extract_crashed") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise refuse("document_limits", "a document type declaration in another encoding")
    if _TOO_DEEP(root):
        raise refuse("document_limits", "elements are nested too deeply")
    return root


def parse_office(data: bytes) -> Any:
    """The same for a part of Office: names of the strict standard become the usual ones."""
    return parse(_STRICT.sub(_TRANSITIONAL, data) if b"purl.oclc.org" in data else data)


def child(element: Any | None, tag: str) -> Any | None:
    """The first child with that tag, or None; much faster than a path."""
    return None if element is None else next(element.iterchildren(tag), None)


def leading(element: Any, tag: str) -> Any | None:
    """The first child if it has that tag, as properties must; faster still."""
    if len(element):
        first = element[0]
        if first.tag == tag:
            return first
    return None


def first_tag(head: bytes) -> str:
    """The name of the root element without its name space, from the beginning of a part."""
    parser = etree.XMLPullParser(events=("start",), **_PARSER_OPTIONS)
    try:
        parser.feed(head)
        tag = next((element.tag for _, element in parser.read_events()), "")
    except etree.XMLSyntaxError:
        return ""
    return str(tag).rpartition("}")[2]


def number(value: str | None) -> int | None:
    """A small number that is not negative, as the file may claim it, or None."""
    if value is None or len(value) > _NUMBER_CHARS or not value.isascii() or not value.isdigit():
        return None
    return int(value)


def number_in(values: Mapping[str, str], name: str, default: int) -> int:
    """Such a number in an element's attributes."""
    found = number(values.get(name))
    return default if found is None else found
