"""Duplicates: however often, however differently a message comes, it is answered once.

Held elsewhere: a call repeated after part of a reply is out (`test_channels_order_and_loss`),
RESUME and the look-back of Discord (`tests/journeys/test_discord.py`), an edit that changes nothing
(`test_discord_client`, `test_slack_drafts`), the replay after a kill (`test_kills`), a channel
toggled (`test_reload`), a code sent twice (`tests/contract/test_linking.py`).
"""

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import LanguageModelError
from gateway.interfaces import Channel, Claimed
from tests.faults.doors import (
    DIRECT,
    ROOT,
    Delivery,
    Open,
    Platform,
    door,
    each_channel,
    line,
    odoolivechat,
    slack,
    telegram,
    until,
)
from tests.journeys.durable import Durable
from tests.simulators.slack import BOT_USER, CHANNEL
from tests.simulators.slack import DIRECT as SLACK_DIRECT

# ---------------------------------------------------------------- the same delivery again


@each_channel
async def test_a_delivery_repeated_while_the_turn_is_slow_and_after_it_is_one_answer(
    platform: Open, tmp_path: Path
) -> None:
    is_free = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await is_free.wait()
        await half.echo(claimed, channel)

    async with platform() as opened:
        delivery = opened.says("hello", DIRECT)
        async with door(opened, tmp_path, turn) as here:
            loop = asyncio.get_running_loop()
            begun_s = loop.time()
            for _ in range(3):
                assert await here.bring(delivery) == 200
            assert await asyncio.gather(*(here.bring(delivery) for _ in range(10))) == [200] * 10
            assert loop.time() - begun_s < 1.0
            is_free.set()
            await until(opened.posts)
            assert await here.bring(delivery) == 200
            await here.ask("next")
            await until(lambda: len(opened.posts()) >= 2)
        assert here.texts() == ["re: hello", "re: next"]
        async with door(opened, tmp_path) as again:
            assert await again.bring(delivery) == 200
            await again.ask("last")
            await until(lambda: len(opened.posts()) >= 3)
            assert await again.half.settled() == ["sent"] * 3
        assert again.texts() == ["re: hello", "re: next", "re: last"]


@each_channel
async def test_what_could_not_be_stored_is_news_when_it_comes_again(
    platform: Open, tmp_path: Path
) -> None:
    async with platform() as opened:
        delivery = opened.says("hello", DIRECT)
        async with door(opened, tmp_path) as here:
            here.refusals = 2
            assert [await here.bring(delivery) for _ in range(4)] == [503, 503, 200, 200]
            await until(opened.posts)
            assert await here.half.settled() == ["sent"]
        assert here.texts() == ["re: hello"]


@each_channel
async def test_a_turn_that_fails_at_first_is_answered_once_though_it_comes_again_meanwhile(
    platform: Open, tmp_path: Path
) -> None:
    tries = itertools.count(1)
    failed = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        if claimed.message.text == "hello" and next(tries) < 3:
            failed.set()
            raise LanguageModelError("down")
        await half.echo(claimed, channel)

    async with platform() as opened:
        delivery = opened.says("hello", DIRECT)
        async with door(opened, tmp_path, turn) as here:
            await here.bring(delivery)
            await failed.wait()
            assert await here.bring(delivery) == 200
            await here.ask("next")
            await until(lambda: len(opened.posts()) >= 2)
            assert await here.half.settled() == ["sent", "sent"]
        assert here.texts() == ["re: hello", "re: next"]


# ---------------------------------------------------------------- one message, several deliveries


def slack_bodies(opened: Platform, *envelopes: dict[str, Any]) -> list[Delivery]:
    bodies = [json.dumps(each).encode() for each in envelopes]
    return [(opened.simulator.headers(body), body) for body in bodies]


def mention(**over: Any) -> Callable[[Platform], list[Delivery]]:
    """A `message` and the `app_mention` beside it, each with an event_id of its own."""
    of_envelope = over.pop("of_envelope", {})

    def both(opened: Platform) -> list[Delivery]:
        told = opened.simulator
        event = told.in_channel(f"<@{BOT_USER}> hello", **over)
        kinds = event, told.mention_of(event)
        return slack_bodies(opened, *(told.envelope(each, **of_envelope) for each in kinds))

    return both


NOBODY_NAMED: dict[str, Any] = {"of_envelope": {"authorizations": []}}
TWO_EVENTS: dict[str, Callable[[Platform], list[Delivery]]] = {
    "in a channel": mention(),
    "in a private channel": mention(channel="G0000PRIV", channel_type="group"),
    "among several people": mention(channel="G0000MPIM", channel_type="mpim"),
    "as an answer in a thread": mention(thread_ts=ROOT),
    "in a thread of ours": mention(thread_ts=ROOT, parent_user_id=BOT_USER),
    "also sent to the channel": mention(thread_ts=ROOT, subtype="thread_broadcast"),
    "with a file": mention(subtype="file_share", files=[]),
    "without its channel's kind": mention(channel_type=None),
    "by a bot whose name nobody knows yet": mention(**NOBODY_NAMED),
    "in a thread by such a bot": mention(thread_ts=ROOT, **NOBODY_NAMED),
    "as the root of its own thread": mention(ts=ROOT, thread_ts=ROOT),
}


