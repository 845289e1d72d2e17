"""Web pages: encodings by their order, what readers see and nothing else, structure kept."""

import asyncio
import codecs
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.core.documents import Extracted
from gateway.core.limits import KnowledgeLimits
from gateway.errors import ExtractionError
from gateway.extract.formats import read_document
from gateway.extract.reading import Document, ReadOptions
from gateway.extract.supervisor import ExtractionSupervisor

ZH = "特別休假：滿一年者給予七日，衛生紙、裏面。"
CN = "入职满一年者，每年给予带薪年假七天。"
JA = "有給休暇は入社後一年で取得できる。①"
KO = "연차 휴가는 입사 1년 후 부여됩니다. 똠"


def read(page: str | bytes, charset: str = "", name: str = "x.html") -> Document:
    data = page.encode() if isinstance(page, str) else page
    return read_document(data, name, ReadOptions(2_000_000, charset))


def texts(page: str | bytes, charset: str = "") -> list[str]:
    return [block.text for block in read(page, charset).blocks]


def inside(body: str, head: str = "") -> list[str]:
    return texts(f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>")


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<!DOCTYPE html><p>text", "x.html"),
        (b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'><p>text", "x.txt"),
        (b"\xef\xbb\xbf\n <HTML><p>text", "x.docx"),
        (b"<!-- saved --><!DOCTYPE html><p>text", "x"),
        (b"<?xml version='1.0' encoding='utf-8'?>\n<html xmlns='x'><body>text</body></html>", "x"),
        ("<html><p>text".encode("utf-16"), "x.txt"),
        ("<html><p>text".encode("utf-16-le"), "x.txt"),
        ("<html><p>text".encode("utf-16-be"), "x.txt"),
        (b"<p>te<!-- no -->xt</p>", "x.HTM"),
        (b"<SAMI><BODY><SYNC Start=0><P>text</BODY></SAMI>", "x.smi"),
    ],
    ids=range(10),
)
def test_a_page_is_told_by_its_content(data: bytes, name: str) -> None:
    document = read_document(data, name, ReadOptions())
    assert [block.text for block in document.blocks] == ["text"]
    assert document.media_type == "text/html"


def test_what_only_speaks_of_tags_stays_text() -> None:
    assert read_document(b"a < b\n\nif <html> then", "x.txt", ReadOptions()).media_type == (
        "text/plain"
    )
    assert read_document(b"no tag", "x.html", ReadOptions()).media_type == "text/plain"
    assert read_document(b"<p align=center>\n# A", "x.md", ReadOptions()).media_type == (
        "text/markdown"
    )


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        *((ZH, "cp950", label) for label in ("big5", "cn-big5", "csbig5", "x-x-big5")),
        ("員工請假要經主管核准㗎。", "big5hkscs", "Big5-HKSCS"),
        *((CN, "gb18030", label) for label in ("gbk", "gb2312", "GB_2312-80", "x-gbk")),
        *((JA, "cp932", label) for label in ("shift_jis", "x-sjis", "windows-31j", "MS_Kanji")),
        (JA[:-1], "euc_jp", "x-euc-jp"),
        (JA[:-1], "iso2022_jp", "ISO-2022-JP"),
        *((KO, "cp949", label) for label in ("euc-kr", "ks_c_5601-1987", "korean")),
        ("naïve – café", "cp1252", "iso-8859-1"),
        ("Привет", "cp1251", "windows-1251"),
        ("Привет", "koi8-r", "koi8"),
    ],
)
@pytest.mark.parametrize("place", ["transport", "meta", "http-equiv", "xml"])
def test_labels_of_the_web_wherever_they_stand(
    text: str, codec: str, label: str, place: str
) -> None:
    heads = {
        "transport": "<html>",
        "meta": f"<html><!-- <meta charset=utf-8> --><META Charset = '{label}'>",
        "http-equiv": '<html><meta name=a content="charset=utf-8"><meta content="text/html; '
        f'charset={label}" http-equiv=Content-Type>',
        "xml": f'<?xml version="1.0" encoding="{label}"?><html>',
    }
    page = f"{heads[place]}<p>{text}</p>".encode(codec)
    assert texts(page, label if place == "transport" else "") == [text]


