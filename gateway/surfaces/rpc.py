"""`POST /rpc`: the table of operations as JSON-RPC 2.0."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from gateway.catalogue import error_text
from gateway.errors import TABLE, GatewayError, InvalidRequestError
from gateway.operations.registry import Registry
from gateway.operations.table import Caller
from gateway.surfaces.http import json_response
from gateway.surfaces.idempotency import HEADER, PARAMETER, Idempotency
from gateway.surfaces.json_body import decoded
from gateway.surfaces.routes import OPTIONAL, Route
from gateway.surfaces.session import (
    COOKIE,
    NOBODY,
    HttpCallers,
    address_of,
    csrf_of,
    language_of,
    set_cookie,
)

BATCH = 50  # calls in one batch
LOGIN, LOGOUT = "auth.login", "auth.logout"
NAMED = {-32700: "Parse error", -32600: "Invalid Request", -32601: "Method not found"}
SHOWN = ("version",)  # what of an error's parameters a program can go on with: A2's conflict

_ID = {"type": ["string", "number", "null"]}
_CALL = {
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "method": {"type": "string"},
        "params": {"type": ["object", "array"]},
        "id": _ID,
    },
}
_ANSWER = {
    "type": "object",
    "required": ["jsonrpc", "id"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": _ID,
        "result": {},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
        },
    },
}
ROUTES = (
    Route(
        "post",
        "/rpc",
        "Call operations as JSON-RPC 2.0; errors stand in the answer.",
        "rpc",
        ("token", "session", OPTIONAL),  # signing in
        parameters=(PARAMETER,),
        body={
            "oneOf": [_CALL, {"type": "array", "minItems": 1, "maxItems": BATCH, "items": _CALL}]
        },
        answer={"oneOf": [_ANSWER, {"type": "array", "items": _ANSWER}]},
        statuses=(403, 405, 500),
        without_body=(204,),  # of notifications alone
    ),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One valid call of a body; `id` means nothing in a notification."""

    method: str
    params: dict[str, Any] | list[Any]
    id: str | int | float | None
    is_notification: bool


class Rpc:
    """Answers bodies of one call or a batch."""

    def __init__(
        self,
        registry: Registry,
        callers: HttpCallers,
        *,
        secure_cookie: bool,
        repeats: Idempotency | None = None,
    ) -> None:
        self._registry = registry
        self._repeats = repeats
        self._callers = callers
        self._secure_cookie = secure_cookie

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.post("/rpc", self.answer),)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Status 200 with an answer, 204 where only notifications came."""
        try:
            body = decoded(await request.read())
        except GatewayError as error:
            return json_response(_failure(None, error, language_of(request)))
        call = _call(body)
        if call is not None and call.method == LOGIN:
            return await self._login(request, call)
        caller = await self._callers.caller(request, "rpc")
        if not isinstance(body, list):
            response = _response(await self._one(caller, body, request.headers.get(HEADER)))
            if call is not None and call.method == LOGOUT:
                response.del_cookie(COOKIE, path="/")
            return response
        if not body or len(body) > BATCH:
            return json_response(_failure(None, _not_a_request(), caller.language))
        answers = [await self._one(caller, entry) for entry in body]
        return _response([answer for answer in answers if answer is not None] or None)

    async def _one(
        self, caller: Caller, entry: object, key: str | None = None
    ) -> dict[str, Any] | None:
        """`key` is that of `Idempotency-Key`, of a call that comes alone."""
        call = _call(entry)
        if call is None:
            return _failure(None, _not_a_request(), caller.language)
        try:
            if call.method == LOGIN:  # its secret must never stand in an answer
                raise InvalidRequestError(LOGIN, reason=f"{LOGIN}: alone, not in a batch")
            result = await self._result(caller, call, key)
        except GatewayError as error:
            return None if call.is_notification else _failure(call.id, error, caller.language)
        if call.is_notification:
            return None
        return {"jsonrpc": "2.0", "id": call.id, "result": result}

    async def _result(self, caller: Caller, call: Call, key: str | None) -> Any:
        async def run() -> Any:
            return await self._registry.call(caller, call.method, call.params)

        if self._repeats is None:
            return await run()
        return await self._repeats.once(caller, key, call.method, call.params, run)

    async def _login(self, request: web.Request, call: Call) -> web.StreamResponse:
        """Sign in: the secret goes into the cookie, its CSRF token into the answer."""
        if not self._callers.is_own_origin(request):
            raise GatewayError("origin", code="origin_refused")
        language = language_of(request)
        caller = Caller(None, NOBODY, "rpc", language=language, address=address_of(request))
        try:
            entered = await self._registry.call(caller, call.method, call.params)
        except GatewayError as error:
            return json_response(_failure(call.id, error, language))
        secret, before = entered.pop("secret"), request.cookies.get(COOKIE)
        if before:
            await self._callers.sign_in.sign_out(before)
        entered["csrf"] = csrf_of(secret)
        answer = {"jsonrpc": "2.0", "id": call.id, "result": entered}
        response = _response(None if call.is_notification else answer)
        expires_at = datetime.fromisoformat(entered["expires_at"])
        set_cookie(response, secret, expires_at, secure=self._secure_cookie)
        return response


def _call(entry: object) -> Call | None:
    """The entry as a call, or None where it is not a JSON-RPC 2.0 request."""
    if not isinstance(entry, dict) or entry.get("jsonrpc") != "2.0":
        return None
    method, params, call_id = entry.get("method"), entry.get("params", {}), entry.get("id")
    is_id = call_id is None or (
        isinstance(call_id, str | int | float) and not isinstance(call_id, bool)
    )
    if not isinstance(method, str) or not isinstance(params, dict | list) or not is_id:
        return None
    return Call(method, params, call_id, "id" not in entry)


def _not_a_request() -> GatewayError:
    return GatewayError("rpc", code="not_an_rpc_request")


def _failure(call_id: object, error: GatewayError, language: str | None) -> dict[str, Any]:
    """What the protocol itself names has its name as message, and our sentence beside it."""
    number = TABLE[error.code].rpc_code
    sentence = error_text(error.code, language, **error.params)
    data: dict[str, str | int] = {"code": error.code, "message": sentence}
    data |= {name: error.params[name] for name in SHOWN if name in error.params}
    return {
        "jsonrpc": "2.0",
        "id": call_id,
        "error": {"code": number, "message": NAMED.get(number, sentence), "data": data},
    }


def _response(answer: object) -> web.Response:
    return web.Response(status=204) if answer is None else json_response(answer)
