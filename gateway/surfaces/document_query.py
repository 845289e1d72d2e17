"""`GET /agents/{id}/documents/query`: what clients of a knowledge base ask (FEATURES D3)."""

from aiohttp import web

from gateway.core.filters import Filter, equal_to
from gateway.errors import InvalidRequestError
from gateway.operations.folder_query import MOST_RESULTS, TOP_K, FolderQuery
from gateway.surfaces.folder_door import Answer, FolderDoor
from gateway.surfaces.folders_wire import number_of, query_of
from gateway.surfaces.json_body import decoded

PATH = "/agents/{agent}/documents/query"


class DocumentQuery:
    """An agent's key asks for the system, an account's token for agent and account."""

    def __init__(self, door: FolderDoor, folders: FolderQuery) -> None:
        self._door = door
        self._folders = folders

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one address."""
        return (web.get(PATH, self.answer),)

    async def answer(self, request: web.Request) -> web.Response:
        """200 with the results, or an error."""
        caller = await self._door.anybody(request, request.match_info["agent"])
        query = query_of(request, ("query", "top_k", "filters"))
        if "query" not in query:
            raise InvalidRequestError("query", reason="query: missing")
        top_k = number_of(query, "top_k", TOP_K, MOST_RESULTS)
        within = _filter(query.get("filters"))

        async def run() -> Answer:
            return 200, {
                "results": await self._folders.query(caller, query["query"], top_k, within)
            }

        return await self._door.answer(caller, run)


def _filter(text: str | None) -> Filter | None:
    """None: every document. InvalidRequestError, or `parse_error`, where it is no flat object."""
    if text is None:
        return None
    given = decoded(text.encode("utf-8", "replace"))
    if not isinstance(given, dict):
        raise InvalidRequestError("filters", reason="filters: an object")
    return equal_to(given) if given else None
