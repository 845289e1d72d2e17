"""`/agents/documents`: documents of folders, one or a hundred at a time (FEATURES D1)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from aiohttp import web

from gateway.catalogue import error_text
from gateway.errors import GatewayError, InvalidRequestError, NotFoundError
from gateway.knowledge.proposals import FromAgent, Proposals
from gateway.operations.folder_query import SURFACE
from gateway.operations.table import Caller
from gateway.surfaces.folder_door import Answer, FolderDoor
from gateway.surfaces.folders_wire import (
    MOST_ROWS,
    USUAL_ROWS,
    DocumentChange,
    Documents,
    NewDocument,
    body_of,
    converted,
    document_told,
    name_of,
    number_of,
    query_of,
)
from gateway.surfaces.idempotency import DOCUMENT, DOCUMENTS

ALL, BULK = "/agents/documents", "/agents/documents/bulk"
ONE = r"/agents/documents/{id:(?!bulk\Z)[^/]+}"
STATES = {201: "created", 200: "existing", 202: "proposed"}
BETWEEN = "."  # a folder's id and a document's, in the mark of a page
Row = Mapping[str, Any]


class FolderDocuments:
    """An account that is editor there adds; what an agent's key brings waits for one (A22)."""

    def __init__(self, door: FolderDoor, proposals: Proposals) -> None:
        self._door = door
        self._proposals = proposals

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The three addresses."""
        return (
            web.post(BULK, self.create_all),
            web.post(ALL, self.create),
            web.get(ALL, self.list),
            web.get(ONE, self.one),
            web.patch(ONE, self.update),
            web.delete(ONE, self.delete),
        )

    async def create(self, request: web.Request) -> web.Response:
        """201: it is there, and read in the background; 200: it was; 202: it is proposed."""
        caller = await self._door.anybody(request)
        given = await body_of(request, NewDocument)

        async def run() -> Answer:
            return await self._create(caller, given)

        body = (DOCUMENT, msgspec.to_builtins(given))
        return await self._door.create(request, caller, body, run)

    async def create_all(self, request: web.Request) -> web.Response:
        """Each by itself, in order: one that is refused stops no other."""
        caller = await self._door.anybody(request)
        given = (await body_of(request, Documents)).documents

        async def run() -> Answer:
            told = [await self._tried(caller, each) for each in given]
            return 200, {"results": [{"index": at} | each for at, each in enumerate(told)]}

        return await self._door.create(request, caller, (DOCUMENTS, given), run)

    async def list(self, request: web.Request) -> web.Response:
        """Of one folder, or of all that the account may read; by folder, then by id."""
        caller = await self._door.account(request)
        query = query_of(request, ("folder_id", "limit", "starting_after"))
        limit = number_of(query, "limit", USUAL_ROWS, MOST_ROWS)
        after = query.get("starting_after", "")

        async def run() -> Answer:
            found: list[Row] = []
            folder, mark, last = await self._begin(caller, after)
            for each in await self._folders(caller, query.get("folder_id"), folder):
                params = {"collection": each}
                rows = await self._door.call(caller, "knowledge.sources.list", params)
                past = last if each == folder and mark else ""
                found += sorted((row for row in rows if row["id"] > past), key=_id)
                if len(found) > limit:
                    break
            page, has_more = found[:limit], len(found) > limit
            told = [document_told(row) for row in page]
            return 200, {"data": told, "has_more": has_more, "next_page": _mark(page, has_more)}

        return await self._door.answer(caller, run)

    async def one(self, request: web.Request) -> web.Response:
        """One document's name, metadata and state."""
        caller = await self._door.account(request)

        async def run() -> Answer:
            params = {"source_id": request.match_info["id"]}
            found = await self._door.call(caller, "knowledge.sources.get", params)
            return 200, document_told(found)

        return await self._door.answer(caller, run)

    async def update(self, request: web.Request) -> web.Response:
        """Metadata; it holds from the next search on."""
        caller = await self._door.account(request)
        given = await body_of(request, DocumentChange)

        async def run() -> Answer:
            params = {"source_id": request.match_info["id"], "metadata": given.metadata}
            changed = await self._door.call(caller, "knowledge.sources.set_metadata", params)
            return 200, document_told(changed)

        return await self._door.answer(caller, run)

    async def delete(self, request: web.Request) -> web.Response:
        """Text, index and vectors go at once."""
        caller = await self._door.account(request)
        params = {"source_id": request.match_info["id"]}
        await self._door.call(caller, "knowledge.sources.delete", params)
        return web.Response(status=204)

    # ---------------------------------------------------------------- adding

    async def _create(self, caller: Caller, given: NewDocument) -> Answer:
        if caller.agent is not None:
            return await self._propose(caller, given)
        params = {
            "collection": given.folder_id,
            "title": name_of(given),
            "text": given.content,
            "metadata": given.metadata,
        }
        added = await self._door.call(caller, "knowledge.sources.add", params)
        return 201 if added["is_new"] else 200, document_told(added["source"])

    async def _propose(self, caller: Caller, given: NewDocument) -> Answer:
        if caller.agent is None:
            raise NotFoundError("agent")
        if given.metadata:  # a card has no place for it, and it must not get lost
            reason = "metadata: not with an agent's key; an editor sets it once it is approved"
            raise InvalidRequestError("metadata", reason=reason)
        turn = self._proposals.turn(caller.audience, caller.agent, SURFACE)
        content, name = FromAgent(text=given.content), name_of(given)
        card = await self._proposals.from_agent(turn, given.folder_id, content, name)
        return 202, {
            "id": card.id,
            "folder_id": card.collection_id,
            "name": card.title,
            "state": card.state.value,
        }

    async def _tried(self, caller: Caller, each: object) -> dict[str, Any]:
        try:
            status, document = await self._create(caller, converted(each, NewDocument))
        except GatewayError as error:
            message = error_text(error.code, caller.language, **error.params)
            return {"status": "refused", "error": {"code": error.code, "message": message}}
        return {"status": STATES[status], "document": document}

    # ---------------------------------------------------------------- pages

    async def _begin(self, caller: Caller, after: str) -> tuple[str, bool, str]:
        """(folder, whether a page ended in it, document): from where on a page goes.

        A document's own id will do; one that went meanwhile needs the mark that the page gave.
        """
        folder, mark, last = after.partition(BETWEEN)
        if not after or mark:
            return folder, bool(mark), last
        source = await self._door.call(caller, "knowledge.sources.get", {"source_id": after})
        return source["collection_id"], True, after

    async def _folders(self, caller: Caller, wanted: str | None, first: str) -> Sequence[str]:
        if wanted is not None:
            return [wanted]
        rows = await self._door.call(caller, "knowledge.collections.list", {})
        return sorted(row["id"] for row in rows if row["id"] >= first and row["sources"])


def _id(row: Row) -> str:
    return str(row["id"])


def _mark(page: Sequence[Row], has_more: bool) -> str | None:  # noqa: FBT001
    return f"{page[-1]['collection_id']}{BETWEEN}{page[-1]['id']}" if has_more else None
