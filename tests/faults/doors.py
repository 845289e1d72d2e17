"""Every channel as people meet it: words in by the real entrance, messages out on the wire."""

import asyncio
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.line.channel import LineChannel, LineSettings
from channels.odoolivechat.channel import OdooLiveChatChannel, OdooLiveChatSettings
from channels.slack.channel import SlackChannel, SlackSettings
from channels.sockets import Seat
from channels.telegram.channel import TelegramChannel, TelegramSettings
from channels.webchat.channel import WebChatChannel
from channels.webchat.parse import Entry
from channels.widget import parse as widget
from channels.widget.channel import WidgetChannel, WidgetSettings
from gateway.core.messages import InboundMessage
from gateway.core.secrets import Secret
from gateway.errors import StoreError
from gateway.interfaces import Channel, Claimed
from gateway.sending import SendingOptions
from gateway.surfaces.webhooks import BodyLimits, Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import FAST_SENDING, Durable, durable
from tests.simulators import discord as discords
from tests.simulators import line as lines
from tests.simulators import livechat as livechats
from tests.simulators import slack as slacks
from tests.simulators import telegram as telegrams

DIRECT, GROUP, THREAD = "direct", "group", "thread"
PLACES = (DIRECT, GROUP, THREAD)
ROOT = "1772350000.000100"  # of a Slack thread
LIMITS = BodyLimits()
Turn = Callable[[Durable, Claimed, Channel], Awaitable[None]]
Delivery = tuple[Mapping[str, str], bytes]  # headers and body, signed or sealed


@dataclass
class Platform:
    """One platform, pretended, in words that all share."""

    channel: Channel
    says: Callable[[str, str], Delivery]  # (words, place): what the platform brings us
    posts: Callable[[], list[tuple[str, str]]]  # (place, text) of ours, as they stand there
    tried: Callable[[], int] = lambda: 0  # calls that were to bring a message
    trouble: Callable[..., None] = lambda *_: None  # for the next calls, by Trouble or None
    has_webhook: bool = True
    simulator: Any = None


@dataclass
class Door:
    """A platform and our durable half behind it."""

    platform: Platform
    half: Durable
    client: TestClient[web.Request, web.Application]
    refusals: int = 0  # how often the store takes nothing

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreError(code="store_unavailable")
        await self.half.lanes.accept(messages)

    @property
    def channel(self) -> Channel:
        return self.platform.channel

    @property
    def path(self) -> str:
        return f"/webhooks/{self.channel.name}/{self.channel.account_name}"

    async def post(self, headers: Any, body: Any) -> int:
        async with self.client.post(self.path, data=body, headers=headers) as answer:
            return answer.status

    async def bring(self, delivery: Delivery) -> int:
        """By webhook, or as the socket's own connection hands it over."""
        if self.platform.has_webhook:
            return await self.post(*delivery)
        messages = self.channel.parse(*delivery, RealClock().now())
        try:
            await self.accept(messages)
        except StoreError:
            return 503  # the socket does not acknowledge it
        return 200

    async def ask(self, words: str, place: str = DIRECT) -> int:
        return await self.bring(self.platform.says(words, place))

    def texts(self, place: str = DIRECT) -> list[str]:
        return [text for where, text in self.platform.posts() if where == place]


