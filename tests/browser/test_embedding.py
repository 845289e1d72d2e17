"""The page for embedding models as an admin meets it: local ones, a cloud's, and who may not."""

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from gateway.app_models import FOLDER
from models import progress as installs
from models.bundle import name_of
from models.catalogue import E5_SMALL, MODELS, QWEN3
from models.files import MANIFEST_FILE, Manifest
from tests.browser.test_page import page_of, sign_in
from tests.simulators.embeddings import embeddings
from tests.surfaces.serving import World, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
MARKUP = "<img src=x onerror=alert(1)>"
RULES = "[{ name = \"email\", pattern = '[a-z]+@[a-z.]+' }]"
CLOUD = """
[redaction]
enabled = true
rules = RULES

["providers"."<b>ours</b>"]
kind = "openai"
base_url = "URL"
api_key = "sk-vectors"

[knowledge.embedding]
provider = "none"
cloud_base_url = "URL"
allow_private_endpoint = true
"""


@asynccontextmanager
async def opened(
    template: Path, home: Path, browser: Browser, config: str = ""
) -> AsyncIterator[tuple[World, Page]]:
    """The page of the models, as an admin."""
    async with serving(template, home) as world, page_of(world, browser) as page:
        if config:
            (home / "config.toml").write_text(config, "utf-8")
        await open_models(page, world)
        yield world, page


async def open_models(page: Page, world: World) -> None:
    await sign_in(page, world, "admin")
    await page.locator("[data-view=embedding]").click()
    await expect(page.locator("#embedding-models li")).to_have_count(len(MODELS))


def put_in(folder: Path, name: str) -> None:
    """Files of the right names and sizes, as far as a list looks; not of the right bytes."""
    model = MODELS[name]
    place = folder / name
    place.mkdir(parents=True)
    for file, record in model.source.installs.items():
        with (place / file).open("wb") as hollow:
            hollow.truncate(record.size)
    manifest = Manifest(name, model.source.id, dict(model.source.installs))
    (place / MANIFEST_FILE).write_bytes(msgspec.json.encode(manifest))


def row_of(page: Page, name: str) -> Locator:
    return page.locator(f'#embedding-models li[data-id="{name}"]')


def embedding(home: Path) -> dict[str, Any]:
    text = (home / "config.toml").read_text("utf-8")
    section: dict[str, Any] = tomllib.loads(text)["knowledge"]["embedding"]
    return section


async def test_local_models_are_listed_watched_checked_chosen_and_removed(
    browser: Browser, template: Path, home: Path
) -> None:
    async with opened(template, home, browser) as (_, page):
        folder = home / FOLDER
        now, small, large = page.locator("#embedding-now"), *(row_of(page, n) for n in MODELS)
        await expect(now).to_contain_text("已停用語意搜尋")
        for words in ("88 MB", "MIT", "384 維", "未安裝"):
            await expect(small).to_contain_text(words)
        await expect(large).to_contain_text("商業使用前請自行確認")
        await expect(small.get_by_role("combobox").locator("option")).to_have_count(2)
        folder.mkdir(parents=True, exist_ok=True)
        with installs.locked(folder, QWEN3):  # as when another process installs it
            told = installs.InstallProgress("download", 250, 1000)
            (folder / f".{QWEN3}.progress").write_bytes(msgspec.json.encode(told))
            await expect(large).to_contain_text("下載 25 %")
            assert await large.locator("progress").get_attribute("value") == "250"
            await large.get_by_role("button", name=f"取消 {QWEN3}").click()
            await expect(large.get_by_role("button", name=f"移除 {QWEN3}")).to_have_count(0)
            while not (folder / f".{QWEN3}.cancel").exists():
                await page.wait_for_timeout(20)
        await expect(large.locator("progress")).to_have_count(0)
        (folder / name_of(E5_SMALL)).write_bytes(b"no bundle")
        await expect(small).to_contain_text("離線安裝包")
        await small.get_by_role("button", name=f"檢查 {E5_SMALL}").click()
        await expect(page.get_by_role("alert").filter(has_text="未通過檢查")).to_be_visible()
        (folder / name_of(E5_SMALL)).unlink()
        put_in(folder, E5_SMALL)
        await expect(small).to_contain_text("已安裝")
        await small.get_by_role("button", name=f"檢查 {E5_SMALL}").click()
        await expect(page.get_by_role("alert").filter(has_text="雜湊不符")).to_be_visible()
        await small.get_by_role("button", name=f"選用 {E5_SMALL}").click()
        await expect(small).to_contain_text("已選用")
        await expect(now).to_contain_text(f"本機模型 · {E5_SMALL}")
        await expect(now.locator("p.error").first).to_contain_text("雜湊不符")
        await expect(page.locator("#coverage")).to_contain_text("0 / ")
        assert embedding(home)["local_model"] == E5_SMALL
        await now.get_by_role("button", name="重新計算所有向量").click()
        await small.get_by_role("button", name=f"移除 {E5_SMALL}").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("這是選用中的模型")
        await page.keyboard.press("Escape")
        assert (folder / E5_SMALL).exists()
        await small.get_by_role("button", name=f"移除 {E5_SMALL}").click()
        await dialog.get_by_role("button", name="移除").click()
        await expect(small).to_contain_text("未安裝")
        await expect(now).to_contain_text("尚未安裝選用的模型")
        assert not (folder / E5_SMALL).exists()


