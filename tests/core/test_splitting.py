"""Parts: within the channel's unit, at good places, graphemes and code whole, the footer last."""

import time
from collections.abc import Sequence

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.core import markdown
from gateway.core.messages import Limits, Unit
from gateway.core.splitting import cut_to, split, units

NOTICE = "（以下省略）"
FOOTER = "來源\n[1] 手冊 · p. 3"
FAMILY = "👨\u200d👩\u200d👧"
ACCENTED = "e\u0301"
FLAG = "🇹🇼"
JAMO = "각"
HEART = "❤\ufe0f"


def limits(part_units: int, *, parts: int = 9, calls: int = 1, unit: Unit = Unit.UTF16) -> Limits:
    return Limits(unit, part_units, parts, part_units, max_calls=calls)


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", text)


# ---------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("text", "code_points", "utf16", "utf8"),
    [
        ("", 0, 0, 0),
        ("abc", 3, 3, 3),
        ("七日", 2, 2, 6),
        ("é", 1, 1, 2),
        ("😀", 1, 2, 4),
        (FAMILY, 5, 8, 18),
        ("\ud800", 1, 1, 3),
    ],
)
def test_units(text: str, code_points: int, utf16: int, utf8: int) -> None:
    counted = [units(text, unit) for unit in (Unit.CODE_POINTS, Unit.UTF16, Unit.BYTES)]
    assert counted == [code_points, utf16, utf8]


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("七日", 2, "七日"),
        ("七日", 1, "七"),
        (FAMILY * 2, 8, FAMILY),
        (FAMILY * 2, 15, FAMILY),
        (FAMILY, 7, ""),
        ("x", 0, ""),
        ("x", -1, ""),
    ],
)
def test_a_text_is_cut_between_graphemes(text: str, room: int, cut: str) -> None:
    assert cut_to(text, room, Unit.UTF16) == cut


# ---------------------------------------------------------------- short replies

SHORT = {
    "nothing": ("", "", ()),
    "blanks only": (" \n\t", " \n", ()),
    "body alone": ("七日。", "", ("七日。",)),
    "footer alone": ("", FOOTER, (FOOTER,)),
    "both": ("七日。", FOOTER, (f"七日。\n\n{FOOTER}",)),
    "letters at the ends": ("X七日X", "X", ("X七日X\n\nX",)),
    "blank ends": ("\n\n  七日。 \n", f"{FOOTER}\n", (f"  七日。\n\n{FOOTER}",)),
    "carriage returns": ("七日\r\n八日\r九日", "", ("七日\n八日\n九日",)),
    "lone surrogate": ("七\ud83d日", "\udc00", ("七\ufffd日\n\n\ufffd",)),
    "null": ("七\0日", "", ("七日",)),
    "open code": ("```py\nx", FOOTER, (f"```py\nx\n```\n\n{FOOTER}",)),
    "open tilde code": ("> ~~~~\n> x", "", ("> ~~~~\n> x\n> ~~~~",)),
    "closed code": ("```py\nx\n```", FOOTER, (f"```py\nx\n```\n\n{FOOTER}",)),
}


@pytest.mark.parametrize(("body", "footer", "parts"), SHORT.values(), ids=SHORT.keys())
def test_short_replies_are_one_part(body: str, footer: str, parts: tuple[str, ...]) -> None:
    assert split(body, footer, limits(100), NOTICE) == parts


@pytest.mark.parametrize("unit", Unit)
def test_a_part_may_be_full_to_the_last_unit(unit: Unit) -> None:
    body = "七日😀"
    size = units(f"{body}\n\nF", unit)
    assert split(body, "F", limits(size, unit=unit), NOTICE) == (f"{body}\n\nF",)
    assert split(body, "F", limits(size - 1, unit=unit), NOTICE) == (body, "F")
    alone = units(body, unit)
    assert split(body, "", limits(alone, unit=unit), NOTICE) == (body,)
    parts = split(body, "", limits(alone - 1, unit=unit), NOTICE)
    assert len(parts) == 2
    assert all(0 < units(part, unit) < alone for part in parts)


# ---------------------------------------------------------------- where cuts fall

