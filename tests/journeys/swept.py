"""The gateway that the sweep kills: five real channels over real store, lanes and sender.

Started once with everything imported; each line of JSON on standard input forks a gateway, which
says its process id and port and runs until it is killed.
"""

import asyncio
import importlib
import json
import os
import random
import signal
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import structlog
from aiohttp import web

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.discord.reception import Pauses
from channels.line.channel import LineChannel, LineSettings
from channels.line.client import SDK_MODULE as LINE_SDK
from channels.odoolivechat.channel import OdooLiveChatChannel, OdooLiveChatSettings
from channels.slack.channel import SlackChannel, SlackSettings
from channels.telegram.channel import TelegramChannel, TelegramSettings
from gateway.channel_set import ChannelSet
from gateway.core.messages import Reply
from gateway.core.secrets import Secret
from gateway.inbox import InboxLanes
from gateway.interfaces import Channel, Claimed, OnDelta
from gateway.outbox import OutboxSender
from gateway.showing import Showing
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock, RealIds
from tests.journeys.durable import FAST_LANES, FAST_SENDING, durable

SDKS = (LINE_SDK, "telegram", "slack_sdk.web.async_client", "discord")
DRAFT = "draft of "


@dataclass(frozen=True, slots=True)
class SweepOrder:
    """Where the platforms are and what they know us by."""

    home: str
    urls: dict[str, str]
    secrets: dict[str, str]
    gateway_url: str  # Discord's socket

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def channels(order: SweepOrder) -> list[Channel]:
    urls, known = order.urls, {name: Secret(value) for name, value in order.secrets.items()}
    line = LineSettings("main", "a", known["line"], known["line_token"], urls["line"])
    telegram = TelegramSettings(
        "main", "a", known["telegram_token"], known["telegram"], api_base_url=urls["telegram"]
    )
    slack = SlackSettings(
        "main", "a", known["slack_token"], known["slack"], api_base_url=urls["slack"]
    )
    discord = DiscordSettings(
        "main", "a", known["discord"], urls["discord"], gateway_url=order.gateway_url
    )
    chat = OdooLiveChatSettings("main", "a", known["odoolivechat"], urls["odoolivechat"])
    session = Path(order.home) / "discord.json"
    quick = Pauses(first_s=0.05, longest_s=0.2, identify_s=0.05)
    return [
        LineChannel(line),
        TelegramChannel(telegram),
        SlackChannel(slack, first_pause_s=0.05),
        DiscordChannel(discord, session_file=session, pauses=quick),
        OdooLiveChatChannel(chat),
    ]


def parts_of(text: str, channel: str) -> tuple[str, ...]:
    """What is answered: mostly one part, and now and then two, where that means two calls."""
    number = int(text.removeprefix("m"))
    if number % 5 or channel in {"line", "odoolivechat"}:
        return (f"re: {text}",)
    return (f"re: {text}", f"more: {text}")


async def serve(order: SweepOrder) -> None:
    running = ChannelSet(channels(order))
    chance = random.Random(os.getpid())
    async with durable(Path(order.home)) as half:
        clock = RealClock()
        news = asyncio.Event()
        sending = replace(
            FAST_SENDING,
            first_pause_s=0.05,
            using=running.using,
            attempts=999,
            checkpoint=lambda _: news.set(),
        )
        lanes = replace(
            FAST_LANES,
            lane_limit=999,
            reruns=999,
            turns_per_minute=9999,
            using=running.using,
            checkpoint=lambda _: news.set(),
        )
        half.sender = OutboxSender(half.outbox, half.inbox, running.outgoing, clock, sending)
        half.lanes = InboxLanes(half.inbox, half.sender, running.outgoing, clock, RealIds(), lanes)

        async def turn(claimed: Claimed, channel: Channel) -> None:
            async def answer(show: OnDelta) -> tuple[str, ...]:
                await show(DRAFT + claimed.message.text)
                await asyncio.sleep(chance.random() * 0.05)
                return parts_of(claimed.message.text, channel.name)

            parts = await Showing(channel, claimed, half.inbox.shown, half.sender.owes).during(
                answer
            )
            reply = Reply(claimed.id, parts, "\n".join(parts))
            await half.sender.put(claimed.id, claimed.message, reply, channel)

        async def tell(_request: web.Request) -> web.Response:
            """Answer when a message or a call went a step on since the last time."""
            await news.wait()
            news.clear()
            return web.Response()

        app = web.Application()
        app.add_routes([web.get("/news", tell)])
        app.add_routes(Webhooks(running, half.lanes.accept, clock).routes())
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        said = json.dumps({"pid": os.getpid(), "port": runner.addresses[0][1]})
        sys.stdout.write(said + "\n")
        sys.stdout.flush()
        async with half.running(turn):
            await running.run(half.lanes.accept)


def main() -> None:
    for name in SDKS:  # before the forks, or each of them would pay for it
        importlib.import_module(name)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead need no burial
    for line in iter(sys.stdin.readline, ""):
        if os.fork() == 0:
            sys.stdin.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(serve(SweepOrder(**json.loads(line))))
            os._exit(0)


if __name__ == "__main__":
    main()
