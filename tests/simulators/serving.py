"""An aiohttp application on a free local port, for as long as a block takes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def served(
    app: web.Application, *, port: int = 0, shutdown_s: float = 1.0
) -> AsyncIterator[str]:
    """Yield "host:port"; what hangs on purpose must be let go before the block ends."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=shutdown_s)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, number = runner.addresses[0][:2]
    try:
        yield f"{host}:{number}"
    finally:
        await runner.cleanup()
