"""Ways by which other readers of Word and PowerPoint lost text, made it up, or fell over."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.core.chunking import chunk
from gateway.core.documents import Extracted
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from gateway.extract.supervisor import ExtractionSupervisor
from tests.extract.making import (
    SLIDE_SPACES,
    body,
    bomb,
    frame,
    p,
    package,
    relations,
    shape,
    slides,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOX = f"<w:txbxContent>{p('框中字')}</w:txbxContent>"
TWICE = (
    "<w:p><w:r><w:t>正文</w:t></w:r><w:r><mc:AlternateContent><mc:Choice Requires='wps'>"
    f"<wps:txbx>{BOX}</wps:txbx></mc:Choice><mc:Fallback><v:textbox>{BOX}</v:textbox>"
    "</mc:Fallback></mc:AlternateContent></w:r><w:r><w:footnoteReference w:id='2'/></w:r></w:p>"
)
CHANGED = (
    "<w:p><w:r><w:t>年假 </w:t></w:r><w:ins><w:r><w:t>十四日</w:t></w:r></w:ins>"
    "<w:del><w:r><w:delText>七日</w:delText></w:r></w:del></w:p>"
)
PRICES = (
    "<w:p><w:del><w:r><w:delText>88 元</w:delText></w:r></w:del><w:r><w:t>99 元</w:t></w:r></w:p>"
)


def row(*cells: tuple[str, int]) -> str:
    spans = (
        f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/></w:tcPr>{p(text)}</w:tc>'
        for text, span in cells
    )
    return f"<w:tr>{''.join(spans)}</w:tr>"


MERGED = (
    "<w:tbl>"
    + row(("甲", 1), ("乙", 1), ("丙", 1), ("丁", 1))
    + row(("合併", 3), ("尾", 1))
    + "</w:tbl>"
)
NUMBERS = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="3"/>'
    '<w:numFmt w:val="taiwaneseCountingThousand"/><w:lvlText w:val="第%1條"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)
LISTED = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'

WORD = {
    "tracked insertion in, deletion out": (body(CHANGED), ["年假 十四日"]),
    "deleted price never read": (body(PRICES), ["99 元"]),
    "merged cell once, columns kept": (body(MERGED), ["合併 |  |  | 尾"]),
    "box once, note after its paragraph, header once, comment never": (
        body(
            TWICE + p("下一段"),
            {
                "word/footnotes.xml": f"<w:footnote w:id='2'>{p('註解')}</w:footnote>",
                "word/header1.xml": p("頁首"),
                "word/header2.xml": p("頁首"),
                "word/comments.xml": f"<w:comment w:id='0'>{p('批註')}</w:comment>",
            },
        ),
        ["頁首", "正文", "框中字", "※1 註解", "下一段"],
    ),
    "number that stands only in the list": (
        body(p("特別休假", LISTED), {"word/numbering.xml": NUMBERS}),
        ["第三條 特別休假"],
    ),
}


def deck() -> bytes:
    """Eleven slides whose files are named in another order, with all that hides text."""
    group = f"<p:grpSp><p:grpSp>{shape('組中組')}</p:grpSp></p:grpSp>"
    cell = "<a:tc><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
    rows = "".join(
        f"<a:tr>{cell.format(a)}{cell.format(b)}</a:tr>" for a, b in (("品", "價"), ("茶", "30"))
    )
    drawn = "<dsp:sp><dsp:txBody><a:p><a:r><a:t>圖形字</a:t></a:r></a:p></dsp:txBody></dsp:sp>"
    links = {
        "d": ("diagramData", "../d.xml"),
        "w": ("diagramDrawing", "../w.xml"),
        "n": ("notesSlide", "../n.xml"),
    }
    parts = {
        "ppt/slides/_rels/slide11.xml.rels": relations(links),
        "ppt/d.xml": f"<dgm:dataModel {SLIDE_SPACES}><dsp:dataModelExt relId='w'/></dgm:dataModel>",
        "ppt/w.xml": f"<dsp:drawing {SLIDE_SPACES}>{drawn}</dsp:drawing>",
        "ppt/n.xml": f"<p:notes {SLIDE_SPACES}><p:cSld><p:spTree>{shape('講稿', kind='body')}"
        "</p:spTree></p:cSld></p:notes>",
    }
    first = (
        shape("標題", kind="title")
        + group
        + frame(f"<a:tbl><a:tblPr firstRow='1'/>{rows}</a:tbl>")
        + frame("<dgm:relIds r:dm='d'/>")
    )
    others = [shape(f"第{number}張") for number in range(2, 12)]
    return slides(first, *others, parts=parts, hidden=10)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def supervisor() -> AsyncIterator[ExtractionSupervisor]:
    made = ExtractionSupervisor(KnowledgeLimits(extract_timeout_secs=20, extract_memory_mb=512))
    yield made
    await made.close()


async def read(
    supervisor: ExtractionSupervisor, tmp_path: Path, data: bytes, name: str
) -> Extracted:
    file = tmp_path / "file"
    file.write_bytes(data)
    extracted = await supervisor.extract(file, name)
    assert extracted.is_sandboxed
    return extracted


@pytest.mark.parametrize("kind", list(WORD))
async def test_a_word_file_is_read_as_it_is_seen(
    supervisor: ExtractionSupervisor, tmp_path: Path, kind: str
) -> None:
    data, expected = WORD[kind]
    extracted = await read(supervisor, tmp_path, data, "規則.docx")
    assert [block.text for block in extracted.blocks] == expected


async def test_slides_groups_tables_diagrams_and_notes_are_found_under_their_numbers(
    supervisor: ExtractionSupervisor, tmp_path: Path
) -> None:
    extracted = await read(supervisor, tmp_path, deck(), "簡報.pptx")
    found = [(block.locator.slide, block.text) for block in extracted.blocks]
    assert found[:5] == [
        (1, "標題"),
        (1, "組中組"),
        (1, "茶 | 30"),
        (1, "圖形字"),
        (1, "備註：講稿"),
    ]
    assert found[5:] == [(number, f"第{number}張") for number in (2, 3, 4, 5, 6, 7, 8, 9, 11)]
    assert [(each.code, each.pages) for each in extracted.warnings] == [
        ("hidden_content_skipped", (10,))
    ]
    passages, _ = chunk(extracted)
    assert all("第2張" not in each.text or each.locator.slide == 2 for each in passages)


async def test_every_door_and_every_name_gives_the_same_passages(
    supervisor: ExtractionSupervisor, tmp_path: Path
) -> None:
    data, _ = WORD["number that stands only in the list"]
    readings = [
        await read(supervisor, tmp_path, data, name)
        for name in ("規則.docx", "附件", "x.pptx", "a.txt")
    ]
    assert all(chunk(each) == chunk(readings[0]) for each in readings)


HOSTILE = {
    "500 MB in 500 KB that say 1000 bytes": (bomb(500, says=1000), "document_limits"),
    "500 MB in 500 KB that say so": (bomb(500, says=500 << 20), "document_limits"),
    "10,000 elements in each other": (
        package({"word/document.xml": "<a>" * 10_000 + "</a>" * 10_000}),
        "document_limits",
    ),
    "entities of entities": (
        package(
            {
                "word/document.xml": '<!DOCTYPE d [<!ENTITY a "'
                + "ha" * 10
                + '">'
                + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
                + "]><d>&a9;</d>"
            }
        ),
        "document_limits",
    ),
    "encrypted, named as a workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(504)
        + bytes(512)
        + "EncryptedPackage\0".encode("utf-16-le").ljust(128, b"\0"),
        "encrypted",
    ),
}


@pytest.mark.parametrize("kind", list(HOSTILE))
async def test_a_hostile_container_is_refused_by_name_before_it_does_harm(
    supervisor: ExtractionSupervisor, tmp_path: Path, kind: str
) -> None:
    data, code = HOSTILE[kind]
    assert len(data) < 600_000
    with pytest.raises(ExtractionError) as raised:
        await read(supervisor, tmp_path, data, "a.xlsx")
    assert raised.value.code == code


@pytest.mark.parametrize(
    "whole", [deck(), WORD["merged cell once, columns kept"][0]], ids=["slides", "word"]
)
async def test_a_damaged_file_is_read_whole_or_refused_by_name(whole: bytes) -> None:
    codes: set[str] = set()
    chance = random.Random(18)
    intact = read_document(whole, "x", ReadOptions()).blocks
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        cut = bytes(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)
        try:
            blocks = read_document(cut, "x", ReadOptions()).blocks
        except ExtractionError as error:
            codes.add(error.code)
        else:
            assert blocks == intact or not cut.startswith(b"PK")
    assert "extract_crashed" in codes
    assert codes <= {"extract_crashed", "document_limits", "unsupported_format", "encrypted"}
