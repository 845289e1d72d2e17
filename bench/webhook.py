"""Webhook acknowledgements: signed LINE events in flight against one process.

    .venv/bin/python -m bench.webhook [--rounds 5] [--requests 1500] [--in-flight 32]

Two servers, each in a process of its own, take turns in the same run: a bare aiohttp handler that
only checks the HMAC, and the product's webhook, lanes, sender and store (synchronous FULL on a
temporary home, no turn running). A third process asks. Prints rates, their ratio, p50 and p99 of
the acknowledgements, and counts the durable events by opening the database anew.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
from aiohttp import web

from channels.line.channel import LineChannel, LineSettings
from channels.line.parse import verify
from gateway.core.secrets import Secret
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import durable
from tests.simulators.line import LineSimulator

SECRET = "bench-secret"
Serve = Callable[[web.Application, str], Awaitable[None]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=1500, help="a round and a server")
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        figures = asyncio.run(_measure(options, home))
        figures["durable_events"] = _durable(Path(home))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24} {value:10.3f}" if isinstance(value, float) else f"{name:24} {value:>10}")


async def _measure(options: argparse.Namespace, home: str) -> dict[str, float | int]:
    bare, product = _start(_serve_bare, home), _start(_serve_product, home)
    rates: dict[str, list[float]] = {"bare": [], "product": []}
    spent: dict[str, list[float]] = {"bare": [], "product": []}
    waits: dict[str, list[float]] = {"bare": [], "product": []}
    line = LineSimulator(secret=SECRET)
    for round_no in range(options.rounds + 1):  # the first one warms up
        for name, (port, process) in (("bare", bare), ("product", product)):
            cpu_s = _cpu_s(process)
            bodies = [_body(line) for _ in range(options.requests)]
            rate, taken = await _ask(f"http://127.0.0.1:{port}", line, bodies, options.in_flight)
            if round_no:
                rates[name].append(rate)
                spent[name].append((_cpu_s(process) - cpu_s) / options.requests)
                waits[name] += taken
    ratios = [ours / theirs for ours, theirs in zip(rates["product"], rates["bare"], strict=True)]
    return {
        "in_flight": options.in_flight,
        "events_sent": (options.rounds + 1) * options.requests,
        "bare_rate_s": statistics.median(rates["bare"]),
        "product_rate_s": statistics.median(rates["product"]),
        "ratio": statistics.median(ratios),
        "ratio_lowest": min(ratios),
        "bare_cpu_us": 1e6 * statistics.median(spent["bare"]),
        "product_cpu_us": 1e6 * statistics.median(spent["product"]),
        "product_p50_ms": 1000 * statistics.median(waits["product"]),
        "product_p99_ms": 1000 * statistics.quantiles(waits["product"], n=100)[98],
        "bare_p50_ms": 1000 * statistics.median(waits["bare"]),
        "bare_p99_ms": 1000 * statistics.quantiles(waits["bare"], n=100)[98],
    }


def _body(line: LineSimulator) -> bytes:
    """Each event of another person, as on a busy day: the lanes do not matter here."""
    number = len(line.tokens) + 1
    return line.body(line.text_event("到職滿一年的特休有幾天？", f"U{number:032d}"))


async def _ask(
    url: str, line: LineSimulator, bodies: Sequence[bytes], in_flight: int
) -> tuple[float, list[float]]:
    waits: list[float] = []
    requests = iter([(body, line.headers(body)) for body in bodies])
    target = f"{url}/webhooks/line/main"

    async def one_after_the_other(session: aiohttp.ClientSession) -> None:
        for body, headers in requests:
            begun = time.perf_counter()
            async with session.post(target, data=body, headers=headers) as answer:
                await answer.read()
                if answer.status != 200:
                    raise SystemExit(f"status {answer.status}")
            waits.append(time.perf_counter() - begun)

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:
        begun = time.perf_counter()
        await asyncio.gather(*(one_after_the_other(session) for _ in range(in_flight)))
        return len(bodies) / (time.perf_counter() - begun), waits


def _start(serve: Callable[[Connection, str], None], home: str) -> tuple[int, int]:
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(there, home), daemon=True
    )
    process.start()
    return here.recv(), process.pid or 0


def _cpu_s(pid: int) -> float:
    """User and system time of a process, from the kernel's own count."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _serve_bare(told: Connection, _: str) -> None:
    async def handler(request: web.Request) -> web.Response:
        verify(request.headers, await request.read(), SECRET.encode())
        return web.Response()

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/webhooks/{channel}/{name}", handler)
        await _listen(app, told)

    asyncio.run(serve())


def _serve_product(told: Connection, home: str) -> None:
    async def serve() -> None:
        channel = LineChannel(LineSettings("main", "helper", Secret(SECRET), Secret("token")))
        async with durable(Path(home), channel) as half:
            webhooks = Webhooks({("line", "main"): channel}, half.lanes.accept, RealClock())
            app = web.Application()
            app.add_routes(webhooks.routes())
            await _listen(app, told)

    asyncio.run(serve())


async def _listen(app: web.Application, told: Connection) -> None:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    told.send(runner.addresses[0][1])
    await asyncio.Event().wait()


def _durable(home: Path) -> int:
    with sqlite3.connect(home / "inbox.db") as database:
        found: int = database.execute("SELECT count(*) FROM inbox").fetchone()[0]
        return found


if __name__ == "__main__":
    main()
