"""Speaks to one endpoint, directly: resolved anew for each request and pinned to that."""

import asyncio
import email.utils
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp

from gateway.errors import ModelError
from gateway.interfaces import Clock
from gateway.pinning import Resolve, pinned_connector, resolved
from models.cloud.settings import CloudSettings, may_connect

TRIES = 4
MOST_PAUSE_S = 60.0  # whatever Retry-After says
FIRST_PAUSE_S = 1.0  # doubled each time, where nothing is said
CONNECT_TIMEOUT_S = 5.0
TOTAL_TIMEOUT_S = 60.0
MOST_ANSWER_BYTES = 64 * 2**20
PASSING = frozenset({408, 429, 500, 502, 503, 504})

Pause = Callable[[float], Awaitable[None]]


class Connection:
    """No proxy, no cookies, no redirects, nothing of the environment."""

    def __init__(
        self,
        settings: CloudSettings,
        clock: Clock,
        resolve: Resolve = resolved,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._resolve = resolve
        self._pause = pause

    async def post(self, path: str, headers: Mapping[str, str], body: Any) -> Any:
        """The JSON of a 200. ModelError `embedding_cloud_failed`, without key and text."""
        answer: Any = ""
        for attempt in range(TRIES):
            try:
                answer, pause_s = await self._once(path, headers, body, attempt)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                answer, pause_s = type(error).__name__, FIRST_PAUSE_S * 2**attempt
            if pause_s is None:
                return answer
            if attempt < TRIES - 1:
                await self._pause(pause_s)
        raise failed(str(answer))

    async def _once(
        self, path: str, headers: Mapping[str, str], body: Any, attempt: int
    ) -> tuple[Any, float | None]:
        """(answer, None), or (what was wrong, seconds until it may be tried again)."""
        timeout = aiohttp.ClientTimeout(total=TOTAL_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        async with (
            aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                timeout=timeout,
            ) as session,
            session.post(
                f"{self._settings.base_url.rstrip('/')}/{path}",
                headers=headers,
                json=body,
                allow_redirects=False,
            ) as response,
        ):
            if response.status == 200:
                return await _json(response), None
            if response.status not in PASSING:
                raise failed(f"status {response.status}")
            said = response.headers.get("Retry-After", "")
            return f"status {response.status}", self._pause_s(said, attempt)

    def _pause_s(self, said: str, attempt: int) -> float:
        """Seconds, or until a date; our own where neither is said."""
        if said.strip().isascii() and said.strip().isdigit():
            return min(float(said), MOST_PAUSE_S)
        try:
            at = email.utils.parsedate_to_datetime(said)
            left_s = (at - self._clock.now()).total_seconds()
        except (ValueError, TypeError):
            return float(FIRST_PAUSE_S * 2**attempt)
        return min(max(left_s, 0.0), MOST_PAUSE_S)

    def _connector(self) -> aiohttp.TCPConnector:
        return pinned_connector(
            lambda address, _port: may_connect(self._settings, address),
            self._resolve,
            lambda: failed("an address that is not public"),
        )


async def _json(response: aiohttp.ClientResponse) -> Any:
    read = bytearray()
    async for chunk in response.content.iter_chunked(2**16):
        read += chunk
        if len(read) > MOST_ANSWER_BYTES:
            raise failed("an answer over the cap")
    try:
        return json.loads(read)
    except ValueError as error:
        raise failed("an answer that is no JSON") from error


def failed(reason: str) -> ModelError:
    """What the log may say of it."""
    return ModelError(reason, code="embedding_cloud_failed")
