"""Pages of documents as pictures over HTTP: for readers alone, and only while they are."""

import asyncio
import io
from pathlib import Path

import pymupdf
from PIL import Image

from gateway.core.audit import AccessAction
from gateway.extract.page_renderer import PageRenderer
from tests.surfaces.serving import Person, World, serving
from tests.surfaces.test_upload import form, sent

Answer = tuple[int, bytes]


def pdf(*texts: str) -> bytes:
    made = pymupdf.open()
    for text in texts:
        made.new_page(width=150, height=100).insert_text((10, 50), text, fontname="china-t")
    return bytes(made.tobytes())


async def added(person: Person, collection: str, name: str, data: bytes) -> str:
    status, answer = await sent(person, form(collection, (name, data)))
    assert status == 200
    source_id: str = answer["files"][0]["source"]["id"]
    return source_id


async def seen(world: World, person: Person, source_id: str, page: str) -> Answer:
    address = f"{world.url}/api/knowledge/sources/{source_id}/pages/{page}.png"
    async with person.session.get(address) as response:
        return response.status, await response.read()


async def test_a_page_is_shown_to_readers_alone(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        source_id = await added(hr, "salary", "薪資表.pdf", pdf("薪資表", "第二頁"))
        address = f"{world.url}/api/knowledge/sources/{source_id}/pages/2.png"
        async with hr.session.get(address) as response:
            body, headers = await response.read(), response.headers
        picture = Image.open(io.BytesIO(body))
        assert picture.size == (300, 200)
        assert headers["Content-Type"] == "image/png"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert headers["Cache-Control"] == "private, no-store"
        (row, *_) = await world.app.store.audit.entries(None, 1)
        assert (row.action, row.results) == (AccessAction.PASSAGE, (source_id,))
        async with world.person("member") as member:
            forbidden = await seen(world, member, source_id, "2")
            (row, *_) = await world.app.store.audit.entries(None, 1)
            assert row.action is AccessAction.DENIED
            missing = await seen(world, member, "nope", "2")
            beyond = await seen(world, hr, source_id, "3")
            assert forbidden == missing == beyond
            assert forbidden[0] == 404
        async with world.nobody() as nobody:
            assert (await seen(world, nobody, source_id, "2"))[0] == 401


async def test_what_is_taken_away_is_shown_no_more(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        source_id = await added(hr, "salary", "薪資表.pdf", pdf("薪資表"))
        assert (await seen(world, hr, source_id, "1"))[0] == 200
        pages = home / "knowledge" / "pages"
        assert len(list(pages.rglob("*.png"))) == 1
        await hr.rpc("knowledge.sources.delete", {"source_id": source_id})
        assert (await seen(world, hr, source_id, "1"))[0] == 404
        async with asyncio.timeout(20):
            while any(pages.rglob("*.png")):  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.05)


async def test_odd_pages_and_odd_documents_have_codes(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        source_id = await added(hr, "handbook", "一.pdf", pdf("一"))
        for page in ("0", "-1", "01", "1.0", "x", "%2e%2e", "9" * 30, "١"):
            assert (await seen(world, hr, source_id, page))[0] == 404, page
        locked = pymupdf.open(stream=pdf("鎖"))
        data = locked.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="a", owner_pw="b")
        source_id = await added(hr, "handbook", "鎖.pdf", data)
        status, body = await seen(world, hr, source_id, "1")
        assert (status, b'"encrypted"' in body) == (415, True)
        source_id = await added(hr, "handbook", "字.txt", "純文字".encode())
        status, body = await seen(world, hr, source_id, "1")
        assert (status, b'"unsupported_format"' in body) == (415, True)
        source_id = await added(hr, "handbook", "壞.pdf", b"%PDF-1.7 broken")
        status, body = await seen(world, hr, source_id, "1")
        assert (status, b'"extract_crashed"' in body) == (422, True)


async def test_a_page_of_the_web_has_none(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        page = {"collection": "salary", "kind": "url", "url": "https://127.0.0.1/"}
        added_page = await hr.rpc("knowledge.sources.add", page)
        assert (await seen(world, hr, added_page["source"]["id"], "1"))[0] == 404


async def test_a_token_may_ask_and_a_wrong_one_may_not(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        source_id = await added(hr, "salary", "薪資表.pdf", pdf("薪資表"))
        token = (await hr.rpc("auth.tokens.create", {"label": "reader"}))["secret"]
        address = f"{world.url}/api/knowledge/sources/{source_id}/pages/1.png"
        async with world.nobody() as nobody:
            for given, status in ((token, 200), (token[:-1], 401)):
                headers = {"Authorization": f"Bearer {given}"}
                async with nobody.session.get(address, headers=headers) as response:
                    assert response.status == status


async def test_what_is_taken_away_while_it_is_drawn_is_not_shown(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        source_id = await added(hr, "salary", "薪資表.pdf", pdf("薪資表"))
        renderer = world.app.shelves.images._renderer
        assert isinstance(renderer, PageRenderer)
        async with renderer._lane, asyncio.TaskGroup() as group:
            asked = group.create_task(seen(world, hr, source_id, "1"))
            async with asyncio.timeout(20):
                while not renderer._waiting:  # noqa: ASYNC110 - nobody tells of who waits
                    await asyncio.sleep(0.01)
            await hr.rpc("knowledge.sources.delete", {"source_id": source_id})
            renderer._lane.release()
            status, _ = await asked
            await renderer._lane.acquire()
        assert status == 404
