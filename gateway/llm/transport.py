"""The SDKs' HTTP over aiohttp: httpx's own pool walks through every connection for each call.

Imported together with the SDKs, at first use: httpx costs memory and time.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
import httpx
from multidict import CIMultiDict
from yarl import URL

MOST_CONNECTIONS = 1_000  # further calls wait their turn, within their own time
SCHEMES = ("http", "https")


class AiohttpTransport(httpx.AsyncBaseTransport):
    """One pool of sockets. Nothing of the environment, no cookies, no redirects."""

    def __init__(self, proxy: str) -> None:
        """`proxy` is a URL, or empty. ValueError for one that aiohttp cannot use."""
        if proxy and httpx.URL(proxy).scheme not in SCHEMES:
            raise ValueError("a proxy is http:// or https://")
        self._proxy = proxy or None
        self._ssl = httpx.create_ssl_context(trust_env=False)
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it; the body comes as it is read. httpx's own errors, without any text."""
        if request.url.scheme not in SCHEMES:
            raise httpx.UnsupportedProtocol("neither http nor https")
        waits = request.extensions.get("timeout", {})
        with _as_httpx():
            response = await self._opened().request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=CIMultiDict(request.headers.multi_items()),
                data=await request.aread(),
                allow_redirects=False,
                proxy=self._proxy,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=waits.get("connect"), sock_read=waits.get("read")
                ),
            )
        return httpx.Response(
            response.status, headers=list(response.raw_headers), stream=_Body(response)
        )

    async def aclose(self) -> None:
        """Give the sockets back."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        """Made within the event loop, which the constructor is not."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=MOST_CONNECTIONS, ssl=self._ssl),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # httpx does
            )
        return self._session


class _Body(httpx.AsyncByteStream):
    """A response's bytes as they come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def aclose(self) -> None:
        """A connection whose body was not read to its end is of no more use."""
        self._response.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx.ConnectTimeout(type(error).__name__) from error
    except TimeoutError as error:
        raise httpx.ReadTimeout(type(error).__name__) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(type(error).__name__) from error
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.ReadError(type(error).__name__) from error