@pytest.mark.parametrize("first", ["message first", "app_mention first", "at once"])
@pytest.mark.parametrize("events", TWO_EVENTS.values(), ids=TWO_EVENTS)
async def test_a_mention_that_comes_as_two_events_is_one_answer(
    events: Callable[[Platform], list[Delivery]], first: str, tmp_path: Path
) -> None:
    async with slack() as opened:
        both = events(opened)
        if first == "app_mention first":
            both.reverse()
        async with door(opened, tmp_path) as here:
            if first == "at once":
                assert await asyncio.gather(*map(here.bring, both)) == [200, 200]
            else:
                assert [await here.bring(each) for each in both] == [200, 200]
            messages = opened.simulator.messages
            await until(lambda: messages)
            assert [await here.bring(each) for each in both] == [200, 200]  # and both once more
            assert await here.half.settled() == ["sent"]
            posted = [(each.channel, each.text) for each in messages]
            event = json.loads(both[0][1])["event"]
            assert posted == [(event["channel"], "re: hello")]
            assert messages[0].thread == event.get("thread_ts", event["ts"])


def line_again(opened: Platform) -> list[Delivery]:
    """A redelivery, and the same message under another delivery's id."""
    told = opened.simulator
    event = told.text_event("hello")
    redelivered = event | {"deliveryContext": {"isRedelivery": True}}
    renamed = redelivered | {"webhookEventId": "01H" + "9" * 23}
    twice = told.body(event, event)
    bodies = [*(told.body(each) for each in (event, redelivered, renamed)), twice]
    return [(told.headers(body), body) for body in bodies]


def telegram_again(opened: Platform) -> list[Delivery]:
    """The same update, the same message under another number, and its edited form."""
    told = opened.simulator
    update = told.message("hello")
    renumbered = update | {"update_id": update["update_id"] + 1}
    edited = {"update_id": update["update_id"] + 2, "edited_message": update["message"]}
    every = (update, update, renumbered, edited)
    return [(told.headers(), told.body(each)) for each in every]


def livechat_again(opened: Platform) -> list[Delivery]:
    """The same event, and the same message in another event; ids as numbers and as text."""
    told = opened.simulator
    event = told.event("hello", DIRECT)
    every = (event, event | {"event_id": "other"}, event | {"message_id": str(event["message_id"])})
    return [told.signed(each) for each in every]


def slack_again(opened: Platform) -> list[Delivery]:
    """Retries with and without their headers, under another event_id, and unfurled."""
    told = opened.simulator
    event = told.event("hello", channel=SLACK_DIRECT)
    envelope = told.envelope(event)
    unfurled = told.event("hello", subtype="message_changed", message=event, hidden=True)
    retry = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    bodies = slack_bodies(
        opened, envelope, envelope, envelope | {"event_id": "EvOTHER"}, told.envelope(unfurled)
    )
    return [bodies[0], ({**bodies[1][0], **retry}, bodies[1][1]), *bodies[2:]]


AGAIN: list[tuple[Open, Callable[[Platform], list[Delivery]]]] = [
    (line, line_again),
    (telegram, telegram_again),
    (odoolivechat, livechat_again),
    (slack, slack_again),
]


@pytest.mark.parametrize(
    ("platform", "deliveries"), AGAIN, ids=[each[1].__name__ for each in AGAIN]
)
@pytest.mark.parametrize("is_backwards", [False, True])
async def test_one_message_in_several_forms_is_one_answer(
    platform: Open,
    deliveries: Callable[[Platform], list[Delivery]],
    is_backwards: bool,
    tmp_path: Path,
) -> None:
    async with platform() as opened:
        every = deliveries(opened)
        async with door(opened, tmp_path) as here:
            for delivery in reversed(every) if is_backwards else every:
                assert await here.bring(delivery) == 200
            await until(opened.posts)
            assert await here.half.settled() == ["sent"]
            assert here.texts() == ["re: hello"]


async def test_a_retry_whose_first_try_never_arrived_is_answered(tmp_path: Path) -> None:
    async with slack() as opened:
        headers, body = opened.says("hello", DIRECT)
        retry = {"X-Slack-Retry-Num": "3", "X-Slack-Retry-Reason": "timeout"}
        async with door(opened, tmp_path) as here:
            assert await here.post({**headers, **retry}, body) == 200
            await until(opened.posts)
        assert here.texts() == ["re: hello"]
    async with line() as opened:
        event = opened.simulator.text_event("hello", deliveryContext={"isRedelivery": True})
        body = opened.simulator.body(event)
        async with door(opened, tmp_path) as here:
            assert await here.post(opened.simulator.headers(body), body) == 200
            await until(opened.posts)
        assert here.texts() == ["re: hello"]


async def test_the_same_words_in_another_message_are_another_question(tmp_path: Path) -> None:
    async with slack() as opened, door(opened, tmp_path) as here:
        told = opened.simulator
        both = [told.in_channel(f"<@{BOT_USER}> hello", channel=CHANNEL) for _ in range(2)]
        for delivery in slack_bodies(opened, *map(told.envelope, both)):
            await here.bring(delivery)
        await until(lambda: len(told.messages) == 2)
        assert {each.thread for each in told.messages} == {each["ts"] for each in both}
