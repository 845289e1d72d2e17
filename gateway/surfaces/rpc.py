"""`POST /rpc`: the table of operations as JSON-RPC 2.0."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from gateway.catalogue import error_text
from gateway.errors import TABLE, GatewayError
from gateway.operations.registry import Registry
from gateway.operations.table import Caller
from gateway.surfaces.http import json_response
from gateway.surfaces.session import COOKIE, NOBODY, HttpCallers, csrf_of, set_cookie

BATCH = 50  # calls in one batch


@dataclass(frozen=True, slots=True)
class Call:
    """One valid call of a body; `id` is absent from a notification."""

    method: str
    params: dict[str, Any]
    id: str | int | float | None
    is_notification: bool


class Rpc:
    """Answers bodies of one call or a batch."""

    def __init__(self, registry: Registry, callers: HttpCallers, *, secure_cookie: bool) -> None:
        self._registry = registry
        self._callers = callers
        self._secure_cookie = secure_cookie

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The one route."""
        return (web.post("/rpc", self.answer),)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Status 200 with an answer, 204 where only notifications came."""
        try:
            body = json.loads((await request.read()).decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return json_response(_failure(None, GatewayError("json", code="parse_error"), None))
        login = _login_alone(body)
        if login is not None:
            return await self._login(request, login)
        caller = await self._callers.caller(request, "rpc")
        if _method_of(body) == "auth.logout":
            return await self._logout(request, body)
        if not isinstance(body, list):
            return _response(await self._one(caller, body))
        if not body or len(body) > BATCH:
            return json_response(_failure(None, _not_a_request(), caller.language))
        answers = [await self._one(caller, entry) for entry in body]
        return _response([answer for answer in answers if answer is not None] or None)

    async def _one(self, caller: Caller, entry: object) -> dict[str, Any] | None:
        call = _call(entry)
        if call is None:
            return _failure(None, _not_a_request(), caller.language)
        try:
            result = await self._registry.call(caller, call.method, call.params)
        except GatewayError as error:
            return None if call.is_notification else _failure(call.id, error, caller.language)
        if call.is_notification:
            return None
        return {"jsonrpc": "2.0", "id": call.id, "result": result}

    async def _login(self, request: web.Request, call: Call) -> web.StreamResponse:
        """Sign in: the secret goes into the cookie, its CSRF token into the answer."""
        if not self._callers.is_own_origin(request):
            raise GatewayError("origin", code="origin_refused")
        caller = Caller(None, NOBODY, "rpc")
        try:
            entered = await self._registry.call(caller, call.method, call.params)
        except GatewayError as error:
            return json_response(_failure(call.id, error, None))
        secret = entered.pop("secret")
        entered["csrf"] = csrf_of(secret)
        response = json_response({"jsonrpc": "2.0", "id": call.id, "result": entered})
        expires_at = datetime.fromisoformat(entered["expires_at"])
        set_cookie(response, secret, expires_at, secure=self._secure_cookie)
        return response

    async def _logout(self, request: web.Request, body: object) -> web.StreamResponse:
        secret = request.cookies.get(COOKIE)
        if secret:
            await self._callers.sign_in.sign_out(secret)
        call = _call(body)
        response = json_response(
            {"jsonrpc": "2.0", "id": call.id if call else None, "result": None}
        )
        response.del_cookie(COOKIE, path="/")
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
    named = params if isinstance(params, dict) else {"": params}  # by position: nobody takes it
    return Call(method, named, call_id, is_notification="id" not in entry)


def _method_of(body: object) -> str | None:
    call = _call(body)
    return call.method if call is not None else None


def _login_alone(body: object) -> Call | None:
    call = _call(body)
    return call if call is not None and call.method == "auth.login" else None


def _not_a_request() -> GatewayError:
    return GatewayError("rpc", code="not_an_rpc_request")


def _failure(call_id: object, error: GatewayError, language: str | None) -> dict[str, Any]:
    row = TABLE[error.code]
    message = error_text(error.code, language, **error.params)
    return {
        "jsonrpc": "2.0",
        "id": call_id,
        "error": {"code": row.rpc_code, "message": message, "data": {"code": error.code}},
    }


def _response(answer: object) -> web.Response:
    return web.Response(status=204) if answer is None else json_response(answer)


def _no_constant(name: str) -> Any:
    raise ValueError(name)
