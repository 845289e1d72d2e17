"""Word files as a reader of the accepted document sees them."""

import pytest
from docx.document import Document as Word
from docx.enum.style import WD_STYLE_TYPE

from gateway.core.documents import Block
from gateway.errors import ExtractionError
from gateway.extract import archives
from gateway.extract.counting import counted
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from tests.extract.making import body, bomb, p, package, relations, word


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


def numbering(*levels: tuple[str, str], extra: str = "") -> dict[str, str]:
    """A part with the list 1 of those levels: (form, text)."""
    written = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(levels)
    )
    abstract = f'<w:abstractNum w:abstractNumId="7">{written}</w:abstractNum>'
    first = '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    return {"word/numbering.xml": abstract + first + extra}


def item(text: str, level: int = 0, number: int = 1, more: str = "") -> str:
    listed = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return p(text, f"<w:pPr>{listed}{more}</w:pPr>")


def test_numbers_that_only_the_list_knows_are_in_the_text() -> None:
    parts = numbering(("taiwaneseCountingThousand", "第%1章"), ("chineseCounting", "第%2條"))
    xml = item("總則") + item("目的", 1) + item("範圍", 1) + item("休假") + item("特休", 1)
    assert texts(body(xml, parts)) == [
        "第一章 總則",
        "第一條 目的",
        "第二條 範圍",
        "第二章 休假",
        "第一條 特休",
    ]


def test_levels_name_those_above_and_restart_as_the_list_says() -> None:
    parts = numbering(("upperRoman", "%1."), ("decimal", "%1.%2"), ("bullet", "\uf0b7"))
    legal = parts["word/numbering.xml"].replace(
        '<w:lvlText w:val="%1.%2"/>',
        '<w:isLgl/><w:lvlRestart w:val="0"/><w:lvlText w:val="%1.%2"/>',
    )
    xml = item("甲") + item("一", 1) + item("乙") + item("二", 1) + item("點", 2) + p("無")
    found = texts(body(xml, {"word/numbering.xml": legal}))
    assert found == ["I. 甲", "1.1 一", "II. 乙", "2.2 二", "• 點", "無"]


def test_a_list_that_starts_anew_and_one_that_goes_on() -> None:
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    extra = f'<w:num w:numId="2"><w:abstractNumId w:val="7"/>{override}</w:num>'
    extra += '<w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num>'
    parts = numbering(("decimal", "(%1)"), extra=extra)
    xml = item("a") + item("b", number=2) + item("c", number=2) + item("d", number=3)
    assert texts(body(xml + item("e", number=0), parts)) == [
        "(1) a",
        "(5) b",
        "(6) c",
        "(7) d",
        "e",
    ]


def test_a_number_comes_with_the_style_and_heads_an_empty_line() -> None:
    linked = '<w:pStyle w:val="Article"/>'
    parts = numbering(("decimal", "%1"), ("ideographTraditional", "第%2條"))
    parts["word/numbering.xml"] = parts["word/numbering.xml"].replace(
        '<w:lvlText w:val="第%2條"/>', f'<w:lvlText w:val="第%2條"/>{linked}'
    )
    parts["word/styles.xml"] = (
        '<w:style w:type="paragraph" w:styleId="Article"><w:name w:val="條文"/><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
        '<w:style w:type="table" w:styleId="Grid"><w:name w:val="Grid"/></w:style>'
    )
    styled = f"<w:pPr>{linked}</w:pPr>"
    found = blocks(body(p("甲方", styled) + p("", styled) + item("項"), parts))
    assert [(block.text, block.heading_level) for block in found] == [
        ("第甲條 甲方", 2),
        ("第乙條", 2),
        ("1 項", None),
    ]


@pytest.mark.parametrize(
    ("form", "number", "expected"),
    [
        ("chineseCounting", 10, "十"),
        ("chineseCountingThousand", 105, "一百零五"),
        ("taiwaneseCounting", 21, "二十一"),
        ("japaneseCounting", 110, "百十"),
        ("ideographTraditional", 3, "丙"),
        ("ideographTraditional", 11, "11"),
        ("ideographZodiac", 12, "亥"),
        ("ideographLegalTraditional", 12, "壹拾貳"),
        ("chineseLegalSimplified", 3, "叁"),
        ("ideographDigital", 20, "二〇"),
        ("decimalEnclosedCircle", 3, "③"),
        ("decimalFullWidth", 12, "１２"),
        ("decimalZero", 7, "07"),
        ("upperRoman", 1994, "MCMXCIV"),
        ("lowerLetter", 28, "bb"),
        ("ordinal", 12, "12th"),
        ("aiueo", 2, "イ"),
        ("ganada", 2, "나"),
        ("none", 2, ""),
        ("something new", 2, "2"),
    ],
)
def test_numbers_are_written_as_office_writes_them(form: str, number: int, expected: str) -> None:
    assert counted(number, form) == expected


