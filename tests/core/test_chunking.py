"""Passages: their size, their borders, their places, and what they keep of the document."""

import re
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.chunking import HEADER_MOST, MOST, OVERLAP, TARGET, chunk, pieces
from gateway.core.cutting import Sizes, cut, spans
from gateway.core.documents import Block, Extracted
from gateway.core.matching import match_text
from gateway.core.passages import Locator

HERE = Locator()


def document(*blocks: Block) -> Extracted:
    return Extracted(blocks, "text/plain")


def paragraph(text: str, page: int | None = None) -> Block:
    return Block(text, Locator(page=page))


def heading(text: str, level: int = 1, page: int | None = None) -> Block:
    return Block(text, Locator(page=page), heading_level=level)


def row(number: int, text: str, header: str = "品名 | 價格") -> Block:
    return Block(text, Locator(row=number, row_end=number), is_row=True, header=header)


def texts(*blocks: Block) -> list[str]:
    return [passage.text for passage in chunk(document(*blocks))[0]]


LONG = "".join(f"第{n}條員工應於事前提出申請，經主管核准後生效。" for n in range(1, 80))
WORDS = " ".join(f"Clause {n} says that leave is asked for in advance." for n in range(1, 60))


def test_an_empty_document_has_no_passage() -> None:
    assert chunk(document()) == ((), ())
    assert chunk(document(paragraph(" \n\t"), heading("　"))) == ((), ())


