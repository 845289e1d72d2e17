"""Footers: who is cited, in what order, whole within the limit and harmless."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from gateway.core import footer
from gateway.core.excerpts import clip
from gateway.core.footer import build, neutralise, views
from gateway.core.messages import CitationView, Limits, Unit
from gateway.core.passages import Locator, Passage
from gateway.core.splitting import units

MORE = "另有 {count} 份來源"
QUESTION = "特休有幾天？"


def passage(
    number: int,
    source: str = "a",
    title: str = "員工手冊.docx",
    text: str = "總則。特別休假七日。",
    locator: Locator = Locator(page=3),  # noqa: B008
) -> Passage:
    return Passage(number, "hr", source, "r1", 0, title, text, locator)


def limits(size: int = 1200, unit: Unit = Unit.UTF16, *, has_markdown: bool = False) -> Limits:
    return Limits(unit, 5000, 5, size, has_markdown=has_markdown)


def test_one_line_a_source_and_the_excerpt_of_its_lowest_number() -> None:
    cited = {
        4: passage(4, text="病假。", locator=Locator(page=9)),
        2: passage(2, "b", "Leave.md", "Leave is seven days.", Locator(heading=("HR", "Leave"))),
        1: passage(1),
        3: passage(3, "b", "Leave.md", "x", Locator(heading=("HR", "Leave"))),
        5: passage(5, "c", "faq.txt", "七日", Locator()),
    }
    assert build(cited, QUESTION, limits(), MORE) == (
        "[1][4] 員工手冊.docx · p. 3, p. 9\n"
        "  「特別休假七日。」\n"
        "[2][3] Leave.md · HR › Leave\n"
        "  “Leave is seven days.”\n"
        "[5] faq.txt\n"
        "  「七日」"
    )


def test_nothing_cited_has_no_footer() -> None:
    assert build({}, QUESTION, limits(), MORE, heading="來源") == ""


def test_a_passage_without_a_sentence_has_no_excerpt() -> None:
    assert build({1: passage(1, text=" ")}, QUESTION, limits(), MORE) == "[1] 員工手冊.docx · p. 3"


def test_five_sources_and_the_rest_counted() -> None:
    cited = {n: passage(n, f"s{n}", f"{n}.pdf", "") for n in range(9, 1, -1)}
    lines = build(cited, QUESTION, limits(), MORE, heading="來源").split("\n")
    assert lines == [
        "來源",
        *(f"[{n}] {n}.pdf · p. 3" for n in range(2, 7)),
        "另有 3 份來源",
    ]


def test_exactly_five_sources_count_no_rest() -> None:
    cited = {n: passage(n, f"s{n}", f"{n}.pdf", "") for n in range(1, 6)}
    assert build(cited, QUESTION, limits(), MORE).split("\n")[-1] == "[5] 5.pdf · p. 3"


def long_cited() -> dict[int, Passage]:
    return {
        n: passage(n, f"s{n}", f"{n}" + "標題" * 60, "長" * 80, Locator(heading=("章" * 60,)))
        for n in range(1, 8)
    }


def shape(text: str) -> tuple[int, int, int]:
    """Graphemes of the first source's excerpt, title and locator."""
    first, second, *_ = text.split("\n")
    title, _, locator = first.removeprefix("[1] ").partition(" · ")
    excerpt = second.strip().strip("「」") if second.startswith("  ") else ""
    return len(excerpt), len(title), len(locator)


def test_excerpts_give_way_first_then_titles_then_locators() -> None:
    shapes = []
    for size in range(880, 90, -3):
        text = build(long_cited(), QUESTION, limits(size), MORE)
        assert units(text, Unit.UTF16) <= size
        shapes.append(shape(text))
    assert shapes[0] == (40, 80, 40)
    for excerpt, title, locator in shapes:
        assert title == 80 or excerpt == 0
        assert locator == 40 or (excerpt, title) == (0, 8)
    assert shapes == sorted(shapes, reverse=True), "less room never shows more"
    assert {9, 20, 38} <= {excerpt for excerpt, _, _ in shapes}
    assert {8, 40, 76} <= {title for _, title, _ in shapes}
    assert {8, 20, 36} <= {locator for _, _, locator in shapes}