CUTS = {
    "paragraph before line": ("aaaa\n\nbb\ncc", 9, ("aaaa", "bb\ncc")),
    "paragraph with blanks": ("aaaa\n  \nbb\ncc", 9, ("aaaa", "bb\ncc")),
    "the last paragraph": ("aaaa\n\nbb\n\ncccc", 10, ("aaaa\n\nbb", "cccc")),
    "no paragraph in the first half": ("a\n\nbbb. bb\ncccc", 12, ("a\n\nbbb. bb", "cccc")),
    "line before sentence": ("aaaa\nbb. cc", 9, ("aaaa", "bb. cc")),
    "line keeps indentation": ("- aaaa\n  - bb", 9, ("- aaaa", "  - bb")),
    "sentence before clause": ("aaaa. bb, ccc", 11, ("aaaa.", "bb, ccc")),
    "CJK sentence": ("一二三四。五六，七八", 9, ("一二三四。", "五六，七八")),
    "sentence with its quote": ("一二三。」四，五六", 8, ("一二三。」", "四，五六")),
    "English sentence with its quote": ('aaa?" bb, ccc', 11, ('aaa?"', "bb, ccc")),
    "sentence with its marks": ("一二三。[1][12]四五六", 13, ("一二三。[1][12]", "四五六")),
    "marks after a blank": ("aaaa. [1] bb, ccc", 15, ("aaaa. [1]", "bb, ccc")),
    "marks beyond the limit": ("一二三，四五。[1]六七", 8, ("一二三，", "四五。[1]六七")),
    "no sentence in a number": ("aaaa bb 3.5", 10, ("aaaa bb", "3.5")),
    "no sentence in dots": ("aaaa bb...c", 9, ("aaaa", "bb...c")),
    "clause before word": ("aaaa, bb ccc", 10, ("aaaa,", "bb ccc")),
    "CJK clause": ("一二三，四五六七", 7, ("一二三，", "四五六七")),
    "clause with its marks": ("一二三[1]，[2]四五六七八", 14, ("一二三[1]，[2]", "四五六七八")),
    "no clause in a number": ("aaaa bb 3,500", 12, ("aaaa bb", "3,500")),
    "word": ("aaaa bbb ccc", 10, ("aaaa bbb", "ccc")),
    "word at the limit": ("aaaa bbb ccc", 8, ("aaaa bbb", "ccc")),
    "full-width blank": ("aaaa\u3000bbbb", 6, ("aaaa", "bbbb")),
    "between CJK letters": ("一二三四五", 3, ("一二三", "四五")),
    "not inside a Latin word": ("一二三abcde", 6, ("一二三", "abcde")),
    "before a CJK letter": ("abcde三(bcdefg", 8, ("abcde", "三(bcdefg")),
    "after a CJK letter": ("abc三cdefgh", 8, ("abc三", "cdefgh")),
    "not inside a number": ("abcd三12345", 8, ("abcd三", "12345")),
    "no better place": ("abcdefgh", 5, ("abcde", "fgh")),
    "blanks at the cut": ("aaaa   \n  \n bb", 7, ("aaaa", " bb")),
    "blanks inside a line": ("aaaa      bb", 7, ("aaaa", "bb")),
    "more blanks than a part": ("aaaa" + " " * 20 + "bb", 7, ("aaaa", "bb")),
    "more indentation than a part": ("aaaa\n" + " " * 20 + "bb", 7, ("aaaa", "bb")),
    "more lines than a part": ("aaaa" + "\n" * 20 + "bb", 7, ("aaaa", "bb")),
}


@pytest.mark.parametrize(("body", "size", "parts"), CUTS.values(), ids=CUTS.keys())
def test_cuts_fall_at_the_best_place(body: str, size: int, parts: tuple[str, ...]) -> None:
    assert split(body, "", limits(size), NOTICE) == parts


@pytest.mark.parametrize(
    "grapheme", [FAMILY, ACCENTED, FLAG, JAMO, HEART, "1\ufe0f\u20e3", "👍🏽", " \u0301", "क्षि"]
)
@pytest.mark.parametrize("unit", Unit)
def test_graphemes_are_never_cut(grapheme: str, unit: Unit) -> None:
    body = "x" + grapheme * 20
    size = units(grapheme, unit) * 3 + 1
    for room in range(size, size * 2):
        parts = split(body, "", limits(room, parts=60, unit=unit), NOTICE)
        assert graphemes("".join(parts)) == graphemes(body)
        assert [g for part in parts for g in graphemes(part)] == graphemes(body)


def test_one_grapheme_longer_than_a_part_is_cut_between_code_points() -> None:
    body = "e" + "\u0301" * 9 + "😀" + "\u0301" * 4
    parts = split(body, "", limits(4), NOTICE)
    assert parts == (
        "e\u0301\u0301\u0301",
        "\u0301" * 4,
        "\u0301" * 2,
        "😀\u0301\u0301",
        "\u0301\u0301",
    )


def test_a_combining_mark_keeps_the_blank_it_stands_on() -> None:
    assert split("aaaa  \u0301bbb", "", limits(5), NOTICE) == ("aaaa", " \u0301bbb")


# ---------------------------------------------------------------- code

CODE = "```python\nx = 1\ny = 2\n\nz = 3\n```"


