"""XML from a document's parts: no DTD, no entity, no network, bounded depth."""

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
_LIMIT_WORDS = ("depth", "huge")  # in what the parser says of its own limits


def parse(data: bytes) -> Any:
    """The root element. ExtractionError: `document_limits`, or `extract_crashed` if broken."""
    for word in _DECLARATIONS:
        if any(word.encode(codec) in data for codec in ("ascii", "utf-16-le", "utf-16-be")):
            raise refuse("document_limits", "a document type declaration")
    try:
        root = etree.fromstring(data, etree.XMLParser(**_PARSER_OPTIONS))
    except etree.XMLSyntaxError as error:
        is_limit = any(word in str(error).lower() for word in _LIMIT_WORDS)
        raise refuse("document_limits" if is_limit else "extract_crashed") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise refuse("document_limits", "a document type declaration in another encoding")
    _check_depth(root)
    return root


def _check_depth(root: Any) -> None:
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise refuse("document_limits", "elements are nested too deeply")
