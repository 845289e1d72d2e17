"""Order and loss: whatever a platform does meanwhile, each answer is whole, once, in its place.

Held elsewhere: a kill at every step (`tests/journeys/test_kills.py`), typing that hangs or fails
(`tests/journeys/test_showing.py`), drafts under a rate limit (`test_slack_drafts`,
`test_discord_client`, `test_telegram_client`), a channel toggled (`tests/journeys/test_reload.py`).
"""

import asyncio
from pathlib import Path

import pytest

from gateway.interfaces import Channel, Claimed
from tests.faults.doors import (
    DIRECT,
    GROUP,
    PLACES,
    RATE,
    THREAD,
    UNAVAILABLE,
    Open,
    door,
    each_channel,
    each_platform,
    until,
)
from tests.journeys.durable import Durable


def parts_of(words: str, channel: Channel, calls: int = 3) -> list[str]:
    """As many parts as make so many calls."""
    return [f"{words} {n}" for n in range(calls * channel.limits.parts_per_call)]


@each_channel
async def test_one_person_in_three_places_gets_each_answer_where_it_was_asked(
    platform: Open, tmp_path: Path
) -> None:
    is_free = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        if "slow" in claimed.message.text:
            await is_free.wait()
        await half.echo(claimed, channel)

    async with door(platform, tmp_path, turn) as here:
        for place in PLACES:
            assert await here.ask(f"slow in {place}", place) == 200
        await here.ask("fast in direct", DIRECT)  # behind the slow one
        is_free.set()
        await until(lambda: len(here.platform.posts()) == 4)
        assert here.texts(DIRECT) == ["re: slow in direct", "re: fast in direct"]
        assert here.texts(GROUP) == ["re: slow in group"]
        assert here.texts(THREAD) == ["re: slow in thread"]


@each_platform
@pytest.mark.parametrize("trouble", [RATE, UNAVAILABLE])
async def test_trouble_in_mid_reply_repeats_that_call_alone_and_holds_what_comes_after(
    platform: Open, tmp_path: Path, trouble: str
) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        words = claimed.message.text
        await half.reply(claimed, *(parts_of(words, channel) if words == "long" else [words]))

    async with door(platform, tmp_path, turn) as here:
        here.platform.trouble(None, trouble, trouble)
        await here.ask("long")
        await here.ask("short")
        whole = [*parts_of("long", here.channel), "short"]
        await until(lambda: len(here.texts()) >= len(whole))
        assert set(await here.half.settled()) == {"sent"}
        assert here.texts() == whole
        assert here.platform.tried() == 4 + 2  # the first call is never made again


@each_platform
async def test_a_chat_that_waits_holds_up_no_other(platform: Open, tmp_path: Path) -> None:
    async with door(platform, tmp_path) as here:
        here.platform.trouble(RATE)
        await here.ask("held", GROUP)
        await until(lambda: here.platform.tried() == 1)
        await here.ask("free", DIRECT)
        await until(lambda: len(here.platform.posts()) == 1)
        assert here.texts(DIRECT) == ["re: free"]
        await until(lambda: len(here.platform.posts()) == 2)
        assert here.texts(GROUP) == ["re: held"]


@each_channel
async def test_what_was_acknowledged_before_a_restart_is_answered_after_it(
    platform: Open, tmp_path: Path
) -> None:
    begun = 0

    async def never(_: Durable, __: Claimed, ___: Channel) -> None:
        nonlocal begun
        begun += 1
        await asyncio.Event().wait()

    async with platform() as opened:
        deliveries = [opened.says(words, DIRECT) for words in ("first", "second")]
        async with door(opened, tmp_path, never) as before:
            for delivery in deliveries:
                assert await before.bring(delivery) == 200
            await until(lambda: begun == 1)
        assert opened.posts() == []
        async with door(opened, tmp_path) as after:
            for delivery in deliveries:
                assert await after.bring(delivery) == 200  # the platform is not sure we heard it
            await until(lambda: len(opened.posts()) == 2)
            assert set(await after.half.settled()) == {"sent"}
        assert after.texts() == ["re: first", "re: second"]


@each_platform
async def test_what_was_owed_before_a_restart_is_sent_after_it_without_another_turn(
    platform: Open, tmp_path: Path
) -> None:
    turns = 0

    async def once(half: Durable, claimed: Claimed, channel: Channel) -> None:
        nonlocal turns
        turns += 1
        await half.echo(claimed, channel)

    async with platform() as opened:
        async with door(opened, tmp_path, once, sends=False) as before:
            await before.ask("hello")
            await until(before.half.states)
        assert opened.posts() == []
        async with door(opened, tmp_path, once) as after:
            await until(lambda: len(opened.posts()) == 1)
            assert await after.half.settled() == ["sent"]
        assert after.texts() == ["re: hello"]
    assert turns == 1