async def test_a_cloud_gets_nothing_before_its_dialog_was_read_and_agreed_to_once(
    browser: Browser, template: Path, home: Path
) -> None:
    async with embeddings() as server:
        config = CLOUD.replace("RULES", RULES).replace("URL", server.url)
        async with opened(template, home, browser, config) as (_, page):
            sent: list[str] = []
            page.on(
                "request",
                lambda asked: (
                    sent.append(asked.url) if ".select" in (asked.post_data or "") else None
                ),
            )
            form, dialog = page.locator("#embedding-cloud"), page.get_by_role("dialog")
            await expect(form).to_contain_text("不是服務商自己的")
            await form.locator("[name=cloud_account]").select_option("<b>ours</b>")
            await form.locator("[name=cloud_model]").fill(MARKUP)
            see = form.get_by_role("button", name="查看會送出的內容…")
            await see.click()
            await expect(dialog.locator("dd").first).to_have_text(server.address)
            await expect(dialog.locator("dd").last).to_have_text(MARKUP)
            for words in (
                "不是 OpenAI 自己的",
                "離開這台機器",
                "3 個文件集",
                "1 條可用，0 條無法使用",
                "如果不同意",
            ):
                await expect(dialog).to_contain_text(words)
            await expect(dialog.locator("img, b")).to_have_count(0)
            yes = dialog.get_by_role("button", name="同意並選用")
            await expect(yes).to_be_disabled()
            await dialog.get_by_role("checkbox").check()
            await dialog.get_by_role("button", name="取消").click()
            await expect(dialog).to_have_count(0)
            assert (home / "config.toml").read_text("utf-8") == config
            assert sent == []
            await form.locator("[name=cloud_model]").fill("")
            await see.click()
            await expect(yes).to_be_disabled()  # the tick before was for another question
            await dialog.get_by_role("checkbox").check()
            await yes.evaluate("button => { button.click(); button.click(); button.click(); }")
            await expect(dialog).to_have_count(0)
            await expect(page.locator("#consent")).to_contain_text("林管理 於")
            await expect(page.locator("#embedding-now")).to_contain_text("OpenAI · text-embedding")
            await expect(page.locator("#embedding-now")).to_contain_text("文字與語意")
            assert len(sent) == 1
            record = embedding(home)["cloud_disclosure_ack"]
            assert record["model"] == "text-embedding-3-small"
            put_in(home / FOLDER, E5_SMALL)
            await row_of(page, E5_SMALL).get_by_role("button", name="選用").click()
            await expect(dialog).to_contain_text("搜尋只比對文字")
            await dialog.get_by_role("button", name="取消").click()
            assert embedding(home)["cloud_disclosure_ack"] == record
            assert len(sent) == 1
            await row_of(page, E5_SMALL).get_by_role("button", name="選用").click()
            await dialog.get_by_role("button", name="停止使用").click()
            await expect(page.locator("#consent")).to_have_count(0)
            await expect(page.locator("#embedding-now")).to_contain_text("只比對文字")
            assert "cloud_disclosure_ack" not in embedding(home)
            assert embedding(home)["provider"] == "local"