def test_code_is_closed_and_opened_again() -> None:
    lines = "\n".join(f"  line{n} = {n}" for n in range(12))
    body = f"程式：\n\n```python\n{lines}\n```\n\n完。"
    parts = split(body, FOOTER, limits(120), NOTICE)
    assert len(parts) == 2
    assert parts[0].startswith("程式：\n\n```python\n  line0 = 0\n")
    assert parts[0].endswith("\n```")
    assert parts[1].startswith("```python\n  line")
    assert parts[1].endswith(f"\n```\n\n完。\n\n{FOOTER}")
    code = [line for part in parts for line in part.split("\n") if "line" in line]
    assert "\n".join(code) == lines


def test_code_over_three_parts_keeps_its_marker_and_indentation() -> None:
    lines = [f"> x{n}" for n in range(60)]
    body = "\n".join(["> ~~~~ js", *lines, "> ~~~~"])
    parts = split(body, "", limits(160), NOTICE)
    assert len(parts) == 3
    assert all(part.startswith("> ~~~~ js\n> x") for part in parts)
    assert all(part.endswith("\n> ~~~~") for part in parts)
    assert [line for part in parts for line in part.split("\n")[1:-1]] == lines


@pytest.mark.parametrize("size", range(150, 190))
def test_code_that_begins_at_a_cut_begins_whole(size: int) -> None:
    body = "a" * 150 + "\n```py\n" + "b = 1\n" * 40 + "```"
    parts = split(body, "", limits(size, parts=20), NOTICE)
    assert all(is_closed(part) for part in parts)
    assert all(units(part, Unit.UTF16) <= size for part in parts)
    if size < 150 + len("\n```py\nb = 1\n```"):
        assert parts[0] == "a" * 150
    else:
        assert parts[0].startswith("a" * 150 + "\n```py\nb = 1")
    assert "".join(parts).count("b = 1") == 40
    assert all(part.startswith("```py\nb = 1\n") for part in parts[1:])


@pytest.mark.parametrize("size", range(72, 90))
def test_a_closing_line_is_neither_cut_nor_repeated(size: int) -> None:
    body = "```\n" + "b" * 68 + "\n```\n\n" + "a" * 68
    parts = split(body, "", limits(size), NOTICE)
    assert "".join(parts).count("b") == "".join(parts).count("a") == 68
    assert all(is_closed(part) for part in parts)
    assert all(units(part, Unit.UTF16) <= size for part in parts)
    assert "```\n```" not in "".join(parts)
    assert set(parts[-1]) == {"a"}
    whole = "```\n" + "b" * 68 + "\n```"
    assert (parts[0] == whole) == (size >= len(whole))


@pytest.mark.parametrize("size", range(72, 90))
def test_a_long_closing_line_is_neither_cut_nor_repeated(size: int) -> None:
    body = "```\n" + "b" * 66 + "\n``````\n  a\n" + "a" * 68
    parts = split(body, "", limits(size), NOTICE)
    assert "".join(parts).count("b") == 66
    assert all(is_closed(part) for part in parts)
    assert all(units(part, Unit.UTF16) <= size for part in parts)
    assert parts[-1].strip("a \n") == ""
    if size in (74, 75, 76):
        assert parts[0] == "```\n" + "b" * 66 + "\n```"
        assert parts[1] == "  a\n" + "a" * 68


def test_a_closing_line_is_not_cut_where_little_room_is_left() -> None:
    body = "```\nb\n" + "`" * 10 + "\n" + "a" * 90
    footer = "F" * 30
    part = f"```\nb\n```\n\nCUTCUTCU\n\n{footer}"
    assert split(body, footer, limits(56, parts=1), "CUTCUTCU") == (part,)


@pytest.mark.parametrize(("size", "is_reopened"), [(71, False), (72, True)])
def test_a_fence_takes_at_most_an_eighth_of_a_part(size: int, is_reopened: bool) -> None:
    body = "```py\n" + "b = 1\n" * 20 + "```"  # the two lines have 8 characters
    first, *_ = split(body, "", limits(size), NOTICE)
    assert is_closed(first) == is_reopened


def test_a_fence_with_a_long_opening_line_is_plain_text() -> None:
    body = f"```{'x' * 40}\n{'b ' * 60}\n```"
    parts = split(body, "", limits(80), NOTICE)
    assert "".join(parts).count("x" * 40) == 1


def is_closed(text: str) -> bool:
    return all(fence.inner_end < fence.end for fence in markdown.fences(text))


# ---------------------------------------------------------------- too long


def numbered(first: int, last: int) -> str:
    return "".join(f"第{n:02}句話。" for n in range(first, last))


