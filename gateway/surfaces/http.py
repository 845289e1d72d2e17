"""The one HTTP application: routes of all surfaces behind the same checks and headers."""

import secrets
import traceback
from collections.abc import Awaitable, Callable, Iterable

import msgspec
import structlog
from aiohttp import web

from gateway.catalogue import error_text
from gateway.errors import TABLE, GatewayError, InvalidRequestError, NotSignedInError
from gateway.surfaces.limits import RequestLimits, bounded
from gateway.surfaces.session import HttpCallers, language_of

log = structlog.get_logger()
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
WEBHOOKS = "/webhooks/"
MAX_BODY_BYTES = 8 * 2**20  # uploads stream and have their own limit
CODES = {404: "not_found", 405: "method_not_allowed", 413: "payload_too_large"}
REQUEST_ID = "X-Request-Id"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def build(
    callers: HttpCallers,
    routes: Iterable[web.AbstractRouteDef],
    on_shutdown: Iterable[Callable[[], None]] = (),
    limits: RequestLimits | None = None,
) -> web.Application:
    """Make the application; webhooks skip what concerns browsers only.

    `on_shutdown` is called before open connections are waited for: sockets end there.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(WEBHOOKS):
            return await _guarded(request, handler, "")
        request_id = secrets.token_hex(8)
        if callers.is_own_host(request):
            response = await _guarded(request, limited(handler, limits), request_id)
        else:
            response = error_response(GatewayError("host", code="origin_refused"), None)
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            response.headers[REQUEST_ID] = request_id
        return response

    app = web.Application(middlewares=[guard], client_max_size=MAX_BODY_BYTES)
    app.add_routes(routes)

    async def shut_down(_app: web.Application) -> None:
        for end in on_shutdown:
            end()

    app.on_shutdown.append(shut_down)
    return app


async def _guarded(request: web.Request, handler: Handler, request_id: str) -> web.StreamResponse:
    language = language_of(request)
    try:
        return await handler(request)
    except GatewayError as error:
        if TABLE[error.code].http_status >= 500:
            log.warning("request failed", code=error.code, request_id=request_id)
        return error_response(error, language)
    except web.HTTPException as known:
        code = CODES.get(known.status, "invalid_request")
        response = error_response(GatewayError("http", code=code, reason=known.reason), language)
        if "Allow" in known.headers:
            response.headers["Allow"] = known.headers["Allow"]
        return response
    except web.RequestPayloadError:  # compressed wrongly: where the next request begins is lost
        response = error_response(InvalidRequestError("body", reason="body"), language)
        response.force_close()
        return response
    except ConnectionError:  # whoever asked is gone: nobody to answer
        raise
    except Exception as bug:  # noqa: BLE001 - the boundary: a bug must not end us
        # where, not what: a traceback's values and an error's words may be people's texts
        what, at = type(bug).__name__, _place(bug)
        log.error("request crashed", request_id=request_id, error=what, at=at)  # noqa: TRY400
        return error_response(GatewayError("crash"), language)


def limited(handler: Handler, limits: RequestLimits | None) -> Handler:
    """The handler behind the limits of requests, where there are any."""
    if limits is None:
        return handler

    async def handle(request: web.Request) -> web.StreamResponse:
        limits.admit(request)
        try:
            async with limits.in_time(request):
                response = await handler(bounded(request))
        except NotSignedInError:
            limits.refused(request)
            raise
        return response

    return handle


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames[-4:]))


def error_response(error: GatewayError, language: str | None) -> web.Response:
    """The error's code and sentence, with the status of the table."""
    message = error_text(error.code, language, **error.params)
    response = json_response(
        {"error": {"code": error.code, "message": message}},
        status=TABLE[error.code].http_status,
    )
    if "retry_after" in error.params:
        response.headers["Retry-After"] = str(error.params["retry_after"])
    return response


def json_response(data: object, status: int = 200) -> web.Response:
    """Encode with msgspec."""
    return web.Response(
        body=msgspec.json.encode(data), status=status, content_type="application/json"
    )
