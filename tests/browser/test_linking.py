"""Linking a chat account as a person meets it: the panel, and LINE's linking page."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, Page, expect

from gateway.core.messages import Sender
from tests.browser.test_page import page_of, sign_in
from tests.simulators.line import LineSimulator
from tests.surfaces.serving import World, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
USER = "U" + "1" * 26 + "abcdef"
ME = Sender("line", "main", USER)
CHANNEL = """
[channels.line.main]
agent = "assistant"
channel_secret = "line-secret"
channel_access_token = "line-token"
api_base_url = "{url}"
account_link_url = "{url}/dialog/bot/accountLink"
"""


def with_line(template: Path, folder: Path, line: LineSimulator, public_url: str = "") -> Path:
    """A copy of the template home that has a LINE account."""
    made = folder / "with-line"
    shutil.copytree(template, made)
    config = (made / "config.toml").read_text("utf-8")
    if public_url:
        config = config.replace("[gateway]", f'[gateway]\npublic_url = "{public_url}"')
    (made / "config.toml").write_text(config + CHANNEL.format(url=line.url), "utf-8")
    return made


async def say(world: World, line: LineSimulator, words: str) -> str:
    before = len(line.deliveries)
    await post(world, line, line.text_event(words, USER))
    await line.wait_for(before + 1)
    return line.deliveries[-1].texts[0]


async def post(world: World, line: LineSimulator, event: dict[str, Any]) -> None:
    body = line.body(event)
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{world.url}/webhooks/line/main", data=body, headers=line.headers(body)
        ) as answer,
    ):
        assert answer.status == 200


async def open_panel(page: Page) -> None:
    await page.get_by_role("button", name="連結聊天帳號").click()
    await expect(page.locator("#bound-links")).to_contain_text("還沒有")


async def test_make_a_code_send_it_confirm_it_and_unlink(
    browser: Browser, template: Path, home: Path, tmp_path: Path
) -> None:
    async with (
        LineSimulator().running() as line,
        serving(with_line(template, tmp_path, line), home) as world,
        page_of(world, browser) as page,
    ):
        await sign_in(page, world, "member")
        await open_panel(page)
        await page.get_by_role("button", name="產生綁定碼").click()
        words = await page.locator(".code output").inner_text()
        await expect(page.locator(".code [role=timer]")).to_contain_text("9:5")
        reply = await say(world, line, words)
        assert "abcdef" in reply
        waiting = page.locator("#pending-links li")
        await expect(waiting).to_contain_text("LINE / main")
        await expect(waiting).to_contain_text("…abcdef")
        assert await world.app.store.links.find(ME) is None
        await page.get_by_role("button", name="確認連結").click()
        await expect(page.locator("#bound-links")).to_contain_text("…abcdef")
        member = await world.app.store.accounts.find_by_login("member")
        assert member is not None
        assert await world.app.store.links.find(ME) == member.id
        await page.get_by_role("button", name="解除連結").click()
        await expect(page.locator("#bound-links")).to_contain_text("還沒有")
        assert await world.app.store.links.find(ME) is None


async def test_a_stranger_that_sent_the_code_is_refused(
    browser: Browser, template: Path, home: Path, tmp_path: Path
) -> None:
    async with (
        LineSimulator().running() as line,
        serving(with_line(template, tmp_path, line), home) as world,
        page_of(world, browser) as page,
    ):
        await sign_in(page, world, "member")
        await open_panel(page)
        await page.get_by_role("button", name="產生綁定碼").click()
        await say(world, line, await page.locator(".code output").inner_text())
        await page.get_by_role("button", name="不是我").click()
        await expect(page.locator("#pending-links")).to_contain_text("沒有等待確認")
        assert await world.app.store.links.list() == []
        await page.get_by_role("button", name="對話", exact=True).click()
        await page.get_by_role("button", name="連結聊天帳號").click()
        await expect(page.locator(".code output")).to_have_count(0)  # a code is shown once


async def test_lines_linking_page_signs_in_asks_and_leads_on(
    browser: Browser, template: Path, home: Path, tmp_path: Path
) -> None:
    async with (
        LineSimulator().running() as line,
        serving(with_line(template, tmp_path, line, "http://kb.example.com"), home) as world,
    ):
        reply = await say(world, line, "綁定")
        address = reply[reply.index("http://kb.example.com") :].split()[0]
        context = await browser.new_context(locale="zh-TW")
        page = await context.new_page()
        went: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def dialog(route: Any) -> None:
            if not went.done():
                went.set_result(route.request.url)
            await route.fulfill(status=200, content_type="text/plain", body="LINE")

        await page.route("**/dialog/bot/accountLink*", dialog)
        await page.goto(address.replace("http://kb.example.com", world.url))
        await page.fill("#login", "member")
        await page.fill("#password", world.passwords["member"])
        await page.keyboard.press("Enter")
        await expect(page.locator("form")).to_contain_text("LINE 帳號（main）")
        await expect(page.locator("form")).to_contain_text("（member）")
        await page.get_by_role("button", name="連結", exact=True).click()
        async with asyncio.timeout(20):
            url = await went
        await context.close()
        await post(world, line, line.follow_dialog(url, opened_by=USER))
        member = await world.app.store.accounts.find_by_login("member")
        assert member is not None
        assert await world.app.store.links.find(ME) == member.id


@pytest.mark.parametrize(("locale", "word"), [("ja-JP", "連携 "), ("en-GB", "link ")])
async def test_the_line_to_send_is_one_the_chat_understands(
    browser: Browser, template: Path, home: Path, tmp_path: Path, locale: str, word: str
) -> None:
    async with (
        LineSimulator().running() as line,
        serving(with_line(template, tmp_path, line), home) as world,
        page_of(world, browser, locale) as page,
    ):
        await sign_in(page, world, "admin")
        await page.locator(".top > button.link").first.click()
        await page.locator(".links button.primary").first.click()
        words = await page.locator(".code output").inner_text()
        assert words.startswith(word)
        assert "abcdef" in await say(world, line, words)
