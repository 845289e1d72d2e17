"""PowerPoint files as their readers and their speaker see them."""

import pytest

from gateway.core.documents import Block
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from tests.extract.making import SLIDE_SPACES, frame, package, relations, shape, slides


def read(data: bytes, *, include_hidden: bool = False) -> Document:
    return read_document(data, "x.pptx", ReadOptions(include_hidden=include_hidden))


def found(data: bytes) -> list[tuple[int | None, str]]:
    return [(block.locator.slide, block.text) for block in read(data).blocks]


def texts(data: bytes) -> list[str]:
    return [text for _, text in found(data)]


def cells(*texts: str, properties: str = "") -> str:
    inside = (f"<a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody>" for text in texts)
    return "<a:tr>" + "".join(f"<a:tc {properties}>{text}</a:tc>" for text in inside) + "</a:tr>"


def noted(*parts: tuple[str, str], name: str = "slide1") -> dict[str, str]:
    """The notes of a slide: shapes of a notes page."""
    tree = "".join(shape(text, kind=kind) for kind, text in parts)
    return {
        f"ppt/slides/_rels/{name}.xml.rels": relations(
            {"n": ("notesSlide", "../notesSlides/n.xml")}
        ),
        "ppt/notesSlides/n.xml": f"<p:notes {SLIDE_SPACES}><p:cSld><p:spTree>{tree}</p:spTree>"
        "</p:cSld></p:notes>",
    }


def test_slides_come_in_the_order_of_the_presentation_with_their_titles_first() -> None:
    first = shape("內文") + shape("標題一", kind="title")
    many = [shape(f"第{number}張") for number in range(2, 12)]
    read_slides = read(slides(first, *many))
    assert read_slides.pages == 11
    assert read_slides.blocks[0] == Block("標題一", read_slides.blocks[0].locator, heading_level=1)
    assert found(slides(first, *many))[:4] == [
        (1, "標題一"),
        (1, "內文"),
        (2, "第2張"),
        (3, "第3張"),
    ]


def test_what_belongs_to_the_page_and_not_to_the_slide_is_left_out() -> None:
    tree = "".join(shape(kind, kind=kind) for kind in ("dt", "ftr", "sldNum", "hdr"))
    number = "<a:p><a:fld type='slidenum'><a:t>7</a:t></a:fld><a:r><a:t>頁</a:t></a:r></a:p>"
    assert texts(slides(tree + shape(number))) == ["頁"]


def test_an_outline_keeps_its_levels_and_its_numbers() -> None:
    numbered = "<a:pPr><a:buAutoNum type='ea1ChtPeriod'/></a:pPr>"
    body = shape(
        "請假",
        "<a:p><a:pPr lvl='1'/><a:r><a:t>事前</a:t></a:r></a:p>",
        "<a:p><a:pPr lvl='2'/><a:r><a:t>三日</a:t></a:r><a:br/><a:r><a:t>內</a:t></a:r></a:p>",
        f"<a:p>{numbered}<a:r><a:t>加班</a:t></a:r></a:p>",
        f"<a:p>{numbered}<a:r><a:t>出差</a:t></a:r></a:p>",
        kind="body",
    )
    assert texts(slides(body)) == ["請假\n  事前\n    三日\n內", "一. 加班", "二. 出差"]


def test_groups_within_groups_are_read_in_their_place() -> None:
    inner = f"<p:grpSp><p:nvGrpSpPr/>{shape('裡面')}</p:grpSp>"
    tree = shape("前") + f"<p:grpSp><p:grpSpPr/>{inner}{shape('外面')}</p:grpSp>" + shape("後")
    assert texts(slides(tree)) == ["前", "裡面", "外面", "後"]


