"""A whole Discord conversation: the gateway socket, the durable lanes, the REST API."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import discord
import pytest
from structlog.testing import capture_logs

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.discord.reception import Pauses
from gateway.core.messages import Conversation, InboundMessage, LinkState
from gateway.core.secrets import Secret
from gateway.errors import StoreError
from gateway.interfaces import Accept, Channel, Claimed
from tests.fakes.times import RealClock
from tests.journeys.durable import Durable, durable
from tests.simulators.discord import (
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    OTHER_ID,
    PERSON_ID,
    DiscordSimulator,
    Fault,
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
async def running(channel: DiscordChannel, accept: Accept) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        connection = tasks.create_task(channel.run(accept))
        try:
            yield
        finally:
            connection.cancel()


async def nobody(_: Sequence[InboundMessage]) -> None:
    """Nothing is to come."""


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.005)


@asynccontextmanager
async def again(home: Path, simulator: DiscordSimulator) -> AsyncIterator[Durable]:
    """A process of ours on a home that others had before."""
    file = home / "discord-main.json"
    channel = DiscordChannel(settings(simulator), RealClock(), file, QUICK)
    async with durable(home, channel) as half, half.running():
        async with running(channel, half.lanes.accept):
            yield half
        await half.settled()
    await channel.close()


@asynccontextmanager
async def world(
    home: Path,
    turn: Callable[[Durable, Claimed, Channel], Awaitable[None]] = Durable.echo,
    discord: DiscordSimulator | None = None,
) -> AsyncIterator[World]:
    async with (discord or DiscordSimulator()).running() as simulator:
        file = home / "discord-main.json"
        channel = DiscordChannel(settings(simulator), RealClock(), file, QUICK)
        async with (
            durable(home, channel) as half,
            half.running(partial(turn, half)),
            running(channel, half.lanes.accept),
        ):
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


async def test_resume_names_what_was_made_durable_and_no_more(tmp_path: Path) -> None:
    """A store that refuses: the message is not acknowledged, and comes again."""
    async with DiscordSimulator().running() as simulator:
        channel = DiscordChannel(settings(simulator), RealClock(), pauses=QUICK)
        taken: list[str] = []
        refusals = [StoreError("full"), StoreError("full")]

        async def accept(messages: Sequence[InboundMessage]) -> None:
            if messages[0].text == "two" and refusals:
                raise refusals.pop()
            taken.extend(each.text for each in messages)
            simulator.gateway.changed.set()

        async with running(channel, accept):
            await simulator.gateway.wait_for_up(1)
            for text in ("one", "two", "three"):
                await simulator.send(simulator.said(text))
            await simulator.gateway.wait_until(lambda: len(taken) == 3)
        await channel.close()
    assert taken == ["one", "two", "three"]
    assert simulator.gateway.identified == 1
    assert simulator.gateway.resumed == [2, 2]  # READY and "one"


async def test_a_heartbeat_names_the_same_and_is_kept_up(tmp_path: Path) -> None:
    async with DiscordSimulator().running() as simulator:
        simulator.gateway.heartbeat_ms = 40
        gate, waiting = asyncio.Event(), asyncio.Event()

        async def accept(_: Sequence[InboundMessage]) -> None:
            waiting.set()
            await gate.wait()

        channel = DiscordChannel(settings(simulator), RealClock(), pauses=QUICK)
        async with running(channel, accept):
            await simulator.gateway.wait_for_up(1)
            await simulator.send(simulator.said("one"))
            await waiting.wait()
            before = len(simulator.gateway.beats)
            await simulator.gateway.wait_until(lambda: len(simulator.gateway.beats) > before + 2)
            assert set(simulator.gateway.beats[before:]) == {1}
            gate.set()
            await simulator.gateway.wait_until(lambda: simulator.gateway.beats[-1] == 2)
        await channel.close()


async def test_a_killed_connection_comes_back_and_misses_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        for n in range(4):
            await here.discord.gateway.drop()
            await here.discord.gateway.wait_until(lambda: not here.discord.gateway.connected)
            await here.discord.send(here.discord.said(f"question {n}"))
            await here.discord.wait_for(n + 1)
    assert here.discord.ours() == [f"re: question {n}" for n in range(4)]
    assert here.discord.gateway.identified == 1


async def test_a_restart_resumes_the_session_of_the_process_before(tmp_path: Path) -> None:
    simulator = DiscordSimulator()
    async with simulator.running():
        for n in range(3):
            async with again(tmp_path, simulator):
                await simulator.gateway.wait_for_up(n + 1)
                await simulator.wait_for(2 * n)
                await simulator.send(simulator.said(f"up {n}"))
                await simulator.wait_for(2 * n + 1)
            assert simulator.gateway.connected == []
            await simulator.send(simulator.said(f"down {n}"))
        async with again(tmp_path, simulator):
            await simulator.wait_for(6)
    assert simulator.violations == []
    said = [f"re: {when} {n}" for n in range(3) for when in ("up", "down")]
    assert simulator.ours() == said
    assert simulator.gateway.identified == 1


async def test_what_a_lost_session_missed_is_looked_up_once(tmp_path: Path) -> None:
    """Direct chats and guild channels; what came before the gap is not asked for again."""
    simulator = DiscordSimulator()
    simulator.gateway.guilds = [{"id": GUILD_ID, "channels": [], "threads": []}]
    mention = f"<@{BOT_ID}> "
    async with simulator.running():
        await simulator.send(simulator.said("long before"))
        async with again(tmp_path, simulator):
            await simulator.gateway.wait_for_up(1)
            await simulator.send(simulator.said("one"))
            await simulator.wait_for(1)
        simulator.gateway.forget()
        await simulator.send(simulator.said("two"))
        in_guild = await simulator.send(simulator.in_guild(mention + "three", mentions=US))
        await simulator.send(simulator.in_guild("to others"))
        last = {"last_message_id": in_guild["id"]}
        open_one = {"id": CHANNEL_ID, "type": 0, **last}
        closed_one = {"id": "700000000000000009", "type": 0, **last}
        simulator.gateway.guilds = [{"id": GUILD_ID, "channels": [open_one, closed_one]}]
        async with again(tmp_path, simulator) as half:
            await simulator.gateway.wait_for_up(2)
            await simulator.wait_for(2)
            await simulator.wait_for(1, CHANNEL_ID)
            await simulator.gateway.say(RECONNECT)
            await simulator.gateway.wait_for_up(3)
            await simulator.send(simulator.said("four"))
            await simulator.wait_for(3)
            assert set(await half.settled()) == {"sent"}
    assert simulator.ours() == ["re: one", "re: two", "re: four"]
    assert simulator.ours(CHANNEL_ID) == ["re: three"]
    assert simulator.violations == []


async def test_the_first_words_of_a_channel_are_looked_up_too(tmp_path: Path) -> None:
    """A session that ended before it brought a single message."""
    simulator = DiscordSimulator()
    async with simulator.running():
        async with again(tmp_path, simulator):
            await until((tmp_path / "discord-main.json").exists)
        simulator.gateway.forget()
        data = await simulator.send(simulator.in_guild("/ask one"))
        place = {"id": CHANNEL_ID, "type": 0, "last_message_id": data["id"]}
        simulator.gateway.guilds = [{"id": GUILD_ID, "channels": [place]}]
        async with again(tmp_path, simulator):
            await simulator.wait_for(1, CHANNEL_ID)
    assert simulator.ours(CHANNEL_ID) == ["re: one"]


async def test_a_session_that_cannot_be_resumed_is_begun_anew(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.discord.gateway.forget()
        await here.discord.gateway.say(RECONNECT)
        await here.discord.gateway.wait_for_up(2)
        await here.discord.send(here.discord.said("one"))
        await here.discord.wait_for(1)
    assert here.discord.gateway.identified == 2
    assert here.discord.gateway.resumed == []


@pytest.mark.parametrize(
    ("code", "reason"), [(4014, "message_content_intent_off"), (4004, "wrong_token")]
)
async def test_a_close_that_a_person_must_put_right_is_told_once_and_clearly(
    code: int, reason: str
) -> None:
    async with DiscordSimulator().running() as simulator:
        simulator.gateway.close_codes.extend([code] * 3)
        channel = DiscordChannel(settings(simulator), RealClock(), pauses=QUICK)
        with capture_logs() as logs:
            async with running(channel, nobody):
                await simulator.gateway.wait_until(
                    lambda: (
                        len(simulator.gateway.closed_with) >= 3
                        or bool(simulator.gateway.identified)
                    )
                )
                assert (channel.state.state, channel.state.reason) == (LinkState.DOWN, reason)
                await simulator.gateway.wait_for_up(1)  # it was put right meanwhile
        await channel.close()
    errors = [each for each in logs if each["log_level"] == "error"]
    assert [each["reason"] for each in errors] == [reason]
    assert simulator.token not in str(logs)


async def test_a_wrong_token_is_down_and_told_once() -> None:
    async with DiscordSimulator().running() as simulator:
        wrong = dataclasses.replace(settings(simulator), bot_token=Secret("wrong"))
        channel = DiscordChannel(wrong, RealClock(), pauses=QUICK)
        with capture_logs() as logs:
            async with running(channel, nobody):
                await until(lambda: channel.state.reason == "wrong_token")
                assert channel.state.state is LinkState.DOWN
        await channel.close()
    assert len([each for each in logs if each["log_level"] == "error"]) == 1
    assert simulator.gateway.lines == []


async def test_a_platform_that_is_down_at_the_start_is_waited_for(unused_tcp_port: int) -> None:
    nowhere = f"http://127.0.0.1:{unused_tcp_port}"
    channel = DiscordChannel(
        DiscordSettings("main", "helper", Secret("t"), nowhere, nowhere), RealClock(), pauses=QUICK
    )
    async with running(channel, nobody):
        await until(lambda: channel.state.state is LinkState.DOWN)
        assert "ClientConnectorError" in channel.state.reason
    await channel.close()


async def test_a_message_without_its_channels_kind_is_asked_about(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        person = {"id": PERSON_ID, "username": "user1"}
        other = {"id": OTHER_ID, "username": "user2"}
        unclear = {"channel_type": None}
        ours, theirs, group = "701", "702", "703"
        here.discord.channels = {
            ours: {"id": ours, "type": 1, "recipients": [person]},
            theirs: {"id": theirs, "type": 1, "recipients": [other]},
            group: {"id": group, "type": 3, "recipients": [person]},
        }
        for chat in (theirs, group, "704"):
            await here.discord.send(here.discord.said("payroll?", channel_id=chat, **unclear))
        await here.discord.send(here.discord.said("one", channel_id=ours, **unclear))
        await here.discord.wait_for(1, ours)
    assert [here.discord.ours(chat) for chat in (theirs, group, "704")] == [[], [], []]


async def test_a_thread_is_answered_in_the_thread_and_knows_its_channel(tmp_path: Path) -> None:
    seen: list[Conversation] = []

    async def note(half: Durable, claimed: Claimed, _: Channel) -> None:
        seen.append(claimed.message.conversation)
        await half.reply(claimed, "re")

    unknown, listed, created = "705", "706", "707"
    simulator = DiscordSimulator()
    thread = {"type": 11, "parent_id": CHANNEL_ID}
    simulator.gateway.guilds = [{"id": GUILD_ID, "threads": [thread | {"id": listed}]}]
    simulator.channels = {unknown: thread | {"id": unknown}}
    async with world(tmp_path, note, simulator):
        await simulator.gateway.dispatch("THREAD_CREATE", thread | {"id": created})
        for chat in (unknown, listed, created):
            data = simulator.in_guild("/ask x", channel_id=chat, channel_type=11)
            await simulator.send(data)
            await simulator.wait_for(1, chat)
    assert [each.parent_id for each in seen] == [CHANNEL_ID] * 3
    assert [each.id for each in seen] == [unknown, listed, created]


async def test_two_accounts_at_two_addresses_do_not_disturb_each_other(tmp_path: Path) -> None:
    async with DiscordSimulator().running() as one, DiscordSimulator().running() as two:
        base = discord.http.Route.BASE
        texts: list[str] = []

        async def accept(messages: Sequence[InboundMessage]) -> None:
            texts.extend(f"{each.conversation.account_name}: {each.text}" for each in messages)
            one.gateway.changed.set()

        channels = [
            DiscordChannel(dataclasses.replace(settings(each), name=name), pauses=QUICK)
            for name, each in (("a", one), ("b", two))
        ]
        async with running(channels[0], accept), running(channels[1], accept):
            await one.gateway.wait_for_up(1)
            await two.gateway.wait_for_up(1)
            await one.send(one.said("to one"))
            await two.send(two.said("to two"))
            await one.gateway.wait_until(lambda: len(texts) == 2)
        for channel in channels:
            await channel.close()
    assert sorted(texts) == ["a: to one", "b: to two"]
    assert base == discord.http.Route.BASE


async def test_an_ended_channel_leaves_no_connection_and_its_session_open() -> None:
    async with DiscordSimulator().running() as simulator:
        for n in range(3):
            channel = DiscordChannel(settings(simulator), RealClock(), pauses=QUICK)
            async with running(channel, nobody):
                await simulator.gateway.wait_for_up(n + 1)
                assert len(simulator.gateway.connected) == 1
            await simulator.gateway.wait_until(lambda: not simulator.gateway.connected)
            await channel.close()
    assert simulator.gateway.closed_with == [4000] * 3
    assert simulator.violations == []


async def test_retractions_come_as_notices_and_edits_as_nothing(tmp_path: Path) -> None:
    async with DiscordSimulator().running() as simulator:
        got: list[InboundMessage] = []

        async def accept(messages: Sequence[InboundMessage]) -> None:
            got.extend(messages)
            simulator.gateway.changed.set()

        channel = DiscordChannel(settings(simulator), RealClock(), pauses=QUICK)
        async with running(channel, accept):
            await simulator.gateway.wait_for_up(1)
            data = await simulator.send(simulator.said("secret"))
            await simulator.gateway.dispatch("MESSAGE_UPDATE", data | {"content": "other"})
            gone = {"id": data["id"], "channel_id": DM_ID}
            await simulator.gateway.dispatch("MESSAGE_DELETE", gone)
            await simulator.gateway.wait_until(lambda: len(got) >= 2)
        await channel.close()
    first, notice = got
    assert notice.notice is not None
    assert notice.notice.message_keys == (first.message_key,)


@pytest.mark.parametrize("content", ["not json", '{"id": 5}', "[]"])
async def test_a_broken_session_file_is_begun_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "discord-main.json").write_text(content)
    async with world(tmp_path) as here:
        await here.discord.send(here.discord.said("one"))
        await here.discord.wait_for(1)
    assert here.discord.gateway.identified == 1
    assert (tmp_path / "discord-main.json").stat().st_mode & 0o077 == 0
    assert here.discord.token not in (tmp_path / "discord-main.json").read_text()


async def test_through_every_failure_each_question_gets_one_answer_in_order(
    tmp_path: Path,
) -> None:
    faults = [
        Fault.CLOSE_AFTER, Fault.UNAVAILABLE, Fault.TRUNCATED, Fault.RATE, Fault.CLOSE_BEFORE,
        Fault.GARBAGE, Fault.SERVER_ERROR, Fault.GLOBAL_RATE, Fault.NO_HISTORY,
    ]  # fmt: skip
    chats = [str(800 + n) for n in range(6)]
    async with world(tmp_path) as here:
        here.discord.retry_after_s = 0.05
        for n in range(3):
            here.discord.faults.extend(faults)
            for chat in chats:
                data = here.discord.said(f"{n}", channel_id=chat)
                await here.discord.send(data)
                await here.discord.send(data)  # and once more
            if n % 2:
                await here.discord.gateway.drop()
            else:
                await here.discord.gateway.say(RECONNECT)
        for chat in chats:
            await here.discord.wait_for(3, chat)
        assert set(await here.half.settled()) == {"sent"}
    for chat in chats:
        assert here.discord.ours(chat) == ["re: 0", "re: 1", "re: 2"]


async def test_a_group_is_answered_only_when_addressed_and_never_bots(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        bot = {"id": OTHER_ID, "username": "b", "bot": True}
        for data in (
            here.discord.in_guild("among us"),
            here.discord.in_guild(""),  # what comes where the content intent is off
            here.discord.in_guild("@everyone", mention_everyone=True),
            here.discord.in_guild(f"<@{BOT_ID}> and you?", author=bot, mentions=US),
            here.discord.in_guild(f"<@{BOT_ID}> hook", webhook_id="1", mentions=US),
            here.discord.in_guild(f"<@{BOT_ID}> to you", mentions=US),
        ):
            await here.discord.send(data)
        await here.discord.wait_for(1, CHANNEL_ID)
        mine = here.discord.messages[CHANNEL_ID][-1]
        assert mine["author"]["id"] == BOT_ID
        await here.discord.gateway.dispatch("MESSAGE_CREATE", mine | {"guild_id": GUILD_ID})
        data = here.discord.in_guild("more", type=19, referenced_message=mine)
        await here.discord.send(data)
        await here.discord.wait_for(2, CHANNEL_ID)
    assert here.discord.ours(CHANNEL_ID) == ["re: to you", "re: more"]