async def test_settings_that_change_behind_the_dialog_are_shown_anew(
    browser: Browser, template: Path, home: Path
) -> None:
    config = CLOUD.replace("RULES", RULES).replace("URL", "https://one.example/v1")
    async with opened(template, home, browser, config) as (_, page):
        dialog = page.get_by_role("dialog")
        await page.get_by_role("button", name="查看會送出的內容…").click()
        await expect(dialog.locator("dd").first).to_have_text("one.example:443")
        (home / "config.toml").write_text(config.replace("one.", "two."), "utf-8")
        await dialog.get_by_role("checkbox").check()
        await dialog.get_by_role("button", name="同意並選用").click()
        await expect(dialog).to_contain_text("設定剛剛被更改")
        await expect(dialog.locator("dd").first).to_have_text("two.example:443")
        await expect(dialog.get_by_role("button", name="同意並選用")).to_be_disabled()
        assert "cloud_disclosure_ack" not in embedding(home)


BROKEN = (
    ("enabled = true", "enabled = false", "redaction.enabled"),
    (RULES, "[]", "redaction.rules: there is none"),
    ("'[a-z]+@[a-z.]+'", "'('", "1 條無法使用"),
    (RULES, f"[{{ name = \"{MARKUP}\", pattern = '(' }}]", MARKUP),
)


async def test_without_whole_redaction_there_is_nothing_to_agree_to(
    browser: Browser, template: Path, home: Path
) -> None:
    whole = CLOUD.replace("RULES", RULES).replace("URL", "https://one.example/v1")
    async with opened(template, home, browser, whole) as (_, page):
        dialog = page.get_by_role("dialog")
        for part, other, told in BROKEN:
            config = whole.replace(part, other)
            assert config != whole
            (home / "config.toml").write_text(config, "utf-8")
            await page.get_by_role("button", name="查看會送出的內容…").click()
            await expect(dialog).to_contain_text("不會送出任何內容")
            await expect(dialog).to_contain_text(told)
            await expect(dialog.get_by_role("checkbox")).to_have_count(0)
            await expect(dialog.get_by_role("button", name="同意並選用")).to_have_count(0)
            await dialog.get_by_role("button", name="關閉").click()
            await expect(dialog).to_have_count(0)
            assert (home / "config.toml").read_text("utf-8") == config


async def test_members_and_managers_do_not_see_the_page(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world:
        for login in ("member", "hr"):
            async with page_of(world, browser) as page:
                await sign_in(page, world, login)
                await expect(page.get_by_role("button", name="文件", exact=True)).to_be_visible()
                await expect(page.get_by_role("button", name="語意模型")).to_have_count(0)


SPOKEN = {"ja-JP": ("意味検索モデル", "語句のみ"), "en-GB": ("Embedding", "words only")}


async def test_the_page_and_its_dialog_speak_the_readers_language(
    browser: Browser, template: Path, home: Path
) -> None:
    config = CLOUD.replace("RULES", RULES).replace("URL", "https://one.example/v1")
    async with serving(template, home) as world:
        (home / "config.toml").write_text(config, "utf-8")
        for language, words in SPOKEN.items():
            async with page_of(world, browser, language) as page:
                await open_models(page, world)
                for each in words:
                    await expect(page.locator("main")).to_contain_text(each)
                await page.locator("[data-act=disclose]").click()
                await expect(page.get_by_role("dialog")).to_contain_text("one.example:443")
                for place in ("main", "dialog"):
                    assert "embed_" not in await page.locator(place).inner_text()