def test_the_order_is_mark_transport_meta_detection() -> None:
    page = f"<html><meta charset=gbk><p>{ZH}"
    assert texts(codecs.BOM_UTF8 + page.encode(), "big5") == [ZH]
    assert texts(page.encode("utf-16"), "big5") == [ZH]
    assert texts(page.encode("cp950"), "big5") == [ZH]
    ambiguous = "<html><meta charset=gbk><p>¤¤¤å".encode("latin-1")
    assert texts(ambiguous) == [b"\xa4\xa4\xa4\xe5".decode("gbk")]
    assert texts(ambiguous, "big5") == ["中文"]
    assert texts(f"<html><p>{ZH}".encode("cp950")) == [ZH]
    assert texts(f"<html><p>{ZH}".encode("cp950"), "no-such-encoding") == [ZH]


@pytest.mark.parametrize("declared", ["utf-8", "utf-16", "shift_jis", "us-ascii; x", ""])
def test_what_the_bytes_cannot_be_in_is_not_believed(declared: str) -> None:
    late = "<html><title>x</title>" + "<p>ascii " * 2000 + f"<p>{ZH * 9}"
    assert texts(late.encode("cp950"), declared)[-1] == ZH * 9
    assert texts(f"<html><meta charset={declared}><p>{ZH * 9}".encode("utf-16-le")) == [ZH * 9]


def test_single_broken_bytes_do_not_hide_a_page() -> None:
    page = f"<html><meta charset=utf-8><p>{ZH * 20}</p><p>".encode() + b"\xff</p><p>end"
    assert texts(page)[0] == ZH * 20
    assert texts(page)[-1] == "end"


# ---------------------------------------------------------------- what is seen

HIDING = [
    "<span hidden>X</span>", "<p aria-hidden=true>X</p>", "<div style='display:none'>X</div>",
    "<div style='DISPLAY : None !important'>X</div>", "<p style='visibility:hidden'>X</p>",
    "<p style='font-size:0'>X</p>", "<p style='font-size:0.1px'>X</p>", "<p style='opacity:0'>X",
    "<div style='position:absolute;left:-9999px'>X</div>", "<p style='text-indent:-9999px'>X</p>",
    "<div style='position:absolute;clip:rect(0,0,0,0)'>X</div>",
    "<div style='height:0;overflow:hidden'>X</div>", "<p style='color:#fff'>X</p>",
    "<p style='color:white;background:#FEFEFE'>X</p>", "<font color=white>X</font>",
    "<p style='color:rgba(0,0,0,0)'>X</p>", "<p style='color:rgb(255,255,255)'>X</p>",
    "<table bgcolor=black><tr><td><font color='#000000'>X</font></table>",
    "<p class='b a'>X</p>", "<p id=c>X</p>", "<em>X</em>", "<p class=d>X</p>",
    "<!-- X -->", "<script>X</script>", "<script>document.write('<p>X</p>')</script>",
    "<noscript><p>X</p></noscript>", "<template><p>X</p></template>", "<svg><text>X</text></svg>",
    "<nav><ul><li>X</ul></nav>", "<div role=navigation>X</div>", "<footer>X</footer>",
    "<aside>X</aside>", "<select><option>X</select>", "<textarea>X</textarea>",
    "<button>X</button>", "<input value=X>", "<dialog>X</dialog>", "<div popover>X</div>",
    "<iframe>X</iframe>", "<div id=cookie-banner><p>X</p></div>", "<style>X</style>",
    "<header><ul><li><a href=/>X</a></ul></header>", "<del>X</del>", "<s>X</s>",
    "<div class=menu><a href=1>X</a> <a href=2>X</a></div>", "<object>X</object>",
    "<p style='transform:scale(0)'>X</p>", "<div style='clip-path:inset(50%)'>X</div>",
    "<p style='display:none'><b>X<i>X</b></i></p>", "<p style='d\\69splay:none'>X</p>",
]  # fmt: skip
SHEET = """<style>/* .shown{display:none} */ .a{display:none} p#c{visibility:hidden} em{opacity:0}
.d.e,.d{color:#ffffff} @media print{.shown{display:none}} a:hover,.shown:x{display:none}</style>
<style media=print>.shown{display:none}</style>"""


@pytest.mark.parametrize("page", HIDING)
def test_what_readers_do_not_see_is_no_text(page: str) -> None:
    assert inside(f"<p>before</p>{page}</div></p><p>after</p>", SHEET) in (
        ["before", "after"],
        ["before"],  # what is left open hides the rest, in a browser as well
    )


