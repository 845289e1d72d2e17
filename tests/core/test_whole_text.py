"""A whole document's text and windows of it."""

import regex
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.documents import Block
from gateway.core.passages import Locator
from gateway.core.whole_text import place_of, whole_of, window

TEXTS = st.text(st.sampled_from("ab\n 請假\u0301\u200d👩👧🇹🇼か\u3099\r"), max_size=60)


def row(text: str, number: int, header: str = "name | days") -> Block:
    return Block(text, Locator(sheet="S", row=number, row_end=number), is_row=True, header=header)


def test_blocks_are_lines_and_a_header_stands_once_above_its_rows() -> None:
    whole = whole_of(
        [
            Block("Leave", Locator(page=1), heading_level=1),
            row("Lin | 7", 2),
            row("Wu | 9", 3),
            Block("  \n", Locator(page=2)),
            Block("After", Locator(page=2)),
            row("Ito | 1", 2, "other"),
        ]
    )
    assert whole.text == "Leave\nname | days\nLin | 7\nWu | 9\nAfter\nother\nIto | 1"


@given(st.lists(TEXTS, max_size=6))
def test_each_place_begins_where_its_block_begins(texts: list[str]) -> None:
    whole = whole_of(Block(text, Locator(page=n)) for n, text in enumerate(texts, 1))
    kept = {n: text.strip() for n, text in enumerate(texts, 1) if text.strip()}
    found = {place.page: whole.text[at:] for at, place in whole.places}
    assert found.keys() == kept.keys()
    assert all(found[n].startswith(text) for n, text in kept.items())


@given(TEXTS, st.integers(1, 20))
def test_windows_one_after_the_other_are_the_text(text: str, limit: int) -> None:
    at, seen = 0, ""
    while at < len(text):
        part = window(text, at, limit)
        assert 0 < len(part) <= limit
        seen, at = seen + part, at + len(part)
    assert seen == text


@given(TEXTS, st.integers(1, 20))
def test_a_window_ends_on_a_grapheme_border_unless_its_first_grapheme_is_longer(
    text: str, limit: int
) -> None:
    part = window(text, 0, limit)
    borders = {0, *(found.end() for found in regex.finditer(r"\X", text))}
    first = min(borders - {0}, default=0)
    assert len(part) in borders or first > limit


def test_a_window_tells_from_where_to_where_it_stands() -> None:
    pages = [Block("x" * 10, Locator(page=n)) for n in range(1, 5)]
    whole = whole_of(pages)
    assert place_of(whole, 0, 10) == "p. 1"
    assert place_of(whole, 5, 25) == "p. 1–3"
    assert place_of(whole, 33, 43) == "p. 4"
    assert place_of(whole_of([]), 0, 0) == ""
    rows = whole_of([row("a", 2), row("b", 3)])
    assert place_of(rows, 0, len(rows.text)) == "S row 2–3"
