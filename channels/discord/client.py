"""The only file that talks to Discord; what is made of discord.py itself stands in gateway.py."""

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from gateway.core.messages import Check
from gateway.core.secrets import Secret
from gateway.errors import ChannelError

SDK_HALF = "channels.discord.gateway"
CALL_TIMEOUT_S = 15.0
FILE_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
FILE_TIMEOUT = aiohttp.ClientTimeout(total=120.0, connect=5.0, sock_read=20.0)
CHUNK_BYTES = 64 * 1024
MESSAGE = "/channels/{channel_id}/messages/{message_id}"
UNEDITABLE = frozenset({400, 403})
PAGE = 100  # messages of one look, the most Discord gives
MOST_PAGES = 5
CONTENT_INTENT_FLAGS = 1 << 18 | 1 << 19  # of the application: granted, or granted while small

Hold = Callable[[str | None, float], None]  # a channel, or None for all, and the seconds
Take = Callable[[bytes], Awaitable[None]]


class Trouble(Exception):
    """A call that was not answered with success. `status` None: it may have been accepted."""

    def __init__(
        self, reason: str, *, status: int | None = None, code: int = 0, after_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason  # never a text or a token
        self.status = status
        self.code = code  # Discord's own
        self.after_s = after_s


class Ended(Exception):
    """A gateway connection that ended. Fatal: trying again the same way leads nowhere."""

    def __init__(self, reason: str, *, may_resume: bool = True, is_fatal: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.may_resume = may_resume
        self.is_fatal = is_fatal


class DiscordClient:
    """One Discord account's calls. The SDK comes, and the account logs in, at first use."""

    def __init__(
        self,
        token: Secret,
        api_base_url: str,
        hold: Hold,
        *,
        call_timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self._token = token
        self._api_base_url = api_base_url.rstrip("/")
        self._hold = hold
        self._call_timeout_s = call_timeout_s
        self._opening = asyncio.Lock()
        self._sdk: Any = None
        self._rest: Any = None
        self._files: aiohttp.ClientSession | None = None
        self.bot_id = ""  # our own user id, once logged in

    async def open(self) -> None:
        """Log in, once. Trouble."""
        async with self._opening:
            if self._rest is not None:
                return
            # importing it in the loop would hold every lane
            self._sdk = await asyncio.to_thread(importlib.import_module, SDK_HALF)
            rest = self._sdk.Rest(self._api_base_url, self._hold, self._call_timeout_s)
            try:
                self.bot_id = await rest.login(self._token.reveal())
                self._rest = rest
            finally:
                if self._rest is None:
                    await rest.close()

    async def listen(self, url: str, session_id: str, sequence: int, take: Take) -> None:
        """One connection to the gateway until it ends. Trouble, Ended, and what `take` raises."""
        await self.open()
        connection = self._sdk.Connection(self._rest, take)
        await connection.listen(url, session_id, sequence)

    async def post(self, channel_id: str, payload: dict[str, Any]) -> str:
        """The new message's id, or that of the one with the same nonce. Trouble."""
        return await self._said("POST", "/channels/{channel_id}/messages", payload, channel_id)

    async def edit(self, channel_id: str, message_id: str, payload: dict[str, Any]) -> str:
        """The message's id. Trouble; one that cannot be edited goes, for it shows a draft."""
        try:
            return await self._said("PATCH", MESSAGE, payload, channel_id, message_id)
        except Trouble as error:
            if error.status in UNEDITABLE:
                with contextlib.suppress(Trouble):  # the reply that is posted anew matters more
                    await self._call(
                        "DELETE", MESSAGE, channel_id=channel_id, message_id=message_id
                    )
            raise

    async def type(self, channel_id: str) -> None:
        """Shown for ten seconds, or until the next message. Trouble."""
        await self._call("POST", "/channels/{channel_id}/typing", channel_id=channel_id)

    async def channel(self, channel_id: str) -> Any:
        """What the platform says of a channel. Trouble."""
        return await self._call("GET", "/channels/{channel_id}", channel_id=channel_id)

    async def messages(self, channel_id: str, after: str) -> Sequence[dict[str, Any]]:
        """What a channel holds behind an id, oldest first, at most MOST_PAGES pages. Trouble."""
        found: list[dict[str, Any]] = []
        for _ in range(MOST_PAGES):
            page = await self._call(
                "GET",
                "/channels/{channel_id}/messages",
                channel_id=channel_id,
                query={"after": after, "limit": PAGE},
            )
            if not isinstance(page, list):
                raise Trouble("not an answer of Discord")
            batch = [each for each in page if isinstance(each, dict) and _is_id(each.get("id"))]
            found += sorted(batch, key=lambda each: int(each["id"]))
            if len(page) < PAGE or not batch:
                break
            after = found[-1]["id"]
        return found

    async def check(self) -> Sequence[Check]:
        """Whether the token is right, the gateway answers and the content intent is granted."""
        try:
            await self.open()
            await self._call("GET", "/users/@me")
        except Trouble as error:
            is_wrong = error.status == 401
            return (Check("credentials", False, "wrong_token" if is_wrong else error.reason),)  # noqa: FBT003
        return (
            Check("credentials", True),  # noqa: FBT003
            await self._checked("connection", "/gateway/bot", lambda answer: "url" in answer),
            await self._checked(
                "message_content_intent",
                "/applications/@me",
                lambda answer: bool(answer.get("flags", 0) & CONTENT_INTENT_FLAGS),
            ),
        )

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        """A file's bytes, from Discord's own hosts, without our token, following nothing."""
        if not self.may_fetch(url):
            raise ChannelError("not a file of Discord", code="attachment_unavailable")
        try:
            async with self._get(url) as response:
                if response.status != 200:
                    status = f"status {response.status}"
                    raise ChannelError(status, code="attachment_unavailable")
                async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            reason = type(error).__name__
            raise ChannelError(reason, code="attachment_unavailable") from error

    def may_fetch(self, url: str) -> bool:
        """Only https to Discord's file hosts; the API's own host, where the operator named one."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return False
        own = urlsplit(self._api_base_url)
        if parts.username is not None or parts.password is not None:
            return False
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return True
        return parts.scheme == "https" and parts.hostname in FILE_HOSTS and port in (None, 443)

    async def close(self) -> None:
        """The SDK owns its sockets."""
        if self._rest is not None:
            await self._rest.close()
            self._rest = None
        if self._files is not None:
            await self._files.close()
            self._files = None

    def _get(self, url: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        if self._files is None:
            self._files = aiohttp.ClientSession(
                timeout=FILE_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._files.get(url, allow_redirects=False)

    async def _said(self, method: str, path: str, payload: dict[str, Any], *ids: str) -> str:
        names = dict(zip(("channel_id", "message_id"), ids, strict=False))
        answer = await self._call(method, path, payload, query=None, **names)
        if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
            raise Trouble("not an answer of Discord")  # accepted or not, nobody knows
        return str(answer["id"])

    async def _call(
        self,
        method: str,
        path: str,
        payload: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        **ids: str,
    ) -> Any:
        await self.open()
        sent = {"json": payload, "params": query}
        kwargs = {name: value for name, value in sent.items() if value is not None}
        return await self._rest.call(self._sdk.Route(method, path, **ids), **kwargs)

    async def _checked(self, name: str, path: str, is_right: Callable[[Any], bool]) -> Check:
        try:
            answer = await self._call("GET", path)
        except Trouble as error:
            return Check(name, False, error.reason)  # noqa: FBT003
        is_ok = isinstance(answer, dict) and is_right(answer)
        return Check(name, is_ok, "" if is_ok else "not granted")


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
