"""Workbooks as the reader of their sheets sees them."""

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.documents import Block, SourceWarning
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making import package
from tests.extract.making_sheets import (
    MAIN,
    STRICT,
    formats,
    relations,
    rows,
    text,
    workbook,
    written,
)


def read(data: bytes, options: ReadOptions | None = None) -> Document:
    return read_document(data, "x.xlsx", options or ReadOptions())


def blocks(data: bytes) -> tuple[Block, ...]:
    return read(data).blocks


def texts(data: bytes) -> list[str]:
    return [block.text for block in blocks(data)]


def labels(data: bytes) -> list[str]:
    return [block.locator.label() for block in blocks(data)]


def code_of(data: bytes, options: ReadOptions | None = None) -> str:
    with pytest.raises(ExtractionError) as raised:
        read(data, options)
    return raised.value.code


# ---------------------------------------------------------------- tables and places


def test_rows_carry_their_header_their_sheet_and_their_number() -> None:
    def write(book: object) -> None:
        sheet = book.active  # type: ignore[attr-defined]
        sheet.title = "價目表"
        for row in (["品名", "價格"], ["茶", 30], ["糕", 60]):
            sheet.append(row)

    found = blocks(written(write))
    assert [block.text for block in found] == ["茶 | 30", "糕 | 60"]
    assert {(block.header, block.is_row) for block in found} == {("品名 | 價格", True)}
    assert [block.locator.label() for block in found] == ["價目表 row 2", "價目表 row 3"]


@pytest.mark.parametrize("name", ["价格・表", "أسعار", "ไทย", "Prix d'été", "😀"])
def test_sheet_names_of_any_script_are_kept(name: str) -> None:
    data = workbook(rows(text("A1", "x")))
    sheets = f'<workbook xmlns="{MAIN}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/'
    sheets += f'2006/relationships"><sheets><sheet name="{name}" r:id="r1"/></sheets></workbook>'
    data = workbook(rows(text("A1", "x")), parts={"xl/workbook.xml": sheets})
    assert blocks(data)[0].locator.sheet == name


def table(*lines: str) -> bytes:
    """`|` between the cells, numbers where they are; an empty line is a blank row."""
    inner = ""
    for number, line in enumerate(lines, 1):
        cells = ""
        for letter, value in zip("ABCDEF", line.split("|"), strict=False):
            if value:
                is_number = value.replace(".", "").isdigit()
                cell = f'<c r="{letter}{number}"><v>{value}</v></c>'
                cells += cell if is_number else text(f"{letter}{number}", value)
        inner += f'<row r="{number}">{cells}</row>' if cells else ""
    return workbook(f"<sheetData>{inner}</sheetData>")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["品名|價", "茶|30"], [("品名 | 價", "茶 | 30")]),
        (["報價單", "品名|價", "茶|30"], [("", "報價單"), ("品名 | 價", "茶 | 30")]),
        (["報價單", "", "品名|價", "茶|30"], [("", "報價單"), ("品名 | 價", "茶 | 30")]),
        (["茶|30", "糕|60"], [("", "茶 | 30"), ("", "糕 | 60")]),
        (["項目|2024|2025", "營收|5|6"], [("項目 | 2024 | 2025", "營收 | 5 | 6")]),
        (["甲|2024", "乙|2025"], [("", "甲 | 2024"), ("", "乙 | 2025")]),
        (["第一段。", "第二段。"], [("", "第一段。"), ("", "第二段。")]),
        (["品名|價"], [("", "品名 | 價")]),
        (
            ["品名|價", "茶|30", "", "糕|60"],
            [("品名 | 價", "茶 | 30"), ("品名 | 價", "糕 | 60")],
        ),
        (
            ["品名|價", "茶|30", "", "姓名|年資", "王|3"],
            [("品名 | 價", "茶 | 30"), ("姓名 | 年資", "王 | 3")],
        ),
        (
            ["品名|產地", "茶|台", "", "糕|日", "酒|法"],
            [("品名 | 產地", "茶 | 台"), ("品名 | 產地", "糕 | 日"), ("品名 | 產地", "酒 | 法")],
        ),
        (["品名|價", "", "茶|30"], [("品名 | 價", "茶 | 30")]),
        (["品名|價", "茶|30", "以上含稅"], [("品名 | 價", "茶 | 30"), ("品名 | 價", "以上含稅")]),
    ],
    ids=[
        "plain", "title", "title and gap", "no header", "years", "years in a column", "prose",
        "header alone", "gap", "two tables", "gap in text", "header apart", "footnote",
    ],
)  # fmt: skip
def test_the_header_row_is_found(lines: list[str], expected: list[tuple[str, str]]) -> None:
    assert [(block.header, block.text) for block in blocks(table(*lines))] == expected