def test_the_last_resort_is_fewer_sources() -> None:
    text = build(long_cited(), QUESTION, limits(80), MORE)
    assert text == "\n".join(
        [
            *(f"[{n}] {n}標題標題標題… · 章章章章章章章…" for n in (1, 2, 3)),
            "另有 4 份來源",
        ]
    )
    assert build(long_cited(), QUESTION, limits(12), MORE) == "[1] 1標題標題標題…"


@pytest.mark.parametrize("unit", Unit)
def test_the_limit_is_counted_in_the_channels_unit(unit: Unit) -> None:
    cited = {1: passage(1, title="😀手冊", text="😀七日")}
    whole = build(cited, QUESTION, limits(unit=unit), MORE)
    size = units(whole, unit)
    assert build(cited, QUESTION, limits(size, unit), MORE) == whole
    assert build(cited, QUESTION, limits(size - 1, unit), MORE) != whole


PLACES = {
    "page": (Locator(page=3, page_end=4), "p. 3–4"),
    "slide": (Locator(slide=2, heading=("長" * 99,)), "slide 2"),
    "rows": (Locator(row=3, row_end=99), "row 3–99"),
    "rows of a sheet": (Locator(sheet="價目", row=3), "價目 row 3"),
    "rows of a long sheet": (Locator(sheet="價" * 50, row=3), "價" * 19 + "… row 3"),
    "sheet": (Locator(sheet="價" * 50), "價" * 39 + "…"),
    "headings": (Locator(heading=("甲" * 30, "乙" * 30)), "甲" * 30 + " › " + "乙" * 6 + "…"),
    "harmless": (Locator(sheet="<a>@b\n[1]", row=1), "＜a＞＠b 〚1〛 row 1"),
}


@pytest.mark.parametrize(("locator", "shown"), PLACES.values(), ids=PLACES.keys())
def test_places(locator: Locator, shown: str) -> None:
    text = build({1: passage(1, text="", locator=locator)}, QUESTION, limits(), MORE)
    assert text == f"[1] 員工手冊.docx · {shown}"


@pytest.mark.parametrize("size", range(70, 100, 3))
def test_pages_slides_and_rows_are_never_cut(size: int) -> None:
    places = [Locator(page=1234567), Locator(slide=7654321), Locator(sheet="價" * 50, row=1234567)]
    cited = {n: passage(n, title="題" * 80, locator=place) for n, place in enumerate(places)}
    text = build(cited, QUESTION, limits(size), MORE)
    assert units(text, Unit.UTF16) <= size
    assert text.startswith("[0][1][2] 題")
    assert " · p. 1234567, slide 7654321, " in text
    assert text.endswith("… row 1234567")


NEUTRALISED = {
    "mention": ("@everyone", "＠everyone", "＠everyone"),
    "Slack mention": ("<!channel>", "＜!channel＞", "＜!channel＞"),
    "mark": ("[1] 手冊", "〚1〛 手冊", "〚1〛 手冊"),
    "link": ("[1](evil)", "〚1〛(evil)", "〚1〛(evil)"),
    "named link": ("[點](evil)", "[點](evil)", "［點］(evil)"),
    "emphasis": ("*_~`|#\\", "*_~`|#\\", "＊＿～｀｜＃＼"),
    "lines": ("a\n- b\r\n> c", "a - b ＞ c", "a - b ＞ c"),
    "bidi": ("a\u202efdp.exe", "afdp.exe", "afdp.exe"),
    "word": ("[公告] 年假_v2.pdf", "[公告] 年假_v2.pdf", "［公告］ 年假＿v2.pdf"),
}


