"""Who makes an HTTP request: a browser session's cookie or a program's token (DESIGN 9.4)."""

import hmac
import ipaddress
from datetime import datetime

from aiohttp import web
from yarl import URL

from gateway.accounts.sign_in import SignIn, secret_sha256
from gateway.core.access import Account, Audience, AudienceKind
from gateway.core.visitors import client_address
from gateway.errors import GatewayError, NotSignedInError
from gateway.operations.table import Caller

COOKIE = "shutten_session"
CSRF_HEADER = "X-Shutten-CSRF"
NOBODY = Audience(AudienceKind.NONE)
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")
THIS_MACHINE = frozenset({client_address(each, (), ()) for each in ("127.0.0.1", "::1")})
LANGUAGES = {"zh": "zh-TW", "ja": "ja", "en": "en"}


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
        language = language_of(request)
        account, secret = await self._by_token(request), None
        if account is None:
            account, secret = await self._by_cookie(request, changes=changes)
        if account is None:
            return Caller(None, NOBODY, surface, language=language)
        audience = Audience(AudienceKind.DASHBOARD, account, is_direct=True)
        return Caller(
            account,
            audience,
            surface,
            language=account.language or language,
            session_secret=secret,
        )

    async def person(
        self, request: web.Request, surface: str, *, changes: bool = True
    ) -> tuple[Caller, Account]:
        """The caller and the account; NotSignedInError where there is none."""
        caller = await self.caller(request, surface, changes=changes)
        if caller.account is None:
            raise NotSignedInError
        return caller, caller.account

    async def may_operate(self, request: web.Request) -> bool:
        """Health and figures: this machine itself, or an administrator's token (DESIGN 9.5)."""
        if is_loopback(request):
            return True
        account = await self._by_token(request)
        return account is not None and account.is_admin

    async def _by_token(self, request: web.Request) -> Account | None:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            return None
        account = await self._sign_in.account_of(token.strip(), kind="token")
        if account is None:  # a wrong token is an error, never somebody else
            raise NotSignedInError("token")
        return account

    async def _by_cookie(
        self, request: web.Request, *, changes: bool
    ) -> tuple[Account | None, str | None]:
        secret = request.cookies.get(COOKIE)
        if not secret:
            return None, None
        if changes:
            given = request.headers.get(CSRF_HEADER, "").encode("utf-8", "replace")
            is_same = hmac.compare_digest(given, csrf_of(secret).encode())
            if not is_same or not self.is_own_origin(request):
                raise GatewayError("csrf", code="origin_refused")
        account = await self._sign_in.account_of(secret, kind="session")
        return account, secret if account is not None else None

    def is_own_origin(self, request: web.Request) -> bool:
        """Whether the request comes from a page of ours; programs send no Origin.

        The port counts: another service of this machine is another site.
        """
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        page, host = _address(origin), _host(request)
        if page is None or host is None or page.host is None:
            return False
        same = (page.host, page.explicit_port) == (host.host, host.explicit_port)
        return same and self.is_own_host(request)

    def is_own_host(self, request: web.Request) -> bool:
        """Whether the Host header names us: a foreign name is DNS rebinding."""
        host = _host(request)
        return host is not None and host.host in self._allowed_hosts

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


def language_of(request: web.Request) -> str | None:
    """The first of the languages the browser asks for, where we speak it."""
    return LANGUAGES.get(request.headers.get("Accept-Language", "")[:2].lower())


def is_loopback(request: web.Request) -> bool:
    """Whether this machine itself asks; what a proxy passes on comes from elsewhere."""
    if any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.remote or "").is_loopback
    except ValueError:
        return False


def address_of(request: web.Request) -> str:
    """By what a stranger's tries are counted, an IPv6 peer by its network.

    "" for this machine: a proxy on it stands for everybody, and what its headers say of the asker
    may be the asker's own word.
    """
    address = client_address(request.remote or "", (), ())
    return "" if address in THIS_MACHINE else address


def _host(request: web.Request) -> URL | None:
    return _address(f"//{request.headers.get('Host', '')}")


def _address(text: str) -> URL | None:
    try:
        url = URL(text)
        _ = url.host, url.explicit_port  # an odd port is found out here
    except ValueError:
        return None
    return url