def test_empty_columns_are_left_out_and_empty_cells_keep_theirs() -> None:
    data = workbook(
        rows(
            text("C1", "甲") + text("D1", "乙") + text("Z1", "丙"),
            '<c r="C2"><v>1</v></c><c r="Z2"><v>3</v></c>',
        )
    )
    assert [(block.header, block.text) for block in blocks(data)] == [("甲 | 乙 | 丙", "1 |  | 3")]


def test_a_far_cell_costs_nothing_and_rows_behind_a_gap_are_read() -> None:
    data = workbook(
        f'<dimension ref="A1:XFD1048576"/><sheetData><row r="1">{text("A1", "甲")}</row>'
        f'<row r="602">{text("A602", "乙")}</row>'
        '<row r="1048576"><c r="XFD1048576" s="1"/></row></sheetData>'
    )
    assert texts(data) == ["甲", "乙"]
    assert labels(data) == ["S1 row 1", "S1 row 602"]


def test_thousands_of_scattered_columns_stay_small() -> None:
    inner = "".join(
        f'<row r="{n}"><c r="{chr(65 + n % 26)}{chr(65 + n // 26 % 26)}{n}"><v>{n}</v></c></row>'
        for n in range(1, 500)
    )
    assert sum(map(len, texts(workbook(f"<sheetData>{inner}</sheetData>")))) < 10_000


def test_merged_cells_come_once_whatever_lies_under_them() -> None:
    data = workbook(
        rows(
            text("A1", "區") + text("B1", "店"),
            text("A2", "北") + text("B2", "一") + text("C2", "舊"),
            text("A3", "藏") + text("B3", "二"),
        )
        + '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="B2:C2"/></mergeCells>'
    )
    assert texts(data) == ["北 | 一", " | 二"]


# ---------------------------------------------------------------- values


def test_values_of_every_type_are_shown_as_excel_shows_them() -> None:
    strings = (
        "<si><t>共用</t><rPh sb='0' eb='2'><t>きょうよう</t></rPh><phoneticPr fontId='1'/></si>"
        "<si><r><t>粗</t></r><r><rPr><b/></rPr><t xml:space='preserve'>體 </t></r></si>"
        "<si><t>一_x000D_\n行</t></si>"
    )
    data = workbook(
        rows(
            '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>'
            '<c r="D1" t="b"><v>1</v></c><c r="E1" t="b"><v>0</v></c>'
            '<c r="F1" t="e"><v>#N/A</v></c><c r="G1" t="str"><f>A1</f><v>算出</v></c>'
            '<c r="H1"><v>0.30000000000000004</v></c><c r="I1" t="d"><v>2026-01-02</v></c>'
            '<c r="J1" t="s"><v>99</v></c><c r="K1" t="n"><v>1E3</v></c>'
            '<c r="L1" t="inlineStr"><is><r><t>行</t></r><rPh><t>ぎょう</t></rPh>'
            "<r><t>內</t></r></is></c>"
        ),
        strings=strings,
    )
    shown = "共用 | 粗體 | 一 行 | TRUE | FALSE | #N/A | 算出 | 0.3 | 2026-01-02 | 1000 | 行內"
    assert texts(data) == [shown]


def test_a_date_written_as_one_is_shown_in_its_format() -> None:
    cells = (
        '<c r="A1" s="0" t="d"><v>2026-01-02T06:00:00</v></c>'
        '<c r="B1" s="1" t="d"><v>18:30:00</v></c><c r="C1" s="0" t="d"><v>morgen</v></c>'
    )
    data = workbook(rows(cells), styles=formats("yyyy/m/d h:mm", "h:mm AM/PM"))
    assert texts(data) == ["2026/1/2 6:00 | 6:30 PM | morgen"]


def test_number_formats_apply_to_numbers_and_text() -> None:
    data = workbook(
        rows(
            '<c r="A1" s="0"><v>0.1</v></c><c r="B1" s="1"><v>12500000</v></c>'
            '<c r="C1" s="2"><v>46024</v></c><c r="D1" s="3"><v>1.5</v></c>'
            + '<c r="E1" s="4" t="inlineStr"><is><t>王</t></is></c><c r="F1"><v>0.5</v></c>'
        ),
        styles=formats("0%", "#,##0&quot; M&quot;", "[$-404]e/m/d", "[h]:mm", "@&quot;先生&quot;"),
    )
    # a cell without a style has the first one
    assert texts(data) == ["10% | 12,500,000 M | 115/1/2 | 36:00 | 王先生 | 50%"]


