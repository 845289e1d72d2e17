"""A whole Discord conversation: the gateway socket, the durable lanes, the REST API."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.discord.reception import Pauses
from gateway.core.messages import LinkState
from gateway.core.secrets import Secret
from gateway.interfaces import Channel, Claimed
from tests.fakes.times import RealClock
from tests.journeys.durable import Durable, durable
from tests.simulators.discord import (
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    DiscordSimulator,
)
from tests.simulators.discord_gateway import RECONNECT

QUICK = Pauses(first_s=0.01, longest_s=0.02, standing_s=0.05, identify_s=0.0)
US = [{"id": BOT_ID, "username": "helper", "bot": True}]


def settings(simulator: DiscordSimulator) -> DiscordSettings:
    return DiscordSettings(
        name="main",
        agent="helper",
        bot_token=Secret(simulator.token),
        api_base_url=simulator.url,
        gateway_url=simulator.gateway.url,
        prefix="/ask",
    )


@dataclasses.dataclass
class World:
    """Discord on one side, our durable half on the other."""

    discord: DiscordSimulator
    half: Durable
    channel: DiscordChannel


@asynccontextmanager
async def connected(channel: DiscordChannel, half: Durable) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(half.lanes.accept))
        try:
            yield
        finally:
            running.cancel()


@asynccontextmanager
async def world(
    home: Path,
    turn: Callable[[Durable, Claimed, Channel], Awaitable[None]] = Durable.echo,
    discord: DiscordSimulator | None = None,
) -> AsyncIterator[World]:
    async with (discord or DiscordSimulator()).running() as simulator:
        file = home / "discord-main.json"
        channel = DiscordChannel(settings(simulator), RealClock(), file, QUICK)
        async with durable(home, channel) as half, half.running(partial(turn, half)):
            async with connected(channel, half):
                await simulator.gateway.wait_for_up(1)
                yield World(simulator, half, channel)
        await channel.close()
    assert simulator.violations == []


async def test_a_direct_question_is_answered_as_a_reply_to_it(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        question = await here.discord.send(here.discord.said("特休有幾天？"))
        await here.discord.wait_for(1)
        assert await here.half.settled() == ["sent"]
        assert here.channel.state.state is LinkState.READY
    assert here.discord.ours() == ["re: 特休有幾天？"]
    [payload] = here.discord.payloads
    assert payload["message_reference"] == {
        "message_id": question["id"],
        "fail_if_not_exists": False,
    }


async def test_messages_missed_during_a_reconnect_come_by_resume_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        first = await here.discord.send(here.discord.said("one"))
        await here.discord.wait_for(1)
        await here.discord.gateway.say(RECONNECT)
        await here.discord.gateway.wait_until(lambda: not here.discord.gateway.connected)
        await here.discord.send(here.discord.said("two"))
        await here.discord.send(first)  # the same message again, as a replay brings it
        await here.discord.wait_for(2)
        await here.discord.send(here.discord.said("three"))
        await here.discord.wait_for(3)
    assert here.discord.ours() == ["re: one", "re: two", "re: three"]
    assert here.discord.gateway.identified == 1
    assert len(here.discord.gateway.resumed) == 1
