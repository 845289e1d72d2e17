"""Rich Text: code pages of document and font, what is shown, tables, notes, hostile files."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from gateway.extract.supervisor import ExtractionSupervisor

FONTS = (
    r"{\fonttbl{\f0\fcharset136 \'b7\'73;}{\f1\fcharset128{\*\falt x}y;}{\f2\fcharset0 z;}"
    r"{\f3\fcharset134 s;}{\f4\fcharset129 k;}{\f5\fcharset2 Symbol;}{\f6\fcharset204 c;}"
    r"{\f7\fnil\cpg1253 g;}{\f8\fcharset1 d;}}"
)


def read(body: str, head: str = r"\ansi\ansicpg950\deff0") -> Document:
    data = ("{\\rtf1" + head + FONTS + body + "}").encode("ascii")
    return read_document(data, "x.rtf", ReadOptions(2_000_000))


def texts(body: str, head: str = r"\ansi\ansicpg950\deff0") -> list[str]:
    return [block.text for block in read(body, head).blocks]


def hexed(text: str, codec: str) -> str:
    return "".join(f"\\'{byte:02x}" for byte in text.encode(codec))


def halved(text: str, codec: str) -> str:
    """As Word writes: what ASCII has stands plain, even as half of a character."""
    data = text.encode(codec)
    return "".join(
        f"\\{chr(b)}" if chr(b) in "\\{}" else chr(b) if 0x20 < b < 0x7F else f"\\'{b:02x}"
        for b in data
    )


# ---------------------------------------------------------------- characters


@pytest.mark.parametrize("write", [hexed, halved])
@pytest.mark.parametrize(
    ("font", "text", "codec"),
    [
        (0, "特別休假：功許蓋", "cp950"), (0, "裏面、碁", "cp950"),
        (1, "有給休暇の表示ソ①", "cp932"),
        (3, "带薪年假", "gbk"), (3, "髙镕", "gb18030"), (4, "연차 휴가 똠", "cp949"),
        (2, "café naïve –", "cp1252"), (6, "Привет", "cp1251"), (7, "Γειά", "cp1253"),
        (8, "休假", "cp950"), (2, "休假規定", "cp950"),
    ],
)  # fmt: skip
def test_each_run_is_in_the_code_page_of_its_font(
    font: int, text: str, codec: str, write: object
) -> None:
    assert callable(write)
    assert texts(f"\\f{font} {write(text, codec)}\\par") == [text]


def test_fonts_change_within_a_line_and_come_back_after_a_group() -> None:
    body = (
        hexed("手", "cp950")
        + r"{\f1 "
        + hexed("の", "cp932")
        + r"{\f3 "
        + hexed("国", "gbk")
        + "}"
        + hexed("表", "cp932")
        + "}"
        + hexed("冊", "cp950")
        + r"\plain\f2 \'e9"
    )
    assert texts(body) == ["手の国表冊é"]


@pytest.mark.parametrize(
    ("head", "text", "codec"),
    [
        (r"\ansi\ansicpg932", "就業規則", "cp932"),
        (r"\ansi\ansicpg936", "规章", "gbk"),
        (r"\ansi\ansicpg949", "규칙", "cp949"),
        (r"\ansi\ansicpg1251", "Правила", "cp1251"),
        (r"\ansi\ansicpg65001", "規則", "utf-8"),
        (r"\ansi", "règle", "cp1252"),
        (r"\mac", "règle", "mac-roman"),
        (r"\pc", "règle", "cp437"),
        (r"\pca", "règle", "cp850"),
    ],
)
def test_without_a_font_the_document_tells_the_code_page(head: str, text: str, codec: str) -> None:
    data = ("{\\rtf1" + head + " " + hexed(text, codec) + "}").encode()
    assert [b.text for b in read_document(data, "x", ReadOptions()).blocks] == [text]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"\u20551?\u26399?", "假期"),
        (r"\uc2\u12371\'82\'b1\uc1 x", "こx"),
        (r"\uc0\u20551 x{\uc3\u26399 abc}\u20551 y", "假x期假y"),
        (r"\u-8704?a", "\ude00a".encode("utf-16", "surrogatepass").decode("utf-16", "replace")),
        (r"\u-10179?\u-8704?", "😀"),
        (r"\u20551{x}y", "假xy"),
        (r"\u20551\'ff\u26399 ?z", "假期z"),
        (r"\f5 \'b7\u-3913?", "••"),
        (r"a\~b\_c\-d\emdash e\lquote f\rquote\tab g\{\}\\", "a\xa0b\u2011cd—e‘f’\tg{}\\"),
        ("a\r\nb\\line c", "ab\nc"),
        (r"{\upr{ansi}{\*\ud{\u20551?}}}", "假"),
    ],
)
def test_characters_by_number_and_by_name(written: str, text: str) -> None:
    assert texts(written) == [text]


# ---------------------------------------------------------------- what is shown


@pytest.mark.parametrize(
    "hidden",
    [
        r"{\v X}", r"\v X\v0 ", r"{\deleted X}", r"{\*\unknown X}", r"{\*\generator X;}",
        r"{\pict\wmetafile8 5858}", r"{\pict\bin3 X}{}", r"{\field{\*\fldinst HYPERLINK X}}",
        r"{\annotation X}", r"{\*\annotation X}{\*\atnid X}", r"{\info{\author X}{\doccomm X}}",
        r"{\colortbl X;}", r"{\listtable{\list X}}", r"{\xe X}", r"{\nonshppict X}",
        r"{\shp{\*\shpinst{\sp{\sn X}{\sv X}}}{\shprslt X}}", r"{\object{\*\objdata X}}",
        r"{\stylesheet{\s3 X;}}", r"{\*\pict{\upr{X}{\*\ud X}}}", r"{\*\bkmkstart X}",
        r"{\v {\b X}}", r"{\*\mvfmf X}", r"{\v \u88?}",
    ],
)  # fmt: skip
def test_what_is_not_shown_is_no_text(hidden: str) -> None:
    assert texts(rf"a{hidden}b\par") == ["ab"]


def test_hidden_text_is_told_and_read_where_it_is_wished() -> None:
    data = rb"{\rtf1 a{\v  }b{\v \u104?idden}\par}"
    left_out = read_document(data, "x.rtf", ReadOptions())
    assert [warning.code for warning in left_out.warnings] == ["hidden_content_skipped"]
    wished = read_document(data, "x.rtf", ReadOptions(include_hidden=True))
    assert ([block.text for block in wished.blocks], wished.warnings) == (["a bhidden"], ())
    assert read_document(rb"{\rtf1 a{\v  }\par}", "x.rtf", ReadOptions()).warnings == ()


def test_fields_boxes_insertions_and_list_marks_are_shown() -> None:
    assert texts(r"{\field{\*\fldinst X}{\fldrslt link}}\par") == ["link"]
    assert texts(r"{\revised new}{\v a}{\plain b}\par") == ["newb"]
    assert texts(r"{\pntext\f5\'b7\tab}item\par") == ["•\titem"]
    assert texts(r"{\listtext 1.\tab}item\par") == ["1.\titem"]
    box = r"{\shp{\*\shpinst{\sp{\sn X}{\sv X}}{\shptxt in\par box\par}}{\shprslt X}}"
    assert texts(rf"before{box} after\par next\par") == ["before after", "in", "box", "next"]


def test_headings_title_headers_and_notes() -> None:
    body = (
        r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 x;}{\s5 heading 3;}{\*\cs9 heading 1 Char;}}"
        r"{\info{\title " + hexed("手冊", "cp950") + r"}{\author Bob}}"
        r"{\header\pard Corp\par}{\headerf Corp\par}{\footer\chpgn\par}"
        r"\pard\s1 One\par\pard\plain text\super{\footnote\pard note\par}\par"
        r"\pard\s5 Three\par\pard\outlinelevel1 Two\par\pard end"
    )
    document = read(body)
    assert document.title == "手冊"
    assert document.media_type == "application/rtf"
    assert [(block.text, block.heading_level) for block in document.blocks] == [
        ("Corp", None),
        ("One", 1),
        ("text", None),
        ("※1 note", None),
        ("Three", 3),
        ("Two", 2),
        ("end", None),
    ]


def test_tables_are_rows_with_their_header() -> None:
    body = (
        r"\pard before\par\trowd\cellx1\cellx2\pard\intbl A\cell B\cell\row"
        r"\trowd\intbl 1\par 2\cell\cell\row\pard"
        r"\trowd\intbl\itap2 in\nestcell ner\nestcell{\*\nesttableprops\trowd\nestrow}"
        r"{\nonesttables\par X}\itap1 x\cell y\cell\row\pard after\par"
    )
    found = [(block.header, block.text) for block in read(body).blocks]
    assert found == [
        ("", "before"),
        ("A | B", "1 2"),
        ("A | B", "in / ner x | y"),
        ("", "after"),
    ]
    frame = r"\trowd\pard\intbl only\cell\row\pard after\par"
    assert [(block.is_row, block.text) for block in read(frame).blocks] == [
        (False, "only"),
        (False, "after"),
    ]


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "body",
    [
        "\\par x" * 20_000, "}{" * 20_000, "\\'a4" * 50_000, "\\cell" * 20_000 + "\\row\\par x",
        "\\bin99999999999 x", "\\u12345678901 ?x\\", "{\\fonttbl" + "{\\f1\\fcharset9 a;}" * 9_000,
        "{\\footnote " * 900, "\\uc99999999\\u1 " + "x" * 50_000, "\\" * 50_000,
        "{\\shp{\\*\\shpinst{\\shptxt " * 250 + "x",
    ],
    ids=range(11),
)  # fmt: skip
def test_hostile_files_end_quickly(body: str) -> None:
    start = time.process_time()
    read(body)
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("body", "code"),
    [("{" * 1_500, "document_limits"), ("x" * 2_000_001, "too_many_chars")],
    ids=["depth", "characters"],
)
def test_files_over_a_limit_are_refused(body: str, code: str) -> None:
    with pytest.raises(ExtractionError) as raised:
        read(body)
    assert raised.value.code == code


@given(st.binary(max_size=300), st.text("\\{}'*uvf012 abc;", max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes, text: str) -> None:
    for body in (data, text.encode()):
        read_document(b"{\\rtf1\\ansi " + body, "x.rtf", ReadOptions())


# ---------------------------------------------------------------- through the sandbox


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def supervisor() -> AsyncIterator[ExtractionSupervisor]:
    made = ExtractionSupervisor(KnowledgeLimits(extract_timeout_secs=40))
    yield made
    await made.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_rich_text_is_read_in_the_sandbox(
    supervisor: ExtractionSupervisor, tmp_path: Path
) -> None:
    file = tmp_path / "a.doc"
    fonts = "".join(f"{{\\f{n}\\fcharset{n} x;}}" for n in (77, 128, 130, 163, 178, 222, 255))
    runs = "".join(f"\\f{n} \\'41" for n in (77, 128, 130, 163, 178, 222, 255))
    data = f"{{\\rtf1\\ansi\\ansicpg852{{\\fonttbl{fonts}}}{{\\info{{\\title T}}}}{runs}}}"
    await asyncio.to_thread(file.write_bytes, data.encode())
    found = await supervisor.extract(file, file.name)
    assert found.is_sandboxed
    assert (found.title, [block.text for block in found.blocks]) == ("T", ["A" * 7])
