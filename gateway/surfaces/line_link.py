"""/link/{channel}/{name}: where a platform's own linking flow meets a signed-in account (A32)."""

from collections.abc import Mapping
from importlib import resources

import msgspec
from aiohttp import web

from gateway.accounts.linking import Linking
from gateway.errors import InvalidRequestError, NotFoundError, NotSignedInError
from gateway.interfaces import Channel
from gateway.surfaces.http import json_response
from gateway.surfaces.session import HttpCallers

PATH = "/link/{channel}/{name}"
PAGE = "link.html"
MAX_TOKEN_CHARS = 512


class Wish(msgspec.Struct):
    """What our page sends on: the platform's token, which came with the page's address."""

    linkToken: str  # noqa: N815 - LINE's own spelling


class LinkPages:
    """The page that asks, and the answer that leads on to the platform with a new nonce."""

    def __init__(
        self,
        channels: Mapping[tuple[str, str], Channel],
        callers: HttpCallers,
        linking: Linking,
    ) -> None:
        self._channels = channels
        self._callers = callers
        self._linking = linking
        self._page = resources.files("gateway.web").joinpath(PAGE).read_bytes()

    def routes(self) -> tuple[web.RouteDef, ...]:
        """The page, and what its button asks for."""
        return (web.get(PATH, self.page), web.post(PATH, self.go))

    async def page(self, _request: web.Request) -> web.Response:
        """The same for everybody: it tells nothing before one signs in."""
        return web.Response(body=self._page, content_type="text/html", charset="utf-8")

    async def go(self, request: web.Request) -> web.Response:
        """Where to go on, with a nonce of the signed-in account; only from our own page."""
        caller, account = await self._callers.person(request, "page")
        if caller.session_secret is None:  # a program has nobody who looked at what is linked
            raise NotSignedInError
        place = request.match_info["channel"], request.match_info["name"]
        channel = self._channels.get(place)
        token = _token(await request.read())
        if channel is None or channel.link_dialog(token, "") is None:
            raise NotFoundError("no such linking flow")
        nonce = await self._linking.make_nonce(account, *place)
        return json_response({"url": channel.link_dialog(token, nonce)})


def _token(body: bytes) -> str:
    try:
        token = msgspec.json.decode(body, type=Wish).linkToken
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidRequestError(str(error), reason="linkToken") from error
    if not 0 < len(token) <= MAX_TOKEN_CHARS or not token.isprintable():
        raise InvalidRequestError("linkToken", reason="linkToken")
    return token
