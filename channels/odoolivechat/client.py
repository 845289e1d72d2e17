"""The only file that talks to the relay; there is no SDK for it, so aiohttp does."""

import asyncio
from collections.abc import Mapping

import aiohttp

from channels.pacing import retry_after_s
from gateway.core.messages import Delivered, Refused, RetryLater, SendOutcome

CONNECT_TIMEOUT_S = 5.0
SEND_TIMEOUT_S = 15.0
LATER = frozenset({408, 425, 429})


class LiveChatClient:
    """One relay's way in. A repeated Idempotency-Key is the relay's to recognise."""

    def __init__(self, url: str, *, send_timeout_s: float = SEND_TIMEOUT_S) -> None:
        self._url = url
        self._timeout = aiohttp.ClientTimeout(total=send_timeout_s, connect=CONNECT_TIMEOUT_S)
        self._opening = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, headers: Mapping[str, str]) -> SendOutcome:
        """A call that may have been accepted is tried again: its key makes that harmless."""
        session = await self._open()
        try:
            async with session.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as response:
                return _outcome(response.status, response.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return RetryLater(None, type(error).__name__)

    async def reach(self) -> str:
        """The name of what failed, empty where a server answers at all; changes nothing."""
        session = await self._open()
        try:
            async with session.options(self._url, allow_redirects=False):
                return ""
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return type(error).__name__

    async def close(self) -> None:
        """Close the sockets."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _open(self) -> aiohttp.ClientSession:
        async with self._opening:
            if self._session is None:
                # no proxy of the environment and no cookies: what we say goes to this address alone
                self._session = aiohttp.ClientSession(
                    timeout=self._timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
                )
            return self._session


def _outcome(status: int, retry_after: str | None) -> SendOutcome:
    """409: the relay has had this key before."""
    if 200 <= status < 300 or status == 409:
        return Delivered()
    if status in LATER or status >= 500:
        reason = "rate limit" if status == 429 else f"status {status}"
        return RetryLater(retry_after_s(retry_after), reason)
    return Refused(f"status {status}")  # redirects too: a signed body goes nowhere else
