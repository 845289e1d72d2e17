"""The document service's six tools, through both doors, by the official client (FEATURES B)."""

import asyncio
import base64
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.catalogue import error_text
from gateway.commands.mcp_link import RunLink
from gateway.core.access import Audience, AudienceKind
from gateway.core.documents import SourceState
from gateway.demo.company import AGENT, DEPARTMENT_HR
from gateway.errors import NotFoundError
from gateway.interfaces.pages import DPI
from gateway.knowledge.page_pictures import PagePictures
from gateway.operations.document_service import DocumentService, Found
from gateway.operations.namespaces import Namespaces
from gateway.operations.table import Caller
from gateway.surfaces import mcp_document_cards as cards
from gateway.surfaces.mcp_tools import ImageContent, ToolAnswer
from tests.extract.making import lines, new_page, pdf
from tests.fakes.page_images import FakePageImages
from tests.once import made_once
from tests.surfaces.mcp_talking import SIX, call, give_back, grants, run_of, words
from tests.surfaces.serving import World, operate, ready, serving
from tests.surfaces.test_mcp_stdio import program

CARDS = {card.name: card for card in cards.SIX}
CARE = [f"お手入れの手順その{n}：乾いた柔らかい布で表面を軽く拭き取ります。" for n in range(12)]
FAILED = {SourceState.FAILED: "encrypted"}
JAPANESE = [
    ("はじめに", ["この冊子は製品の使い方を説明します。", *CARE]),
    ("設置", ["平らな場所に置いてください。", *CARE]),
    ("返品ポリシー", ["購入後30日以内であれば返品できます。", "未開封の商品に限ります。", *CARE]),
]
CHINESE = [("退貨政策", ["購買後三十天以內可以退貨。", "已經拆封的商品恕不接受退貨。"])]


def booklet(chapters: list[tuple[str, list[str]]], font: str = "HeiseiMin-W3") -> bytes:
    """A chapter a page, and in the outline."""
    pdfmetrics.registerFont(UnicodeCIDFont(font))

    def draw(canvas: Any) -> None:
        for number, (title, texts) in enumerate(chapters):
            if number:
                new_page(canvas)
            canvas.setFont(font, 20)
            canvas.bookmarkPage(f"c{number}")
            canvas.addOutlineEntry(title, f"c{number}")
            lines(canvas, [title])
            canvas.setFont(font, 12)
            lines(canvas, texts, y=140)

    return pdf(draw)


async def put(world: World, folder: Path, name: str, data: bytes, shelf: str = "handbook") -> str:
    """Add a file as an editor would; its id once it was read."""
    path = folder / name
    path.write_bytes(data)
    asked = {"collection": shelf, "path": str(path)}
    added = await operate(world.app, "knowledge.sources.add_file", asked, "hr")
    source_id: str = added["source"]["id"]
    await ready(world.app, source_id)
    return source_id


async def fill(world: World, folder: Path) -> None:
    """Two booklets, read, and each page's picture kept: no test has to wait for those."""
    await put(world, folder, "manual.pdf", booklet(JAPANESE))
    await put(world, folder, "退貨.pdf", booklet(CHINESE, "MSung-Light"))
    await put(world, folder, "退貨.pdf", booklet(CHINESE, "MSung-Light"), "products")
    for title, pages in (("manual.pdf", 3), ("退貨.pdf", 1)):
        source = await world.app.store.sources.find(await id_of(world, title))
        assert source is not None
        for page in range(1, pages + 1):
            await world.app.shelves.images.png(source.sha256, page)


async def id_of(world: World, title: str, shelf: str = "handbook") -> str:
    listed = await operate(world.app, "knowledge.sources.list", {"collection": shelf}, "admin")
    found: str = next(each["id"] for each in listed if each["title"] == title)
    return found


