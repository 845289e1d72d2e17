"""An agent's own documents in the page: the first upload makes them, those who talk read them."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, expect

from tests.browser.test_page import ask, page_of, sign_in
from tests.surfaces.serving import operate, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
TEXT = "# 停車場辦法\n\n員工停車位每月租金為八百元，每年三月抽籤一次。\n".encode()
FILE = FilePayload(name="停車場辦法.md", mimeType="text/markdown", buffer=TEXT)


async def test_the_first_file_makes_an_agents_own_documents(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await operate(
            world.app, "agents.knowledge.set", {"agent_id": "xiaohe", "collections": []}, "admin"
        )
        await sign_in(page, world, "admin")
        await page.get_by_role("button", name="資料來源", exact=True).click()
        own = page.locator("#own")
        await expect(page.locator("#shared-sources li")).to_have_count(3)
        await expect(page.locator("#shared-sources li").first).to_contain_text("設定中未使用")
        await expect(own.get_by_role("checkbox")).to_be_checked()
        await expect(own.get_by_role("combobox")).to_have_value("internal")
        await own.locator("input[type=file]").set_input_files([FILE])
        await expect(page.locator(".sources-of > [role=status]")).to_contain_text("小禾 的資料")
        await expect(own.get_by_role("heading", name="小禾 的資料")).to_be_visible()
        row = own.locator(".files li", has_text="停車場辦法.md")
        await expect(row).to_contain_text("可查詢", timeout=20_000)
        await expect(own).to_contain_text("王小明")
        await expect(own).to_contain_text("使用中")
        await page.get_by_role("button", name="登出").click()
        await sign_in(page, world, "member")
        await ask(page, "員工停車位每月租金多少？")
        await expect(page.locator(".answer .body").last).to_contain_text("八百元")
        await page.get_by_role("button", name="資料來源", exact=True).click()
        await expect(own).to_contain_text("其他可閱讀者：2 位同事")
        await expect(own.locator("input[type=file]")).to_have_count(0)
        await operate(world.app, "agents.archive", {"agent_id": "xiaohe"}, "admin")
        await page.get_by_role("button", name="文件", exact=True).click()
        await expect(page.locator(".panel h2", has_text="小禾 的資料")).to_have_count(0)
        await page.get_by_role("button", name="登出").click()
        await page.fill("#login", "admin")  # there is no agent left to talk to
        await page.fill("#password", world.passwords["admin"])
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="文件", exact=True).click()
        panel = page.locator(".panel", has_text="小禾 的資料")
        await expect(panel.locator("header")).to_contain_text("AI 員工已封存")
