"""A small reverse proxy that adds a bearer token, for clients that cannot send one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}


@asynccontextmanager
async def bearer_proxy(url: str, token: str) -> AsyncIterator[str]:
    """The address of a proxy to `url`; Host and Origin go on as they came."""
    endless = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(auto_decompress=False, timeout=endless) as session:

        async def passed_on(request: web.Request) -> web.StreamResponse:
            headers = [each for each in request.headers.items() if each[0].lower() not in HOP]
            headers.append(("Authorization", f"Bearer {token}"))
            async with session.request(
                request.method,
                url + request.path_qs,
                headers=headers,
                data=await request.read() or None,
            ) as got:
                kept = [each for each in got.headers.items() if each[0].lower() not in HOP]
                answer = web.StreamResponse(status=got.status, headers=kept)
                await answer.prepare(request)
                async for piece in got.content.iter_any():
                    await answer.write(piece)
                await answer.write_eof()
                return answer

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", passed_on)
        server = TestServer(app)
        await server.start_server(shutdown_timeout=0.1)
        try:
            yield f"http://127.0.0.1:{server.port}"
        finally:
            await asyncio.shield(server.close())
