"""A whole LINE conversation through the signed webhook, the lanes and the simulated platform."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.line.channel import LineChannel, LineSettings
from gateway import catalogue
from gateway.core.secrets import Secret
from gateway.inbox import LaneOptions
from gateway.interfaces import Channel, Claimed
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import FAST_LANES, Durable, durable
from tests.simulators.line import PUSH, REPLY, Fault, LineSimulator

USER, OTHER = "U" + "1" * 32, "U" + "2" * 32
GROUP = "C" + "3" * 32


@dataclasses.dataclass
class World:
    """LINE on one side, our durable half on the other."""

    line: LineSimulator
    half: Durable
    client: TestClient[web.Request, web.Application]

    async def post(self, *events: dict[str, Any]) -> int:
        body = self.line.body(*events)
        headers = self.line.headers(body)
        async with self.client.post("/webhooks/line/main", data=body, headers=headers) as answer:
            return answer.status

    async def ask(self, text: str, user: str = USER, **over: Any) -> int:
        return await self.post(self.line.text_event(text, user, **over))


@asynccontextmanager
async def world(
    home: Path,
    turn: Callable[[Durable, Claimed, Channel], Awaitable[None]] = Durable.echo,
    *,
    lanes: LaneOptions = FAST_LANES,
    reply_window_s: float = 45.0,
) -> AsyncIterator[World]:
    async with LineSimulator().running() as line:
        channel = LineChannel(
            LineSettings(
                name="main",
                agent="helper",
                channel_secret=Secret(line.secret),
                channel_access_token=Secret(line.access_token),
                api_base_url=line.url,
                prefix="/ask",
                reply_window_s=reply_window_s,
            )
        )
        async with durable(home, channel, lane_options=lanes) as half:
            app = web.Application()
            webhooks = Webhooks({("line", "main"): channel}, half.lanes.accept, RealClock())
            app.add_routes(webhooks.routes())
            async with TestClient(TestServer(app)) as client, half.running(partial(turn, half)):
                yield World(line, half, client)
        await channel.close()
    assert line.violations == []


async def test_a_question_is_answered_by_its_reply_token(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        assert await here.ask("特休有幾天？") == 200
        await here.line.wait_for(1)
        assert await here.half.settled() == ["sent"]
    assert here.line.texts_to(USER) == [("re: 特休有幾天？",)]
    assert here.line.deliveries[0].path == REPLY


async def test_a_late_answer_is_pushed_to_the_same_chat(tmp_path: Path) -> None:
    async with world(tmp_path, reply_window_s=0.0) as here:
        await here.ask("direct")
        in_group = {"type": "group", "groupId": GROUP, "userId": USER}
        await here.ask("/ask group", source=in_group)
        await here.line.wait_for(2)
    assert here.line.texts_to(USER) == [("re: direct",)]
    assert here.line.texts_to(GROUP) == [("re: group",)]
    assert {delivery.path for delivery in here.line.deliveries} == {PUSH}


async def test_a_token_that_died_early_falls_to_push(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        event = here.line.text_event("hello", USER)
        here.line.tokens.clear()
        await here.post(event)
        await here.line.wait_for(1)
    assert [delivery.path for delivery in here.line.deliveries] == [PUSH]
    assert here.line.calls == [REPLY, PUSH]


REDELIVERED: dict[str, Any] = {"deliveryContext": {"isRedelivery": True}}


async def test_a_redelivery_is_answered_once_and_one_that_is_news_as_well(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        event = here.line.text_event("one", USER)
        assert await here.post(event) == 200
        await here.line.wait_for(1)
        assert await here.post(event | REDELIVERED) == 200
        other_delivery = event | REDELIVERED | {"webhookEventId": "01H" + "9" * 23}
        assert await here.post(other_delivery) == 200
        assert await here.ask("never arrived before", **REDELIVERED) == 200
        await here.line.wait_for(2)
    assert here.line.texts_to(USER) == [("re: one",), ("re: never arrived before",)]


async def test_events_of_one_body_go_to_their_lanes(tmp_path: Path) -> None:
    is_free = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        if claimed.message.text == "slow":
            await is_free.wait()
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        line = here.line
        await here.post(
            line.text_event("slow", USER),
            {"type": "telepathy"},
            line.text_event("next", USER),
            line.text_event("fast", OTHER),
        )
        await line.wait_for(1)
        assert line.texts_to(OTHER) == [("re: fast",)]
        assert line.texts_to(USER) == []
        is_free.set()
        await line.wait_for(3)
    assert line.texts_to(USER) == [("re: slow",), ("re: next",)]


GROUP_SOURCE = {"type": "group", "groupId": GROUP, "userId": USER}
MENTION = {"mention": {"mentionees": [{"index": 0, "length": 4, "type": "user", "isSelf": True}]}}


async def test_a_group_is_answered_when_addressed(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.ask("chatter", source=GROUP_SOURCE)
        await here.ask("@Bot question", source=GROUP_SOURCE, message=MENTION)
        await here.ask("/ask another", source=GROUP_SOURCE)
        await here.line.wait_for(2)
    assert here.line.texts_to(GROUP) == [("re: question",), ("re: another",)]


PLATFORM_TROUBLE: list[tuple[str, list[Fault], float, list[str], list[str]]] = [
    ("rate limit", [Fault.RATE], 45.0, ["sent"], [REPLY, REPLY]),
    ("reply fails twice", [Fault.SERVER_ERROR] * 2, 45.0, ["sent"], [REPLY] * 3),
    ("reply accepted, then 500", [Fault.SERVER_ERROR_AFTER], 45.0, ["unknown"], [REPLY] * 2),
    ("reply in doubt, not accepted", [Fault.CLOSE_BEFORE], 45.0, ["unknown"], [REPLY]),
    ("reply in doubt, accepted", [Fault.CLOSE_AFTER], 45.0, ["unknown"], [REPLY]),
    ("push fails twice", [Fault.SERVER_ERROR] * 2, 0.0, ["sent"], [PUSH] * 3),
    ("push accepted, then cut", [Fault.CLOSE_AFTER], 0.0, ["sent"], [PUSH] * 2),
    ("quota used up", [Fault.QUOTA], 0.0, ["dead"], [PUSH]),
    ("blocked", [Fault.FORBIDDEN], 0.0, ["dead"], [PUSH]),
]


@pytest.mark.parametrize(
    ("faults", "window_s", "states", "calls"),
    [row[1:] for row in PLATFORM_TROUBLE],
    ids=[row[0] for row in PLATFORM_TROUBLE],
)
async def test_trouble_at_the_platform(
    tmp_path: Path, faults: list[Fault], window_s: float, states: list[str], calls: list[str]
) -> None:
    async with world(tmp_path, reply_window_s=window_s) as here:
        here.line.faults.extend(faults)
        await here.ask("hello")
        await here.line.wait_for_calls(len(calls))
        assert await here.half.settled() == states
        here.line.faults.clear()
        await here.ask("are you there?")  # the chat goes on whatever became of the first reply
        await here.line.wait_for_calls(len(calls) + 1)
    assert here.line.calls[: len(calls)] == calls
    assert len([1 for texts in here.line.texts_to(USER) if texts == ("re: hello",)]) <= 1
    assert here.line.texts_to(USER)[-1] == ("re: are you there?",)


async def test_a_full_lane_is_told_so(tmp_path: Path) -> None:
    is_free = asyncio.Event()

    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await is_free.wait()
        await half.echo(claimed, channel)

    options = dataclasses.replace(FAST_LANES, lane_limit=1)
    async with world(tmp_path, turn, lanes=options) as here:
        await here.ask("特休有幾天？")
        await here.ask("再問一次")
        await here.line.wait_for(1)
        assert here.line.texts_to(USER) == [(catalogue.text("chat.busy", "zh-TW"),)]
        is_free.set()
        await here.line.wait_for(2)


async def test_the_loading_animation_is_for_direct_chats(tmp_path: Path) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await channel.show_typing(claimed.message)
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        await here.ask("direct")
        await here.ask("/ask group", source=GROUP_SOURCE)
        await here.line.wait_for(2)
    assert here.line.loading == [USER]


async def test_a_loading_animation_that_fails_fails_nothing(tmp_path: Path) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await channel.show_typing(claimed.message)
        await half.echo(claimed, channel)

    async with world(tmp_path, turn) as here:
        for fault in (Fault.BAD_REQUEST, Fault.CLOSE_BEFORE, Fault.SERVER_ERROR):
            here.line.faults.append(fault)
            await here.ask(fault.name)
            await here.line.wait_for(len(here.line.deliveries) + 1)
    assert len(here.line.texts_to(USER)) == 3


async def test_turns_that_never_end_hold_no_webhook(tmp_path: Path) -> None:
    async def turn(_: Durable, __: Claimed, ___: Channel) -> None:
        await asyncio.Event().wait()

    async with world(tmp_path, turn) as here, asyncio.timeout(5):
        for n in range(12):
            assert await here.ask("hello", f"U{n:032d}") == 200