def test_hidden_text_is_left_out_and_told_of_unless_asked_for() -> None:
    hidden = '<w:rPr><w:rStyle w:val="H"/></w:rPr>'
    styles = '<w:style w:type="character" w:styleId="H"><w:rPr><w:vanish/></w:rPr></w:style>'
    data = body(
        f"<w:p><w:r><w:t>牌價 99</w:t></w:r><w:r>{hidden}<w:t>底價 88</w:t></w:r></w:p>",
        {"word/styles.xml": styles},
    )
    document = read_document(data, "x.docx", ReadOptions())
    assert [block.text for block in document.blocks] == ["牌價 99"]
    assert [warning.code for warning in document.warnings] == ["hidden_content_skipped"]
    whole = read_document(data, "x.docx", ReadOptions(include_hidden=True))
    assert [block.text for block in whole.blocks] == ["牌價 99底價 88"]
    assert not whole.warnings


def test_a_deleted_paragraph_end_joins_two_paragraphs() -> None:
    mark = "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>"
    gone = f"<w:p>{mark}<w:del><w:r><w:delText>全刪</w:delText></w:r></w:del></w:p>"
    assert texts(body(p("前半", mark) + p("後半") + gone + p("下一段"))) == ["前半後半", "下一段"]


def test_a_deleted_column_is_out() -> None:
    def row(*cells: str) -> str:
        marks = ("", "<w:tcPr><w:cellDel/></w:tcPr>")
        each = zip(marks, cells, strict=True)
        return (
            "<w:tr>" + "".join(f"<w:tc>{mark}{p(cell)}</w:tc>" for mark, cell in each) + "</w:tr>"
        )

    table = f"<w:tbl>{row('品名', '舊價')}{row('茶', '88')}{row('水', '66')}</w:tbl>"
    assert texts(body(table)) == ["品名", "茶", "水"]


def test_a_table_has_a_title_and_two_rows_of_header() -> None:
    def row(*cells: str, span: int = 1, head: bool = False) -> str:
        grid = f'<w:tcPr><w:gridSpan w:val="{span}"/></w:tcPr>'
        mark = "<w:trPr><w:tblHeader/></w:trPr>" if head else ""
        return f"<w:tr>{mark}{''.join(f'<w:tc>{grid}{p(cell)}</w:tc>' for cell in cells)}</w:tr>"

    rows = row("表一", span=2) + row("地區", "人數", head=True) + row("", "（人）", head=True)
    found = blocks(body(f"<w:tbl>{rows}{row('台北', '8')}</w:tbl>"))
    assert [(block.text, block.header) for block in found] == [
        ("表一", ""),
        ("台北 | 8", "地區 | 人數 （人）"),
    ]


def test_a_table_of_contents_and_prompts_of_forms_are_left_out() -> None:
    styles = '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="toc 1"/></w:style>'
    gallery = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
    xml = (
        p("總則 1", '<w:pPr><w:pStyle w:val="T"/></w:pPr>')
        + f"<w:sdt><w:sdtPr>{gallery}</w:sdtPr><w:sdtContent>{p('目錄')}</w:sdtContent></w:sdt>"
        + "<w:p><w:r><w:t>姓名：</w:t></w:r><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr>"
        "<w:sdtContent><w:r><w:t>按這裡輸入</w:t></w:r></w:sdtContent></w:sdt></w:p>"
    )
    assert texts(body(xml, {"word/styles.xml": styles})) == ["姓名："]


def test_fields_give_their_result_even_one_in_the_code_of_another() -> None:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    inner = mark("begin") + mark("separate") + "<w:r><w:t>不看</w:t></w:r>" + mark("end")
    code = f"<w:r><w:instrText>IF </w:instrText></w:r>{inner}"
    field = f"{mark('begin')}{code}{mark('separate')}<w:r><w:t>結果</w:t></w:r>{mark('end')}"
    simple = '<w:fldSimple w:instr="DATE"><w:r><w:t>，今日</w:t></w:r></w:fldSimple>'
    link = "<w:hyperlink><w:r><w:t>，連結</w:t></w:r></w:hyperlink>"
    unclosed = f"<w:p>{mark('begin')}<w:r><w:t>碼</w:t></w:r></w:p>{p('之後')}"
    assert texts(body(f"<w:p>{field}{simple}{link}</w:p>{unclosed}")) == [
        "結果，今日，連結",
        "之後",
    ]


