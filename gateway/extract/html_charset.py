"""Which encoding a page is in: mark, transport, its own word, then detection over the whole."""

import re
from collections.abc import Iterator, Sequence

from gateway.errors import ExtractionError
from gateway.extract.charset_labels import codecs_of
from gateway.extract.encodings import decode, non_ascii, strict, without_mark

# the standard's parser looks at 1,024 bytes and starts again for a meta element that comes later
SCANNED = 65_536
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<name>/?[a-z][^\s/>]{0,50})(?P<attributes>[^>]{0,900})>"
    r"|<[!/?][^>]{0,2000}>",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"([^\s/>=\"']{1,50})(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?", re.DOTALL
)
_CHARSET = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_XML = re.compile(r"\s{0,9}<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([^\"'>]{1,40})[\"']")
_FEW, _MANY = 0.01, 0.1  # of what isn't ASCII can't be decoded: dirt; and the most that is kept
_PRIVATE = re.compile("[\ue000-\uf8ff\ufffd]")  # what no encoding has for text
_STRAY_NULS = 100  # one in so many bytes is dirt in a narrow text, not a wide one


def page_text(data: bytes, declared: str) -> str:
    """The page as text; `declared` by the transport. ExtractionError: `encoding_unknown`.

    What declares an encoding is not believed where the bytes can't be in it.
    """
    marked = without_mark(data)
    if marked is not None:
        rest, codec = marked
        return rest.decode(codec, "replace")
    labels = (declared, _narrow(_meta_label(data)), _narrow(_xml_label(data)))
    chains = [chain for chain in map(codecs_of, labels) if chain and _may_be(data, chain)]
    for chain in chains:
        text = _fitting(data, chain, _FEW)
        if text is not None:
            return text
    try:
        return decode(data)
    except ExtractionError:
        for chain in chains:
            text = _fitting(data, chain, _MANY)
            if text is not None:
                return text
        raise


def _fitting(data: bytes, chain: Sequence[str], share: float) -> str | None:
    most = share * non_ascii(data)
    for codec in chain:
        text = strict(data, codec)
        if text is not None and len(_PRIVATE.findall(text)) <= most:
            return text
    text = data.decode(chain[0], "replace")
    return text if len(_PRIVATE.findall(text)) <= most else None


def _may_be(data: bytes, chain: Sequence[str]) -> bool:
    """Only wide encodings have zeros in them, one in each tag's letters."""
    is_wide = data.count(0) * _STRAY_NULS > len(data)
    return chain[0].startswith("utf-16") == is_wide


def _narrow(label: str) -> str:
    """What could be read as ASCII is in none of the wide encodings, whatever it says."""
    return "utf-8" if (codecs_of(label) or ("",))[0].startswith("utf-16") else label


def _xml_label(data: bytes) -> str:
    match = _XML.match(data[:300].decode("latin-1"))
    return match[1] if match else ""


def _meta_label(data: bytes) -> str:
    """The first encoding that a meta element names and that is known."""
    head = data[:SCANNED].decode("latin-1")
    for tag in _TAG.finditer(head):
        if tag["name"] and tag["name"].lower() == "meta":
            for label in _labels(dict(_attributes(tag["attributes"]))):
                if codecs_of(label):
                    return label
    return ""


def _attributes(text: str) -> Iterator[tuple[str, str]]:
    found = list(_ATTRIBUTE.finditer(text))
    for match in reversed(found):  # so that the first of two of a name holds
        yield match[1].lower(), match[2] or match[3] or match[4] or ""


def _labels(attributes: dict[str, str]) -> Iterator[str]:
    yield attributes.get("charset", "")
    match = _CHARSET.search(attributes.get("content", ""))
    if match and attributes.get("http-equiv", "").strip().lower() == "content-type":
        yield match[1] or match[2] or match[3] or ""