def test_a_workbook_of_another_program_shows_what_it_holds() -> None:
    def write(book: object) -> None:
        sheet = book.active  # type: ignore[attr-defined]
        sheet.append(["項目", "值"])
        for value, code in (
            (0.075, "0.0%"),
            (1234.5, '"NT$"#,##0.00'),
            (datetime.date(2026, 1, 2), "yyyy-mm-dd"),
            (datetime.datetime.fromisoformat("2026-01-02T13:05"), "yyyy/m/d h:mm"),
            (datetime.time(9, 30), "h:mm"),
            (datetime.timedelta(hours=30), "[h]:mm"),
            (True, "General"),
        ):
            sheet.append(["x", value])
            sheet.cell(sheet.max_row, 2).number_format = code

    assert [each.removeprefix("x | ") for each in texts(written(write))] == [
        "7.5%", "NT$1,234.50", "2026-01-02", "2026/1/2 13:05", "9:30", "30:00", "TRUE",
    ]  # fmt: skip


def test_the_1904_calendar_is_the_workbooks() -> None:
    data = workbook(
        rows('<c r="A1" s="0"><v>0</v></c>'),
        styles=formats("yyyy-mm-dd"),
        properties='<workbookPr date1904="1"/>',
    )
    assert texts(data) == ["1904-01-01"]


def test_formulas_show_their_result_and_without_one_themselves() -> None:
    data = workbook(
        rows(
            '<c r="A1"><f>SUM(B1:B2)</f><v>3</v></c><c r="B1"><f>SUM(C1:C2)&amp;"a"</f></c>'
            '<c r="C1" t="str"><f>IF(1,"")</f><v></v></c><c r="D1"><f>_xlfn.XLOOKUP(A1)</f><v/></c>'
            '<c r="E1"><f t="shared" si="0"/></c>'
        )
    )
    assert texts(data) == ['3 | =SUM(C1:C2)&"a" | =XLOOKUP(A1) | =…']
    assert read(data).warnings == (SourceWarning("uncached_formula", (), "S1"),)


def test_comments_and_charts_are_left_out() -> None:
    data = workbook(
        rows(text("A1", "數字")),
        rows(text("A1", "圖")),
        parts={
            "xl/_rels/workbook.xml.rels": relations(
                ("r1", "worksheet", "worksheets/s1.xml"), ("r2", "chartsheet", "worksheets/s2.xml")
            ),
            "xl/comments1.xml": f'<comments xmlns="{MAIN}"><t>老闆說不行</t></comments>',
        },
    )
    assert texts(data) == ["數字"]


# ---------------------------------------------------------------- hidden


@pytest.mark.parametrize(
    ("sheet", "states"),
    [
        (rows(text("A1", "底價")), ["hidden"]),
        (rows(text("A1", "底價")), ["veryHidden"]),
        (f'<sheetData><row r="1" hidden="1">{text("A1", "底價")}</row></sheetData>', []),
        (f'<sheetData><row r="1" ht="0">{text("A1", "底價")}</row></sheetData>', []),
        ('<cols><col min="1" max="1" hidden="1"/></cols>' + rows(text("A1", "底價")), []),
        ('<cols><col min="1" max="3" width="0"/></cols>' + rows(text("A1", "底價")), []),
        (rows('<c r="A1" s="1" t="inlineStr"><is><t>底價</t></is></c>'), []),
    ],
    ids=["sheet", "very hidden", "row", "low row", "column", "narrow column", "format"],
)
def test_what_is_hidden_is_skipped_and_said_so_unless_wanted(sheet: str, states: list[str]) -> None:
    data = workbook(
        sheet, rows(text("A1", "公開")), states=states, styles=formats("General", ";;;")
    )
    shown = workbook(sheet, states=states, styles=formats("General", ";;;"))
    found = read(data)
    assert "底價" not in "".join(block.text for block in found.blocks)
    assert found.warnings == (SourceWarning("hidden_content_skipped", (), "S1"),)
    wanted = read(shown, ReadOptions(include_hidden=True))
    assert [block.text for block in wanted.blocks] == ["底價"]
    assert wanted.warnings == ()