RATE, UNAVAILABLE, CUT_BEFORE, CUT_AFTER = "429", "503", "cut before", "cut after"
FAULTS: dict[str, Mapping[str, Any]] = {
    "line": {
        RATE: lines.Fault.RATE,
        UNAVAILABLE: lines.Fault.UNAVAILABLE,
        CUT_BEFORE: lines.Fault.CLOSE_BEFORE,
        CUT_AFTER: lines.Fault.CLOSE_AFTER,
    },
    "telegram": {
        RATE: telegrams.Fault.RATE,
        UNAVAILABLE: telegrams.Fault.UNAVAILABLE,
        CUT_BEFORE: telegrams.Fault.CLOSE_BEFORE,
        CUT_AFTER: telegrams.Fault.CLOSE_AFTER,
    },
    "slack": {
        RATE: slacks.Fault.RATE,
        UNAVAILABLE: slacks.Fault.UNAVAILABLE,
        CUT_BEFORE: slacks.Fault.CLOSE_BEFORE,
        CUT_AFTER: slacks.Fault.CLOSE_AFTER,
    },
    "discord": {
        RATE: discords.Fault.RATE,
        UNAVAILABLE: discords.Fault.UNAVAILABLE,
        CUT_BEFORE: discords.Fault.CLOSE_BEFORE,
        CUT_AFTER: discords.Fault.CLOSE_AFTER,
    },
    "odoolivechat": {
        RATE: livechats.Fault.RATE,
        UNAVAILABLE: livechats.Fault.UNAVAILABLE,
        CUT_BEFORE: livechats.Fault.CLOSE_BEFORE,
        CUT_AFTER: livechats.Fault.CLOSE_AFTER,
    },
}


def queue(name: str, faults: Any) -> Callable[..., None]:
    """Put troubles into a simulator's queue; None is a call that goes well."""
    return lambda *troubles: faults.extend(
        None if each is None else FAULTS[name][each] for each in troubles
    )


class LeapingClock(RealClock):
    """Between any two looks a minute went by: no rate of a platform's is ever reached."""

    def __init__(self) -> None:
        self._minutes = itertools.count()

    def monotonic(self) -> float:
        return next(self._minutes) * 60.0


