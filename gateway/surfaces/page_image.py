"""A page of a document as a picture, for who may read the document at this very moment."""

import re
from dataclasses import dataclass, replace

from aiohttp import web

from gateway.core.access import Account
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.documents import Source
from gateway.errors import NotFoundError
from gateway.interfaces import Audit, Clock, PageImages, Sources
from gateway.knowledge.desk import Desk
from gateway.surfaces.routes import Route, path_parameter
from gateway.surfaces.session import HttpCallers

PATH = "/api/knowledge/sources/{id}/pages/{page}.png"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private, no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Disposition": "inline",
}
ROUTES = (
    Route(
        "get",
        PATH,
        "A page of a PDF, or an image file, as a picture.",
        "files",
        ("token",),
        parameters=(path_parameter("id", "Of the document."), path_parameter("page", "From 1.")),
        answer={"type": "string", "contentMediaType": "image/png"},
        answer_type="image/png",
        statuses=(415, 422, 503),
    ),
)
_PAGE = re.compile("[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class PagesSeen:
    """What the route needs of the library."""

    desk: Desk
    sources: Sources
    images: PageImages
    audit: Audit
    clock: Clock


class PageImageRoute:
    """`GET /api/knowledge/sources/{id}/pages/{page}.png`, by the rule that opens a passage."""

    def __init__(self, callers: HttpCallers, parts: PagesSeen) -> None:
        self._callers = callers
        self._parts = parts

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The route."""
        return (web.get(PATH, self.page),)

    async def page(self, request: web.Request) -> web.Response:
        """NotFoundError alike for what is not there and what may not be read."""
        _, account = await self._callers.person(request, "page_image", changes=False)
        source_id, page = request.match_info["id"], request.match_info["page"]
        source = await self._readable(account, source_id)
        if not source.sha256 or not _PAGE.fullmatch(page):
            raise NotFoundError("page")
        png = await self._parts.images.png(source.sha256, int(page))
        await self._readable(account, source_id)  # it may have been taken away meanwhile
        entry = self._entry(AccessAction.PASSAGE, account)
        kept = replace(entry, collections=(source.collection_id,), results=(source.id,))
        await self._parts.audit.record(kept)
        return web.Response(body=png, content_type="image/png", headers=HEADERS)

    async def _readable(self, account: Account, source_id: str) -> Source:
        scope = await self._parts.desk.scope(account)
        source = await self._parts.sources.find(source_id)
        if source is None or source.collection_id not in scope.collections:
            refused = self._entry(AccessAction.DENIED, account)
            known = (source.collection_id,) if source is not None else ()
            await self._parts.audit.record(replace(refused, results=known))
            raise NotFoundError("source")
        return source

    def _entry(self, action: AccessAction, account: Account) -> AccessEntry:
        return AccessEntry(action, self._parts.clock.now(), account_id=account.id)