@pytest.mark.parametrize(
    "page",
    [
        "<p class=shown>X</p>", "<p hidden-thing=1>X</p>", "<p aria-hidden=false>X</p>",
        "<div style='font-size:0'><p style='font-size:14px'>X</p></div>",
        "<div style='visibility:hidden'><p style='visibility:visible'>X</p></div>",
        "<div style='background:#000'><p style='color:#fff'>X</p></div>",
        "<div style='background:url(a.png)'><p style='color:#fff'>X</p></div>",
        "<table bgcolor=navy><tr><td><font color=white>X</font></table>",
        "<div style='display:block'>X</div>", "<p style='opacity:0.9'>X</p>",
        "<p style='color:transparent;background-clip:text;background:linear-gradient(red,blue)'>X",
        "<header><h1>X</h1></header>", "<article><header><p>X</p></header></article>",
        "<form><p>X</p></form>", "<details><summary>X</summary></details>",
        "<div class=menu>X</div>", "<h3><button>X</button></h3>", "<dialog open>X</dialog>",
        "<p style='color:#fff;color:#333'>X</p>", "<ins>X</ins>", "<main><section>X</section>",
        "<p style='left:-9999px'>X</p>", "<div style='color:white'><a href=a>X</a></div>",
        "<div class=cookie-recipe>X</div>",
    ],
)  # fmt: skip
def test_what_readers_see_stays(page: str) -> None:
    assert inside(f"<p>before</p>{page}", SHEET) == ["before", "X"]


def test_a_page_hidden_as_a_whole_until_its_script_has_run_is_read() -> None:
    assert inside("<p>text</p>", "<style>body{opacity:0;visibility:hidden}</style>") == ["text"]


def test_the_title_is_kept_apart_from_the_text() -> None:
    page = read("<html><title>\n 休假 &amp; 規定 </title><svg><title>no</title></svg><p>內文")
    assert page.title == "休假 & 規定"
    assert [block.text for block in page.blocks] == ["內文"]


# ---------------------------------------------------------------- structure


def test_headings_paragraphs_breaks_and_entities() -> None:
    page = read(
        "<html><h1>一 <em>二</em></h1><div>甲<p>乙<br>丙&nbsp;&#x4e01;&hearts;</p>戊</div>"
        "<h3>特別\n  休假</h3><p>到職\n滿 one\n year</p><div role=heading aria-level=2>己</div>"
    )
    assert [(block.text, block.heading_level) for block in page.blocks] == [
        ("一 二", 1),
        ("甲", None),
        ("乙\n丙\xa0丁♥", None),
        ("戊", None),
        ("特別休假", 3),
        ("到職滿 one year", None),
        ("己", 2),
    ]


def test_lists_code_ruby_images_and_details() -> None:
    assert inside(
        "<ul><li>甲<ol start=3><li>乙<li value=7>丙</ol><li><p>丁</p><p>戊</p></ul>"
        "<ol type=a reversed start=2><li>己<li>庚</ol><ol type=I><li>辛</ol>"
    ) == ["• 甲", "3. 乙", "7. 丙", "• 丁", "戊", "b. 己", "a. 庚", "I. 辛"]
    assert inside("<pre>\n  if x:\n    <b>y</b>\n</pre><p>a  <code>b   c</code>") == [
        "  if x:\n    y",
        "a b c",
    ]
    assert inside("<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>都") == ["東京都"]
    assert inside("圖<img src=a alt='組織圖'>一<img alt='IMG_20240101.jpg'><img alt=''>") == [
        "圖 組織圖 一"
    ]
    assert inside("<details><summary>問</summary>答</details>") == ["問", "答"]


def rows(page: str) -> list[tuple[str, str]]:
    return [(block.header, block.text) for block in read(f"<html>{page}").blocks]


def test_tables_are_rows_with_their_header() -> None:
    head = "<tr><th>品名<th>價格</tr>"
    assert rows(
        f"<table><caption>表</caption>{head}<tr><td>茶<td>30<tr><td>咖<br>啡<td></table>"
    ) == [
        ("", "表"),
        ("品名 | 價格", "茶 | 30"),
        ("品名 | 價格", "咖 啡"),
    ]
    assert rows("<table><tr><td>品名<td>價<tr><td>茶<td>30<tr><td>水<td>9</table>")[0] == (
        "品名 | 價",
        "茶 | 30",
    )
    assert rows("<table><tr><th>名<td>甲<tr><th>價<td>30</table>") == [
        ("", "名 | 甲"),
        ("", "價 | 30"),
    ]


