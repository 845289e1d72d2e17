"""A reader unfolds the sections of a document below its row."""

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


async def test_sections_unfold_with_pages_and_summaries(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "member")
        await page.get_by_role("button", name="文件", exact=True).click()
        button = page.get_by_role("button", name="章節 日本支店のしおり.pdf")
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(button).to_have_attribute("aria-expanded", "true")
        section = page.locator(".outline li", has_text="3. 通勤手当")
        await expect(section).to_contain_text("p. 2")
        await expect(section).to_contain_text("通勤手当は月額三万円を上限として実費を支給します。")
        await button.click()
        await expect(section).to_be_hidden()
        await expect(button).to_have_attribute("aria-expanded", "false")
