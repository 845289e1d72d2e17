"""Word files as a reader of the accepted document sees them."""

import pytest
from docx.document import Document as Word
from docx.enum.style import WD_STYLE_TYPE

from gateway.core.documents import Block
from gateway.errors import ExtractionError
from gateway.extract import archives
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from tests.extract.making import body, p, package, word


def blocks(data: bytes) -> tuple[Block, ...]:
    return read_document(data, "x.docx", ReadOptions()).blocks


def texts(data: bytes) -> list[str]:
    return [block.text for block in blocks(data)]


def code_of(data: bytes, max_chars: int = 500_000) -> str:
    with pytest.raises(ExtractionError) as raised:
        read_document(data, "x.docx", ReadOptions(max_chars))
    return raised.value.code


def test_headings_by_style_by_base_style_and_by_outline_level() -> None:
    def write(document: Word) -> None:
        document.add_heading("員工手冊", 0)
        document.add_heading("休假", 1)
        document.add_heading("特休", 2)
        document.add_paragraph("滿一年七日。")
        own = document.styles.add_style("條文", WD_STYLE_TYPE.PARAGRAPH)
        own.base_style = document.styles["Heading 3"]
        document.add_paragraph("第一條", style="條文")

    found = [(block.text, block.heading_level) for block in blocks(word(write))]
    assert found == [
        ("員工手冊", 1),
        ("休假", 1),
        ("特休", 2),
        ("滿一年七日。", None),
        ("第一條", 3),
    ]
    outlined = p("附錄", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>')
    assert blocks(body(outlined))[0].heading_level == 2


def test_insertions_are_in_and_deletions_out() -> None:
    changed = (
        "<w:p><w:r><w:t>年假 </w:t></w:r>"
        "<w:ins><w:r><w:t>十四日</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>七日</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>搬走</w:t></w:r></w:moveFrom>"
        "<w:moveTo><w:r><w:t>，搬來</w:t></w:r></w:moveTo></w:p>"
        "<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:r><w:t>舊價</w:t></w:r></w:p></w:tc>"
        "</w:tr><w:tr><w:tc><w:p><w:r><w:t>新價</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    assert texts(body(changed)) == ["年假 十四日，搬來", "新價"]


def test_tables_are_rows_with_their_header_and_merged_cells_come_once() -> None:
    def write(document: Word) -> None:
        table = document.add_table(rows=4, cols=3)
        for row, names in enumerate([("品名", "價格", "備註"), ("茶", "30", ""), ("", "60", "冰")]):
            for column, name in enumerate(names):
                table.cell(row, column).text = name
        table.cell(1, 0).merge(table.cell(2, 0))
        table.cell(3, 0).merge(table.cell(3, 2)).text = "以上含稅"

    found = blocks(word(write))
    assert [block.text for block in found] == ["茶 | 30", " | 60 | 冰", "以上含稅"]
    assert {(block.is_row, block.header) for block in found} == {(True, "品名 | 價格 | 備註")}


def test_a_nested_table_is_part_of_its_cell_and_a_frame_is_text() -> None:
    def write(document: Word) -> None:
        table = document.add_table(rows=2, cols=2)
        table.cell(0, 0).text, table.cell(0, 1).text = "甲", "乙"
        inner = table.cell(1, 1).add_table(rows=1, cols=2)
        inner.cell(0, 0).text, inner.cell(0, 1).text = "內一", "內二"
        frame = document.add_table(rows=1, cols=1)
        frame.cell(0, 0).text = "框內文字"

    assert texts(word(write)) == [" | 內一 / 內二", "框內文字"]


def test_a_text_box_comes_once_and_a_note_after_its_paragraph() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>框中字</w:t></w:r></w:p></w:txbxContent>"
    xml = (
        "<w:p><w:r><w:t>正文</w:t></w:r><w:r><mc:AlternateContent>"
        f"<mc:Choice Requires='wps'><wps:txbx>{box}</wps:txbx></mc:Choice>"
        f"<mc:Fallback><v:textbox>{box}</v:textbox></mc:Fallback></mc:AlternateContent></w:r>"
        "<w:r><w:footnoteReference w:id='2'/></w:r><w:r><w:t>繼續</w:t></w:r></w:p>" + p("下一段")
    )
    notes = "<w:footnote w:type='separator' w:id='0'><w:p/></w:footnote>" + (
        f"<w:footnote w:id='2'>{p('註解一')}</w:footnote>"
    )
    found = texts(body(xml, {"word/footnotes.xml": notes}))
    assert found == ["正文繼續", "框中字", "※1 註解一", "下一段"]


def test_headers_and_footers_once_comments_never() -> None:
    parts = {
        "word/header1.xml": p("合作社 機密"),
        "word/header2.xml": p("合作社 機密"),
        "word/footer1.xml": p("3"),
        "word/comments.xml": f"<w:comment w:id='0'>{p('老闆說不行')}</w:comment>",
    }
    assert texts(body(p("正文"), parts)) == ["合作社 機密", "正文"]


def test_fields_hidden_runs_furigana_and_breaks() -> None:
    xml = (
        "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>甲</w:t><w:tab/><w:t>乙</w:t>"
        "<w:br/><w:t>丙</w:t><w:noBreakHyphen/></w:r>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>看不見</w:t></w:r>"
        "<w:r><w:rPr><w:vanish w:val='false'/></w:rPr><w:t>看得見</w:t></w:r>"
        "<w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>控制項</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    assert texts(body(xml)) == ["甲\t乙\n丙-看得見漢字", "控制項"]


# ---------------------------------------------------------------- hostile containers


def test_a_bomb_is_refused_before_it_is_parsed() -> None:
    bomb = package({"word/document.xml": b"<w:document>" + b" " * (160 * 1024 * 1024)})
    assert len(bomb) < 500_000
    assert code_of(bomb) == "document_limits"
    other = package({"word/document.xml": "<a/>", "word/media/x.bin": bytes(64 * 1024 * 1024)})
    assert code_of(other) == "document_limits"


def test_lying_sizes_are_refused() -> None:
    honest = package({"word/document.xml": "<a>" + "x" * 5000 + "</a>"})
    at = honest.rindex(b"PK\x01\x02") + 24  # the size in the central directory
    lying = honest[:at] + (1000).to_bytes(4, "little") + honest[at + 4 :]
    assert code_of(lying) == "document_limits"


def test_too_many_parts_are_refused() -> None:
    parts = {f"p{n}": b"" for n in range(archives.MAX_PARTS + 1)}
    assert code_of(package({"word/document.xml": "<a/>", **parts})) == "document_limits"


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><d>&b;</d>',
        '<!DOCTYPE d SYSTEM "http://127.0.0.1/x"><d/>',
        '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE d [<!ENTITY a "a">]><d>&a;</d>',
        "<a>" * 10_000 + "</a>" * 10_000,
        "<a>" * 230 + "</a>" * 230,
    ],
    ids=["entities", "external", "utf-16", "very deep", "deep"],
)
def test_entities_and_depth_are_refused(xml: str) -> None:
    data = xml.encode("utf-16" if "UTF-16" in xml else "utf-8")
    assert code_of(package({"word/document.xml": data})) == "document_limits"


def test_damaged_files_are_named_so() -> None:
    whole = word(lambda document: document.add_paragraph("文字"))
    assert code_of(whole[: len(whole) // 2]) == "extract_crashed"
    assert code_of(whole[:-30]) == "extract_crashed"
    assert code_of(package({"word/document.xml": "<w:document>"})) == "extract_crashed"
    assert code_of(package({"word/document.xml": "<a/>"})) == "extract_crashed"
    assert code_of(package({"other": "x"})) == "unsupported_format"
    at = whole.index(b"PK\x03\x04") + 60
    spoiled = whole[:at] + bytes(byte ^ 0xFF for byte in whole[at : at + 200]) + whole[at + 200 :]
    assert code_of(spoiled) in {"extract_crashed", "document_limits"}


def test_too_many_characters_stop_the_reading() -> None:
    assert (
        code_of(word(lambda document: document.add_paragraph("字" * 200)), 100) == "too_many_chars"
    )