def test_merged_cells_stand_once_and_keep_the_columns() -> None:
    two = "<thead><tr><th rowspan=2>區<th colspan=2>2024<tr><th>上<th>下</thead>"
    body = "<tr><td rowspan=2>北<td>1<td>2<tr><td>3<td>4<tr><td colspan=2>計<td>9"
    assert rows(f"<table>{two}{body}</table>") == [
        ("區 | 2024 上 | 2024 下", "北 | 1 | 2"),
        ("區 | 2024 上 | 2024 下", " | 3 | 4"),
        ("區 | 2024 上 | 2024 下", "計 |  | 9"),
    ]
    assert rows("<table><tr><th colspan=2>表一<tr><th>甲<th>乙<tr><td>1<td>2</table>") == [
        ("", "表一"),
        ("甲 | 乙", "1 | 2"),
    ]


def test_nested_tables_and_tables_for_layout() -> None:
    inner = "<table><tr><th>a<th>b<tr><td>1<td>2</table>"
    assert rows(f"<table><tr><th>名<th>值<tr><td>茶<td>{inner}</table>") == [
        ("名 | 值", "茶 | a / b 1 / 2")
    ]
    assert rows(f"<table><tr><td><h2>題</h2>{'長' * 700}</td><td>{inner}<tr><td>x</table>")[:3] == [
        ("", "題"),
        ("", "長" * 700),
        ("a | b", "1 | 2"),
    ]
    assert rows("<table role=presentation><tr><td>1<td>2<tr><td>3<td>4</table>")[0] == ("", "1")


def test_xhtml_with_empty_elements_in_the_short_form() -> None:
    page = (
        "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x'>"
        "<html xmlns='http://www.w3.org/1999/xhtml'><head><script src='a.js'/><title>題</title>"
        "</head><body><a id='x'/><div class='y' /><p>文<br/>字</p></body></html>"
    )
    assert (read(page).title, texts(page)) == ("題", ["文\n字"])


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 30_000 + "x", "<table><tr><td>" * 20_000 + "x", "<b><p>" * 20_000 + "x",
        "<style>" + "/*" * 50_000, "<meta " * 5_000, "<p style='" + "\\41;" * 20_000 + "'>",
        "<td rowspan=65534>x" * 2_000 + "<tr>" * 50, "<a " + "x=y " * 20_000 + ">", "<" * 50_000,
        "<style>" + ".a{color:red}" * 20_000 + "</style>" + "<p class=a>x" * 1_000,
        "<p>" + "一 \n" * 30_000, "<!--" * 20_000, "&amp;" * 20_000, "<?xml " * 5_000,
        "<ol start=99999999999999999999><li value=-->x", "<img alt='" + "1-" * 20_000 + "'>",
    ],
    ids=range(16),
)  # fmt: skip
def test_hostile_pages_end_quickly(page: str) -> None:
    start = time.process_time()
    read(f"<html>{page}")
    assert time.process_time() - start < 4


def test_pages_over_a_limit_are_refused() -> None:
    with pytest.raises(ExtractionError) as raised:
        read_document(b"<html><p>" + b"x" * 101, "x.html", ReadOptions(100))
    assert raised.value.code == "too_many_chars"
    with pytest.raises(ExtractionError) as raised:
        read("<html><p>before<a title='" + "x" * 10_100_000 + "'>after")
    assert raised.value.code == "document_limits"


# ---------------------------------------------------------------- through the sandbox


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def supervisor() -> AsyncIterator[ExtractionSupervisor]:
    made = ExtractionSupervisor(KnowledgeLimits(extract_timeout_secs=40))
    yield made
    await made.close()


async def extract(supervisor: ExtractionSupervisor, file: Path, data: bytes) -> Extracted:
    await asyncio.to_thread(file.write_bytes, data)
    return await supervisor.extract(file, file.name)


@pytest.mark.asyncio(loop_scope="module")
async def test_pages_are_read_in_the_sandbox(
    supervisor: ExtractionSupervisor, tmp_path: Path
) -> None:
    found = await extract(
        supervisor, tmp_path / "a.html", f"<html><title>題</title><p>{ZH}".encode()
    )
    assert found.is_sandboxed
    assert (found.title, [block.text for block in found.blocks]) == ("題", [ZH])
    for label, codec in (("windows-1258", "cp1258"), ("x-mac-cyrillic", "mac-cyrillic")):
        page = f"<html><meta charset={label}><p>Ab!".encode(codec)
        assert (await extract(supervisor, tmp_path / "b.html", page)).blocks[0].text == "Ab!"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_page_that_only_a_script_would_fill_is_empty(
    supervisor: ExtractionSupervisor, tmp_path: Path
) -> None:
    page = b"<!DOCTYPE html><title>App</title><div id=root></div><script>render()</script>"
    with pytest.raises(ExtractionError) as raised:
        await extract(supervisor, tmp_path / "a.html", page)
    assert raised.value.code == "empty_text"
