"""A whole Telegram conversation, by webhook and by polling, through the lanes and the platform."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from channels.telegram.channel import Mode, Pauses, TelegramChannel, TelegramSettings
from gateway.core.messages import InboundMessage, LinkState
from gateway.core.secrets import Secret
from gateway.errors import StoreError
from gateway.interfaces import Accept, Channel, Claimed
from gateway.surfaces.webhooks import Webhooks
from tests.fakes.times import RealClock
from tests.journeys.durable import Durable, durable
from tests.simulators.shared import shared
from tests.simulators.telegram import BOT_ID, BOT_NAME, SECRET_HEADER, Fault, TelegramSimulator

USER, OTHER, GROUP = 1001, 1002, -1001234
HASTY = Pauses(first_s=0.01, longest_s=0.02, standing_s=0.01)
Turn = Callable[[Durable, Claimed, Channel], Awaitable[None]]


def build(telegram: TelegramSimulator, mode: Mode = Mode.WEBHOOK) -> TelegramChannel:
    settings = TelegramSettings(
        name="main",
        agent="helper",
        bot_token=Secret(telegram.token),
        secret_token=Secret(telegram.secret),
        mode=mode,
        api_base_url=telegram.url,
        prefix="問",
    )
    return TelegramChannel(settings, pauses=HASTY)


@dataclasses.dataclass
class World:
    """Telegram on one side, our durable half on the other."""

    telegram: TelegramSimulator
    half: Durable
    client: TestClient[web.Request, web.Application]
    channel: TelegramChannel

    async def post(self, update: Any, headers: dict[str, str] | None = None) -> int:
        body = self.telegram.body(update)
        sent = self.telegram.headers() if headers is None else headers
        place = "/webhooks/telegram/main"
        async with self.client.post(place, data=body, headers=sent) as answer:
            return answer.status

    async def ask(self, text: str, user: int = USER, **over: Any) -> int:
        return await self.post(self.telegram.message(text, user, **over))


@asynccontextmanager
async def world(home: Path, turn: Turn = Durable.echo) -> AsyncIterator[World]:
    async with TelegramSimulator().running() as telegram:
        channel = build(telegram)
        await channel.run(nowhere)
        async with durable(home, channel) as half:
            app = web.Application()
            webhooks = Webhooks({("telegram", "main"): channel}, half.lanes.accept, RealClock())
            app.add_routes(webhooks.routes())
            async with TestClient(TestServer(app)) as client, half.running(partial(turn, half)):
                yield World(telegram, half, client, channel)
        await channel.close()
    assert telegram.violations == []


async def nowhere(_: Sequence[InboundMessage]) -> None:
    raise AssertionError("a webhook brings everything")


async def until(is_so: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while True:
            found = is_so()
            if await found if isawaitable(found) else found:
                return
            await asyncio.sleep(0.002)


# ---------------------------------------------------------------- by webhook


async def test_a_question_is_answered_in_its_own_chat(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        update = here.telegram.message("特休有幾天？", USER)
        assert await here.post(update) == 200
        await here.telegram.wait_for(1)
        assert await here.half.settled() == ["sent"]
    assert here.telegram.texts_to(USER) == ["re: 特休有幾天？"]
    assert here.telegram.deliveries[0].reply_to == update["message"]["message_id"]


async def test_only_the_first_part_refers_to_the_question(tmp_path: Path) -> None:
    async def in_parts(half: Durable, claimed: Claimed, _: Channel) -> None:
        await half.reply(claimed, "one", "two")

    async with world(tmp_path, in_parts) as here:
        await here.ask("hello")
        await here.telegram.wait_for(2)
        assert await here.half.settled() == ["sent", "sent"]
    assert here.telegram.texts_to(USER) == ["one", "two"]
    assert [each.reply_to is not None for each in here.telegram.deliveries] == [True, False]


async def test_a_topic_is_answered_in_the_topic_even_when_another_goes_on(tmp_path: Path) -> None:
    begun, other_is_out = asyncio.Event(), asyncio.Event()

    async def slow_one(half: Durable, claimed: Claimed, _: Channel) -> None:
        if "slow" in claimed.message.text:
            begun.set()
            await other_is_out.wait()
        await half.echo(claimed, build(here.telegram))

    async with world(tmp_path, slow_one) as here:
        for text, thread in (("問 slow", 4), ("問 fast", 5)):
            topic = {"message_thread_id": thread, "is_topic_message": True}
            await here.post(here.telegram.in_group(text, USER, **topic))
            await begun.wait()
        await here.ask("direct")
        await here.telegram.wait_for(2)
        other_is_out.set()
        await here.telegram.wait_for(3)
    places = {each.text: (each.chat, each.thread) for each in here.telegram.deliveries}
    assert places == {
        "re: slow": (str(GROUP), 4),
        "re: fast": (str(GROUP), 5),
        "re: direct": (str(USER), None),
    }


async def test_a_group_hears_nothing_unless_it_addresses_the_bot(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        name = f"@{BOT_NAME}"
        entity = {"type": "mention", "offset": 0, "length": len(name)}
        await here.post(here.telegram.in_group("not for us"))
        await here.post(here.telegram.in_group(f"{name} for us", entities=[entity]))
        us = {"id": BOT_ID, "is_bot": True}
        bot = {"from": us | {"id": 77}, "entities": [entity]}
        assert await here.post(here.telegram.in_group(f"{name} loop", **bot)) == 200
        await here.telegram.wait_for(1)
        await here.half.settled()
    assert here.telegram.texts_to(GROUP) == ["re: for us"]


async def test_what_only_shares_a_chats_id_is_answered_nowhere(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        assert await here.ask("business", business_connection_id="b1") == 200
        assert await here.ask("guest", guest_query_id="g1") == 200
        await here.ask("own")
        await here.telegram.wait_for(1)
        assert await here.half.settled() == ["sent"]
    assert [each.text for each in here.telegram.deliveries] == ["re: own"]


async def test_a_repeated_update_is_answered_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        update = here.telegram.message("one", USER)
        for repeat in (update, update, update | {"update_id": 1}):
            assert await here.post(repeat) == 200
        edited = {"update_id": 2, "edited_message": update["message"] | {"text": "edited"}}
        assert await here.post(edited) == 200
        await here.ask("two")
        await here.telegram.wait_for(2)
    assert here.telegram.texts_to(USER) == ["re: one", "re: two"]


FORGED: list[dict[str, str]] = [
    {},
    {SECRET_HEADER: ""},
    {SECRET_HEADER: "wrong"},
    {SECRET_HEADER: "\xff\xfe"},
    {SECRET_HEADER: "密"},
    {"Authorization": "Bearer telegram-secret"},
]


@pytest.mark.parametrize("headers", FORGED)
async def test_a_forged_update_is_refused_and_leaves_nothing(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    async with world(tmp_path) as here:
        assert await here.post(here.telegram.message("forged", USER), headers) == 401
        await here.ask("real", OTHER)
        await here.telegram.wait_for(1)
    assert [each.text for each in here.telegram.deliveries] == ["re: real"]


async def test_a_mention_before_our_name_is_known_is_asked_for_again(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        early = build(here.telegram)
        webhooks = Webhooks({("telegram", "main"): early}, here.half.lanes.accept, RealClock())
        app = web.Application()
        app.add_routes(webhooks.routes())
        name = f"@{BOT_NAME}"
        entity = {"type": "mention", "offset": 0, "length": len(name)}
        update = here.telegram.in_group(f"{name} early", entities=[entity])
        async with TestClient(TestServer(app)) as client:
            starting = dataclasses.replace(here, client=client, channel=early)
            assert await starting.post(update) == 503
            await early.run(nowhere)
            assert await starting.post(update) == 200
        await here.telegram.wait_for(1)
        await early.close()
    assert here.telegram.texts_to(GROUP) == ["re: early"]


OUTCOMES: list[tuple[list[Fault], int, str]] = [
    ([Fault.BLOCKED], 0, "dead"),
    ([Fault.CHAT_NOT_FOUND], 0, "dead"),
    ([Fault.ENTITIES], 1, "sent"),
    ([Fault.ENTITIES, Fault.ENTITIES], 0, "dead"),
    ([Fault.MIGRATED], 1, "sent"),
    ([Fault.NOT_MODIFIED], 0, "sent"),
    ([Fault.RATE_BARE], 1, "sent"),
    ([Fault.SERVER_ERROR], 1, "sent"),
    ([Fault.UNAVAILABLE], 1, "sent"),
    ([Fault.BAD_GATEWAY], 0, "unknown"),
    ([Fault.CLOSE_AFTER], 1, "unknown"),
    ([Fault.TRUNCATED], 1, "unknown"),
]


@pytest.mark.parametrize(("faults", "reached", "state"), OUTCOMES)
async def test_what_becomes_of_a_reply(
    tmp_path: Path, faults: list[Fault], reached: int, state: str
) -> None:
    async with world(tmp_path) as here:
        here.telegram.faults += faults
        await here.ask("hello")
        await here.telegram.wait_for_calls("sendMessage", 1)
        await here.telegram.wait_for(reached)
        await until(here.half.states)
        assert await here.half.settled() == [state]
    assert len(here.telegram.deliveries) == reached
    assert not here.telegram.faults


async def test_a_rate_refusal_holds_its_chat_and_no_other(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.telegram.retry_after_s = 2
        here.telegram.faults.append(Fault.RATE)
        await here.ask("held")
        await here.telegram.wait_for_calls("sendMessage", 1)
        await here.ask("free", OTHER)
        await here.telegram.wait_for(1)
        assert here.telegram.texts_to(OTHER) == ["re: free"]
        await here.telegram.wait_for(2)
    assert here.telegram.texts_to(USER) == ["re: held"]
    assert here.telegram.calls.count("sendMessage") == 3


@pytest.mark.shared
async def test_every_recorded_payload_passes_the_door(tmp_path: Path) -> None:
    folder = shared("platform-specs", "telegram", "samples")
    async with world(tmp_path) as here:
        for path in sorted(folder.glob("*.json")):
            sample = json.loads(path.read_text("utf-8"))
            assert await here.post(sample) == 200, path.name
            assert await here.post({"update_id": 1, "message": sample}) == 200, path.name


# ---------------------------------------------------------------- by polling


@asynccontextmanager
async def polled(channel: TelegramChannel, accept: Accept) -> AsyncIterator[None]:
    """The connection runs meanwhile, and is cut off at the end."""
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(accept))
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await channel.close()


async def test_polling_answers_and_confirms_only_what_is_stored(tmp_path: Path) -> None:
    stored: list[int | None] = []
    async with TelegramSimulator(webhook={"url": "https://old"}).running() as telegram:
        channel = build(telegram, Mode.POLLING)
        async with durable(tmp_path, channel) as half, half.running():

            async def accept(messages: Sequence[InboundMessage]) -> None:
                stored.append(telegram.offsets[-1])
                await half.lanes.accept(messages)

            async with polled(channel, accept):
                first, second = telegram.message("one", USER), telegram.message("two", OTHER)
                telegram.push(first)
                await telegram.wait_for(1)
                telegram.push(second)
                await telegram.wait_for(2)
                await telegram.wait_for_offset(second["update_id"] + 1)
                assert channel.state.state is LinkState.READY
    assert telegram.texts_to(USER) == ["re: one"]
    assert telegram.texts_to(OTHER) == ["re: two"]
    assert stored == [None, first["update_id"] + 1]
    assert telegram.calls[:3] == ["getMe", "deleteWebhook", "getUpdates"]
    assert telegram.violations == []


async def test_what_could_not_be_stored_is_polled_again(tmp_path: Path) -> None:
    failures = [StoreError(), StoreError()]
    async with TelegramSimulator().running() as telegram:
        channel = build(telegram, Mode.POLLING)
        async with durable(tmp_path, channel) as half, half.running():

            async def accept(messages: Sequence[InboundMessage]) -> None:
                if failures:
                    raise failures.pop()
                await half.lanes.accept(messages)

            async with polled(channel, accept):
                telegram.push(telegram.message("one", USER))
                await telegram.wait_for(1)
    assert telegram.offsets[:3] == [None, None, None]
    assert telegram.texts_to(USER) == ["re: one"]


async def test_a_process_killed_after_its_reply_answers_the_replay_no_second_time(
    tmp_path: Path,
) -> None:
    async with TelegramSimulator().running() as telegram:
        question = telegram.message("/start", USER)
        telegram.push(question)
        killed = asyncio.Event()
        first = build(telegram, Mode.POLLING)
        async with durable(tmp_path, first) as half, half.running():

            async def accept_and_die(messages: Sequence[InboundMessage]) -> None:
                await half.lanes.accept(messages)
                await telegram.wait_for(1)
                killed.set()
                await asyncio.Event().wait()  # the offset is never moved

            async with polled(first, accept_and_die):
                await killed.wait()
            await half.settled()
        assert telegram.updates == [question]  # Telegram still holds it
        second = build(telegram, Mode.POLLING)
        async with durable(tmp_path, second) as half, half.running():
            async with polled(second, half.lanes.accept):
                following = telegram.message("next", USER)
                telegram.push(following)
                await telegram.wait_for(2)
                await telegram.wait_for_offset(following["update_id"] + 1)
            assert await half.settled() == ["sent", "sent"]
    assert telegram.texts_to(USER) == ["re: /start", "re: next"]
    assert telegram.updates == []


TROUBLES: list[tuple[Fault, str]] = [
    (Fault.CONFLICT, "conflict"),
    (Fault.UNAUTHORISED, "credentials"),
    (Fault.BAD_GATEWAY, "server error"),
    (Fault.CLOSE_BEFORE, "RemoteProtocolError"),
    (Fault.TRUNCATED, "unreadable answer"),
    (Fault.GARBAGE, "unreadable answer"),
    (Fault.ODD, "TypeError"),
]


@pytest.mark.parametrize(("fault", "reason"), TROUBLES)
async def test_a_broken_poll_is_our_state_and_is_tried_again(
    tmp_path: Path, fault: Fault, reason: str
) -> None:
    async with TelegramSimulator().running() as telegram:
        channel = build(telegram, Mode.POLLING)
        seen = []
        async with durable(tmp_path, channel) as half, half.running():
            telegram.poll_faults += [fault] * 3
            telegram.push(telegram.message("one", USER))
            async with polled(channel, half.lanes.accept):
                await telegram.wait_for_calls("getUpdates", 2)
                seen.append(channel.state)
                await telegram.wait_for(1)
                await telegram.wait_for_calls("getUpdates", 5)
                seen.append(channel.state)
    assert [(each.state, each.reason) for each in seen] == [
        (LinkState.DOWN, reason),
        (LinkState.READY, ""),
    ]
    assert telegram.texts_to(USER) == ["re: one"]


@pytest.mark.parametrize("mode", [*Mode])
async def test_a_platform_that_is_down_at_start_is_waited_for(mode: Mode) -> None:
    async with TelegramSimulator().running() as telegram:
        channel = build(telegram, mode)
        assert channel.state.state is LinkState.STARTING
        telegram.faults += [Fault.BAD_GATEWAY, Fault.CLOSE_BEFORE, Fault.UNAUTHORISED]
        async with polled(channel, nowhere):
            await telegram.wait_for_calls("getMe", 3)
            states = [channel.state.state]
            if mode is Mode.POLLING:
                await telegram.wait_for_calls("getUpdates", 2)
            else:
                await until(lambda: channel.state.state is LinkState.READY)
            states.append(channel.state.state)
    assert states == [LinkState.DOWN, LinkState.READY]
    assert telegram.calls[:4] == ["getMe"] * 4


async def test_numbers_that_begin_anew_after_a_quiet_time_are_read(tmp_path: Path) -> None:
    async with TelegramSimulator().running() as telegram:
        channel = build(telegram, Mode.POLLING)
        async with (
            durable(tmp_path, channel) as half,
            half.running(),
            polled(channel, half.lanes.accept),
        ):
            await telegram.wait_for_calls("getUpdates", 2)
            telegram.poll_faults.append(Fault.BAD_GATEWAY)  # the next poll asks without waiting
            telegram.push(telegram.message("one", USER))
            await telegram.wait_for_calls("getUpdates", 5)
            await telegram.wait_for_offset(None)
            telegram.push(telegram.message("two", OTHER) | {"update_id": 5})
            await telegram.wait_for(2)
    assert telegram.texts_to(OTHER) == ["re: two"]


async def test_an_odd_update_among_others_stops_none_of_them(tmp_path: Path) -> None:
    async with TelegramSimulator().running() as telegram:
        channel = build(telegram, Mode.POLLING)
        odd: list[dict[str, Any]] = [
            {"update_id": 800_000, "message": {"message_id": "x"}},
            {"update_id": 800_001, "message": 7},
            {"update_id": 800_002, "new_update_kind": {"some_field": 1}},
        ]
        async with durable(tmp_path, channel) as half, half.running():
            telegram.push(*odd, telegram.message("\ud83d one", USER) | {"update_id": 800_003})
            async with polled(channel, half.lanes.accept):
                await telegram.wait_for(1)
                await telegram.wait_for_offset(800_004)
    assert telegram.texts_to(USER) == ["re: \ufffd one"]
    assert telegram.updates == []