@pytest.mark.parametrize("text", [LONG, WORDS, "字" * 3000, "a" * 3000], ids=len)
def test_a_long_paragraph_is_cut_into_overlapping_passages_of_about_500(text: str) -> None:
    found = texts(paragraph(text))
    assert all(TARGET // 2 < len(passage) <= MOST for passage in found)
    for before, after in pairwise(found):
        shared = [n for n in range(1, OVERLAP + 1) if before.endswith(after[:n].rstrip())]
        assert shared, "a border inside a paragraph repeats some of it"


def test_sentences_stay_whole_where_they_can() -> None:
    for passage in texts(paragraph(LONG)):
        assert passage.endswith("。")
        assert passage.startswith("第")


def test_a_string_of_forty_characters_is_whole_in_some_passage() -> None:
    found = texts(paragraph(LONG))
    for at in range(len(LONG) - 40):
        assert any(LONG[at : at + 40] in passage for passage in found)


def test_short_paragraphs_of_a_section_share_a_passage_and_long_ones_do_not() -> None:
    short, whole = "短句。" * 20, "完整的一段話。" * 50
    assert texts(paragraph(short), paragraph(short)) == [f"{short}\n{short}"]
    assert texts(paragraph(whole), paragraph(whole)) == [whole, whole]
    assert texts(paragraph(short + short + short), paragraph(whole)) == [short * 3, whole]


def test_a_heading_goes_with_what_follows_it() -> None:
    passages, sections = chunk(
        document(heading("手冊"), heading("特休", 2), paragraph("滿一年七日。" * 60))
    )
    assert passages[0].text.startswith("手冊\n特休\n滿一年")
    assert passages[0].locator.heading == ("手冊", "特休")
    assert [(s.title, s.parent, s.level) for s in sections] == [("手冊", None, 1), ("特休", 0, 2)]
    assert passages[0].section == 1


def test_headings_alone_are_not_lost() -> None:
    passages, _ = chunk(document(heading("只有標題"), heading("另一個", 2)))
    assert [p.text for p in passages] == ["只有標題\n另一個"]
    assert passages[0].locator.heading == ("只有標題", "另一個")


def test_a_tiny_section_joins_the_next_under_the_heading_they_share() -> None:
    passages, _ = chunk(
        document(
            heading("常見問題"),
            heading("電話？", 2),
            paragraph("分機 101。"),
            heading("傳真？", 2),
            paragraph("分機 102。"),
            heading("假期", 2),
            paragraph("滿一年七日。" * 100),
        )
    )
    assert passages[0].text == "常見問題\n電話？\n分機 101。\n傳真？\n分機 102。"
    assert passages[0].locator.heading == ("常見問題",)
    assert passages[1].text.startswith("假期\n滿一年")
    assert passages[1].locator.heading == ("常見問題", "假期")


def test_sections_of_different_chapters_show_where_the_passage_begins() -> None:
    passages, _ = chunk(
        document(heading("甲"), paragraph("甲文。"), heading("乙"), paragraph("乙文。"))
    )
    assert [(p.text, p.locator.heading) for p in passages] == [("甲\n甲文。\n乙\n乙文。", ("甲",))]


def test_a_passage_stays_on_its_page_but_for_a_short_tail() -> None:
    first, second = "第一頁的內容。" * 20, "第二頁的內容。" * 20
    passages, _ = chunk(
        document(
            paragraph(first, 1), paragraph(second, 2), paragraph("尾。", 2), paragraph("三", 3)
        )
    )
    assert [(p.locator.page, p.locator.page_end) for p in passages] == [(1, 1), (2, 2), (3, 3)]
    passages, _ = chunk(
        document(paragraph(LONG[:1200], 1), paragraph("短尾巴。", 2), paragraph(LONG, 3))
    )
    places = [(p.locator.page, p.locator.page_end) for p in passages]
    assert places[:4] == [(1, 1), (1, 1), (1, 1), (2, 3)]
    assert set(places[4:]) == {(3, 3)}
    assert passages[3].text.startswith("短尾巴。\n第1條")


def test_a_heading_at_the_foot_of_a_page_goes_over_with_its_text() -> None:
    passages, _ = chunk(document(heading("附錄", page=1), paragraph(LONG[:400], 2)))
    assert [(p.locator.page, p.locator.page_end) for p in passages] == [(1, 2)]


def test_rows_are_cut_between_rows_and_each_passage_repeats_the_header() -> None:
    rows = [row(n, f"商品{n:03d} | {n * 10} 元 | 不含稅，含運費") for n in range(2, 120)]
    passages, _ = chunk(document(*rows))
    seen: list[str] = []
    for passage in passages:
        lines = passage.text.split("\n")
        assert lines[0] == "品名 | 價格"
        assert len(passage.text) <= TARGET
        assert passage.locator.row == int(lines[1][2:5])
        assert passage.locator.row_end == int(lines[-1][2:5])
        seen += lines[1:]
    assert seen == [block.text for block in rows]


def test_one_endless_row_is_cut_all_the_same_and_a_header_is_shortened() -> None:
    passages, _ = chunk(document(row(2, "格" * 2000, header="標" * 900)))
    assert all(len(p.text) <= MOST for p in passages)
    assert all(p.text.startswith("標" * HEADER_MOST + "\n格") for p in passages)
    assert {(p.locator.row, p.locator.row_end) for p in passages} == {(2, 2)}


def test_a_heading_above_a_table_stands_before_its_first_rows() -> None:
    found = texts(heading("價目"), row(2, "茶 | 30"), row(3, "咖啡 | 60"), paragraph("以上含稅。"))
    assert found == ["價目\n品名 | 價格\n茶 | 30\n咖啡 | 60", "以上含稅。"]
    long_title = heading("價" * 635)
    assert texts(long_title, row(2, "茶 | 30")) == ["價" * 635, "品名 | 價格\n茶 | 30"]


def test_rows_without_a_header_and_rows_of_another_table() -> None:
    found = texts(row(1, "a | b", header=""), row(2, "c | d", header=""), row(1, "e", header="h"))
    assert found == ["a | b\nc | d", "h\ne"]


def test_original_characters_are_kept_and_the_copy_is_folded() -> None:
    passages, _ = chunk(document(paragraph("ＨＲ請假⽅式，㈱出典。")))
    assert passages[0].text == "ＨＲ請假⽅式，㈱出典。"
    assert passages[0].match_text == match_text("HR请假方式,(株)出典。")


def test_pieces_cut_only_what_is_long() -> None:
    assert pieces("短") == ()
    assert pieces("句。" * 150) == ()
    parts = pieces(LONG[:640])
    assert "".join(parts) == LONG[:640]
    assert all(150 <= len(part) <= 300 for part in parts)


def test_a_family_emoji_is_never_taken_apart() -> None:
    family = "👩‍👩‍👧‍👦"
    for passage in texts(paragraph(family * 400)):
        assert set(regex.findall(r"\X", passage)) == {family}


def test_a_grapheme_longer_than_a_passage_is_cut_because_it_must_be() -> None:
    found = texts(paragraph("e" + "\u0301" * 2000))
    assert all(len(text) <= MOST for text in found)
    assert cut("e" + "\u0301" * 50, 10) == "e" + "\u0301" * 9


ANY = st.text(
    st.one_of(
        st.sampled_from("字假，。！\n .a1🇹🇼👩‍👧e\u0301\u200b"),
        st.characters(exclude_categories=["Cs", "Cc"]),
    ),
    max_size=1500,
)


@settings(max_examples=60)
@given(ANY, st.sampled_from([Sizes(50, 64, 10), Sizes(20, 30, 0), Sizes(100, 101, 40)]))
def test_spans_cover_the_text_once_and_end_on_graphemes(text: str, sizes: Sizes) -> None:
    found = spans(text, sizes)
    assert "".join(text[span.fresh : span.end] for span in found) == text
    borders = {0} | {match.end() for match in regex.finditer(r"\X", text)}
    longest = max((len(g) for g in regex.findall(r"\X", text)), default=0)
    for span in found:
        assert 0 < span.end - span.start <= sizes.most
        assert longest > 8 or (span.start in borders and span.end in borders)


BLOCKS = st.lists(
    st.one_of(
        st.builds(Block, ANY, st.just(HERE), st.sampled_from([None, None, 1, 2, 3])),
        st.builds(row, st.integers(1, 99), ANY, ANY),
        st.builds(paragraph, ANY, st.integers(1, 4)),
    ),
    max_size=12,
)


def letters(text: str) -> str:
    return re.sub(r"\s", "", text)


@settings(max_examples=80, deadline=None)
@given(BLOCKS)
def test_no_text_is_lost_and_no_passage_is_too_long(blocks: list[Block]) -> None:
    passages, sections = chunk(document(*blocks))
    whole = "".join(letters(p.text) for p in passages)
    assert [p.ordinal for p in passages] == list(range(len(passages)))
    for block in blocks:
        for word in block.text.split():
            assert letters(word)[:20] in whole
    for passage in passages:
        assert 0 < len(passage.text) <= MOST
        assert passage.text.strip()
        assert passage.section is None or passage.section < len(sections)
        first, last = passage.locator.page, passage.locator.page_end
        assert (first is None) or (last is not None)


def test_a_title_line_joins_the_long_paragraph_it_stands_over() -> None:
    found = texts(paragraph("三氯化氮"), paragraph(LONG))
    assert found[0].startswith("三氯化氮")
    assert "第1條" in found[0], "a title alone would outrank the passages it heads"
    assert all(len(passage) <= MOST for passage in found)


def test_a_longer_line_does_not_join_what_must_be_cut_anyway() -> None:
    line = "本文件說明員工請假、出差與費用報支的一般規定與例外情形，" * 3
    found = texts(paragraph(line), paragraph(LONG))
    assert found[0].strip() == line


def test_a_section_reaches_to_the_last_page_of_what_is_in_it() -> None:
    _, sections = chunk(
        document(
            heading("第一章", 1, page=1),
            paragraph("總則的內文。", page=1),
            heading("第一節", 2, page=2),
            paragraph("這一節跨到第四頁。", page=4),
            heading("第二章", 1, page=4),
        )
    )
    places = [(each.title, each.locator.page, each.locator.page_end) for each in sections]
    assert places == [("第一章", 1, 4), ("第一節", 2, 4), ("第二章", 4, 4)]


def test_no_passage_goes_over_slides() -> None:
    slides = [
        (Block("目錄", Locator(slide=1), heading_level=1),),
        (Block("產品", Locator(slide=2), heading_level=1), Block("茶", Locator(slide=2))),
        (Block("沒有標題的一頁", Locator(slide=3)),),
        (Block("備註", Locator(slide=4)),),
    ]
    passages, _ = chunk(document(*(block for slide in slides for block in slide)))
    assert [passage.locator.slide for passage in passages] == [1, 2, 3, 4]
    assert passages[1].text == "產品\n茶"