def test_a_hidden_row_does_not_end_its_table() -> None:
    data = workbook(
        f'<sheetData><row r="1">{text("A1", "品名")}{text("B1", "備註")}</row>'
        f'<row r="2" hidden="true">{text("A2", "藏")}</row>'
        f'<row r="3">{text("A3", "茶")}{text("B3", "無")}</row>'
        f'<row r="4">{text("A4", "糕")}<c r="B4"><v>5</v></c></row></sheetData>'
    )
    assert texts(data) == ["茶 | 無", "糕 | 5"]
    assert {block.header for block in blocks(data)} == {"品名 | 備註"}


# ---------------------------------------------------------------- other ways to write it


def test_prefixes_strict_names_and_parts_named_by_relationships() -> None:
    for space in (MAIN, STRICT):
        data = package(
            {
                "_rels/.rels": relations(("a", "officeDocument", "/Book/My%20Book.xml")),
                "Book/_rels/My Book.xml.rels": relations(
                    ("r", "worksheet", "../Tabs/one.xml"),
                    ("s", "sharedStrings", "Words.xml"),
                    base=space.replace("spreadsheetml/", "officeDocument/").replace(
                        "/main", "/relationships"
                    ),
                ),
                "Book/My Book.xml": f'<a:workbook xmlns:a="{space}" xmlns:b="{_relation(space)}">'
                '<a:sheets><a:sheet name="表" b:id="r"/></a:sheets></a:workbook>',
                "Book/words.xml": f'<z:sst xmlns:z="{space}"><z:si><z:t>字</z:t></z:si></z:sst>',
                "Tabs/one.xml": f'<q:worksheet xmlns:q="{space}"><q:sheetData><q:row><q:c t="s">'
                "<q:v>0</q:v></q:c><q:c><q:v>5</q:v></q:c></q:row></q:sheetData></q:worksheet>",
            }
        )
        assert texts(data) == ["字 | 5"]
        assert labels(data) == ["表 row 1"]


def _relation(space: str) -> str:
    if space == MAIN:
        return "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return "http://purl.oclc.org/ooxml/officeDocument/relationships"


def test_rows_and_cells_without_references_follow_each_other() -> None:
    data = workbook(
        '<sheetData><row><c><v>1</v></c><c r="C1"><v>2</v></c><c><v>3</v></c></row>'
        '<row r="5"><c/><c><v>4</v></c></row><row><c><v>6</v></c></row></sheetData>'
    )
    assert texts(data) == ["1 | 2 | 3", " | 4", "6"]
    assert labels(data) == ["S1 row 1", "S1 row 5", "S1 row 6"]


def test_an_odd_row_among_plain_ones_keeps_its_name_spaces() -> None:
    plain = "".join(
        f'<row r="{n}" spans="1:2" x:dy="0.2">{text(f"A{n}", f"第{n}")}'
        f'<c r="B{n}"><v>{n}</v></c></row>'
        for n in (1, 2, 3, 4)
    )
    odd = "<row r='5' x:dy='0.2'><c r='A5' t='inlineStr'><is><t>奇</t></is></c></row>"
    root = f'<worksheet xmlns="{MAIN}" xmlns:x="urn:x"><sheetData>{plain}{odd}</sheetData>'
    data = workbook("", parts={"xl/worksheets/s1.xml": root + "</worksheet>"})
    assert texts(data) == ["第1 | 1", "第2 | 2", "第3 | 3", "第4 | 4", "奇"]


CELL = st.one_of(
    st.none(),
    st.tuples(
        st.sampled_from(["", "s", "inlineStr", "str", "b", "e", "n"]),
        st.sampled_from(["", "0", "1", "2"]),
        st.text("0123&<>x_\" 茶'年\n", max_size=6),
        st.booleans(),
    ),
)


def cell(reference: str, made: tuple[str, str, str, bool], prefix: str) -> str:
    kind, style, value, is_formula = made
    if kind in {"", "n"}:
        value = "".join(each for each in value if each.isdigit())
    if kind in {"b", "e"}:
        value = value.strip()  # a result of nothing but blanks is written by nobody
    if kind == "s":
        value = str(len(value) % 3)
    value = value.replace("&", "&#38;").replace("<", "&lt;").replace(">", "&gt;")
    p = prefix
    head = f'<{p}c r="{reference}"' + (f' s="{style}"' if style else "")
    head += f' t="{kind}">' if kind else ">"
    if kind == "inlineStr":
        return f"{head}<{p}is><{p}t>{value}</{p}t></{p}is></{p}c>"
    formula = f"<{p}f>A1&amp;B1</{p}f>" if is_formula else ""
    return f"{head}{formula}<{p}v>{value}</{p}v></{p}c>"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(CELL, max_size=4), max_size=6), st.integers(1, 3))