@asynccontextmanager
async def line(**over: Any) -> AsyncIterator[Platform]:
    async with lines.LineSimulator(retry_after_s=0.1).running() as simulator:
        secrets = Secret(simulator.secret), Secret(simulator.access_token)
        settings = LineSettings("main", "helper", *secrets, simulator.url, prefix="/ask", **over)
        channel = LineChannel(settings)
        sources: dict[str, dict[str, str]] = {
            DIRECT: {"type": "user", "userId": "U" + "1" * 32},
            GROUP: {"type": "group", "groupId": "C" + "2" * 32, "userId": "U" + "1" * 32},
            THREAD: {"type": "room", "roomId": "R" + "3" * 32, "userId": "U" + "1" * 32},
        }
        places = {"U" + "1" * 32: DIRECT, "C" + "2" * 32: GROUP, "R" + "3" * 32: THREAD}

        def says(words: str, place: str) -> Delivery:
            told = words if place == DIRECT else f"/ask {words}"
            body = simulator.body(simulator.text_event(told, source=sources[place]))
            return simulator.headers(body), body

        def posts() -> list[tuple[str, str]]:
            return [(places[each.to], text) for each in simulator.deliveries for text in each.texts]

        yield Platform(
            channel,
            says,
            posts,
            lambda: len(simulator.calls),
            queue("line", simulator.faults),
            simulator=simulator,
        )
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def telegram() -> AsyncIterator[Platform]:
    async with telegrams.TelegramSimulator(retry_after_s=1).running() as simulator:
        token, secret = Secret(simulator.token), Secret(simulator.secret)
        settings = TelegramSettings(
            "main", "helper", token, secret, api_base_url=simulator.url, prefix="/ask"
        )
        channel = TelegramChannel(settings, LeapingClock().monotonic)
        topic = {"message_thread_id": 4, "is_topic_message": True}

        def says(words: str, place: str) -> Delivery:
            if place == DIRECT:
                update = simulator.message(words)
            else:
                update = simulator.in_group(f"/ask {words}", **(topic if place == THREAD else {}))
            return simulator.headers(), simulator.body(update)

        def posts() -> list[tuple[str, str]]:
            return [
                (DIRECT if each.chat == "1001" else THREAD if each.thread else GROUP, each.text)
                for each in simulator.deliveries
            ]

        def tried() -> int:
            return simulator.calls.count("sendMessage")

        trouble = queue("telegram", simulator.faults)
        yield Platform(channel, says, posts, tried, trouble, simulator=simulator)
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def slack() -> AsyncIterator[Platform]:
    async with slacks.SlackSimulator(retry_after_s="1").running() as simulator:
        token, secret = Secret(simulator.token), Secret(simulator.secret)
        settings = SlackSettings("main", "helper", token, secret, api_base_url=simulator.api_url)
        channel = SlackChannel(settings, monotonic=LeapingClock().monotonic)
        channel._client.settle_s = 0.0
        faults: deque[Any] = deque()
        simulator.method_faults[slacks.POST] = faults

        def says(words: str, place: str) -> Delivery:
            mention = f"<@{slacks.BOT_USER}> {words}"
            event = {
                DIRECT: lambda: simulator.event(words),
                GROUP: lambda: simulator.in_channel(mention, channel="C0000OTHR", thread_ts=ROOT),
                THREAD: lambda: simulator.in_channel(mention, thread_ts=ROOT),
            }[place]()
            body = simulator.body(event)
            return simulator.headers(body), body

        def posts() -> list[tuple[str, str]]:
            places = {slacks.DIRECT: DIRECT, "C0000OTHR": GROUP, slacks.CHANNEL: THREAD}
            assert all(
                (each.thread == ROOT) == (each.channel != slacks.DIRECT)
                for each in simulator.messages
            )
            return [(places[each.channel], slacks.shown(each.text)) for each in simulator.messages]

        def tried() -> int:
            return simulator.calls.count(slacks.POST)

        trouble = queue("slack", faults)
        yield Platform(channel, says, posts, tried, trouble, simulator=simulator)
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def discord() -> AsyncIterator[Platform]:
    async with discords.DiscordSimulator(retry_after_s=0.1).running() as simulator:
        settings = DiscordSettings(
            "main", "helper", Secret(simulator.token), simulator.url, prefix="/ask"
        )
        channel = DiscordChannel(settings, LeapingClock())
        places = {
            discords.DM_ID: DIRECT,
            discords.CHANNEL_ID: GROUP,
            discords.THREAD_ID: THREAD,
        }

        def says(words: str, place: str) -> Delivery:
            said = {
                DIRECT: lambda: simulator.said(words),
                GROUP: lambda: simulator.in_guild(f"/ask {words}"),
                THREAD: lambda: simulator.in_guild(
                    f"/ask {words}", channel_id=discords.THREAD_ID, channel_type=11
                ),
            }[place]()
            return channel.seal(simulator.frame(said))

        def posts() -> list[tuple[str, str]]:
            return [
                (place, text) for chat, place in places.items() for text in simulator.ours(chat)
            ]

        def tried() -> int:
            return sum(call.startswith("POST") for call in simulator.calls)

        trouble = queue("discord", simulator.faults)
        yield Platform(channel, says, posts, tried, trouble, False, simulator)
        await channel.close()
    assert simulator.violations == []


@asynccontextmanager
async def odoolivechat() -> AsyncIterator[Platform]:
    async with livechats.LiveChatSimulator(retry_after="0.1").running() as simulator:
        settings = OdooLiveChatSettings("main", "helper", Secret(simulator.secret), simulator.url)
        channel = OdooLiveChatChannel(settings)
        yield Platform(
            channel,
            lambda words, place: simulator.signed(simulator.event(words, place)),
            lambda: [(each["session_id"], each["text"]) for each in simulator.replies],
            lambda: len(simulator.calls),
            queue("odoolivechat", simulator.faults),
            simulator=simulator,
        )
        await channel.close()
    assert simulator.violations == []


