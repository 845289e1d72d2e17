"""The page as a person meets it: sign in, ask, open a source, add a document."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, Page, Route, expect

from tests.surfaces.serving import World, operate, serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
ASK = "到職滿一年的特休有幾天？"
HOSTILE = (
    "# 標題 [1]\n\n<img src=x onerror=alert(1)> **粗** `碼` [9]\n"
    "![圖](http://evil.example/p.png) [連結](http://evil.example/?q=1)\n\n- 一\n- 二\n\n"
    "```\n<script>alert(2)</script>\n```"
)


@asynccontextmanager
async def page_of(world: World, browser: Browser, language: str = "zh-TW") -> AsyncIterator[Page]:
    """A page that fails the test for an error in a script and for a request to elsewhere."""
    context = await browser.new_context(locale=language)
    page = await context.new_page()
    page.set_default_timeout(20_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on(
        "request",
        lambda request: (
            errors.append(request.url) if not request.url.startswith((world.url, "data:")) else None
        ),
    )
    await page.goto(world.url)
    yield page
    await context.close()
    assert errors == []


async def sign_in(page: Page, world: World, login: str) -> None:
    await page.fill("#login", login)
    await page.fill("#password", world.passwords[login])
    await page.keyboard.press("Enter")
    await page.wait_for_selector("textarea:not([disabled])")


async def ask(page: Page, text: str) -> None:
    await page.fill("textarea", text)
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer.waiting")).to_have_count(0)


async def test_ask_see_the_mark_open_the_passage(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await page.fill("#login", "member")
        await page.fill("#password", "not the password")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).not_to_be_empty()
        await sign_in(page, world, "member")
        await ask(page, ASK)
        await expect(page.locator(".answer .body")).to_contain_text("滿一年者七日")
        await expect(page.locator(".sources")).to_contain_text("員工手冊.docx")
        mark = page.locator("button.mark").first
        await mark.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("blockquote.asked")).to_contain_text("特別休假三日")
        await expect(page.locator(".drawer blockquote")).not_to_have_count(1)
        await page.keyboard.press("Escape")
        await expect(page.locator(".drawer")).to_be_hidden()
        await expect(mark).to_be_focused()
        stored = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        assert await page.evaluate(stored) == '[{},{},""]'
        await page.reload()
        await expect(page.locator(".question")).to_have_text(ASK)
        await expect(page.locator(".sources")).to_contain_text("員工手冊.docx")
        await page.get_by_role("button", name="登出").click()
        await expect(page.locator("#login")).to_be_visible()


async def entered_but_for(page: Page, world: World, call: str) -> asyncio.Event:
    """Signed in, with the answer to one call held back until the event is set."""
    asked, is_here = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        if call in (route.request.post_data or ""):
            asked.set()
            await is_here.wait()
        await route.continue_()

    await page.route("**/rpc", late)
    await page.fill("#login", "member")
    await page.fill("#password", world.passwords["member"])
    await page.keyboard.press("Enter")
    await asked.wait()
    return is_here


async def test_nothing_is_asked_before_the_history_is_here(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        is_here = await entered_but_for(page, world, "chat.history")
        await expect(page.locator("textarea")).to_be_disabled()
        is_here.set()
        await ask(page, ASK)  # fills it as soon as it can be filled
        await expect(page.locator(".answer .body")).to_contain_text("滿一年者七日")
        await expect(page.locator(".question")).to_have_count(1)


async def test_what_is_opened_meanwhile_stays_open(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        is_here = await entered_but_for(page, world, "chat.agents")
        await page.get_by_role("button", name="連結聊天帳號").click()
        is_here.set()
        await page.wait_for_function("document.querySelector('.side li, textarea') === null")
        await expect(page.locator("#bound-links")).to_contain_text("還沒有")


async def test_a_deleted_source_is_marked_and_cannot_be_opened(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "member")
        await ask(page, ASK)
        listed = await operate(
            world.app, "knowledge.sources.list", {"collection": "handbook"}, "admin"
        )
        for source in listed:
            reference = {"source_id": source["id"]}
            await operate(world.app, "knowledge.sources.delete", reference, "admin")
        await page.locator("button.mark").first.click()  # shown before it went
        await expect(page.locator(".drawer")).to_contain_text("無法閱讀")
        await page.reload()
        await expect(page.locator(".source.gone")).to_contain_text("已刪除")
        await expect(page.locator("button.mark")).to_have_count(0)


async def test_a_newcomer_adds_a_document_and_asks_about_it(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "hr")
        await page.get_by_role("button", name="文件", exact=True).click()
        panel = page.locator(".panel", has_text="員工手冊").first
        text = "# 停車場辦法\n\n員工停車位每月租金為八百元，每年三月抽籤一次。\n".encode()
        await panel.locator("input[type=file]").set_input_files(
            [
                FilePayload(name="停車場辦法.md", mimeType="text/markdown", buffer=text),
                FilePayload(name="空.txt", mimeType="text/plain", buffer=b""),
            ]
        )
        row = panel.locator(".files li", has_text="停車場辦法.md")
        await expect(row).to_contain_text("可查詢", timeout=20_000)
        failed = panel.locator(".files li", has_text="空.txt")
        await expect(failed).to_contain_text("失敗", timeout=20_000)
        await page.get_by_role("button", name="對話", exact=True).click()
        await ask(page, "員工停車位每月租金多少？")
        await expect(page.locator(".answer .body").last).to_contain_text("八百元")
        await expect(page.locator(".sources").last).to_contain_text("停車場辦法.md")


async def test_viewers_get_no_upload_and_others_collections_do_not_show(
    browser: Browser, template: Path, home: Path
) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "member")
        await page.get_by_role("button", name="文件", exact=True).click()
        await expect(page.locator(".panel")).to_have_count(2)
        await expect(page.locator(".documents")).not_to_contain_text("薪資")
        await expect(page.locator(".dropzone")).to_have_count(0)


async def test_an_answer_never_becomes_markup(browser: Browser, template: Path, home: Path) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "member")
        rendered = await page.evaluate(
            """async (text) => {
              const { render } = await import("/web/answer.js");
              const box = document.createElement("div");
              box.append(render(text, [{ n: 1, chunk_id: "1", title: "<b>t</b>" }], () => {}));
              document.body.append(box);
              const count = (selector) => box.querySelectorAll(selector).length;
              return [count("img,a,script,iframe,b"), count("button.mark"), count("span.mark"),
                      count("li"), count("pre"), box.textContent.includes("<script>")];
            }""",
            HOSTILE,
        )
        assert rendered == [0, 1, 1, 2, 1, True]


@pytest.mark.parametrize(("locale", "button"), [("ja-JP", "ログイン"), ("en-GB", "Sign in")])
async def test_it_speaks_the_browsers_language_and_changes_it(
    browser: Browser, template: Path, home: Path, locale: str, button: str
) -> None:
    async with serving(template, home) as world, page_of(world, browser, locale) as page:
        await expect(page.get_by_role("button", name=button)).to_be_visible()
        await page.select_option("select.language", "zh-TW")
        await expect(page.get_by_role("button", name="登入")).to_be_visible()
        await sign_in(page, world, "member")
        await page.select_option("select.language", "en")
        await expect(page.get_by_role("button", name="New chat")).to_be_visible()


async def test_a_lost_connection_comes_back(browser: Browser, template: Path, home: Path) -> None:
    async with serving(template, home) as world, page_of(world, browser) as page:
        await sign_in(page, world, "member")
        await ask(page, ASK)
        world.app.web_chat.hub.close()  # as a restart would
        await expect(page.locator(".note")).to_be_visible()
        await expect(page.locator(".note")).to_be_hidden(timeout=10_000)
        await ask(page, "遠距工作一週幾天？")
        await expect(page.locator(".answer")).to_have_count(2)
