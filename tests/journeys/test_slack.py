"""Whole Slack conversations through the signed webhook, the lanes and the simulated platform."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.slack.channel import SlackChannel, SlackSettings
from gateway import catalogue
from gateway.core.messages import Limits, Unit
from gateway.core.secrets import Secret
from gateway.core.splitting import split
from gateway.inbox import LaneOptions
from gateway.interfaces import Channel, Claimed
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import FAST_LANES, Durable, durable
from tests.simulators.slack import (
    BOT_USER,
    CHANNEL,
    DIRECT,
    PERSON,
    POST,
    STATUS,
    UPDATE,
    Error,
    Fault,
    SlackSimulator,
)

ROOT_A, ROOT_B = "1772350000.000100", "1772350000.000200"
Turn = Callable[[Durable, Claimed, Channel], Awaitable[None]]


@dataclass
class World:
    """Slack on one side, our durable half on the other."""

    slack: SlackSimulator
    channel: SlackChannel
    half: Durable
    client: TestClient[web.Request, web.Application]

    async def post_bytes(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        url = "/webhooks/slack/main"
        async with self.client.post(url, data=body, headers=headers) as answer:
            return answer.status, await answer.text()

    async def post(self, event: Any, **over: Any) -> int:
        body = self.slack.body(event, **over)
        return (await self.post_bytes(body, self.slack.headers(body)))[0]


@asynccontextmanager
async def world(
    home: Path, turn: Turn = Durable.echo, *, lanes: LaneOptions = FAST_LANES
) -> AsyncIterator[World]:
    async with SlackSimulator().running() as slack:
        settings = SlackSettings(
            name="main",
            agent="helper",
            bot_token=Secret(slack.token),
            signing_secret=Secret(slack.secret),
            api_base_url=slack.api_url,
            prefix="/ask",
        )
        channel = SlackChannel(settings)
        channel._client.settle_s = 0.0
        async with durable(home, channel, lane_options=lanes) as half:
            app = web.Application()
            webhooks = Webhooks({("slack", "main"): channel}, half.lanes.accept, RealClock())
            app.add_routes(webhooks.routes())
            async with TestClient(TestServer(app)) as client, half.running(partial(turn, half)):
                yield World(slack, channel, half, client)
        await channel.close()
    assert slack.violations == []


async def test_a_question_is_answered_where_it_was_asked(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        assert await here.post(here.slack.event("特休有幾天？ &amp; <https://a.example>")) == 200
        question = here.slack.in_channel(f"<@{BOT_USER}> 在嗎")
        assert await here.post(question) == 200
        await here.slack.wait_for(2)
        assert await here.half.settled() == ["sent", "sent"]
    assert here.slack.texts_in(DIRECT) == ["re: 特休有幾天？ & https://a.example"]
    assert here.slack.texts_in(CHANNEL, question["ts"]) == ["re: 在嗎"]


async def test_the_address_of_the_webhook_is_confirmed(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        body = b'{"type":"url_verification","token":"t","challenge":"3eZb"}'
        assert await here.post_bytes(body, here.slack.headers(body)) == (200, "3eZb")
        status, said = await here.post_bytes(body, {})
        assert status == 401
        assert "3eZb" not in said


async def test_a_replayed_body_and_odd_headers_are_401_without_effect(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        body = here.slack.body(here.slack.event("forged"))
        good = here.slack.headers(body)
        stamp, signature = "X-Slack-Request-Timestamp", "X-Slack-Signature"
        for headers in (
            {},
            here.slack.headers(body, time.time() - 600),
            here.slack.headers(body, time.time() + 600),
            good | {stamp: "abc"},
            good | {stamp: "1.5"},
            good | {stamp: ""},
            good | {signature: "v0=\u00e9"},
            {stamp: good[stamp]},
        ):
            assert (await here.post_bytes(body, headers))[0] == 401
        assert (await here.post_bytes(body[:-1] + b" ", good))[0] == 401
        assert (await here.post_bytes(body[:-1], here.slack.headers(body[:-1])))[0] == 400
        await here.post(here.slack.event("real"))
        await here.slack.wait_for(1)
    assert here.slack.texts_in(DIRECT) == ["re: real"]


async def test_redeliveries_while_the_model_is_slow_are_one_answer(tmp_path: Path) -> None:
    is_free = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await is_free.wait()
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        body = here.slack.body(here.slack.event("one"))
        for attempt in range(3):
            retried = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_timeout"}
            headers = here.slack.headers(body) | (retried if attempt else {})
            assert (await here.post_bytes(body, headers))[0] == 200  # while the model still thinks
        # a retry whose first attempt never arrived is news
        news = here.slack.body(here.slack.event("two"))
        await here.post_bytes(news, here.slack.headers(news) | {"X-Slack-Retry-Num": "2"})
        is_free.set()
        await here.slack.wait_for(2)
        assert await here.half.settled() == ["sent", "sent"]
    assert here.slack.texts_in(DIRECT) == ["re: one", "re: two"]


@pytest.mark.parametrize("is_mention_first", [True, False])
async def test_a_mention_and_its_message_are_one_answer(
    tmp_path: Path, is_mention_first: bool
) -> None:
    async with world(tmp_path) as here:
        for text, around in (
            (f"<@{BOT_USER}> one", {}),
            ("<@U0000WHOX> two", {"authorizations": None}),  # our own id is not known yet
        ):
            event = here.slack.in_channel(text)
            both = [event, here.slack.mention_of(event)]
            for each in both[::-1] if is_mention_first else both:
                assert await here.post(each, **around) == 200
        await here.slack.wait_for(2)
        assert await here.half.settled() == ["sent", "sent"]
    assert sorted(each.text for each in here.slack.messages) == ["re: one", "re: two"]


async def test_our_own_words_and_other_bots_are_not_answered(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        mention = f"<@{BOT_USER}> hi"
        for event in (
            here.slack.event("re: me", user=BOT_USER, bot_id="B0000BOTX"),
            here.slack.event("re: me", user=BOT_USER),
            here.slack.in_channel(mention, bot_id="B0000ELSE"),
            here.slack.mention_of(here.slack.in_channel(mention, bot_id="B0000ELSE")),
            here.slack.in_channel(mention, subtype="bot_message", user=None, bot_id="B0000ELSE"),
            here.slack.event("edited", subtype="message_changed", message={"text": "x"}),
        ):
            assert await here.post(event) == 200
        await here.post(here.slack.event("a person"))
        await here.slack.wait_for(1)
    assert [each.text for each in here.slack.messages] == ["re: a person"]


async def test_replies_keep_to_their_threads_whatever_overtakes(tmp_path: Path) -> None:
    is_free = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        if "slow" in claimed.message.text:
            await is_free.wait()
        await half.reply(claimed, f"1 {claimed.message.text}", f"2 {claimed.message.text}")

    async with world(tmp_path, turn) as here:
        ask = f"<@{BOT_USER}> "
        await here.post(here.slack.in_channel(ask + "slow", thread_ts=ROOT_A))
        await here.post(here.slack.event("slow direct", user=PERSON))
        await here.post(here.slack.in_channel(ask + "fast", thread_ts=ROOT_B))
        await here.post(here.slack.event("fast thread", thread_ts=ROOT_A))
        await here.slack.wait_for(4)
        assert here.slack.texts_in(CHANNEL, ROOT_A) == []
        is_free.set()
        await here.slack.wait_for(8)
    slack = here.slack
    assert slack.texts_in(CHANNEL, ROOT_A) == ["1 slow", "2 slow"]
    assert slack.texts_in(CHANNEL, ROOT_B) == ["1 fast", "2 fast"]
    assert slack.texts_in(DIRECT) == ["1 slow direct", "2 slow direct"]
    assert slack.texts_in(DIRECT, ROOT_A) == ["1 fast thread", "2 fast thread"]


TROUBLE: list[tuple[str, list[Fault | Error | None], list[str]]] = [
    ("the first part waits", [Fault.RATE], ["1", "2", "3"]),
    ("the second part fails, then works", [None, Fault.UNAVAILABLE], ["1", "2", "3"]),
    ("the second part may have arrived", [None, Fault.CLOSE_AFTER], ["1", "2", "3"]),
    ("the last part is cut off", [None, None, Fault.TRUNCATED], ["1", "2", "3"]),
]


@pytest.mark.parametrize(("faults", "texts"), [r[1:] for r in TROUBLE], ids=[r[0] for r in TROUBLE])
async def test_parts_arrive_in_order_and_once(
    tmp_path: Path, faults: list[Fault | Error | None], texts: list[str]
) -> None:
    async def turn(half: Durable, claimed: Claimed, _: Channel) -> None:
        await half.reply(claimed, "1", "2", "3")

    async with world(tmp_path, turn) as here:
        here.slack.method_faults[POST] = deque(faults)
        here.slack.retry_after_s = "0.1"
        await here.post(here.slack.event("hello"))
        await here.slack.wait_for(3)
        assert set(await here.half.settled()) == {"sent"}
    assert here.slack.texts_in(DIRECT) == texts


async def test_a_post_nobody_can_tell_of_is_told_apart_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.slack.faults.extend([Fault.CLOSE_AFTER, Error("missing_scope")])
        await here.post(here.slack.event("hello"))
        await here.slack.wait_for(1)
        assert await here.half.settled() == ["unknown"]
        await here.post(here.slack.event("are you there?"))
        await here.slack.wait_for(2)
        assert await here.half.settled() == ["unknown", "sent"]
    assert here.slack.texts_in(DIRECT) == ["re: hello", "re: are you there?"]


async def test_a_chat_that_is_gone_is_a_dead_letter(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.slack.faults.append(Error("is_archived"))
        await here.post(here.slack.event("hello"))
        await here.slack.until(lambda: POST in here.slack.calls)
        assert await here.half.settled() == ["dead"]


async def test_another_chat_is_not_delayed_by_a_rate_limit(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.slack.faults.append(Fault.RATE)
        here.slack.retry_after_s = "2"
        await here.post(here.slack.event("limited"))
        await here.slack.until(lambda: POST in here.slack.calls)
        await here.post(here.slack.in_channel(f"<@{BOT_USER}> free"))
        await here.slack.wait_for(1)
        assert [each.channel for each in here.slack.messages] == [CHANNEL]
        await here.slack.wait_for(2)
    assert here.slack.texts_in(DIRECT) == ["re: limited"]


LIMITS = Limits(Unit.SLACK_ESCAPED, 3900, 1, 1200, max_calls=10)
LONG = {"ampersands": "&" * 900, "angles": "<" * 1500, "both": "a<b>&" * 4000, "emoji": "😀" * 9000}


@pytest.mark.parametrize("body", LONG.values(), ids=LONG.keys())
async def test_entities_are_counted_and_never_cut(tmp_path: Path, body: str) -> None:
    parts = split(body, "[1] <b> & co", LIMITS, "…")

    async def turn(half: Durable, claimed: Claimed, _: Channel) -> None:
        await half.reply(claimed, *parts[:3])  # the chat's rate makes the rest a matter of time

    async with world(tmp_path, turn) as here:
        await here.post(here.slack.event("hello"))
        await here.slack.wait_for(len(parts[:3]))
    assert here.slack.texts_in(DIRECT) == list(parts[:3])
    assert all(len(each.text) <= 3900 for each in here.slack.messages)


async def test_a_status_stands_below_the_question_and_goes_before_the_answer(
    tmp_path: Path,
) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await channel.show_typing(claimed.message)
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        question = here.slack.event("特休有幾天？")
        await here.post(question)
        await here.slack.wait_for(1)
        in_thread = here.slack.event("hello", thread_ts=ROOT_A)
        await here.post(in_thread)
        await here.slack.wait_for(2)
    looking = catalogue.text("slack.status", "zh-TW"), catalogue.text("slack.status", "en")
    assert here.slack.statuses == [
        (DIRECT, question["ts"], looking[0]),
        (DIRECT, question["ts"], ""),  # Slack itself ends a status in the answer's thread alone
        (DIRECT, ROOT_A, looking[1]),
    ]
    assert here.slack.calls == [STATUS, STATUS, POST, STATUS, POST]


@pytest.mark.parametrize(
    "fault", [Error("missing_scope"), Fault.SERVER_ERROR, Fault.CLOSE_BEFORE, Fault.RATE]
)
async def test_a_status_that_fails_fails_nothing(tmp_path: Path, fault: Fault | Error) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await channel.show_typing(claimed.message)
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        here.slack.faults.append(fault)
        await here.post(here.slack.event("hello"))
        await here.slack.wait_for(1)
    assert here.slack.texts_in(DIRECT) == ["re: hello"]
    assert UPDATE not in here.slack.calls


async def test_after_a_rate_refusal_of_a_status_none_is_shown_and_the_reply_goes(
    tmp_path: Path,
) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await channel.show_typing(claimed.message)
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        here.slack.retry_after_s = "33"
        here.slack.faults.append(Fault.RATE)
        for n in (1, 2):
            await here.post(here.slack.event(f"{n}"))
            await here.slack.wait_for(n)
    assert here.slack.calls == [STATUS, POST, POST]
