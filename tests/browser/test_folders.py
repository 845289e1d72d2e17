"""Folders and metadata in the page: a tree, a place, what is noted down, and a filtered search."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, expect

from tests.browser.test_page import page_of, sign_in
from tests.surfaces.serving import serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_a_folder_is_made_filled_noted_filtered_and_moved(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "admin")
        await page.get_by_role("button", name="文件", exact=True).click()
        form = page.locator(".panel.new")
        await form.get_by_label("文件集名稱").fill("停車規定")
        await form.get_by_label("放在哪個文件集裡").select_option(label="員工手冊")
        await form.get_by_role("button", name="建立").click()
        inside = page.locator("details.inside", has_text="停車規定")
        panel = inside.locator(".panel", has_text="停車規定")
        await expect(panel).to_be_visible()
        await inside.get_by_text("「員工手冊」裡的文件集（1）").click()
        await expect(panel).to_be_hidden()
        await inside.get_by_text("「員工手冊」裡的文件集（1）").click()

        await panel.get_by_text("加入時一併記下欄位（選填）").click()
        await panel.get_by_role("button", name="新增欄位").click()
        await panel.get_by_label("欄位名稱").fill("類別")
        await panel.get_by_label("值", exact=True).fill("機車")
        await panel.locator('input[type="file"]').set_input_files(
            FilePayload(
                name="a.txt", mimeType="text/plain", buffer="機車停車位在地下二樓。".encode()
            )
        )
        first = panel.locator(".files > li", has_text="a.txt")
        await expect(first).to_contain_text("類別: 機車")
        await panel.get_by_text("加入網頁或貼上文字").click()
        await panel.get_by_role("button", name="移除").click()
        await panel.get_by_label("標題", exact=True).fill("b")
        await panel.get_by_label("貼上文字", exact=True).fill("汽車停車位在地下三樓。")
        await panel.get_by_role("button", name="加入文字").click()
        row = panel.locator(".files > li", has_text="b.txt")
        await expect(row).to_contain_text("可查詢（僅關鍵字）")

        await row.get_by_role("button", name="欄位 b.txt").click()
        await row.get_by_label("欄位名稱").fill("<b>year</b>")
        await row.get_by_label("值", exact=True).fill("2026")
        await row.get_by_role("button", name="儲存").click()
        await expect(row).to_contain_text("<b>year</b>: 2026")
        listed = await page.evaluate(
            """async () => {
              const { rpc } = await import("/web/api.js");
              const all = await rpc("knowledge.collections.list");
              const one = all.find((each) => each.name === "停車規定");
              return rpc("knowledge.sources.list", { collection: one.id });
            }"""
        )
        assert {each["title"]: each["metadata"] for each in listed} == {
            "a.txt": {"類別": "機車"},
            "b.txt": {"<b>year</b>": 2026},
        }

        search = page.locator("details.try")
        await search.get_by_text("試搜尋").click()
        await search.get_by_label("想找什麼？").fill("停車位在哪裡")
        await search.get_by_role("button", name="搜尋").click()
        await expect(search.locator(".found li", has_text="a.txt")).to_be_visible()
        await search.get_by_role("button", name="加上欄位條件").click()
        await search.get_by_label("欄位名稱").fill("<b>year</b>")
        await search.get_by_label("值", exact=True).fill("2026")
        await search.get_by_role("button", name="搜尋").click()
        await expect(search.locator(".found li")).to_have_count(1)
        await search.locator(".found").get_by_role("button", name="b.txt").click()
        await expect(page.locator("#passage")).to_contain_text("汽車停車位在地下三樓")
        await page.keyboard.press("Escape")

        await panel.get_by_role("tab", name="設定").click()
        await panel.get_by_label("放在哪個文件集裡").select_option(label="（最上層）")
        await panel.get_by_role("button", name="儲存").click()
        await expect(page.locator("details.inside")).to_have_count(0)
        await expect(page.locator(".panel", has_text="停車規定").first).to_be_visible()