@pytest.fixture(scope="session")
def filled(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with two booklets; to be copied, never changed."""

    async def make(folder: Path) -> None:
        async with serving(template, folder / "home") as world:
            await fill(world, folder)

    return (
        made_once(tmp_path_factory, "booklets", lambda folder: asyncio.run(make(folder))) / "home"
    )


@asynccontextmanager
async def client(world: World, login: str, mode: str = "legacy") -> AsyncIterator[Client]:
    async with entered(world, await world.token(login), mode) as found:
        yield found


@asynccontextmanager
async def entered(world: World, key: str, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{world.url}/mcp", http_client=http), mode=mode) as found,
    ):
        yield found


def said(answer: ToolAnswer | None) -> list[str]:
    """The lines of an answer's words."""
    return words(answer).rstrip("\n").split("\n")


async def ask(link: RunLink, name: str, **given: Any) -> dict[str, Any]:
    """The structured answer of a run's call, of which the card's schema approves; "error" where
    it is one.
    """
    answer = await call(link, name, **given)
    assert answer is not None
    assert answer.structured is not None
    assert answer.is_error is ("error" in answer.structured and "job_id" not in answer.structured)
    if not answer.is_error:
        jsonschema.validate(answer.structured, CARDS[name].output_schema)
    return dict(answer.structured)


def images(answer: ToolAnswer | None) -> list[bytes]:
    assert answer is not None
    return [each.data for each in answer.content if isinstance(each, ImageContent)]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a chore; there is no event to wait for from outside."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def pictures(home: Path) -> list[str]:
    """What lies in the agent's workspace, by its path there."""
    workspace = home / "agents" / AGENT / "workspace"
    return sorted(each.relative_to(workspace).as_posix() for each in workspace.rglob("*.png"))


def rows(home: Path, action: str) -> int:
    with closing(sqlite3.connect(home / "knowledge" / "knowledge.db")) as database:
        asked = "SELECT count(*) FROM access_log WHERE action = ? AND channel = 'mcp'"
        (count,) = database.execute(asked, [action]).fetchone()
    return int(count)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_accounts_token_reads_over_http(filled: Path, home: Path, mode: str) -> None:
    told: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert message
        told.append((progress, total))

    async with serving(filled, home) as world, client(world, "member", mode) as found:
        manual = await id_of(world, "manual.pdf")
        listed = (await found.list_tools()).tools
        assert [each.name for each in listed] == SIX
        hints = {each.name: each.annotations for each in listed}
        assert all(each is not None and not each.destructive_hint for each in hints.values())
        read_only = {name for name, each in hints.items() if each and each.read_only_hint}
        assert read_only == set(SIX) - {"IngestDocument"}
        spaces = await found.call_tool("ListNamespaces", {})
        slugs = [each["namespace"] for each in spaces.structured_content["namespaces"]]
        assert slugs == ["handbook", "products"]
        documents = await found.call_tool("ListDocuments", {"namespace": "handbook"})
        assert {each["doc_id"] for each in documents.structured_content["documents"]} >= {manual}
        asked = {"namespace": "handbook", "query": "返品ポリシーは何日以内？"}
        answer = await found.call_tool("SearchKnowledge", asked, progress_callback=on_progress)
        text = getattr(answer.content[0], "text", "")
        assert text.split("\n")[0] == "## 返品ポリシー (manual.pdf, pages: 3)"
        assert "購入後30日以内であれば返品できます。" in text
        assert "ReadImage" not in text  # nobody to save them for
        section = answer.structured_content["sections"][0]
        assert (section["doc_id"], section["pages"]) == (manual, [3])
        url = f"/api/knowledge/sources/{manual}/pages/3.png"
        assert answer.structured_content["page_image_urls"][0] == url
        assert answer.structured_content["page_images"][0]["path"] is None
        assert [each.type for each in answer.content[1:]] == ["image"] * (len(answer.content) - 1)
        first = base64.b64decode(getattr(answer.content[1], "data", ""))
        assert first.startswith(b"\x89PNG")
        done = [progress for progress, _ in told]
        assert done == sorted(done)
        assert [done[0], done[-1]] == [1, told[-1][1]]
        missing = await found.call_tool("ReadImage", {"file_path": "input/x.png"})
        assert missing.structured_content["error"]["code"] == "not_found"
        assert not pictures(home)
        assert rows(home, "search") == 1
        assert rows(home, "list") == 2
        assert rows(home, "denied") == 1


async def test_what_answers_nothing_shows_nothing(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        answer = await call(link, "SearchKnowledge", namespace="handbook", query="火星の天気")
        assert answer is not None
        assert answer.structured is not None
        assert answer.structured["sections"] == []
        assert images(answer) == []
        assert words(answer) == "No passage was found."


async def test_a_run_has_the_pages_in_its_workspace(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        other = await id_of(world, "退貨.pdf")
        answer = await call(link, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        path = "input/knowledge/handbook/page_003.png"
        assert said(answer)[-2:] == [
            "### ページ画像（ReadImage で閲覧可能）",
            f"- {path}",
        ]
        file = home / "agents" / AGENT / "workspace" / path
        assert [file.read_bytes()] == images(answer)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        seen = await call(link, "ReadImage", file_path=path)
        assert images(seen) == images(answer)
        found = await ask(link, "SearchKnowledge", namespace="handbook", query="退貨政策")
        long = f"input/knowledge/handbook/{other}/page_001.png"
        assert [each["path"] for each in found["page_images"]] == [long]
        assert found["sections"][0]["document"] == "退貨.pdf"
        again = await call(link, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        assert words(again) == words(answer)
        assert pictures(home) == sorted([path, long])
        assert rows(home, "passage") == 1


async def test_missing_and_forbidden_are_alike_also_for_pictures_of_somebody_else(
    filled: Path, home: Path
) -> None:
    async with (
        serving(filled, home) as world,
        run_of(world, home, "hr") as wrong,
        run_of(world, home) as reader,
    ):
        found = await ask(reader, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        path = found["page_images"][0]["path"]
        assert images(await call(wrong, "ReadImage", file_path=path))
        workspace = home / "agents" / AGENT / "workspace"
        (workspace / "copy.png").write_bytes((workspace / path).read_bytes())
        (workspace / "own.png").write_bytes(b"\x89PNG\r\n\x1a\nown")
        await grants(world, "handbook", DEPARTMENT_HR)
        missing = await call(wrong, "ReadImage", file_path="input/knowledge/none/page_003.png")
        assert words(missing)
        assert await call(wrong, "ReadImage", file_path=path) == missing
        assert await call(wrong, "ReadImage", file_path="copy.png") == missing
        assert images(await call(wrong, "ReadImage", file_path="own.png"))
        assert images(await call(reader, "ReadImage", file_path="copy.png"))
        assert images(await call(reader, "ReadImage", file_path=path))
        for name in (path, "copy.png", "missing.png"):  # nor by way of another collection
            proposed = await ask(wrong, "IngestDocument", namespace="products", file_path=name)
            assert proposed["error"]["code"] == "invalid_request"
        for who, name in ((wrong, "own.png"), (reader, path)):
            proposed = await ask(who, "IngestDocument", namespace="products", file_path=name)
            assert proposed["status"] == "awaiting_approval"
        for name, more in (
            ("ListDocuments", {}),
            ("SearchKnowledge", {"query": "返品"}),
            ("IngestDocument", {"file_path": "own.png"}),
            ("IngestStatus", {"job_id": "x"}),
        ):
            forbidden = await call(wrong, name, namespace="handbook", **more)
            absent = await call(wrong, name, namespace="nothing", **more)
            assert forbidden is not None
            assert forbidden.is_error, name
            assert forbidden == absent, name
        spaces = await ask(wrong, "ListNamespaces")
        assert "handbook" not in [each["namespace"] for each in spaces["namespaces"]]


async def test_pages_go_with_their_document_and_with_the_agents_grant(
    filled: Path, home: Path
) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        manual = await id_of(world, "manual.pdf")
        raw = home / "logs" / "raw"
        for namespace, query in (("handbook", "返品ポリシー"), ("products", "退貨政策")):
            await ask(link, "SearchKnowledge", namespace=namespace, query=query)
        first = "input/knowledge/handbook/page_003.png"
        second = "input/knowledge/products/page_001.png"
        assert pictures(home) == [first, second]
        assert len(list(raw.iterdir())) == 2
        await operate(world.app, "knowledge.sources.delete", {"source_id": manual}, "hr")
        gone = await call(link, "ReadImage", file_path=first)
        assert gone is not None
        assert gone.is_error
        await until(lambda: pictures(home) == [second])
        await until(lambda: len(list(raw.iterdir())) == 1)
        assert not (home / "agents" / AGENT / "workspace" / "input/knowledge/handbook").exists()
        assert images(await call(link, "ReadImage", file_path=second))
        kept = await grants(world, "products", AGENT)
        assert await call(link, "ReadImage", file_path=second) == gone
        await until(lambda: pictures(home) == [])
        await give_back(world, "products", kept)
        assert await call(link, "ReadImage", file_path=second) == gone


HOSTILE = (
    "../../../config.toml",
    "/etc/passwd",
    "input/../../agent.toml",
    "input//x.png",
    "./own.png",
    "link.png",
    "folder/secret.png",
    "second.png",
    "pipe.png",
    "own.png/x",
    "x" * 300,
    "a/" * 40 + "b",
)


async def test_no_path_leads_out_of_the_workspace(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        workspace, outside = home / "agents" / AGENT / "workspace", home / "outside"
        outside.mkdir()
        (outside / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\nsecret")
        (workspace / "link.png").symlink_to(outside / "secret.png")
        (workspace / "folder").symlink_to(outside)
        os.link(outside / "secret.png", workspace / "second.png")
        os.mkfifo(workspace / "pipe.png")
        (workspace / "own.png").write_bytes(b"\x89PNG\r\n\x1a\nown")
        (workspace / "own.gif").write_bytes(b"GIF89a")
        (workspace / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * (9 * 2**20))
        missing = await call(link, "ReadImage", file_path="missing.png")
        for path in HOSTILE:
            assert await call(link, "ReadImage", file_path=path) == missing, path
            refused = await ask(link, "IngestDocument", namespace="handbook", file_path=path)
            assert refused["error"]["code"] == "invalid_request", path
        assert images(await call(link, "ReadImage", file_path="own.png"))
        for path, code in (("own.gif", "unsupported_format"), ("huge.png", "too_large")):
            assert (await ask(link, "ReadImage", file_path=path))["error"]["code"] == code
        (workspace / "input").symlink_to(outside)  # where pages would be put
        answer = await call(link, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        assert len(images(answer)) == 1
        assert "ReadImage" not in words(answer)
        assert [each.name for each in outside.iterdir()] == ["secret.png"]


async def test_an_agents_document_waits_for_approval(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        folder = home / "agents" / AGENT / "workspace" / "input"
        folder.mkdir()
        (folder / "manual.pdf").write_bytes(booklet(JAPANESE))
        given = {"namespace": "handbook", "file_path": "input/manual.pdf"}
        answer = await call(link, "IngestDocument", **given)
        assert answer is not None
        assert answer.structured is not None
        job = answer.structured["job_id"]
        assert answer.structured["status"] == "awaiting_approval"
        assert answer.structured["pages"] == 3
        handbook = await world.app.store.collections.find_by_slug("handbook")
        assert handbook is not None
        by_id = await ask(link, "IngestDocument", **{**given, "namespace": handbook.id})
        assert by_id["error"]["code"] == "not_found"  # as an account is told: that is no slug
        assert words(answer).startswith(f"Awaiting approval (job: {job}, 3 pages).")
        followed = {"namespace": "handbook", "job_id": job}
        assert words(await call(link, "IngestStatus", **followed)) == (
            f"Job {job}: awaiting approval (manual.pdf)"
        )
        async with run_of(world, home, "hr") as other, client(world, "hr") as editor:
            missing = await call(other, "IngestStatus", namespace="handbook", job_id="none")
            assert await call(other, "IngestStatus", **followed) == missing
            seen = await editor.call_tool("IngestStatus", followed)
            assert seen.structured_content["error"]["code"] == "not_found"
        async with client(world, "member") as own:
            seen = await own.call_tool("IngestStatus", followed)
            assert seen.structured_content["status"] == "awaiting_approval"
        decision = {"id": job, "approve": True}
        made = await operate(world.app, "knowledge.proposals.decide", decision, "hr")
        await ready(world.app, made["source"]["id"])
        done = await call(link, "IngestStatus", **followed)
        assert words(done) == "完了 (manual.pdf)"
        assert done is not None
        assert done.structured is not None
        assert done.structured["doc_id"] == made["source"]["id"]
        other_space = await ask(link, "IngestStatus", namespace="products", job_id=job)
        assert other_space["error"]["code"] == "not_found"


async def test_a_rejected_proposal_has_failed(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        workspace = home / "agents" / AGENT / "workspace"
        (workspace / "note.txt").write_text("一則筆記", "utf-8")
        given = {"namespace": "handbook", "file_path": "note.txt"}
        answer = await call(link, "IngestDocument", **given)
        assert answer is not None
        assert answer.structured is not None
        assert answer.structured["pages"] is None
        job = answer.structured["job_id"]
        decision = {"id": job, "approve": False}
        await operate(world.app, "knowledge.proposals.decide", decision, "hr")
        told = await call(link, "IngestStatus", namespace="handbook", job_id=job)
        assert words(told) == "失敗: the proposal was rejected"
        again = await ask(link, "IngestDocument", **given)
        assert (again["job_id"], again["status"], again["is_new"]) == (job, "rejected", False)


async def test_an_editors_token_adds_at_once_and_nobody_elses(template: Path, home: Path) -> None:
    content = base64.b64encode(booklet(JAPANESE)).decode()
    given = {"namespace": "handbook", "file_path": "a/b/manual.pdf", "content": content}
    async with serving(template, home) as world:
        async with client(world, "member") as reader:
            refused = await reader.call_tool("IngestDocument", given)
            absent = await reader.call_tool("IngestDocument", given | {"namespace": "nothing"})
            assert refused.is_error
            assert refused.content == absent.content
        async with client(world, "hr") as editor:
            added = await editor.call_tool("IngestDocument", given)
            job = added.structured_content["job_id"]
            begun = f"取込を開始しました (job: {job}, 3ページ検出)。"
            text = getattr(added.content[0], "text", "")
            assert text == f"{begun}完了確認は IngestStatus で可能です。"
            await ready(world.app, job)
            followed = {"namespace": "handbook", "job_id": job}
            done = await editor.call_tool("IngestStatus", followed)
            assert getattr(done.content[0], "text", "") == "完了 (manual.pdf)"
            assert done.structured_content["status"] == "completed"
            again = await editor.call_tool("IngestDocument", given)
            assert again.structured_content["is_new"] is False
            assert again.structured_content["job_id"] == job
            for wrong in ("?", "あ", "QUJD*"):
                answer = await editor.call_tool("IngestDocument", given | {"content": wrong})
                assert answer.structured_content["error"]["code"] == "invalid_request", wrong
            without = {"namespace": "handbook", "file_path": "manual.pdf"}
            answer = await editor.call_tool("IngestDocument", without)
            assert answer.structured_content["error"]["code"] == "invalid_request"
            broken = {"content": base64.b64encode(b"%PDF-1.7 nothing").decode()}
            bad = await editor.call_tool("IngestDocument", given | broken)
            job = bad.structured_content["job_id"]
            await ready(world.app, job)
            told = await editor.call_tool("IngestStatus", followed | {"job_id": job})
            assert getattr(told.content[0], "text", "").startswith("失敗: ")
            assert told.structured_content["error"]["code"]


async def test_a_switched_off_library_says_so_and_lists_nothing(template: Path, home: Path) -> None:
    shutil.copytree(template, home)
    config = home / "config.toml"
    on = config.read_text("utf-8")
    config.write_text(on.replace("[knowledge]\n", "[knowledge]\nenabled = false\n"), "utf-8")
    off = home.with_name("off")
    async with serving(home, off) as world, run_of(world, off) as link:
        assert await link.cards(None) == []
        async with client(world, "member") as found:
            assert (await found.list_tools()).tools == []
            for name in SIX:
                answer = await call(link, name, any="thing")
                assert words(answer) == "Knowledge service not configured"
                over_http = await found.call_tool(name, {"any": "thing"})
                assert getattr(over_http.content[0], "text", "") == words(answer)


async def test_calls_are_written_down_and_a_full_disk_ends_none(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        manual = await id_of(world, "manual.pdf")
        await ask(link, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        await ask(link, "SearchKnowledge", namespace="nothing", query="返品ポリシー")
        history = home / "logs" / "knowledge-history.jsonl"
        found, refused = map(json.loads, history.read_text("utf-8").splitlines())
        assert (found["tool"], found["query"], found["error"]) == (
            "SearchKnowledge",
            "返品ポリシー",
            None,
        )
        assert found["hits"] >= 1
        assert found["agent_id"] == AGENT
        assert (refused["hits"], refused["error"], refused["raw"]) == (0, "not_found", None)
        raw = home / "logs" / "raw" / found["raw"]
        kept = json.loads(raw.read_text("utf-8"))
        assert kept["answer"]["sections"][0]["doc_id"] == manual
        for path, mode in ((history, 0o600), (raw, 0o600), (raw.parent, 0o700)):
            assert stat.S_IMODE(path.stat().st_mode) == mode
        raw.unlink()
        raw.parent.rmdir()
        raw.parent.write_bytes(b"")  # nothing can be written below it
        answer = await ask(link, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        assert answer["sections"]


async def test_over_standard_input_and_output(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world:
        token = await world.token("member")
        async with Client(program(home, SHUTTEN_TOKEN=token), mode="auto") as found:
            names = [each.name for each in (await found.list_tools()).tools]
            assert names[4:] == SIX
            asked = {"namespace": "handbook", "query": "返品ポリシー"}
            answer = await found.call_tool("SearchKnowledge", asked)
            (path,) = (each["path"] for each in answer.structured_content["page_images"])
            seen = await found.call_tool("ReadImage", {"file_path": path})
            assert seen.content == answer.content[1:]


WRONG: list[tuple[str, dict[str, object]]] = [
    ("ListNamespaces", {"all": True}),
    ("ListDocuments", {}),
    ("ListDocuments", {"namespace": ""}),
    ("ListDocuments", {"namespace": 1}),
    ("SearchKnowledge", {"namespace": "handbook", "query": " "}),
    ("SearchKnowledge", {"namespace": "handbook", "query": "x" * 1001}),
    ("SearchKnowledge", {"namespace": "handbook"}),
    ("IngestDocument", {"namespace": "handbook"}),
    ("IngestDocument", {"namespace": "handbook", "file_path": "x", "content": 1}),
    ("IngestStatus", {"namespace": "handbook"}),
    ("ReadImage", {"file_path": ""}),
]


async def test_what_does_not_fit_is_named(template: Path, home: Path) -> None:
    async with serving(template, home) as world, run_of(world, home) as link:
        for name, given in WRONG:
            told = await ask(link, name, **given)
            assert told["error"]["code"] == "invalid_request", (name, given)


async def test_an_agents_key_has_the_agents_workspace(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world:
        asked = {"agent_id": AGENT, "label": "ci", "expires_in_days": 1}
        issued = await operate(world.app, "agents.keys.create", asked, "admin")
        async with entered(world, issued["secret"], "legacy") as found:
            asked = {"namespace": "handbook", "query": "返品ポリシー"}
            answer = await found.call_tool("SearchKnowledge", asked)
            (path,) = (each["path"] for each in answer.structured_content["page_images"])
            seen = await found.call_tool("ReadImage", {"file_path": path})
            assert seen.content == answer.content[1:]
            personal = await found.call_tool("ListDocuments", {"namespace": "salary"})
            assert personal.structured_content["error"]["code"] == "not_found"
            content = base64.b64encode("一則筆記".encode()).decode()
            given = {"namespace": "handbook", "file_path": "note.txt", "content": content}
            made = await found.call_tool("IngestDocument", given)
            assert made.structured_content["status"] == "awaiting_approval"
            job = {"namespace": "handbook", "job_id": made.structured_content["job_id"]}
            told = await found.call_tool("IngestStatus", job)
            assert told.structured_content["status"] == "awaiting_approval"
        async with run_of(world, home) as person:  # of the same agent, and not its proposer
            assert (await ask(person, "IngestStatus", **job))["error"]["code"] == "not_found"


@dataclass
class Meanwhile(FakePageImages):
    """Something happens while a page is drawn."""

    happens: Callable[[], Awaitable[object]] = field(kw_only=True)

    async def png(self, sha256: str, page: int, *, dpi: int = DPI) -> bytes:
        await self.happens()
        return await super().png(sha256, page, dpi=dpi)


@asynccontextmanager
async def drawing(world: World, images: Meanwhile) -> AsyncIterator[Callable[[], Awaitable[Found]]]:
    """A search by the member through the agent, with pages drawn by `images`."""
    app, store = world.app, world.app.store
    scopes = ScopeService(store.accounts, store.links, store.grants)
    files = AgentFolder(app.home / "agents", store.agents)
    spaces = Namespaces(store.collections, scopes, store.audit, app.clock, is_open=True)
    pictures = PagePictures(images, store.page_files, files, scopes, app.clock, app.home / "agents")
    service = DocumentService(
        spaces, store.sources, app.shelves.search, store.passages, store.outlines, pictures
    )
    account, settings = await store.accounts.find_by_login("member"), await files.load(AGENT)
    assert account is not None
    assert settings is not None
    audience = Audience(AudienceKind.ACCOUNT_DOOR, account)
    caller = Caller(account, audience, "mcp", settings.side)

    async def step(_done: int, _of: int) -> None:
        return

    yield lambda: service.search(caller, "handbook", "返品ポリシー", step)


async def test_access_that_ends_while_pages_are_drawn_shows_and_keeps_nothing(
    filled: Path, home: Path
) -> None:
    async with serving(filled, home) as world:
        revoked = Meanwhile(happens=lambda: grants(world, "handbook", AGENT))
        async with drawing(world, revoked) as search:
            with pytest.raises(NotFoundError):
                await search()
        assert revoked.asked
        assert pictures(home) == []


async def test_a_document_that_goes_while_pages_are_drawn_is_left_out(
    filled: Path, home: Path
) -> None:
    async with serving(filled, home) as world:
        gone = {"source_id": await id_of(world, "manual.pdf")}
        name = "knowledge.sources.delete"
        deleted = Meanwhile(happens=lambda: operate(world.app, name, gone, "hr"))
        async with drawing(world, deleted) as search:
            found = await search()
        assert deleted.asked
        assert all(each.source_id != gone["source_id"] for each in found.sections)
        assert found.pictures == ()
        assert pictures(home) == []


async def test_pages_go_when_they_are_as_old_as_the_access_log(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        await ask(link, "SearchKnowledge", namespace="handbook", query="返品ポリシー")
        left_behind, days = world.app.mcp.left_behind, timedelta(days=180)
        await left_behind.sweep(world.app.clock.now() - days)
        assert len(pictures(home)) == 1
        await left_behind.sweep(world.app.clock.now() + timedelta(seconds=1))
        assert pictures(home) == []


async def test_how_far_a_reading_is(filled: Path, home: Path) -> None:
    async with serving(filled, home) as world, run_of(world, home) as link:
        manual = await id_of(world, "manual.pdf")
        store, progress = world.app.store, world.app.shelves.ingestion.progress

        async def tells(state: SourceState, expected: str) -> None:
            """The gateway looks for missing vectors at its start, and may set another state."""
            async with asyncio.timeout(20):
                answer = ""
                while answer != expected:
                    await store.sources.set_state(manual, state, error_code=FAILED.get(state))
                    if state is SourceState.EXTRACTING:
                        progress.note(manual, 12, 45)
                    given = {"namespace": "handbook", "job_id": manual}
                    answer = words(await call(link, "IngestStatus", **given))

        job = f"ジョブ {manual}: 処理中:"
        await tells(SourceState.QUEUED, f"{job} ツリー構築: 未完了")
        await tells(SourceState.EXTRACTING, f"{job} VLM 12/45ページ, ツリー構築: 未完了")
        await tells(SourceState.EMBEDDING, f"{job} ツリー構築: 完了")
        await tells(SourceState.READY, "完了 (manual.pdf)")
        await tells(SourceState.FAILED, f"失敗: {error_text('encrypted', 'en')}")
