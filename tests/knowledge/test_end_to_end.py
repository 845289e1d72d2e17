"""Real files of every kind through the real sandbox into the real store, and found again."""

from collections.abc import AsyncIterator

import pytest
from reportlab.pdfgen.canvas import Canvas

from gateway.core.documents import SourceState, StatusDetail
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.store import Store
from tests.extract import making
from tests.fakes.pages import FakePage
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import Shelf


@pytest.fixture
async def shelf(store: Store, clock: WoundClock) -> AsyncIterator[Shelf]:
    made = Shelf(store, clock)
    made.extractor = extractor = ExtractionSupervisor(made.limits)
    made.restart()
    yield made
    await extractor.close()


def two_pages() -> bytes:
    def draw(canvas: Canvas) -> None:
        making.lines(canvas, [f"第 {n} 條 出差旅費依實際支出報銷" for n in range(20)])
        making.new_page(canvas)
        making.lines(canvas, ["颱風天停班停課依市政府公告辦理"])

    return making.pdf(draw)


FILES = {
    "手冊.docx": (
        making.body(
            making.p("員工手冊", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
            + making.p("到職滿一年者特別休假七日。")
        ),
        "特別休假",
        "員工手冊",
    ),
    "價目.csv": ("品名,價格\n烏龍茶,350\n咖啡豆,420\n".encode("cp950"), "咖啡豆", "row 2–3"),
    "FAQ.md": ("# 常見問題\n\n## 傳真？\n\n分機 102。\n".encode(), "傳真", "常見問題 › 傳真？"),
    "公告.txt": ("明天起電梯停用。".encode("utf-16"), "電梯", ""),
    "規章.pdf": (two_pages(), "颱風", "p. 2"),
}


async def test_each_kind_is_found_with_its_place(shelf: Shelf) -> None:
    collection = await shelf.collection()
    sources = {
        name: await shelf.add(collection, name, data) for name, (data, _, _) in FILES.items()
    }
    bad = await shelf.add(collection, "圖.png", b"\x89PNG\r\n\x1a\n" + bytes(99))
    await shelf.ingestion.drain()
    for name, (_, question, place) in FILES.items():
        source = await shelf.now(sources[name])
        assert (source.state, source.status_detail) == (SourceState.READY, StatusDetail.HYBRID)
        found = await shelf.found(question)
        assert [(each.title, each.locator.label()) for each in found] == [(name, place)]
    refused = await shelf.now(bad)
    assert (refused.state, refused.error_code) == (SourceState.FAILED, "unsupported_format")


async def test_the_same_file_read_twice_keeps_every_passage_and_its_vectors(shelf: Shelf) -> None:
    source = await shelf.done(await shelf.collection(), "規章.pdf", FILES["規章.pdf"][0])
    before, vectors = await shelf.found("出差"), await shelf.vectors()
    await shelf.library.read_again(source.id)
    await shelf.ingestion.drain()
    assert [each.id for each in await shelf.found("出差")] == [each.id for each in before]
    assert (await shelf.vectors()).keys() == vectors.keys()
    assert len(vectors) > 1


async def test_a_page_is_read_by_its_charset_and_names_itself(shelf: Shelf) -> None:
    html = (
        "<!doctype html><title>停車規定 &amp; 收費</title><nav>選單</nav>"
        "<p>員工停車位每月租金為八百元，每年三月抽籤一次。</p>"
    )
    shelf.web.pages = {
        "https://a.example/parking": FakePage(html.encode("big5"), "text/html", "big5"),
        "https://a.example/notes.md": FakePage("# 電梯\n\n停用".encode(), "text/plain"),
        "https://a.example/really.pdf": FakePage(two_pages(), "text/html"),
        "https://a.example/picture": FakePage(b"\x89PNG\r\n\x1a\n" + bytes(99), "text/html"),
    }
    collection = await shelf.collection()
    pages = [await shelf.page(collection, url) for url in shelf.web.pages]
    await shelf.ingestion.drain()
    read = [await shelf.now(page) for page in pages]
    assert [(each.title, each.media_type, each.error_code) for each in read] == [
        ("停車規定 & 收費", "text/html", None),
        ("https://a.example/notes.md", "text/markdown", None),
        ("https://a.example/really.pdf", "", "url_fetch_failed"),
        ("https://a.example/picture", "", "url_fetch_failed"),
    ]
    [found] = await shelf.found("停車位")
    assert found.text == "員工停車位每月租金為八百元，每年三月抽籤一次。"
