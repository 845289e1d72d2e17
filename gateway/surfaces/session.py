"""Who makes an HTTP request: a browser session's cookie or a program's token (DESIGN 9.4)."""

import hmac
from datetime import datetime

from aiohttp import web
from yarl import URL

from gateway.accounts.sign_in import SignIn, secret_sha256
from gateway.core.access import Account, Audience, AudienceKind
from gateway.errors import GatewayError
from gateway.operations.table import Caller

COOKIE = "shutten_session"
CSRF_HEADER = "X-Shutten-CSRF"
NOBODY = Audience(AudienceKind.NONE)


def csrf_of(secret: str) -> str:
    """The session's CSRF token: derived, so that nothing more is stored."""
    return secret_sha256("csrf:" + secret)[:32]


class HttpCallers:
    """Turns a request into a Caller; what a cookie may do needs the page's own header too."""

    def __init__(self, sign_in: SignIn, allowed_hosts: frozenset[str]) -> None:
        self._sign_in = sign_in
        self._allowed_hosts = allowed_hosts

    async def caller(self, request: web.Request, surface: str, *, changes: bool = True) -> Caller:
        """`changes`: the request is not a plain read; then Origin and CSRF are checked."""
        account = await self._by_token(request)
        if account is None:
            account = await self._by_cookie(request, changes=changes)
        language = _language(request)
        if account is None:
            return Caller(None, NOBODY, surface, language=language)
        audience = Audience(AudienceKind.DASHBOARD, account, is_direct=True)
        return Caller(account, audience, surface, language=account.language or language)

    async def _by_token(self, request: web.Request) -> Account | None:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            return None
        account = await self._sign_in.account_of(token.strip(), kind="token")
        if account is None:  # a wrong token is an error, never somebody else
            raise GatewayError("token", code="not_signed_in")
        return account

    async def _by_cookie(self, request: web.Request, *, changes: bool) -> Account | None:
        secret = request.cookies.get(COOKIE)
        if not secret:
            return None
        if changes:
            given = request.headers.get(CSRF_HEADER, "")
            is_same = hmac.compare_digest(given.encode(), csrf_of(secret).encode())
            if not is_same or not self.is_own_origin(request):
                raise GatewayError("csrf", code="origin_refused")
        return await self._sign_in.account_of(secret, kind="session")

    def is_own_origin(self, request: web.Request) -> bool:
        """Whether the request comes from a page of ours; programs send no Origin."""
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        try:
            host = URL(origin).host
        except ValueError:
            return False
        return host is not None and host == _host(request) and self.is_own_host(request)

    def is_own_host(self, request: web.Request) -> bool:
        """Whether the Host header names us: a foreign name is DNS rebinding."""
        return _host(request) in self._allowed_hosts

    @property
    def sign_in(self) -> SignIn:
        """For sign-in and sign-out."""
        return self._sign_in


def set_cookie(
    response: web.StreamResponse, secret: str, expires_at: datetime, *, secure: bool
) -> None:
    """The session's cookie: HttpOnly, SameSite=Strict."""
    expires = expires_at.strftime("%a, %d %b %Y %H:%M:%S GMT")
    response.set_cookie(
        COOKIE, secret, expires=expires, httponly=True, samesite="Strict", secure=secure, path="/"
    )


def _host(request: web.Request) -> str | None:
    try:
        return URL(f"//{request.host}").host
    except ValueError:
        return None


def _language(request: web.Request) -> str | None:
    wanted = request.headers.get("Accept-Language", "")[:2].lower()
    return {"zh": "zh-TW", "ja": "ja", "en": "en"}.get(wanted)
