"""Parts counted as they are once & < > are written as entities: within the limit, nothing lost."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.messages import Limits, Unit
from gateway.core.splitting import cut_to, split, units

FOOTER = "來源\n[1] <b> & co · p. 3"
NOTICE = "…"


def escaped(text: str) -> str:
    return html.escape(text, quote=False)


def limits(size: int, parts: int = 500) -> Limits:
    return Limits(Unit.SLACK_ESCAPED, size, parts, size)


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 0), ("a", 1), ("&", 5), ("<>", 8), ("😀&", 7), ("&amp;", 9), ("\ud800", 1)],
)
def test_entities_count_whole(text: str, size: int) -> None:
    assert units(text, Unit.SLACK_ESCAPED) == size


@pytest.mark.parametrize(
    ("text", "room", "cut"), [("a&b", 5, "a"), ("a&b", 6, "a&"), ("<<", 7, "<"), ("&", 4, "")]
)
def test_a_cut_never_falls_into_an_entity(text: str, room: int, cut: str) -> None:
    assert cut_to(text, room, Unit.SLACK_ESCAPED) == cut


@pytest.mark.parametrize(
    ("body", "parts"), [("&" * 900, 2), ("<" * 1500, 2), (">" * 975, 1), (">" * 976, 2)]
)
def test_many_entities_make_more_parts(body: str, parts: int) -> None:
    found = split(body, "", limits(3900), NOTICE)
    assert len(found) == parts
    assert "".join(found) == body


TEXTS = st.text(alphabet="&<>a 七。\n😀e\u0301👨\u200d👩`", max_size=200)


@given(TEXTS, st.sampled_from(["", FOOTER]), st.integers(60, 300))
def test_parts_keep_to_the_limit_as_they_go_out(body: str, footer: str, size: int) -> None:
    for part in split(body, footer, limits(size), NOTICE):
        assert (
            units(part, Unit.SLACK_ESCAPED) == len(escaped(part).encode("utf-16-le")) // 2 <= size
        )


@given(TEXTS.filter(lambda text: "`" not in text), st.integers(60, 300))
def test_the_whole_body_arrives(body: str, size: int) -> None:
    parts = split(body, FOOTER, limits(size), NOTICE)
    assert "".join("".join(parts).split()) == "".join(f"{body}{FOOTER}".split())


@given(TEXTS, st.integers(60, 300))
def test_no_grapheme_is_cut(body: str, size: int) -> None:
    parts = split(body, "", limits(size), NOTICE)
    assert not any(part.startswith(("\u0301", "\u200d")) for part in parts[1:])


@given(TEXTS, st.integers(60, 120), st.integers(1, 3))
def test_a_body_over_all_parts_keeps_its_footer(body: str, size: int, count: int) -> None:
    parts = split(body, FOOTER, limits(size, count), NOTICE)
    assert len(parts) <= count
    assert parts[-1].endswith(FOOTER)
