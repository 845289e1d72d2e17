"""`/agents/folders`: collections as folders, attached to agents (FEATURES D1)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from aiohttp import web
from msgspec import UNSET

from gateway.errors import GatewayError, InvalidRequestError, NotFoundError
from gateway.operations.table import Caller
from gateway.surfaces.folder_door import Answer, FolderDoor
from gateway.surfaces.folders_wire import (
    MOST_ROWS,
    USUAL_ROWS,
    FolderChange,
    NewFolder,
    body_of,
    document_told,
    folder_told,
    number_of,
    query_of,
)
from gateway.surfaces.idempotency import FOLDER

FOLDERS, ONE_FOLDER = "/agents/folders", "/agents/folders/{id}"
TOP = "null"  # as `parent_id` in a query: those that lie in no folder
VIEWER = "viewer"
Row = Mapping[str, Any]


class Folders:
    """Each route is some operations of the table, one after the other, as the same caller."""

    def __init__(self, door: FolderDoor) -> None:
        self._door = door

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The two addresses."""
        return (
            web.post(FOLDERS, self.create),
            web.get(FOLDERS, self.list),
            web.get(ONE_FOLDER, self.one),
            web.patch(ONE_FOLDER, self.update),
            web.delete(ONE_FOLDER, self.delete),
        )

    async def create(self, request: web.Request) -> web.Response:
        """A folder that only its maker reads, and the agents it is attached to."""
        caller = await self._door.account(request)
        given = await body_of(request, NewFolder)

        async def run() -> Answer:
            params = {"name": given.name, "parent_id": given.parent_id}
            made = await self._door.call(caller, "knowledge.collections.create", params)
            try:
                await self._attach(caller, made["id"], [each.id for each in given.agents or ()])
            except GatewayError:
                params = {"collection": made["id"], "confirm_name": made["name"]}
                await self._door.call(caller, "knowledge.collections.delete", params)
                raise
            return 201, await self._whole(caller, made["id"])

        body = (FOLDER, msgspec.to_builtins(given))
        return await self._door.create(request, caller, body, run)

    async def list(self, request: web.Request) -> web.Response:
        """Those the account has a role on, by id; `parent_id` names the one they lie in."""
        caller = await self._door.account(request)
        query = query_of(request, ("parent_id", "limit", "starting_after"))
        limit = number_of(query, "limit", USUAL_ROWS, MOST_ROWS)

        async def run() -> Answer:
            after, parent = query.get("starting_after", ""), query.get("parent_id")
            wanted = None if parent == TOP else parent
            left = [
                row
                for row in await self._rows(caller)
                if row["id"] > after and (parent is None or row["parent_id"] == wanted)
            ]
            page = left[:limit]
            told = [{**folder_told(row), **await self._attached(caller, row)} for row in page]
            has_more = len(left) > len(page)
            next_page = page[-1]["id"] if has_more else None
            return 200, {"data": told, "has_more": has_more, "next_page": next_page}

        return await self._door.answer(caller, run)

    async def one(self, request: web.Request) -> web.Response:
        """A folder with its documents."""
        caller = await self._door.account(request)

        async def run() -> Answer:
            return 200, await self._whole(caller, request.match_info["id"])

        return await self._door.answer(caller, run)

    async def update(self, request: web.Request) -> web.Response:
        """Name, place and agents; `agents` is all of them, so that [] detaches every one."""
        caller = await self._door.account(request)
        given = await body_of(request, FolderChange)
        settings: dict[str, Any] = {}
        if given.name is not UNSET:
            settings["name"] = given.name
        if given.parent_id is not UNSET:
            settings["parent_id"] = given.parent_id or ""
        agents = None if given.agents is UNSET else [each.id for each in given.agents]

        async def run() -> Answer:
            shown = await self._grants(caller, request.match_info["id"])
            folder = {"collection": shown["collection_id"]}
            if agents is not None:
                await self._check(caller, shown, agents)
            if settings:
                change = folder | {"version": shown["version"]} | settings
                await self._door.call(caller, "knowledge.collections.update", change)
            if agents is not None:
                await self._attach(caller, shown["collection_id"], agents)
            return 200, await self._whole(caller, shown["collection_id"])

        return await self._door.answer(caller, run)

    async def delete(self, request: web.Request) -> web.Response:
        """An empty one; with `confirm_name` one that holds documents."""
        caller = await self._door.account(request)
        query = query_of(request, ("confirm_name",))

        async def run() -> Answer:
            shown = await self._grants(caller, request.match_info["id"])
            row = await self._row(caller, shown["collection_id"])
            name = query.get("confirm_name", "" if row["sources"] else row["name"])
            if not name:
                reason = "confirm_name: the folder's name, for it holds documents"
                raise InvalidRequestError("confirm_name", reason=reason)
            params = {"collection": row["id"], "confirm_name": name}
            await self._door.call(caller, "knowledge.collections.delete", params)
            return 204, None

        response = await self._door.answer(caller, run)
        return web.Response(status=204) if response.status == 204 else response

    # ---------------------------------------------------------------- of the table

    async def _rows(self, caller: Caller) -> Sequence[Row]:
        rows: list[Row] = await self._door.call(caller, "knowledge.collections.list", {})
        return sorted(rows, key=lambda row: str(row["id"]))

    async def _row(self, caller: Caller, reference: str) -> Row:
        rows = await self._rows(caller)
        by_id = [row for row in rows if row["id"] == reference]
        found = by_id or [row for row in rows if row["slug"] == reference]
        if not found:  # it went meanwhile
            raise NotFoundError("folder")
        return found[0]

    async def _grants(self, caller: Caller, reference: str) -> Row:
        """For owners; missing and forbidden are refused and logged alike."""
        params = {"collection": reference}
        shown: Row = await self._door.call(caller, "knowledge.grants.list", params)
        return shown

    async def _whole(self, caller: Caller, reference: str) -> dict[str, Any]:
        params = {"collection": reference}
        documents = await self._door.call(caller, "knowledge.sources.list", params)
        row = await self._row(caller, reference)
        attached = await self._attached(caller, row)
        told = [document_told(each) for each in documents]
        return {**folder_told(row), **attached, "documents": told}

    async def _attached(self, caller: Caller, row: Row) -> Row:
        """The agents, for owners; who else has a share is nobody else's to know."""
        if row["role"] != "owner":
            return {"agents": None}
        shown = await self._grants(caller, row["id"])
        ids = _agents_of(shown)
        if not ids:
            return {"agents": []}
        params = {"collection": row["id"], "ids": ids}
        named = await self._door.call(caller, "knowledge.principals.resolve", params)
        names = {each["id"]: each["name"] for each in named if each["kind"] == "agent"}
        return {"agents": [{"id": each, "name": names.get(each, each)} for each in ids]}

    async def _check(self, caller: Caller, shown: Row, agents: Sequence[str]) -> None:
        """Before anything is changed: whom the caller may share with; the save asks again."""
        for each in dict.fromkeys(agents):
            if each in _agents_of(shown):
                continue
            params = {"query": each, "kind": "agent"}
            found = await self._door.call(caller, "knowledge.principals.search", params)
            if each not in {row["id"] for row in found}:
                subject = f"agent:{each}"
                raise InvalidRequestError(subject, code="not_shareable", subject=subject)

    async def _attach(self, caller: Caller, folder_id: str, agents: Sequence[str]) -> None:
        """Grant these agents a viewer's role and no other agent any (FEATURES A2, D1)."""
        shown = await self._grants(caller, folder_id)
        kept = [
            each
            for each in shown["grants"]
            if each["subject_kind"] != "agent" or each["subject_id"] in agents
        ]
        known = _agents_of(shown)
        new = [
            {"subject_kind": "agent", "subject_id": each, "role": VIEWER}
            for each in dict.fromkeys(agents)
            if each not in known
        ]
        if new or len(kept) < len(shown["grants"]):
            params = {"collection": folder_id, "version": shown["version"], "grants": kept + new}
            await self._door.call(caller, "knowledge.grants.replace", params)


def _agents_of(shown: Row) -> Sequence[str]:
    grants: Sequence[Row] = shown["grants"]
    return sorted(str(row["subject_id"]) for row in grants if row["subject_kind"] == "agent")