def test_symbols_fractions_and_smart_tags_are_characters() -> None:
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    xml = (
        '<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/>'
        '<w:sym w:font="Webdings" w:char="xx"/></w:r><w:smartTag><w:r><w:t>台北</w:t></w:r>'
        f"</w:smartTag><m:oMath {math}><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r>"
        "<m:t>b</m:t></m:r></m:den></m:f></m:oMath></w:p>"
    )
    assert texts(body(xml)) == ["☑α台北a/b"]


def test_notes_of_a_table_come_after_it_and_each_comes_once() -> None:
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    cell = f"<w:tc><w:p><w:r><w:t>甲</w:t></w:r>{reference}</w:p></w:tc>"
    row = f"<w:tr>{cell}<w:tc>{p('乙')}</w:tc></w:tr>"
    notes = {"word/footnotes.xml": f'<w:footnote w:id="2">{p("附註")}</w:footnote>'}
    found = texts(body(f"<w:tbl>{row}{row}</w:tbl><w:p>{reference}</w:p>", notes))
    assert found == ["甲 | 乙", "※1 附註"]


def test_the_body_is_found_by_its_relationship_and_by_strict_names() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    styled = '<w:pPr><w:pStyle w:val="1"/></w:pPr>'
    styles = '<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/></w:style>'
    files = {
        "_rels/.rels": relations({"a": ("officeDocument", "/parts/Main.XML")}),
        "parts/main.xml": f"<x:document xmlns:x='{strict}' xmlns:w='{strict}'><x:body>"
        f"{p('嚴格', styled)}</x:body></x:document>",
        "parts/_rels/main.xml.rels": relations({"s": ("styles", "formats.xml")}),
        "parts/formats.xml": f"<w:styles xmlns:w='{strict}'>{styles}</w:styles>",
        "word/document.xml": "<a/>",
    }
    files["parts/_rels/Main.XML.rels"] = files.pop("parts/_rels/main.xml.rels")
    assert [(block.text, block.heading_level) for block in blocks(package(files))] == [("嚴格", 1)]


# ---------------------------------------------------------------- hostile containers


def test_a_bomb_is_refused_before_it_is_parsed() -> None:
    assert code_of(bomb(160, says=160 << 20)) == "document_limits"
    other = package({"word/document.xml": "<a/>", "word/media/x.bin": bytes(16 << 20)})
    assert code_of(other) == "document_limits"


def test_lying_sizes_are_refused() -> None:
    honest = package({"word/document.xml": "<a>" + "x" * 5000 + "</a>"})
    at = honest.rindex(b"PK\x01\x02") + 24  # the size in the central directory
    lying = honest[:at] + (1000).to_bytes(4, "little") + honest[at + 4 :]
    assert code_of(lying) == "document_limits"


def test_parts_that_share_their_bytes_or_a_name_are_refused() -> None:
    first = package({"word/document.xml": "<a/>", "word/b.bin": bytes(1 << 20)})
    at = first.rindex(b"PK\x01\x02")
    entry = first[at : first.rindex(b"PK\x05\x06")]
    end = first[first.rindex(b"PK\x05\x06") :]
    copies = b"".join(entry.replace(b"b.bin", b"%05d" % number) for number in range(3000))
    start = first.index(b"PK\x01\x02")
    directory = first[start : first.rindex(b"PK\x05\x06")] + copies
    count = (3002).to_bytes(2, "little")
    tail = end[:8] + count + count + len(directory).to_bytes(4, "little")
    tail += start.to_bytes(4, "little") + b"\0\0"
    assert code_of(first[:start] + directory + tail) == "document_limits"
    twice = package({"word/document.xml": "<a/>", "Word\\Document.xml": "<b/>"})
    assert code_of(twice) == "extract_crashed"


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
    at = whole.index(b"word/document.xml") + 60
    spoiled = whole[:at] + bytes(byte ^ 0xFF for byte in whole[at : at + 200]) + whole[at + 200 :]
    assert code_of(spoiled) in {"extract_crashed", "document_limits"}


def test_too_many_characters_stop_the_reading() -> None:
    assert (
        code_of(word(lambda document: document.add_paragraph("字" * 200)), 100) == "too_many_chars"
    )
