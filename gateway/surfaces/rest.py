"""`POST /api/operations/{name}`: the table of operations, one address each."""

from typing import Any

import msgspec
from aiohttp import web

from gateway.errors import GatewayError, InvalidRequestError, NotFoundError
from gateway.operations.registry import Registry, check_permission, request_of
from gateway.operations.table import Caller, Operation, Permission
from gateway.surfaces.doors import KEY_HEADERS, Doors
from gateway.surfaces.http import error_response, json_response
from gateway.surfaces.idempotency import HEADER, Idempotency
from gateway.surfaces.json_body import decoded
from gateway.surfaces.session import HttpCallers

PATH = "/api/operations/{name}"
BY_COOKIE = frozenset({"auth.login", "auth.logout"})  # their answer is a cookie: the page's, by RPC
EXACT = 2.0**53  # beyond, a float is no particular whole number
UNFIT = 422  # well-formed, and yet refused by the operation


def shown(rows: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Those that can be asked for here: not this machine's own, not those of cookies."""
    return tuple(
        row for row in rows if row.needs is not Permission.LOCAL and row.name not in BY_COOKIE
    )


class Rest:
    """A JSON object in, the operation's result out; errors have a code and a sentence."""

    def __init__(
        self, registry: Registry, callers: HttpCallers, doors: Doors, repeats: Idempotency
    ) -> None:
        self._rows = {row.name: row for row in shown(registry.rows())}
        self._callers = callers
        self._doors = doors
        self._repeats = repeats

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.post(PATH, self.answer),)

    async def answer(self, request: web.Request) -> web.Response:
        """Call one operation: the body is its parameters, the answer its result."""
        row = self._rows.get(request.match_info["name"])
        if row is None:
            raise NotFoundError("operation")
        caller = await self._caller(request)
        check_permission(caller, row.needs)
        params = await _params(request)
        asked = request_of(row, params)

        async def run() -> Any:
            return msgspec.to_builtins(await row.run(caller, asked))

        try:
            key = request.headers.get(HEADER)
            return json_response(await self._repeats.once(caller, key, row.name, params, run))
        except InvalidRequestError as error:
            response = error_response(error, caller.language)
            response.set_status(UNFIT)
            return response

    async def _caller(self, request: web.Request) -> Caller:
        """By an API key as by a bearer token; else as the page, by its cookie."""
        if any(name in request.headers for name in KEY_HEADERS):
            return await self._doors.open(request, "rest")
        return await self._callers.caller(request, "rest")


def _whole(value: Any) -> Any:
    """JSON's 1.0 is the whole number 1, as its schemas have it."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    is_whole = isinstance(value, float) and abs(value) <= EXACT and value.is_integer()
    return int(value) if is_whole else value


async def _params(request: web.Request) -> dict[str, Any]:
    body = await request.read()
    if not body:
        return {}
    if request.content_type != "application/json":
        raise GatewayError("content type", code="unsupported_media_type")
    params = _whole(decoded(body))
    if not isinstance(params, dict):
        raise InvalidRequestError("body", reason="body: an object")
    return params