@pytest.mark.parametrize(
    ("text", "plain", "in_markdown"), NEUTRALISED.values(), ids=NEUTRALISED.keys()
)
def test_neutralise(text: str, plain: str, in_markdown: str) -> None:
    assert neutralise(text) == plain
    assert neutralise(text, has_markdown=True) == in_markdown
    cited = {1: passage(1, title=text, text=text, locator=Locator(sheet=text))}
    for has_markdown, shown in ((False, plain), (True, in_markdown)):
        footer_text = build(cited, QUESTION, limits(has_markdown=has_markdown), MORE)
        assert footer_text.split("\n")[0] == f"[1] {shown} · {shown}"


def test_addresses_are_live_only_where_the_passage_holds_them() -> None:
    cited = {1: passage(1, title="見 https://a.tw/b", text="特別休假請至 https://a.tw/b 申請")}
    assert build(cited, "", limits(), MORE) == (
        "[1] 見 https[:]//a[.]tw/b · p. 3\n  「特別休假請至 https://a.tw/b 申請」"
    )


def test_half_an_address_is_dead() -> None:
    address = "https://hr.corp.tw/leave/and/a/long/path"
    text = build({1: passage(1, text=f"請至 {address}")}, "", limits(), MORE)
    assert text.split("\n")[1] == "  “請至 https[:]//hr[.]corp[.]tw/leave/and/a…”"


def test_a_title_of_four_thousand_characters_is_cut() -> None:
    text = build({1: passage(1, title="題" * 4000, text="")}, QUESTION, limits(), MORE)
    assert text == "[1] " + "題" * 79 + "… · p. 3"


TEXTS = st.text(max_size=120) | st.sampled_from(["@x <y>", "[1](a)", "長" * 300, "e\u0301" * 90])
PLACE = st.builds(
    Locator,
    page=st.none() | st.integers(1, 10**6),
    sheet=st.none() | TEXTS,
    row=st.none() | st.integers(1, 10**6),
    heading=st.lists(TEXTS, max_size=3).map(tuple),
)
CITED = st.dictionaries(
    st.integers(1, 40),
    st.builds(passage, st.just(1), st.sampled_from("abcdefg"), TEXTS, TEXTS, PLACE),
    min_size=1,
    max_size=12,
)


@given(CITED, st.integers(450, 1200), st.sampled_from(Unit), st.booleans())
def test_a_footer_is_whole_and_harmless(
    cited: dict[int, Passage], size: int, unit: Unit, has_markdown: bool
) -> None:
    size *= 3 if unit is Unit.BYTES else 1
    text = build(cited, QUESTION, limits(size, unit, has_markdown=has_markdown), MORE)
    assert units(text, unit) <= size
    assert not regex.search(r"[@<>\p{Cs}\u202a-\u202e\u2066-\u2069]", text)
    first_five = list(dict.fromkeys(cited[n].source_id for n in sorted(cited)))[:5]
    lines = [line for line in text.split("\n") if line.startswith("[")]
    assert [line.partition(" ")[0] for line in lines] == [
        "".join(f"[{n}]" for n in sorted(cited) if cited[n].source_id == source)
        for source in first_five
    ]
    assert all(f"p. {cited[n].locator.page}" in text for n in cited if shown_page(cited, n))


def shown_page(cited: dict[int, Passage], n: int) -> bool:
    first_five = list(dict.fromkeys(cited[m].source_id for m in sorted(cited)))[:5]
    return cited[n].locator.page is not None and cited[n].source_id in first_five


def test_views_are_what_web_chat_shows() -> None:
    number = (7 << 32) | 5
    cited = {
        3: passage(number, "b", "<b>@\n手冊", "甲。", Locator(sheet="S\u202e", row=2)),
        1: passage(1, title="題" * 400, locator=Locator(heading=("章" * 400,))),
    }
    assert views(cited, QUESTION) == (
        CitationView(1, "1", "a", "題" * 199 + "…", clip("章" * 400, 200), "特別休假七日。"),
        CitationView(3, str(number), "b", "<b>@ 手冊", "S row 2", "甲。"),
    )
    assert views({}, QUESTION) == ()
    assert footer.MAX_SOURCES == 5
