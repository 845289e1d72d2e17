"""The page's list of what waits: shown as text, decided by who may, gone afterwards."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from gateway.core.access import AgentSide, Audience, AudienceKind
from gateway.knowledge.proposals import FromAgent, ProposingTurn
from tests.browser.test_page import page_of, sign_in
from tests.fakes.times import RealIds
from tests.surfaces.serving import World, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
HOSTILE = '<img src="http://evil.example/x.png" onerror="alert(1)"> 停車位每月八百元。'


async def propose(world: World, text: str, title: str) -> str:
    account = await world.app.store.accounts.find_by_login("member")
    audience = Audience(AudienceKind.WEBCHAT, account, is_direct=True)
    turn = ProposingTurn(RealIds().new(), audience, AgentSide("xiaohe", "", None), "webchat")
    card = await world.app.proposals.from_agent(turn, "handbook", FromAgent(text=text), title)
    return card.id


async def test_an_editor_looks_approves_and_rejects(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await propose(world, HOSTILE, "停車 <b>辦法</b>")
        await propose(world, "不要這一份。", "別的")
        await sign_in(page, world, "hr")
        await page.get_by_role("button", name="文件", exact=True).click()
        waiting = page.locator("#proposals .files li")
        await expect(waiting).to_have_count(2)
        first = waiting.filter(has_text="停車 <b>辦法")
        await expect(first).to_contain_text("等待核准")
        await expect(first).to_contain_text("王小明")
        await first.get_by_text("預覽").click()
        await expect(first.locator("pre")).to_have_text(HOSTILE)
        await page.wait_for_timeout(3_500)  # a refresh leaves the preview open
        await expect(first.locator("pre")).to_be_visible()
        await waiting.filter(has_text="別的").get_by_role("button", name="退回").click()
        await expect(waiting).to_have_count(1)
        await first.get_by_role("button", name="核准").click()
        await expect(waiting).to_have_count(0)
        await expect(page.locator("#proposals")).to_contain_text("已核准")
        shelf = page.locator(".panel", has_text="員工手冊.docx").first
        row = shelf.locator(".files li", has_text="停車 <b>辦法")
        await expect(row).to_contain_text("可查詢", timeout=20_000)
        await expect(page.locator("#proposals img")).to_have_count(0)


async def test_who_may_not_decide_sees_nothing_of_it(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await propose(world, "停車位每月八百元。", "停車")
        await sign_in(page, world, "member")
        await page.get_by_role("button", name="文件", exact=True).click()
        await expect(page.locator(".panel")).to_have_count(2)
        await expect(page.locator("#proposals")).to_be_empty()
        await expect(page.locator(".documents")).not_to_contain_text("停車")
