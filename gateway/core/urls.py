"""Addresses: of pages to be read, and those in replies, live only where a passage shows them."""

import re
from collections.abc import Iterable, Iterator

from yarl import URL

# A URL runs on over letters of any script, as the platforms' own link finders do.
_SPECIAL = r"\s<>\"'`(){}|^\[\]，。、；：！？（）「」『』【】《》〈〉”“’‘…"
_REST = rf"(?:[^{_SPECIAL}]|\([^{_SPECIAL}]{{0,255}}+\)){{1,2048}}+"  # bounded, so is the time
_BEFORE_NAME = r"(?<![a-z0-9+.\-])"
_BEFORE_HOST = r"(?<![a-z0-9_./\\@:%=&?\-])"
_URL = re.compile(
    rf"""(?: {_BEFORE_NAME}[a-z0-9+.\-]++:
             (?: (?=[/\\]{{2}})
               | (?<=http:) | (?<=https:) | (?<=javascript:) | (?<=vbscript:) | (?<=mailto:)
               | (?<=data:)(?=[a-z]++/) )
           | (?<![a-z0-9])www\.
           | (?<![\w:/\\\]])(?=[/\\]{{2}}[^{_SPECIAL}/\\.]++\.)
           | {_BEFORE_HOST}(?:[a-z0-9\-]++\.)++[a-z]{{2,24}}(?=[/?]\S|:[0-9]++/)
         ){_REST}""",
    re.VERBOSE | re.IGNORECASE,
)
_HINT = re.compile(r"[:/\\?]|www\.", re.IGNORECASE)  # in every URL: most texts are done with it
_PLAIN = re.compile(r"[!-~]*")
_TRAILING = ".,;:!?*_~"
_LIVE = re.compile(r"[.:]")
ADDRESS_CHARS = 2_000
_HOST = re.compile(r"[0-9a-z._\-:]+")


def page_address(text: str) -> str | None:
    """The address of a page of the web in its normal form, or None where it is none (A6).

    Host in lower case and IDNA, no fragment, no port that goes without saying, path without dots,
    everything in ASCII. None: another scheme, credentials, no host, blanks, over 2,000 characters.
    """
    text = text.strip()
    if len(text) > ADDRESS_CHARS or not text.isprintable() or " " in text or "\\" in text:
        return None
    try:
        url = URL(text).with_fragment(None)
        host = (url.raw_host or "").rstrip(".")
        if url.scheme not in ("http", "https") or "@" in url.raw_authority or not url.port:
            return None
        if not _HOST.fullmatch(host):
            return None
        url = url.with_host(host).with_port(None if url.is_default_port() else url.port)
    except ValueError:
        return None
    address = str(url)
    return address if len(address) <= ADDRESS_CHARS else None


def same_page(address: str) -> str:
    """The same for addresses that differ by a slash at the end; for comparing only."""
    path, mark, query = address.partition("?")
    return path.rstrip("/") + mark + query


def readable_address(address: str) -> str:
    """The address as people write it; the host stays ASCII, where letters could deceive."""
    url = URL(address)
    return f"{url.origin()}{url.path}{'?' if url.query_string else ''}{url.query_string}"


def defang(text: str, presented_texts: Iterable[str]) -> str:
    """The text with every URL made harmless that stands in none of the passages (section 9.6).

    `https://evil.com/a.b` becomes `https[:]//evil[.]com/a[.]b`: legible, and no link on any
    channel, in a Markdown link or outside. A URL counts as standing in a passage only as a whole,
    so that nothing can be carried out in an added path, query or host. Where text without a blank
    follows a standing URL (`https://hr.corp/leave申請`) a blank is put in, so that no link finder
    takes the text for a part of it. Bare domains count where a path, query or port follows.
    """
    if not _HINT.search(text):
        return text
    standing = frozenset(key for shown in presented_texts for key in _keys(shown))
    out: list[str] = []
    at = 0
    while match := _URL.search(text, at):
        out.append(text[at : match.start()])
        address, plain = _address(match), _plain(match)
        if _key(address) in standing:
            out.append(address)
        elif _key(plain) in standing:
            address = plain
            out.append(f"{plain} ")
        else:
            out.append(_LIVE.sub(r"[\g<0>]", address))
        at = match.start() + len(address)
    return "".join(out) + text[at:]


def _keys(text: str) -> Iterator[str]:
    at = 0
    while match := _URL.search(text, at):
        address, plain = _address(match), _plain(match)
        yield _key(address)
        if "." in plain:  # not the bare `https://` before a host in another script
            yield _key(plain)
        at = match.start() + len(plain or address)


def _address(match: re.Match[str]) -> str:
    return match[0].rstrip(_TRAILING)


def _plain(match: re.Match[str]) -> str:
    """The part of a URL before the first letter that is not ASCII."""
    plain = _PLAIN.match(match[0])
    return plain[0].rstrip(_TRAILING) if plain else ""


def _key(address: str) -> str:
    return address.rstrip("/")
