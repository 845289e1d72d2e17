"""GET /widget.js and the page in the frame that it puts on a site (FEATURES A31, DESIGN 9.5)."""

from html import escape
from importlib import resources

import msgspec
from aiohttp import web

from channels.widget.channel import WidgetChannel
from gateway import catalogue
from gateway.core.agents import AgentSettings
from gateway.surfaces.session import language_of
from gateway.surfaces.widget_door import WidgetDoor

TOPIC = "widget."
SCRIPT_KEPT_S = 300  # by browsers: a new version is everywhere within minutes
# what the page may load and do is only its own; who may show it is said per widget
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {origins}"
)
PAGE = """<!doctype html>
<html lang="{language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>{title}</title>
    <link rel="stylesheet" href="/web/widget.css">
    <script type="module" src="/web/widget_frame.js"></script>
  </head>
  <body data-widget="{widget}"></body>
</html>
"""


class WidgetPages:
    """The script for other sites, and our own page that it frames there."""

    def __init__(self, door: WidgetDoor) -> None:
        self._door = door
        self._script = resources.files("gateway.web").joinpath("widget.js").read_bytes()

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The two routes."""
        return (web.get("/widget.js", self.script), web.get("/widget/{agent}", self.page))

    async def script(self, _request: web.Request) -> web.Response:
        """The one script tag's file, the same for every site."""
        headers = {
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Cache-Control": f"public, max-age={SCRIPT_KEPT_S}",
        }
        return web.Response(
            body=self._script, content_type="text/javascript", charset="utf-8", headers=headers
        )

    async def page(self, request: web.Request) -> web.Response:
        """The frame's page, which browsers show on the listed sites only."""
        channel = self._door.find(request.match_info["agent"])
        agent = await self._door.agent(channel)
        language = _language(request, channel)
        headers = {
            "Content-Security-Policy": POLICY.format(origins=" ".join(channel.settings.origins)),
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
        return web.Response(
            text=_page(channel, agent, language), content_type="text/html", headers=headers
        )


def _language(request: web.Request, channel: WidgetChannel) -> str:
    """As the embedding page declares it, else the setting, else the browser's."""
    declared = request.query.get("language")
    if declared in catalogue.LANGUAGES:
        return declared
    return channel.settings.language or language_of(request) or catalogue.DEFAULT_LANGUAGE


def _page(channel: WidgetChannel, agent: AgentSettings, language: str) -> str:
    strings = {
        key.removeprefix(TOPIC): catalogue.text(key, language)
        for key in catalogue.STRINGS
        if key.startswith(TOPIC)
    }
    title = channel.settings.title or agent.display_name
    widget = {
        "agent": channel.settings.agent,
        "title": title,
        "greeting": channel.settings.greeting or strings["greeting"],
        "strings": strings,
    }
    data = msgspec.json.encode(widget).decode()
    return PAGE.format(language=escape(language), title=escape(title), widget=escape(data))
