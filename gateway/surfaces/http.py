"""The one HTTP application: routes of all surfaces behind the same checks and headers."""

from collections.abc import Awaitable, Callable, Iterable

import msgspec
import structlog
from aiohttp import web

from gateway.catalogue import error_text
from gateway.errors import TABLE, GatewayError
from gateway.surfaces.session import HttpCallers

log = structlog.get_logger()
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
WEBHOOKS = "/webhooks/"
MAX_BODY_BYTES = 8 * 2**20  # uploads stream and have their own limit
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def build(callers: HttpCallers, routes: Iterable[web.AbstractRouteDef]) -> web.Application:
    """Make the application; webhooks skip what concerns browsers only."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(WEBHOOKS):
            return await _guarded(request, handler)
        if not callers.is_own_host(request):
            return error_response(GatewayError("host", code="origin_refused"), None)
        response = await _guarded(request, handler)
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    app = web.Application(middlewares=[guard], client_max_size=MAX_BODY_BYTES)
    app.add_routes(routes)
    return app


async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except GatewayError as error:
        if TABLE[error.code].http_status >= 500:
            log.warning("request failed", path=request.path, code=error.code, error=str(error))
        return error_response(error, request.headers.get("Accept-Language"))
    except web.HTTPException as known:
        if known.status < 400:
            raise
        code = {404: "not_found", 405: "not_found", 413: "payload_too_large"}
        return error_response(
            GatewayError(
                "http", code=code.get(known.status, "invalid_request"), reason=known.reason
            ),
            request.headers.get("Accept-Language"),
        )
    except Exception:  # boundary: a bug in one request must not reach the sender, nor end us
        log.exception("request crashed", path=request.path)
        return error_response(GatewayError("crash"), request.headers.get("Accept-Language"))


def error_response(error: GatewayError, accept_language: str | None) -> web.Response:
    """The error's code and sentence, with the status of the table."""
    prefix = (accept_language or "")[:2].lower()
    language = {"zh": "zh-TW", "ja": "ja", "en": "en"}.get(prefix)
    message = error_text(error.code, language, **error.params)
    return json_response(
        {"error": {"code": error.code, "message": message}},
        status=TABLE[error.code].http_status,
    )


def json_response(data: object, status: int = 200) -> web.Response:
    """Encode with msgspec."""
    return web.Response(
        body=msgspec.json.encode(data), status=status, content_type="application/json"
    )
