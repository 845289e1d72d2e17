"""Ways into a collection from the page: a pasted text, an address, and reading again."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.test_page import page_of, sign_in
from tests.surfaces.serving import serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_a_text_and_an_address_are_added_and_say_how_they_end(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "hr")
        await page.get_by_role("button", name="文件", exact=True).click()
        panel = page.locator(".panel", has_text="員工手冊").first
        await panel.get_by_text("加入網頁或貼上文字").click()
        await panel.get_by_label("標題", exact=True).fill("停車公告")
        await panel.get_by_label("貼上文字", exact=True).fill("停車場明天關閉。")
        await panel.get_by_role("button", name="加入文字").click()
        row = panel.locator(".files li", has_text="停車公告.txt")
        await expect(row).to_contain_text("可查詢（僅關鍵字）")
        await panel.get_by_label("公開網頁的網址").fill("http://169.254.169.254/meta")
        await panel.get_by_role("button", name="加入網頁").click()
        blocked = panel.locator(".files li", has_text="169.254.169.254/meta")
        await expect(blocked).to_contain_text("不能讀取內部網址")
        await expect(blocked.get_by_role("link")).to_have_count(0)  # nothing to be downloaded
        await row.get_by_role("button", name="重新讀取").click()
        await expect(row).to_contain_text("可查詢（僅關鍵字）")
        async with page.expect_download() as waiting:
            await row.get_by_role("link").click()
        kept = await (await waiting.value).path()
        assert kept.read_text("utf-8") == "停車場明天關閉。"
        await row.get_by_role("button", name="刪除").click()
        await expect(row).to_have_count(1)  # the first click only asks
        await row.get_by_role("button", name="確定刪除").click()
        await expect(row).to_have_count(0)
