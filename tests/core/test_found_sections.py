"""What was found by section: order, pages, and lines that no document can forge."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.found_sections import FoundSection, found_sections, pictured, section_lines
from gateway.core.outlines import SectionHit
from gateway.core.passages import Locator, Passage


def passage(number: int, text: str = "本文", page: int | None = None, **more: object) -> Passage:
    locator = Locator(page=page, page_end=more.get("end"), heading=more.get("heading", ()))  # type: ignore[arg-type]
    source = str(more.get("source", "s1"))
    return Passage(
        number, "c1", source, "r1", number, str(more.get("title", "manual.pdf")), text, locator
    )


def hit(
    ordinal: int, title: str, first: int | None, last: int | None, summary: str = ""
) -> SectionHit:
    return SectionHit("s1", ordinal, title, summary, (title,), 1, first, last)


def test_the_documents_own_example() -> None:
    found = found_sections(
        [
            passage(1, "購入後30日以内であれば返品できます。", 3),
            passage(2, "送料は当社負担です。", 4),
        ],
        {1: hit(2, "返品ポリシー", 3, 4), 2: hit(2, "返品ポリシー", 3, 4)},
    )
    (section,) = found
    assert section_lines(section) == [
        "## 返品ポリシー (manual.pdf, pages: 3, 4)",
        "購入後30日以内であれば返品できます。",
        "送料は当社負担です。",
    ]


def test_a_long_section_tells_of_the_pages_that_match_and_its_range() -> None:
    outline = {1: hit(0, "全体", 1, 60), 2: hit(0, "全体", 1, 60)}
    (section,) = found_sections([passage(1, page=40), passage(2, page=7, end=8)], outline)
    assert section.pages == (7, 8, 40)
    assert (section.first_page, section.last_page) == (1, 60)
    assert section.matching_pages == (40, 7, 8)
    assert pictured([section], 2) == (("s1", 40), ("s1", 7))


def test_without_an_outline_a_heading_or_the_document_gives_the_title() -> None:
    found = found_sections(
        [passage(1, heading=("A", "B")), passage(2), passage(3, heading=("A", "B"))], {}
    )
    assert [(each.title, len(each.passages)) for each in found] == [("B", 2), ("manual.pdf", 1)]
    assert section_lines(found[1])[0] == "## manual.pdf (manual.pdf)"


def test_a_summary_that_the_passages_hold_is_not_said_twice() -> None:
    outline = {
        1: hit(0, "甲", None, None, "三日 以內。"),
        2: hit(1, "乙", None, None, "另有規定。"),
    }
    found = found_sections([passage(1, "請於三日以內。辦理。"), passage(2, "內容")], outline)
    assert section_lines(found[0])[1:] == ["請於三日以內。辦理。"]
    assert section_lines(found[1])[1:] == ["另有規定。", "內容"]


hostile = st.text(
    st.sampled_from("# -*+=_│\n\r\v\x85\u2028\u202e\t()ainput/ページ画像:.pgs０1\u200b")
    | st.characters()
)


@given(hostile, hostile, hostile, hostile)
def test_no_document_writes_a_heading_or_a_picture(
    title: str, name: str, summary: str, text: str
) -> None:
    section = FoundSection(
        "s1", name, title, summary, (), (3,), 3, 3, (passage(1, text, title=name),)
    )
    heading, *rest = "\n".join(section_lines(section)).splitlines()
    assert heading.startswith("## ")
    assert heading.endswith(", pages: 3)")
    for line in rest:
        assert not line.lstrip().startswith(("#", "-", "*", "input/", "=")), line
