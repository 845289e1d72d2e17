"""Web pages: the text that their readers see, in blocks, without menus, scripts and styles."""

import re

from lxml import etree

from gateway.core.documents import Block
from gateway.extract.html_charset import page_text
from gateway.extract.html_page import Page
from gateway.extract.reading import Document, ReadOptions, bounded, refuse

MEDIA_TYPE = "text/html"
_XHTML = re.compile(
    r"\s*<\?xml|[^>]{0,200}<!doctype[^>]{0,100}xhtml|\s*<html[^>]{0,200}xmlns", re.I
)
# as XML these are empty; a parser of HTML would take all that follows for their text
_EMPTY = re.compile(
    r"<(script|style|title|iframe|textarea|noscript|template|div|span|p|a|td|th|li)(\s[^<>]*)?/>",
    re.I,
)


def read_web_page(data: bytes, options: ReadOptions) -> Document:
    """Blocks and title of a page; its own style rules hide text as in a browser."""
    text = page_text(data, options.charset)
    title, blocks = _parsed(text)
    return Document(bounded(blocks, options.max_chars), MEDIA_TYPE, title=title)


def _parsed(text: str) -> tuple[str, list[Block]]:
    """The parser calls the page for each tag, so that no tree is built, however deep it were."""
    text = text.replace("\0", "")
    if _XHTML.match(text[:1000]):
        text = _EMPTY.sub(r"<\1\2></\1>", text)
    page = Page()
    parser = etree.HTMLParser(
        target=page,
        encoding="utf-8",
        huge_tree=False,
        no_network=True,
        recover=True,
    )
    try:
        found: tuple[str, list[Block]] = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise refuse("document_limits") from error
    if any(entry.level == etree.ErrorLevels.FATAL for entry in parser.error_log):
        raise refuse("document_limits", "a part of the page is over the parser's limit")
    return found
