"""`/openapi.json` and `/docs`: the HTTP API for programs, and for people to look through."""

from collections.abc import Mapping, Sequence
from importlib import metadata, resources
from typing import Any

import msgspec
from aiohttp import web

from gateway.operations.registry import Registry
from gateway.surfaces.openapi import document
from gateway.surfaces.rest import shown
from gateway.surfaces.routes import ANYONE, Route


class DocsPage:
    """Made once: what can be asked for does not change while the gateway runs."""

    def __init__(self, registry: Registry, routes: Sequence[Route]) -> None:
        told = document(shown(registry.rows()), (*routes, *OWN), metadata.version("shutten"))
        self._told: Mapping[str, Any] = told
        self._json = msgspec.json.encode(told)
        self._html = resources.files("gateway.web").joinpath("docs.html").read_bytes()

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The description and the page that shows it."""
        return (web.get("/openapi.json", self.description), web.get("/docs", self.page))

    async def description(self, _request: web.Request) -> web.Response:
        """The HTTP API as OpenAPI 3.1."""
        return web.Response(body=self._json, content_type="application/json")

    async def page(self, _request: web.Request) -> web.Response:
        """The same to look through; nothing is loaded from elsewhere."""
        return web.Response(body=self._html, content_type="text/html", charset="utf-8")


OWN = (
    Route("get", "/openapi.json", "This description.", "about", ANYONE, answer={"type": "object"}),
    Route(
        "get",
        "/docs",
        "This description as a page.",
        "about",
        ANYONE,
        answer={"type": "string"},
        answer_type="text/html",
    ),
)
