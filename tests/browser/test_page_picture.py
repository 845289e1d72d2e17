"""The drawer that opens a passage shows its page as a picture, as long as it may be read."""

from pathlib import Path

import pymupdf
import pytest
from playwright.async_api import Browser, expect

from tests.browser.test_page import ask, page_of, sign_in
from tests.surfaces.serving import ready, serving
from tests.surfaces.test_upload import form, sent

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
TEXT = "停車場的月租費是三千二百元，由總務處在每月五日前收取。"

FIRST = [
    f"第{n}條　停車位由各單位依員額分配，並於每年一月重新抽籤決定。" for n in "一二三四五六七八九"
]


def pdf() -> bytes:
    made = pymupdf.open()
    for lines in (FIRST, [TEXT]):
        page = made.new_page(width=500, height=600)
        for row, line in enumerate(lines, 1):
            page.insert_text((30, 30 * row), line, fontname="china-t", fontsize=14)
    return bytes(made.tobytes())


async def test_the_page_of_a_passage_is_shown(browser: Browser, template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        _, answer = await sent(hr, form("handbook", ("停車場.pdf", pdf())))
        source_id = answer["files"][0]["source"]["id"]
        await ready(world.app, source_id)
        async with page_of(world, browser) as page:
            await sign_in(page, world, "hr")
            await ask(page, "停車場的月租費是多少？")
            mark = page.locator("button.mark").first
            await mark.click()
            button = page.get_by_role("button", name="顯示第 2 頁")
            await button.focus()
            await page.keyboard.press("Enter")
            image = page.get_by_role("img", name="《停車場.pdf》第 2 頁的圖片")
            await expect(image).to_be_focused()
            assert await image.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [
                1_000,
                1_200,
            ]
            await page.keyboard.press("Escape")
            await expect(mark).to_be_focused()
            await mark.click()
            await expect(page.locator("blockquote.asked")).to_contain_text("三千二百元")
            await hr.rpc("knowledge.sources.delete", {"source_id": source_id})
            await button.click()
            await expect(page.locator(".drawer [role=alert]")).to_contain_text("已無法閱讀")
            await expect(page.locator(".drawer img")).to_have_count(0)