def test_a_table_is_rows_under_their_header_with_merged_cells_once() -> None:
    rows = cells("品名", "價格", "備註") + cells("茶", "30", "冰")
    merged = '<a:tr><a:tc gridSpan="3"><a:txBody><a:p><a:r><a:t>以上含稅</a:t></a:r></a:p>'
    merged += '</a:txBody></a:tc><a:tc hMerge="1"><a:txBody><a:p><a:r><a:t>重複</a:t></a:r></a:p>'
    merged += '</a:txBody></a:tc><a:tc hMerge="1"/></a:tr>'
    table = frame(f"<a:tbl><a:tblPr firstRow='1'/>{rows}{merged}</a:tbl>")
    blocks = read(slides(table)).blocks
    assert [block.text for block in blocks] == ["茶 | 30 | 冰", "以上含稅"]
    assert {(block.is_row, block.header) for block in blocks} == {(True, "品名 | 價格 | 備註")}


def test_a_chart_is_its_names_and_stored_values() -> None:
    def points(*values: str) -> str:
        return "".join(f"<c:pt idx='{at}'><c:v>{v}</c:v></c:pt>" for at, v in enumerate(values))

    rich = "<c:title><c:tx><c:rich><a:p><a:r><a:t>營收</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    name = f"<c:tx><c:strRef><c:strCache>{points('毛利率')}</c:strCache></c:strRef></c:tx>"
    category = (
        f"<c:cat><c:strRef><c:strCache>{points('台北', '高雄')}</c:strCache></c:strRef></c:cat>"
    )
    value = "<c:val><c:numRef><c:numCache><c:formatCode>0.0%</c:formatCode>"
    value += f"{points('0.125', '0.3')}</c:numCache></c:numRef></c:val>"
    series = f"<c:ser>{name}{category}{value}</c:ser>"
    chart = f"<c:chartSpace {SLIDE_SPACES}><c:chart>{rich}<c:plotArea><c:barChart>{series}"
    chart += "</c:barChart></c:plotArea></c:chart></c:chartSpace>"
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"c": ("chart", "/ppt/charts/c.xml")}),
        "ppt/charts/c.xml": chart,
    }
    blocks = read(slides(frame("<c:chart r:id='c'/>"), parts=parts)).blocks
    assert [(block.text, block.header) for block in blocks] == [
        ("營收", ""),
        ("台北 | 12.5%", " | 毛利率"),
        ("高雄 | 30.0%", " | 毛利率"),
    ]


def diagram(*, with_drawing: bool) -> bytes:
    def point(name: str, text: str, kind: str = "node") -> str:
        inside = f"<dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t>"
        return f"<dgm:pt modelId='{name}' type='{kind}'>{inside}</dgm:pt>"

    points = (
        point("0", "", "doc")
        + point("2", "出貨")
        + point("1", "下單")
        + point("3", "線", "parTrans")
    )
    links = "<dgm:cxn srcId='0' destId='1' srcOrd='0'/><dgm:cxn srcId='0' destId='2' srcOrd='1'/>"
    links += "<dgm:cxn srcId='2' destId='2'/>"
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations(
            {"d": ("diagramData", "../d.xml"), "w": ("diagramDrawing", "../w.xml")}
        ),
        "ppt/d.xml": f"<dgm:dataModel {SLIDE_SPACES}><dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>"
        f"{links}</dgm:cxnLst><dgm:extLst><a:ext><dsp:dataModelExt relId='w'/></a:ext></dgm:extLst>"
        "</dgm:dataModel>",
    }
    if with_drawing:
        drawn = "".join(
            f"<dsp:sp><dsp:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dsp:txBody></dsp:sp>"
            for text in ("下單", "出貨")
        )
        parts["ppt/w.xml"] = f"<dsp:drawing {SLIDE_SPACES}>{drawn}</dsp:drawing>"
    return slides(frame("<dgm:relIds r:dm='d'/>"), parts=parts)


@pytest.mark.parametrize("with_drawing", [True, False])
def test_a_diagram_is_read_once_as_drawn_or_else_from_its_data(with_drawing: bool) -> None:
    assert texts(diagram(with_drawing=with_drawing)) == ["下單\n出貨"]


def test_notes_are_marked_and_stand_on_their_slide() -> None:
    parts = noted(("sldImg", "圖"), ("body", "要提到退費"), ("sldNum", "1"))
    data = slides(shape("投影片"), shape("下一張"), parts={**parts})
    assert found(data) == [(1, "投影片"), (2, "下一張"), (2, "備註：要提到退費")]


