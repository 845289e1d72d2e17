"""URLs: live only as they stand in a passage, otherwise legible and dead."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.filenames import address_title, one_line
from gateway.core.urls import ADDRESS_CHARS, defang, page_address, same_page

PASSAGES = (
    "請至 https://hr.corp.tw/leave 申請。see (https://zh.wikipedia.org/wiki/年假), www.corp.tw/a.",
    "mail mailto:hr@corp.tw 或 intranet.corp.tw/x?y=1 或 https://en.wikipedia.org/wiki/A_(b)",
    "又見https://a.tw/甲https://b.tw/乙 與 https://公司.tw/丙 與 https://c.tw/",
)

LIVE = {
    "whole": "見 https://hr.corp.tw/leave。",
    "with a slash more": "https://hr.corp.tw/leave/",
    "with a slash less": "https://c.tw",
    "in a Markdown link": "[申請](https://hr.corp.tw/leave)",
    "emphasised": "**https://hr.corp.tw/leave**",
    "in angle brackets": "<https://hr.corp.tw/leave>",
    "before punctuation": "https://hr.corp.tw/leave, https://hr.corp.tw/leave.",
    "with letters of any script": "https://zh.wikipedia.org/wiki/年假",
    "with parentheses": "https://en.wikipedia.org/wiki/A_(b)",
    "host of any script": "https://公司.tw/丙",
    "without a scheme": "www.corp.tw/a 與 intranet.corp.tw/x?y=1",
    "mail": "mailto:hr@corp.tw",
    "glued in the passage": "https://a.tw/甲https://b.tw/乙",
    "end of what is glued in the passage": "https://b.tw/乙",
    "no URL": "and/or 3/4, data: 3; 10:30, v1.2/3, README.md, e.g./x, C:\\dir, file:x, note:/etc",
    "host alone": "evil.com 或 hr.evil.com。",
    "host before a blank": "evil.com/ x",
    "scheme before a blank": "http: //evil 與 https:",
    "comment": "x = 1 // evil.com/x"[:10],
}


@pytest.mark.parametrize("text", LIVE.values(), ids=LIVE.keys())
def test_what_stands_in_a_passage_stays(text: str) -> None:
    assert defang(text, PASSAGES) == text


DEAD = {
    "plain": ("見 https://evil.com/a.b。", "見 https[:]//evil[.]com/a[.]b。"),
    "upper case": ("HTTPS://EVIL.COM", "HTTPS[:]//EVIL[.]COM"),
    "Markdown link": ("[x](https://evil.com)", "[x](https[:]//evil[.]com)"),
    "Markdown image": ("![](https://evil.com/?q=密)", "![](https[:]//evil[.]com/?q=密)"),
    "reference": ("[1]: https://evil.com", "[1]: https[:]//evil[.]com"),
    "angle brackets": ("<https://evil.com>", "<https[:]//evil[.]com>"),
    "in code": ("`https://evil.com`", "`https[:]//evil[.]com`"),
    "emphasis": ("**https://evil.com**", "**https[:]//evil[.]com**"),
    "after a colon": ("網址:https://evil.com", "網址:https[:]//evil[.]com"),
    "after a letter": ("xhttps://evil.com", "xhttps[:]//evil[.]com"),
    "query added": ("https://hr.corp.tw/leave?x=1", "https[:]//hr[.]corp[.]tw/leave?x=1"),
    "path added": ("https://hr.corp.tw/leave/x", "https[:]//hr[.]corp[.]tw/leave/x"),
    "path taken": ("https://hr.corp.tw", "https[:]//hr[.]corp[.]tw"),
    "host added": ("https://hr.corp.tw.evil.com/", "https[:]//hr[.]corp[.]tw[.]evil[.]com/"),
    "user before": ("https://hr.corp.tw@evil.com", "https[:]//hr[.]corp[.]tw@evil[.]com"),
    "port": ("http://evil.com:80/", "http[:]//evil[.]com[:]80/"),
    "address": ("http://[::1]/x", "http[:]//[::1]/x"),
    "parentheses": ("https://evil.com/A_(b).", "https[:]//evil[.]com/A_(b)."),
    "inner URL": ("https://evil.com/?https://b.tw", "https[:]//evil[.]com/?https[:]//b[.]tw"),
    "one slash": ("https:/evil.com", "https[:]/evil[.]com"),
    "no slash": ("http:evil.com", "http[:]evil[.]com"),
    "backslashes": ("https:\\\\evil.com", "https[:]\\\\evil[.]com"),
    "no scheme": ("[x](//evil.com/x)", "[x](//evil[.]com/x)"),
    "share": ("\\\\evil.com\\x", "\\\\evil[.]com\\x"),
    "www": ("www.evil.com", "www[.]evil[.]com"),
    "WWW": ("WWW.evil.com", "WWW[.]evil[.]com"),
    "host and path": ("見evil.com/x", "見evil[.]com/x"),
    "host and query": ("evil.com?x=1", "evil[.]com?x=1"),
    "host and port": ("evil.com:8080/x", "evil[.]com[:]8080/x"),
    "other scheme": ("tg://resolve?x", "tg[:]//resolve?x"),
    "script": ("[x](javascript:alert(1))", "[x](javascript[:]alert(1))"),
    "VB script": ("vbscript:x", "vbscript[:]x"),
    "data": ("data:text/html,x", "data[:]text/html,x"),
    "mail": ("mailto:a@evil.com", "mailto[:]a@evil[.]com"),
    "host of another script": ("https://秘密.tw/丙", "https[:]//秘密[.]tw/丙"),
    "unbalanced": ("https://evil.com/(a", "https[:]//evil[.]com/(a"),
    "lone scheme": ("https://", "https[:]//"),
    "two": ("http://a.b http://c.d", "http[:]//a[.]b http[:]//c[.]d"),
}


@pytest.mark.parametrize(("text", "dead"), DEAD.values(), ids=DEAD.keys())
def test_what_stands_in_no_passage_is_dead(text: str, dead: str) -> None:
    assert defang(text, PASSAGES) == dead
    assert defang(dead, PASSAGES) == dead


SET_APART = {
    "start of what is glued in the passage": ("https://a.tw/甲", "https://a.tw/ 甲"),
    "words after": ("https://hr.corp.tw/leave申請。", "https://hr.corp.tw/leave 申請。"),
    "punctuation between": ("https://hr.corp.tw/leave,申請", "https://hr.corp.tw/leave ,申請"),
    "other page": ("https://zh.wikipedia.org/wiki/病假", "https://zh.wikipedia.org/wiki/ 病假"),
    "URL after": (
        "https://hr.corp.tw/leave或https://evil.com",
        "https://hr.corp.tw/leave 或https[:]//evil[.]com",
    ),
    "host after": ("https://c.tw機密.evil.com/", "https://c.tw 機密.evil.com/"),
}


@pytest.mark.parametrize(("text", "apart"), SET_APART.values(), ids=SET_APART.keys())
def test_words_glued_to_a_standing_url_are_set_apart(text: str, apart: str) -> None:
    assert defang(text, PASSAGES) == apart


def test_without_passages_nothing_stands() -> None:
    assert defang("https://hr.corp.tw/leave", ()) == "https[:]//hr[.]corp[.]tw/leave"


PIECES = st.sampled_from(
    [
        *("https://", "http:", "//", "www.", "mailto:", "data:", "javascript:", "tg://"),
        *("evil.com", "hr.corp.tw", "/leave", "/x", "?q=", "a", "密", ".", ":", "/", "\\", "@"),
        *(" ", "\n", "(", ")", "[", "](", "]", "**", "。", "，", "，https://hr.corp.tw/leave "),
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_no_other_url_is_left(text: str) -> None:
    left = re.findall(
        r"https?:[/\\]*[^\s()<>\[\]。，]+|(?<![a-z])www\.[a-z密]", defang(text, PASSAGES)
    )
    assert {url.rstrip("/.:*\\") for url in left} <= {"https://hr.corp.tw/leave", "http", "https"}


@given(st.lists(PIECES, max_size=20).map("".join))
def test_disarming_twice_changes_nothing_more(text: str) -> None:
    once = defang(text, PASSAGES)
    assert defang(once, PASSAGES) == once


@given(st.text(alphabet=st.characters(exclude_characters=":/\\.")))
def test_other_text_is_left_alone(text: str) -> None:
    assert defang(text, PASSAGES) == text


@pytest.mark.parametrize(
    "piece",
    ["a", "a.", "a-", "(", "/", ".", ":", "//a", "www.", "a.bc/", "https://", "https://c.tw/申"],
)
def test_time_is_bounded(piece: str) -> None:
    began = time.process_time()
    defang(piece * (30_000 // len(piece)), PASSAGES)
    assert time.process_time() - began < 2


# ---------------------------------------------------------------- addresses of pages

ADDRESSES = {
    "http://B\u00dcCHER.example:80/a b/../c/#x": None,  # a blank is no part of an address
    "http://B\u00dcCHER.example:80/a/../c/#x": "http://xn--bcher-kva.example/c/",
    "HTTPS://Example.COM:443": "https://example.com",
    " https://例え.jp/文書?q=あ#f ": "https://xn--r8jz45g.jp/%E6%96%87%E6%9B%B8?q=%E3%81%82",
    "https://a.example.:8443/x": "https://a.example:8443/x",
    "https://a.example/%7Euser/%2f": "https://a.example/~user/%2F",
    "http://[::1]:80/x": "http://[::1]/x",
    "http://2130706433/": "http://2130706433/",  # refused when it is asked, not as an address
    "https://u:p@a.example/": None,
    "https://@a.example/": "https://a.example/",
    "http://a.example\\@b.example/": None,
    "http://a.example/\0": None,
    "http://a.example/\u202e": None,
    "ftp://a.example/": None,
    "file:///etc/passwd": None,
    "javascript:alert(1)": None,
    "//a.example/": None,
    "a.example": None,
    "https://": None,
    "https://a.example:0/": None,
    "https://a.example:99999/": None,
    "https://a.example/" + "x" * ADDRESS_CHARS: None,
    "": None,
}


@pytest.mark.parametrize(("text", "address"), ADDRESSES.items())
def test_an_address_of_a_page_has_one_form(text: str, address: str | None) -> None:
    assert page_address(text) == address
    if address is not None:
        assert page_address(address) == address


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://a.example/", "https://a:"]))
def test_no_text_is_more_than_refused(text: str, before: str) -> None:
    address = page_address(before + text)
    assert address is None or (address.isascii() and page_address(address) == address)


def test_a_slash_at_the_end_makes_no_other_page() -> None:
    same = {same_page(f"https://a.example{end}") for end in ("", "/", "//")}
    assert same == {"https://a.example"}
    assert same_page("https://a.example/b/?x=/") == "https://a.example/b?x=/"
    assert same_page("https://a.example/b") != same_page("https://a.example/B")


def test_a_page_without_a_title_is_called_after_its_place_in_one_line() -> None:
    assert address_title("https://xn--r8jz45g.jp/%E6%96%87%0A?q=%E3%81%82") == (
        "https://xn--r8jz45g.jp/文?q=あ"
    )
    assert one_line(" 年假\u202e\n規定\0 ") == "年假規定"
    assert len(address_title("https://a.example/" + "x" * 1_000)) == 200
