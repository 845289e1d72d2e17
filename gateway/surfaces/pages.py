"""GET / and what the page needs: its files, its strings, and who is signed in."""

from importlib import resources

from aiohttp import web

from gateway import catalogue
from gateway.errors import NotFoundError
from gateway.operations.auth import me_of
from gateway.surfaces.http import json_response
from gateway.surfaces.session import HttpCallers, csrf_of

TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
TOPIC = "web."


class Pages:
    """Files of gateway/web, read once; there is no build step."""

    def __init__(self, callers: HttpCallers) -> None:
        self._callers = callers
        self._files = _files()
        self._strings = {language: _strings(language) for language in catalogue.LANGUAGES}

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The page and what it loads."""
        return (
            web.get("/", self.index),
            web.get("/web/session", self.session),
            web.get("/web/strings/{language}", self.strings),
            web.get("/web/{name}", self.file),
        )

    async def index(self, _request: web.Request) -> web.Response:
        """The one page."""
        return self._file("index.html")

    async def file(self, request: web.Request) -> web.Response:
        """A module or the style sheet."""
        return self._file(request.match_info["name"])

    async def strings(self, request: web.Request) -> web.Response:
        """The page's sentences in one language."""
        found = self._strings.get(request.match_info["language"])
        if found is None:
            raise NotFoundError("language")
        return json_response(found)

    async def session(self, request: web.Request) -> web.Response:
        """Who is signed in, with the CSRF token, which another site cannot read from here."""
        caller = await self._callers.caller(request, "page", changes=False)
        if caller.account is None or caller.session_secret is None:
            return json_response({"me": None, "csrf": None})
        csrf = csrf_of(caller.session_secret)
        return json_response({"me": me_of(caller.account), "csrf": csrf})

    def _file(self, name: str) -> web.Response:
        found = self._files.get(name)
        if found is None:
            raise NotFoundError(name)
        body, media_type = found
        return web.Response(body=body, content_type=media_type, charset="utf-8")


def _files() -> dict[str, tuple[bytes, str]]:
    found = {}
    for file in resources.files("gateway.web").iterdir():
        media_type = TYPES.get(f".{file.name.rpartition('.')[2]}")
        if media_type is not None:
            found[file.name] = file.read_bytes(), media_type
    return found


def _strings(language: str) -> dict[str, str]:
    return {
        key.removeprefix(TOPIC): texts[language]
        for key, texts in catalogue.STRINGS.items()
        if key.startswith(TOPIC)
    }