def test_long_notes_are_marked_in_each_block() -> None:
    parts = noted(("body", "講" * 300), ("body", "稿" * 300))
    assert [text[:4] for text in texts(slides(shape("甲"), parts=parts))] == [
        "甲",
        "備註：講",
        "備註：稿",
    ]


def test_hidden_slides_and_shapes_are_skipped_with_their_numbers_or_read_when_asked() -> None:
    secret = shape("底價 88").replace('name="x"', 'name="x" hidden="1"')
    data = slides(shape("甲"), shape("秘密"), shape("丙") + secret, hidden=2)
    skipped = read(data)
    assert [block.text for block in skipped.blocks] == ["甲", "丙"]
    assert [(each.code, each.pages) for each in skipped.warnings] == [
        ("hidden_content_skipped", (2, 3))
    ]
    whole = read(data, include_hidden=True)
    assert [block.text for block in whole.blocks] == ["甲", "秘密", "丙", "底價 88"]
    assert not whole.warnings


def test_alternatives_are_taken_once() -> None:
    tree = f"<mc:AlternateContent><mc:Choice Requires='x'>{shape('新')}</mc:Choice>"
    tree += f"<mc:Fallback>{shape('舊')}</mc:Fallback></mc:AlternateContent>"
    empty = "<mc:AlternateContent><mc:Choice Requires='x'><p:pic/></mc:Choice>"
    empty += f"<mc:Fallback>{shape('只有這裡')}</mc:Fallback></mc:AlternateContent>"
    assert texts(slides(tree + empty)) == ["新", "只有這裡"]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("辦公室平面圖", ["樓層", "辦公室平面圖"]),
        ("IMG_0001.JPG", ["樓層"]),
        ("一張含有 室內 的圖片&#10;&#10;自動產生的描述", ["樓層"]),
    ],
)
def test_a_picture_speaks_by_its_description_only_where_nothing_else_does(
    description: str, expected: list[str]
) -> None:
    picture = f"<p:pic><p:nvPicPr><p:cNvPr id='3' descr='{description}'/></p:nvPicPr></p:pic>"
    assert texts(slides(shape("樓層", kind="title") + picture)) == expected
    assert texts(slides(picture + shape("文字"))) == ["文字"]


def test_names_of_the_strict_standard_are_understood() -> None:
    spaces = SLIDE_SPACES.replace(
        "schemas.openxmlformats.org/presentationml/2006/main",
        "purl.oclc.org/ooxml/presentationml/main",
    ).replace(
        "schemas.openxmlformats.org/drawingml/2006/main", "purl.oclc.org/ooxml/drawingml/main"
    )
    spaces = spaces.replace(
        "schemas.openxmlformats.org/officeDocument/2006/relationships",
        "purl.oclc.org/ooxml/officeDocument/relationships",
    )
    links = relations({"a": ("slide", "s.xml")}).replace(
        "schemas.openxmlformats.org/officeDocument/2006/relationships",
        "purl.oclc.org/ooxml/officeDocument/relationships",
    )
    files = {
        "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst><p:sldId r:id='a'/>"
        "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": links,
        "ppt/s.xml": f"<p:sld {spaces}><p:cSld><p:spTree>{shape('嚴格', kind='title')}</p:spTree>"
        "</p:cSld></p:sld>",
    }
    assert texts(package(files)) == ["嚴格"]


def test_progress_is_told_slide_by_slide() -> None:
    told: list[tuple[int, int]] = []
    options = ReadOptions(on_progress=lambda done, of: told.append((done, of)))
    read_document(slides(shape("甲"), shape("乙")), "x.pptx", options)
    assert told == [(1, 2), (2, 2)]


def test_a_missing_slide_or_a_cut_file_is_named_so() -> None:
    whole = slides(shape("甲"), shape("乙"))
    missing = slides(shape("甲")).replace(b"slides/slide1.xml", b"slides/slide9.xml")
    for data in (whole[: len(whole) // 2], whole[:-40], missing):
        with pytest.raises(ExtractionError) as raised:
            read(data)
        assert raised.value.code == "extract_crashed"