def test_the_fast_way_reads_what_the_slow_way_reads(
    lines: list[list[tuple[str, str, str, bool] | None]], times: int
) -> None:
    lines = [line for line in lines for _ in range(times)]  # alike rows are read at once
    results = []
    for prefix, space in (("", "xmlns"), ("q:", "xmlns:q")):
        inner = "".join(
            f'<{prefix}row r="{n}">'
            + "".join(
                cell(f"{letter}{n}", made, prefix)
                for letter, made in zip("ABCD", line, strict=False)
                if made
            )
            + f"</{prefix}row>"
            for n, line in enumerate(lines, 1)
        )
        part = f'<{prefix}worksheet {space}="{MAIN}"><{prefix}sheetData>{inner}'
        part += f"</{prefix}sheetData></{prefix}worksheet>"
        data = workbook(
            "",
            strings="<si><t>一</t></si><si><t> </t></si><si><t>&lt;三&gt;</t></si>",
            styles=formats("General", "0.0%", "@&quot;!&quot;"),
            parts={"xl/worksheets/s1.xml": part},
        )
        found = read(data)
        results.append((found.blocks, found.warnings))
    assert results[0] == results[1]


# ---------------------------------------------------------------- hostile and broken


def test_progress_goes_by_sheets() -> None:
    told: list[tuple[int, int]] = []
    options = ReadOptions(on_progress=lambda done, of: told.append((done, of)))
    read(workbook(rows(text("A1", "a")), rows(text("A1", "b"))), options)
    assert told == [(0, 2), (1, 2)]


def test_too_many_cells_and_too_much_text_are_refused() -> None:
    many = "<sheetData>" + "<row><c><v>1</v></c></row>" * 2_000_001 + "</sheetData>"
    assert code_of(workbook(many)) == "document_limits"
    long = rows(*(f'<c r="A{n}" t="s"><v>0</v></c>' for n in range(1, 40)))
    bomb = workbook(long, strings=f"<si><t>{'字' * 30_000}</t></si>")
    assert code_of(bomb) == "too_many_chars"


@pytest.mark.parametrize("part", ["xl/worksheets/s1.xml", "xl/sharedStrings.xml", "xl/styles.xml"])
@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><d>&b;</d>',
        '<!DOCTYPE d SYSTEM "http://127.0.0.1/x"><d/>',
        "<a>" * 10_000 + "</a>" * 10_000,
    ],
    ids=["entities", "external", "deep"],
)
def test_entities_and_depth_are_refused_in_every_part(part: str, xml: str) -> None:
    assert code_of(workbook(rows(text("A1", "x")), parts={part: xml})) == "document_limits"


@pytest.mark.parametrize(
    "sheet",
    [
        "<worksheet>",
        f'<worksheet xmlns="{MAIN}"><sheetData><row r="0"/></sheetData></worksheet>',
        f'<worksheet xmlns="{MAIN}"><sheetData><row r="1048577"/></sheetData></worksheet>',
        f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="XFE1"><v>1</v></c></row>'
        "</sheetData></worksheet>",
        f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1" t="s"><v>x</v></c></row>'
        "</sheetData></worksheet>",
        b"\xff\xfe\x00",
    ],
    ids=["unclosed", "row 0", "row too far", "column too far", "no string", "no text"],
)
def test_broken_sheets_are_named_so(sheet: str | bytes) -> None:
    assert code_of(workbook("", parts={"xl/worksheets/s1.xml": sheet})) == "extract_crashed"


def test_a_missing_sheet_is_no_workbook() -> None:
    other = relations(("r1", "worksheet", "worksheets/gone.xml"))
    data = workbook(rows(text("A1", "x")), parts={"xl/_rels/workbook.xml.rels": other})
    assert code_of(data) == "extract_crashed"
    none = workbook(rows(text("A1", "x")), parts={"xl/_rels/workbook.xml.rels": relations()})
    assert code_of(none) == "extract_crashed"


def test_merged_cells_over_each_other_do_not_take_for_ever() -> None:
    merged = "<mergeCells>" + '<mergeCell ref="A1:C300"/>' * 3_500 + "</mergeCells>"
    data = workbook(rows(*(text(f"A{n}", "x") for n in range(1, 301))) + merged)
    assert code_of(data) == "document_limits"
