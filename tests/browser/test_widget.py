"""The widget as a visitor of somebody else's site meets it, in a real browser."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from playwright.async_api import Browser, FrameLocator, Page, expect

from tests.surfaces.serving import World, operate, ready, serving
from tests.surfaces.visiting import ASK, WIDGET, configured

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="session"),
]
# a site may be as strict as this and still show the widget
POLICY = "default-src 'none'; script-src {home}; frame-src {home}; base-uri 'none'"
SITE = """<!doctype html><html lang="zh-Hant"><head><meta charset="utf-8"><title>店</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"></head><body><h1>小店</h1>
<script src="{home}/widget.js" data-agent="xiaohe"{options} async></script></body></html>"""
EVIL = "<img src=x onerror=alert(1)> @everyone <!channel> <https://evil.example|Policy> [9]"


class Site:
    """Another origin, with the one script tag."""

    def __init__(self) -> None:
        self.url = ""
        self.home = ""
        self.options = ""
        self.policy = POLICY

    async def page(self, _request: web.Request) -> web.Response:
        text = SITE.format(home=self.home, options=self.options)
        policy = {"Content-Security-Policy": self.policy.format(home=self.home)}
        return web.Response(text=text, content_type="text/html", headers=policy)


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    found = Site()
    app = web.Application()
    app.router.add_get("/", found.page)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    found.url = f"http://{host}:{port}"
    try:
        yield found
    finally:
        await runner.cleanup()


@asynccontextmanager
async def shop(template: Path, home: Path, **widget: Any) -> AsyncIterator[tuple[World, Site]]:
    """A gateway and a site that may show its widget."""
    async with site() as allowed:
        settings = {**WIDGET, "origins": [allowed.url], **widget}
        made = await asyncio.to_thread(
            configured, template, home.with_name("made"), channels__widget__site=settings
        )
        async with serving(made, home) as world:
            allowed.home = world.url
            yield world, allowed


@asynccontextmanager
async def visit(
    browser: Browser, place: Site, language: str = "zh-TW", **options: Any
) -> AsyncIterator[Page]:
    """Fails the test for an error in a script and for a request to a third place."""
    context = await browser.new_context(locale=language, **options)
    page = await context.new_page()
    page.set_default_timeout(20_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    known = (place.url, place.home, "data:")
    page.on(
        "request",
        lambda request: errors.append(request.url) if not request.url.startswith(known) else None,
    )
    await page.goto(place.url)
    yield page
    await context.close()
    assert errors == []


def frame_of(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


async def ask(page: Page, text: str) -> None:
    frame = frame_of(page)
    await frame.locator("textarea").fill(text)
    await frame.locator("textarea").press("Enter")
    await expect(frame.locator(".answer")).not_to_have_count(0)
    await expect(frame.locator(".answer.waiting")).to_have_count(0)


async def test_one_script_tag_on_another_site_answers_with_sources(
    browser: Browser, template: Path, home: Path
) -> None:
    async with shop(template, home) as (_, place), visit(browser, place) as page:
        button = page.get_by_role("button", name="開啟對話")
        await expect(button).to_be_visible()
        await expect(page.locator("iframe")).to_be_hidden()
        await page.keyboard.press("Tab")
        await expect(button).to_be_focused()
        await page.keyboard.press("Enter")
        frame = frame_of(page)
        await expect(frame.locator("textarea")).to_be_focused()
        await expect(frame.locator(".greeting")).to_contain_text("出處")
        await ask(page, ASK)
        await expect(frame.locator(".answer .body")).to_contain_text("兩年")
        await expect(frame.locator(".answer .body p .mark").first).to_have_text("[1]")
        await expect(frame.locator(".sources")).to_contain_text("來源")
        await expect(frame.locator(".sources li").first).to_contain_text("[1]產品常見問題.md")
        await expect(frame.locator(".answer a, .answer img, .answer button")).to_have_count(0)
        # the site's own scripts see neither the token nor anything of ours
        stored = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        assert await page.evaluate(stored) == '[{},{},""]'
        ours = "Object.keys(window).filter((name) => /shutten|widget/i.test(name))"
        assert await page.evaluate(ours) == []
        await page.keyboard.press("Escape")
        await expect(page.locator("iframe")).to_be_hidden()
        await expect(button).to_be_focused()


async def test_a_site_that_is_not_listed_gets_no_widget(
    browser: Browser, template: Path, home: Path
) -> None:
    async with shop(template, home) as (world, listed), site() as other:
        other.home, other.policy = world.url, "object-src 'none'"
        async with visit(browser, other) as page:
            await page.wait_for_function("document.querySelector('[data-shutten-widget]')")
            await page.wait_for_load_state("networkidle")
            await expect(page.get_by_role("button")).to_have_count(0)
            await page.evaluate(
                "const root = document.querySelector('[data-shutten-widget]').shadowRoot;"
                "root.querySelector('iframe').hidden = false"
            )
            await expect(frame_of(page).locator("textarea")).to_have_count(0)
            connect = (
                f"new Promise((end) => {{ const s = new WebSocket('{world.url}/ws/widget/xiaohe'"
                ".replace('http', 'ws')); s.onopen = () => end('open');"
                " s.onclose = () => end('closed') })"
            )
            assert await page.evaluate(connect) == "closed"
        async with visit(browser, listed) as page:
            await expect(page.get_by_role("button")).to_be_visible()


async def test_two_visitors_are_apart_and_each_finds_its_own_again(
    browser: Browser, template: Path, home: Path
) -> None:
    async with (
        shop(template, home) as (_, place),
        visit(browser, place) as first,
        visit(browser, place) as second,
    ):
        for page in (first, second):
            await page.get_by_role("button").click()
        await ask(first, ASK)
        await ask(second, "運費怎麼算？")
        await expect(frame_of(first).locator(".question")).to_have_text([ASK])
        await expect(frame_of(second).locator(".question")).to_have_text(["運費怎麼算？"])
        await expect(frame_of(second).locator(".log")).not_to_contain_text("兩年")
        await first.reload()
        await first.get_by_role("button").click()
        await expect(frame_of(first).locator(".question")).to_have_text([ASK])
        await expect(frame_of(first).locator(".sources")).to_contain_text("產品常見問題.md")


async def test_titles_and_answers_are_text_and_nothing_more(
    browser: Browser, template: Path, home: Path
) -> None:
    async with shop(template, home) as (world, place), visit(browser, place) as page:
        text = f"# 停車\n\n{EVIL} **粗體** 停車場每小時五十元 ![圖](http://evil.example/p.png)\n"
        params = {"collection": "products", "title": EVIL, "text": text}
        added = await operate(world.app, "knowledge.sources.add", params, "admin")
        await ready(world.app, added["source"]["id"])
        await page.get_by_role("button").click()
        await ask(page, "停車場每小時多少錢？")
        sources = frame_of(page).locator(".sources")
        await expect(sources).to_contain_text("@everyone <!channel>")
        await expect(frame_of(page).locator(".answer img, .answer a")).to_have_count(0)


async def test_the_page_says_its_language_and_side_and_fits_a_phone(
    browser: Browser, template: Path, home: Path
) -> None:
    async with shop(template, home, title="<b>Shop</b>", per_visitor_per_minute=1) as (_, place):
        place.options = ' data-language="en" data-position="left"'
        phone = {"viewport": {"width": 360, "height": 640}, "is_mobile": True, "has_touch": True}
        async with visit(browser, place, "ja", **phone) as page:
            button = page.get_by_role("button", name="Open the chat")
            box = await button.bounding_box()
            assert box is not None
            assert box["x"] < 100
            await button.tap()
            frame = frame_of(page)
            await expect(frame.get_by_role("heading")).to_have_text("<b>Shop</b>")
            inner = await page.locator("iframe").bounding_box()
            assert inner is not None
            assert (inner["width"], inner["height"]) == (360, 640)
            await ask(page, ASK)
            await frame.locator("textarea").fill("and more?")
            await frame.get_by_role("button", name="Send").tap()
            await expect(frame.locator(".note")).to_contain_text("Too many requests")
            await frame.get_by_role("button", name="Close the chat").tap()
            await expect(page.locator("iframe")).to_be_hidden()