def test_a_body_over_all_parts_is_cut_with_a_notice() -> None:
    parts = split(numbered(0, 20), FOOTER, limits(40, parts=3), NOTICE)
    assert parts == (
        numbered(0, 6),
        numbered(6, 12),
        f"{numbered(12, 14)}\n\n{NOTICE}\n\n{FOOTER}",
    )


def test_calls_multiply_parts() -> None:
    body = numbered(0, 20)
    pairs = tuple(numbered(n, n + 2) for n in range(0, 20, 2))
    assert split(body, "", limits(12, parts=2, calls=5), NOTICE) == pairs
    assert split(body, "", limits(12, parts=3, calls=3), "N") == (
        *pairs[:8],
        f"{numbered(16, 17)}\n\nN",
    )


def test_a_body_that_fits_gives_way_to_the_footer() -> None:
    parts = split("一二三四五。" * 4, FOOTER, limits(36, parts=1), NOTICE)
    assert parts == (f"一二三四五。\n\n{NOTICE}\n\n{FOOTER}",)


def test_the_notice_gives_way_before_the_footer() -> None:
    footer = "F" * 20
    assert split("一" * 99, footer, limits(27, parts=1), NOTICE) == (f"{'一' * 5}\n\n{footer}",)
    assert split("一" * 99, footer, limits(28, parts=1), NOTICE) == (f"{NOTICE}\n\n{footer}",)
    assert split("一" * 99, footer, limits(20, parts=1), NOTICE) == (footer,)


def test_cut_code_is_closed_before_the_notice() -> None:
    body = "```\n" + "b = 1\n" * 40 + "```"
    parts = split(body, FOOTER, limits(80, parts=2), NOTICE)
    assert len(parts) == 2
    assert parts[1].startswith("```\nb = 1\n")
    assert parts[1].endswith(f"b = 1\n```\n\n{NOTICE}\n\n{FOOTER}")


# ---------------------------------------------------------------- properties

PIECES = st.sampled_from(
    [
        *("a", "字", "。", "，", ". ", " ", "  ", "\n", "\n\n", "[1]", "\t", "word ", "\u3000"),
        *(FAMILY, ACCENTED, FLAG, "🇯", JAMO, HEART, "\u0301", "\u200d", "😀", "\r\n", "\0"),
        *("```\n", "\n```\n", "\n```py\n", "~~~\n", "> ", "- ", "`", "x" * 30, "字" * 30),
    ]
)
BODIES = st.lists(PIECES, max_size=80).map("".join)
FOOTERS = st.sampled_from(["", FOOTER, "F" * 20])
SIZES = st.integers(24, 300)
ROOM_FOR_FENCES = 150  # the pieces' longest opening and closing lines fit into an eighth of it


@given(BODIES, FOOTERS, SIZES, st.integers(1, 5), st.sampled_from(Unit))
def test_parts_keep_to_the_limits(
    body: str, footer: str, size: int, count: int, unit: Unit
) -> None:
    size *= 3 if unit is Unit.BYTES else 1
    parts = split(body, footer, limits(size, parts=count, unit=unit), "…")
    assert len(parts) <= count
    assert all(part.strip() for part in parts)
    assert all(units(part, unit) <= size for part in parts)
    if footer:
        assert parts[-1].endswith(footer)
        assert sum(part.count(footer) for part in parts) == 1
    if size >= ROOM_FOR_FENCES:
        assert all(is_closed(part) for part in parts)


def squeezed(texts: Sequence[str]) -> str:
    return "".join("".join(texts).replace("\0", "").split())


@given(st.lists(PIECES.filter(lambda p: "`" not in p and "~" not in p), max_size=60), SIZES)
def test_the_whole_body_arrives(pieces: list[str], size: int) -> None:
    body = "".join(pieces)
    parts = split(body, FOOTER, limits(size, parts=500), NOTICE)
    expected = squeezed([body.replace("\0", ""), FOOTER])
    assert squeezed(parts) == expected


@given(BODIES, SIZES)
@example("```\n" + "字" * 30, 24)
def test_no_grapheme_is_cut(body: str, size: int) -> None:
    parts = split(body, "", limits(size, parts=500, unit=Unit.CODE_POINTS), NOTICE)
    whole = split(body, "", limits(10**6, unit=Unit.CODE_POINTS), NOTICE)
    known = set(graphemes("".join(whole))) | {"\n", "`"}
    assert all(grapheme in known for part in parts for grapheme in graphemes(part))


@pytest.mark.parametrize(
    "piece", ["字", "a", "\u0301", "```\n", FAMILY, " ", ".", "[1]", "x\n", "🇹🇼"]
)
def test_thirty_thousand_characters_take_little_time(piece: str) -> None:
    began = time.process_time()
    split(piece * (30_000 // len(piece)), "F" * 1000, limits(5000, parts=5), NOTICE)
    assert time.process_time() - began < 2
