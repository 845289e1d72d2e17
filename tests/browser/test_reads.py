"""Reads and refusals in the page: owners see theirs, admins every refusal and plans to forget."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.test_page import page_of, sign_in
from tests.surfaces.serving import serving
from tests.surfaces.test_forgetting import cited, delete

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_an_owner_sees_who_read_but_not_what_was_asked(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        async with world.person("admin") as admin:
            await admin.rpc("knowledge.search", {"query": "月薪是多少 <b>"})
        await sign_in(page, world, "hr")
        await page.get_by_role("button", name="文件", exact=True).click()
        panel = page.locator("section.panel").filter(has_text="薪資與考核")
        await panel.get_by_role("tab", name="閱覽紀錄").click()
        row = panel.locator(".reads li").filter(has_text="林管理").filter(has_text="搜尋")
        await expect(row.first).to_contain_text("段")
        await expect(row.first.locator("code")).to_have_text(re.compile("^[0-9a-f]{8}$"))
        await expect(panel).not_to_contain_text("月薪是多少")
        await expect(page.get_by_role("button", name="被拒絕的閱覽")).to_have_count(0)


async def test_an_admin_sees_refusals_and_decides_what_is_forgotten(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        async with world.person("member") as member, world.person("hr") as editor:
            await member.rpc("knowledge.sources.list", {"collection": "salary"})
            source = await cited(member)
            assert (await delete(editor, source, also_forget_memories=True))["plans"] == 1
        await sign_in(page, world, "admin")
        await page.get_by_role("button", name="文件", exact=True).click()
        await page.get_by_role("button", name="被拒絕的閱覽").click()
        denied = page.locator("#denied li").filter(has_text="王小明")
        await expect(denied.first).to_contain_text("薪資與考核")
        plan = page.locator("#plans li")
        await expect(plan).to_contain_text("待核准")
        await plan.get_by_role("button", name="核准").click()
        await expect(plan).to_contain_text("已核准")
        await plan.get_by_role("button", name="執行").click()
        await expect(page.locator("#plans")).to_contain_text("已清除 1 則問答")
        await expect(plan).to_have_count(0)
        async with world.person("member") as member:
            assert await member.rpc("chat.history", {"conversation_id": "c1"}) == []