@dataclass
class Pages:
    """Our own pages in every place at once."""

    join: Callable[[Seat, str], None]
    seats: dict[str, Seat] = field(default_factory=lambda: {place: Seat() for place in PLACES})
    numbers: Any = field(default_factory=itertools.count)

    def open(self) -> None:
        for place, seat in self.seats.items():
            self.join(seat, place)

    def posts(self) -> list[tuple[str, str]]:
        frames = [
            (place, json.loads(each.text))
            for place, seat in self.seats.items()
            for each in seat.waiting
        ]
        return [(place, each["text"]) for place, each in frames if each["type"] == "assistant_done"]


@asynccontextmanager
async def webchat() -> AsyncIterator[Platform]:
    channel = WebChatChannel()
    pages = Pages(lambda seat, place: channel.hub.join(seat, f"person.{place}"))
    pages.open()

    def says(words: str, place: str) -> Delivery:
        entry = Entry("person", "helper", place, f"frame {next(pages.numbers)}", words)
        return channel.seal(entry)

    yield Platform(channel, says, pages.posts, has_webhook=False)
    await channel.close()


@asynccontextmanager
async def widget_page() -> AsyncIterator[Platform]:
    channel = WidgetChannel(WidgetSettings("main", "helper", ("https://a.example",)))
    pages = Pages(channel.hub.join)
    pages.open()

    def says(words: str, place: str) -> Delivery:
        return channel.seal(widget.Entry(place, f"frame {next(pages.numbers)}", words))

    yield Platform(channel, says, pages.posts, has_webhook=False)
    await channel.close()


Open = Callable[[], AbstractAsyncContextManager[Platform]]
PLATFORMS: dict[str, Open] = {
    "line": line,
    "telegram": telegram,
    "slack": slack,
    "discord": discord,
    "odoolivechat": odoolivechat,
}
CHANNELS: dict[str, Open] = PLATFORMS | {"webchat": webchat, "widget": widget_page}
WEBHOOKS: dict[str, Open] = {name: PLATFORMS[name] for name in PLATFORMS if name != "discord"}
each_channel = pytest.mark.parametrize("platform", CHANNELS.values(), ids=CHANNELS)
each_platform = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)
each_webhook = pytest.mark.parametrize("platform", WEBHOOKS.values(), ids=WEBHOOKS)


@asynccontextmanager
async def door(
    platform: Open | Platform,
    home: Path,
    turn: Turn = Durable.echo,
    *,
    limits: BodyLimits = LIMITS,
    sending: SendingOptions = FAST_SENDING,
    sends: bool = True,
) -> AsyncIterator[Door]:
    """Everything between the platform's two ends; `sends` false: what is owed stays here."""
    if isinstance(platform, Platform):
        async with _half(platform, home, turn, limits, sending, sends=sends) as here:
            yield here
        return
    async with (
        platform() as opened,
        _half(opened, home, turn, limits, sending, sends=sends) as here,
    ):
        yield here


@asynccontextmanager
async def _half(
    platform: Platform,
    home: Path,
    turn: Turn,
    limits: BodyLimits,
    sending: SendingOptions,
    *,
    sends: bool,
) -> AsyncIterator[Door]:
    channel = platform.channel
    async with durable(home, channel, sending=sending) as half:
        channels = {(channel.name, channel.account_name): channel}

        async def accept(messages: Sequence[InboundMessage]) -> None:
            await here.accept(messages)

        app = web.Application()
        app.add_routes(Webhooks(channels, accept, RealClock(), limits=limits).routes())
        async with TestClient(TestServer(app)) as client, asyncio.TaskGroup() as tasks:
            here = Door(platform, half, client)
            lanes = tasks.create_task(half.lanes.run(partial(turn, half)))
            sender = tasks.create_task(half.sender.run()) if sends else lanes
            try:
                yield here
            finally:
                half.lanes.stop()
                half.sender.stop()
                await asyncio.wait({lanes, sender})


async def until(is_so: Callable[[], Any]) -> None:
    """Wait for what only another task can bring about."""
    async with asyncio.timeout(20):
        while True:
            found = is_so()
            if await found if isawaitable(found) else found:
                return
            await asyncio.sleep(0.005)
