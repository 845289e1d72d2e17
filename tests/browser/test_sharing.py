"""The sharing editor as an owner meets it: who may read a collection, saved as one batch."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.test_page import page_of, sign_in
from tests.surfaces.serving import World, operate, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]


async def open_shelf(page: Page, world: World, login: str, name: str) -> Locator:
    await sign_in(page, world, login)
    await page.get_by_role("button", name="文件", exact=True).click()
    return page.locator(".panel", has=page.get_by_role("heading", name=name, exact=True))


async def grants_of(world: World, slug: str) -> dict[str, str]:
    now = await operate(world.app, "knowledge.grants.list", {"collection": slug}, "admin")
    return {f"{g['subject_kind']}:{g['subject_id']}": g["role"] for g in now["grants"]}


async def test_an_owner_shares_with_people_departments_and_chats(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        panel = await open_shelf(page, world, "hr", "薪資與考核")
        await panel.get_by_role("tab", name="共享").click()
        held, picker = panel.locator(".grants"), panel.locator(".picker")
        await expect(held.locator("li")).to_have_count(3)
        await picker.get_by_role("searchbox").fill("王")
        await expect(picker.locator(".choices")).to_have_count(0)  # one character finds nobody
        await picker.get_by_role("searchbox").fill("小明")
        await picker.get_by_role("button", name="王小明").click()
        member = held.locator("li", has_text="王小明")
        await member.get_by_role("combobox").select_option("editor")
        await picker.get_by_role("tab", name="部門").click()
        await picker.get_by_role("button", name="業務部").click()
        department = held.locator("li", has_text="業務部").last
        await expect(department.locator("option[value=owner]")).to_be_disabled()
        await picker.get_by_role("tab", name="頻道").click()
        await picker.locator("button[data-id=telegram]").click()
        channel = held.locator("li", has_text="Telegram")
        await expect(channel.locator(".warning")).to_contain_text("任何人都能讀取")
        await expect(channel.locator("option[value=editor]")).to_be_disabled()
        await picker.locator(".chat-id input").fill("C123")
        await picker.get_by_role("button", name="加入").click()
        assert await grants_of(world, "salary") == as_set_up(await ids(world))
        await panel.get_by_role("button", name="儲存共享設定").click()
        await expect(panel.locator(".held [role=status]")).to_have_text("已儲存。")
        people = await ids(world)
        assert await grants_of(world, "salary") == as_set_up(people) | {
            f"user:{people['member']}": "editor",
            "department:業務部": "viewer",
            "channel:telegram": "viewer",
            "channel:line:C123": "viewer",
        }
        await expect(held.locator("li", has_text="line:C123")).to_contain_text("一對一")


async def ids(world: World) -> dict[str, str]:
    return {
        each["login"]: each["id"] for each in await operate(world.app, "accounts.list", {}, None)
    }


def as_set_up(people: dict[str, str]) -> dict[str, str]:
    return {
        f"user:{people['admin']}": "owner",
        f"user:{people['hr']}": "owner",
        "agent:xiaohe": "viewer",
    }


async def test_the_last_owner_stays_and_who_saved_first_is_not_overwritten(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        panel = await open_shelf(page, world, "hr", "薪資與考核")
        await panel.get_by_role("tab", name="共享").click()
        held = panel.locator(".grants")
        await held.get_by_role("button", name="移除 林管理").click()
        mine = held.locator("li", has_text="陳人資")
        await expect(mine.get_by_role("button", name="移除 陳人資")).to_be_disabled()
        await expect(mine.locator("option[value=viewer]")).to_be_disabled()
        now = await operate(world.app, "knowledge.grants.list", {"collection": "salary"}, "admin")
        line = {"subject_kind": "channel", "subject_id": "line", "role": "viewer"}
        change = {
            "collection": "salary",
            "version": now["version"],
            "grants": [*now["grants"], line],
        }
        await operate(world.app, "knowledge.grants.replace", change, "admin")
        await panel.get_by_role("button", name="儲存共享設定").click()
        await expect(panel.locator(".held .error")).to_contain_text("有人改過")
        await panel.get_by_role("button", name="重新載入").click()
        await expect(held.locator("li", has_text="LINE")).to_be_visible()
        await expect(held.locator("li", has_text="林管理")).to_be_visible()
        assert (await grants_of(world, "salary"))["channel:line"] == "viewer"


async def test_settings_are_saved_and_a_typed_name_deletes(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        panel = await open_shelf(page, world, "hr", "薪資與考核")
        await panel.get_by_role("tab", name="設定").click()
        await panel.locator("select[name=sensitivity]").select_option("restricted")
        await panel.locator("input[name=department]").fill("人資")
        await panel.get_by_label("只在這台電腦上處理").check()
        await panel.get_by_role("button", name="儲存", exact=True).click()
        await expect(panel.locator(".tag", has_text="限閱")).to_be_visible()
        saved = await operate(world.app, "knowledge.collections.list", {}, "admin")
        (salary,) = [each for each in saved if each["slug"] == "salary"]
        assert (salary["department"], salary["embedding_policy"]) == ("人資", "local_only")
        await panel.get_by_role("tab", name="設定").click()
        delete = panel.get_by_role("button", name="刪除文件集")
        await panel.locator(".deletion input").fill("薪資")
        await expect(delete).to_be_disabled()
        await panel.locator(".deletion input").fill("薪資與考核")
        await delete.click()
        await expect(page.locator(".panel", has_text="薪資與考核")).to_have_count(0)


async def test_editors_and_viewers_see_neither_sharing_nor_settings(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        panel = await open_shelf(page, world, "hr", "員工手冊")
        await expect(panel.locator(".dropzone")).to_be_visible()
        await expect(panel.get_by_role("tab")).to_have_count(0)
