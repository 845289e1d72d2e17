"""`KnowledgeBase`: `GET /agents/{id}/documents/query` as one awaitable call (FEATURES D3)."""

import asyncio
import json
import logging
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import aiohttp
from yarl import URL

log = logging.getLogger("shutten.client")
TOP_K = 5
TIMEOUT_S = 3.0
LONG_TIMEOUT_S = 10.0  # a person is waiting for the answer
MOST_BYTES = 8 * 2**20  # of an answer; the gateway's are far smaller


class KnowledgeBaseError(RuntimeError):
    """No answer came in time, or none that is one.

    `status` is that of the HTTP answer, `code` the gateway's stable code (docs/errors.md); None
    where there was none.
    """

    def __init__(self, reason: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code


class KnowledgeBase:
    """One agent's documents. `token` is a key of that agent, or the token of an account.

    With `async with` all queries share their connections; without it each has its own.
    """

    def __init__(self, base_url: str, agent_id: str, token: str) -> None:
        """ValueError: `base_url` is not http or https, or something is empty."""
        if not agent_id or not token:
            raise ValueError("agent_id and token must not be empty")
        at = URL(base_url)
        if at.scheme not in ("http", "https") or not at.host:
            raise ValueError("base_url: http:// or https://, with a host")
        way = f"{str(at.with_query(None).with_fragment(None)).rstrip('/')}/agents"
        self._url = URL(f"{way}/{quote(agent_id, safe='')}/documents/query", encoded=True)
        self._agent_id = agent_id
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self._url.origin())!r}, {self._agent_id!r})"

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def query(
        self,
        text: str,
        filters: Mapping[str, str | float | bool | None] | None = None,
        top_k: int = TOP_K,
        timeout_s: float = TIMEOUT_S,
    ) -> list[dict[str, Any]]:
        """At most `top_k` passages, best first: `content`, and whatever else the gateway tells.

        `filters`: only documents whose metadata has all of these values. KnowledgeBaseError: too
        slow, not reached, a status other than 200, or a body that is no answer. ValueError: a
        timeout that is no positive number, or filters that are no JSON.
        """
        if not (math.isfinite(timeout_s) and timeout_s > 0):
            raise ValueError("timeout_s: a positive number of seconds")
        if timeout_s > LONG_TIMEOUT_S:
            log.warning("timeout_s=%s is over %s s: whoever asks waits", timeout_s, LONG_TIMEOUT_S)
        params = {"query": text, "top_k": str(top_k)}
        if filters:
            params["filters"] = json.dumps(dict(filters), ensure_ascii=False, allow_nan=False)
        try:
            async with asyncio.timeout(timeout_s), self._connected() as session:
                status, body = await self._get(session, params)
        except TimeoutError as error:
            raise KnowledgeBaseError(f"no answer within {timeout_s} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise KnowledgeBaseError(f"not reached: {type(error).__name__}") from error
        return _results(status, body)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[aiohttp.ClientSession]:
        if self._session is not None:
            yield self._session
            return
        async with aiohttp.ClientSession() as session:
            yield session

    async def _get(
        self, session: aiohttp.ClientSession, params: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """A redirection is followed nowhere: the key is for this address alone."""
        headers = {"Authorization": f"Bearer {self._token}"}
        url = self._url.with_query(params)
        timeout = aiohttp.ClientTimeout(total=None)  # ours is around it
        async with session.get(
            url, headers=headers, allow_redirects=False, timeout=timeout
        ) as answer:
            body = bytearray()
            while len(body) <= MOST_BYTES and (more := await answer.content.read(MOST_BYTES)):
                body += more
            return answer.status, bytes(body)


def _results(status: int, body: bytes) -> list[dict[str, Any]]:
    answer = _decoded(body)
    if status != 200:
        raise KnowledgeBaseError(f"status {status}", status=status, code=_code(answer))
    found = answer.get("results") if isinstance(answer, dict) else None
    if len(body) > MOST_BYTES or not isinstance(found, list) or not all(map(_is_result, found)):
        raise KnowledgeBaseError("the answer is none of a knowledge base", status=status)
    return found


def _is_result(each: object) -> bool:
    return isinstance(each, dict) and isinstance(each.get("content"), str)


def _decoded(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _code(answer: object) -> str | None:
    error = answer.get("error") if isinstance(answer, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) else None
