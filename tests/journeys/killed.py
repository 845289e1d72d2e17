"""The process that the kill tests kill: real store, lanes, sender and LINE channel.

Started once with everything imported; each line of JSON on standard input forks a gateway, which
says its process id and port on standard output and runs until somebody, or itself, kills it.
"""

import asyncio
import importlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import structlog
from aiohttp import web

from channels.line.channel import LineChannel, LineSettings
from channels.line.client import SDK_MODULE
from gateway.core.messages import InboundMessage
from gateway.core.secrets import Secret
from gateway.interfaces import Channel, Claimed
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import FAST_LANES, FAST_SENDING, Durable, durable

LONG = tuple(f"part {n}" for n in range(1, 7))  # six parts: two calls


@dataclass(frozen=True, slots=True)
class Order:
    """How one gateway is to run, and where it is to die."""

    home: str
    line_url: str
    secret: str
    access_token: str
    reply_window_s: float
    kill_at: str | None = None  # the name of a state change
    occurrence: int = 1
    lane_limit: int = 20
    reruns: int = 3

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def killer(order: Order) -> Callable[[str], None]:
    seen: Counter[str] = Counter()

    def checkpoint(name: str) -> None:
        seen[name] += 1
        if name == order.kill_at and seen[name] == order.occurrence:
            os.kill(os.getpid(), signal.SIGKILL)

    return checkpoint


async def serve(order: Order) -> None:
    checkpoint = killer(order)
    channel = LineChannel(
        LineSettings(
            name="main",
            agent="helper",
            channel_secret=Secret(order.secret),
            channel_access_token=Secret(order.access_token),
            api_base_url=order.line_url,
            reply_window_s=order.reply_window_s,
        )
    )
    lanes = replace(
        FAST_LANES, checkpoint=checkpoint, lane_limit=order.lane_limit, reruns=order.reruns
    )
    sending = replace(FAST_SENDING, checkpoint=checkpoint, first_pause_s=0.05)
    home = Path(order.home)
    async with durable(home, channel, lane_options=lanes, sending=sending) as half:

        async def accept(messages: Sequence[InboundMessage]) -> None:
            checkpoint("received")
            await half.lanes.accept(messages)

        async def turn(claimed: Claimed, _: Channel) -> None:
            checkpoint("in the turn")
            text = claimed.message.text
            await half.reply(claimed, *(LONG if text == "long" else (f"re: {text}",)))

        app = web.Application()
        app.add_routes(Webhooks({("line", "main"): channel}, accept, RealClock()).routes())
        app.router.add_get("/states", lambda request: _states(half))
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        said = json.dumps({"pid": os.getpid(), "port": runner.addresses[0][1]})
        sys.stdout.write(said + "\n")
        sys.stdout.flush()
        async with half.running(turn):
            await asyncio.Event().wait()


async def _states(half: Durable) -> web.Response:
    return web.json_response(await half.states())


def main() -> None:
    importlib.import_module(SDK_MODULE)  # before the forks, or each of them would pay for it
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead need no burial
    for line in iter(sys.stdin.readline, ""):
        if os.fork() == 0:
            sys.stdin.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(serve(Order(**json.loads(line))))
            os._exit(0)


if __name__ == "__main__":
    main()
