"""Sockets of the platforms that bring what no platform should: what comes after it is answered."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.discord.reception import Pauses
from channels.slack.channel import Mode, SlackChannel, SlackSettings
from gateway.core.messages import InboundMessage
from gateway.core.secrets import Secret
from gateway.interfaces import Channel
from tests.fakes.times import RealClock
from tests.simulators.discord import (
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    OTHER_ID,
    DiscordSimulator,
)
from tests.simulators.slack import SlackSimulator

DEEP = "[" * 100_000 + "]" * 100_000
HUGE = "1" + "0" * 400
HALF = '"\\ud83d"'  # of a surrogate pair
QUICK = Pauses(first_s=0.01, longest_s=0.02, standing_s=0.05, identify_s=0.0)


@dataclass
class Taken:
    """What a channel hands over."""

    texts: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        self.texts += [message.text for message in messages]
        self.news.set()

    async def until(self, text: str) -> None:
        async with asyncio.timeout(20):
            while text not in self.texts:
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def running(channel: Channel) -> AsyncIterator[Taken]:
    taken = Taken()
    async with asyncio.TaskGroup() as tasks:
        connection = tasks.create_task(channel.run(taken.accept))
        try:
            yield taken
        finally:
            connection.cancel()
    await channel.close()


# ------------------------------------------------------------ Discord

ODD_VALUES = ("null", "5", '"x"', "[]", "[null]", "{}", "true", HUGE, HALF, DEEP)
KINDS = ("READY", "GUILD_CREATE", "THREAD_CREATE", "MESSAGE_CREATE", "MESSAGE_DELETE_BULK", "X")


def odd_frames() -> list[str]:
    """Frames without a number, so that none is brought again."""
    whole = ["", "{", "null", "[]", "5", '"x"', DEEP, '{"op": "0"}', '{"op": {}}', '{"op": 0}']
    for op in (0, 7.5, 10, 11, 99, HUGE):
        whole += [f'{{"op": {op}, "d": {value}}}' for value in ODD_VALUES]
    for kind in KINDS:
        whole += [f'{{"op": 0, "t": "{kind}", "d": {value}}}' for value in ODD_VALUES]
    return whole


def odd_messages(discord: DiscordSimulator) -> list[str]:
    """Messages whose channel has to be asked for, with odd values in what nobody reads."""
    plain = discord.said("odd", channel_type=None)
    fields = ("nonce", "embeds", "author", "member", "mentions", "flags", "type", "timestamp")
    made = []
    for name in fields:
        for value in ODD_VALUES:
            data = json.dumps(plain | {"id": discord.new_id(), name: "@@"})
            made.append(data.replace('"@@"', value))
    return made


@asynccontextmanager
async def discord_world(
    simulator: DiscordSimulator | None = None,
) -> AsyncIterator[tuple[DiscordSimulator, Taken]]:
    async with (simulator or DiscordSimulator()).running() as discord:
        settings = DiscordSettings(
            name="main",
            agent="helper",
            bot_token=Secret(discord.token),
            api_base_url=discord.url,
            gateway_url=discord.gateway.url,
        )
        async with running(DiscordChannel(settings, RealClock(), None, QUICK)) as taken:
            await discord.gateway.wait_for_up(1)
            yield discord, taken


async def test_odd_frames_of_discord_lose_nothing_that_comes_after_them() -> None:
    async with discord_world() as (discord, taken):
        for n, frame in enumerate(odd_frames()):
            ups = discord.gateway.identified + len(discord.gateway.resumed)
            line = discord.gateway.connected[-1]
            await line.socket.send_str(frame)
            await discord.gateway.dispatch("MESSAGE_CREATE", discord.said(f"good {n}"))
            await taken.until(f"good {n}")
            if line.socket.closed:
                await discord.gateway.wait_for_up(ups + 1)


async def test_a_message_with_odd_values_neither_ends_the_connection_nor_comes_for_ever() -> None:
    async with discord_world() as (discord, taken):
        deep = 8  # messages nested deeper than anybody reads
        discord.channels[DM_ID] = {"id": DM_ID, "type": 1, "recipients": [{"id": OTHER_ID}]}
        for n, data in enumerate(odd_messages(discord)):
            session = next(iter(discord.gateway.sessions.values()))
            session.sent.append({"op": 11})  # in its place, should it be asked for again
            number = len(session.sent)
            frame = f'{{"op": 0, "t": "MESSAGE_CREATE", "s": {number}, "d": {data}}}'
            await discord.gateway.connected[-1].socket.send_str(frame)
            await discord.gateway.dispatch("MESSAGE_CREATE", discord.said(f"good {n}"))
            await taken.until(f"good {n}")
            await discord.gateway.wait_until(lambda: discord.gateway.connected)
        assert len(discord.gateway.resumed) <= deep  # nothing else ends a connection


@pytest.mark.parametrize("odd", [{"id": "x"}, {"id": None}, {"content": "\ud83d", "id": "9" * 19}])
async def test_odd_messages_of_a_gap_do_not_hold_up_the_rest(odd: dict[str, Any]) -> None:
    class Odd(DiscordSimulator):
        def _after(self, channel: str, query: dict[str, str]) -> list[dict[str, Any]]:
            found = super()._after(channel, query)
            return [*(each | odd for each in found), *found]

    async with discord_world(Odd()) as (discord, taken):
        await discord.gateway.dispatch("MESSAGE_CREATE", discord.said("before"))
        await taken.until("before")
        missed = discord.in_guild("missed", mentions=[{"id": BOT_ID}])
        discord.messages[CHANNEL_ID] = [missed]
        place = {"id": CHANNEL_ID, "type": 0, "last_message_id": missed["id"]}
        discord.gateway.guilds = [{"id": GUILD_ID, "channels": [place], "threads": []}]
        discord.gateway.forget()
        await discord.gateway.drop()
        await taken.until("missed")


# ------------------------------------------------------------ Slack


def odd_payloads(slack: SlackSimulator) -> list[Any]:
    whole: list[Any] = ["x", {}, {"event": []}, {"type": "event_callback"}]
    odd: list[Any] = [None, 5, "\ud83d", [], {}, [[None]], True, 10**40, {"\udc00": "\ud800"}]
    for name in ("text", "user", "ts", "channel", "files", "blocks", "user_profile", "thread_ts"):
        whole += [slack.envelope(slack.event("odd") | {name: value}) for value in odd]
    for name in ("event", "authorizations", "team_id", "event_id"):
        whole += [slack.envelope(slack.event("odd")) | {name: value} for value in odd]
    return whole


async def test_odd_events_of_slacks_socket_are_acknowledged_and_lose_nothing() -> None:
    async with SlackSimulator().running() as slack:
        settings = SlackSettings(
            name="main",
            agent="helper",
            bot_token=Secret(slack.token),
            app_token=Secret(slack.app_token),
            mode=Mode.SOCKET,
            api_base_url=slack.api_url,
        )
        async with running(SlackChannel(settings, first_pause_s=0.01)) as taken:
            await slack.until(lambda: len(slack.sockets) == 1)
            payloads = odd_payloads(slack)
            await slack.push(*payloads)
            await slack.push(slack.envelope(slack.event("good")))
            await taken.until("good")
            await slack.until(lambda: len(slack.acknowledged) == len(payloads) + 1)
            assert len(slack.sockets) == 1
