"""LINE's reply path: free while the token is young, then a push to the same chat, counted."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.interfaces import Channel, Claimed, Unmetered
from gateway.sending import SendingOptions
from tests.faults.doors import DIRECT, GROUP, PLACES, THREAD, Door, door, line, until
from tests.journeys.durable import Durable
from tests.simulators.line import PUSH, REPLY, Fault, LineSimulator

CHATS = {DIRECT: "U" + "1" * 32, GROUP: "C" + "2" * 32, THREAD: "R" + "3" * 32}


class Counted(Unmetered):
    """Keeps what was counted."""

    def __init__(self) -> None:
        self.counts: list[tuple[str, Mapping[str, str]]] = []

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        self.counts.append((name, labels))

    def of(self, name: str) -> list[Mapping[str, str]]:
        return [labels for each, labels in self.counts if each == name]


@asynccontextmanager
async def late(home: Path, **over: Any) -> AsyncIterator[tuple[Door, LineSimulator]]:
    """A model that takes longer than a token lives, unless `reply_window_s` says otherwise."""
    async with line(**{"reply_window_s": 0.0, **over}) as opened, door(opened, home) as here:
        yield here, opened.simulator


# ---------------------------------------------------------------- a token that is good no more


@pytest.mark.parametrize("place", PLACES)
async def test_an_answer_after_its_token_is_pushed_to_the_chat_of_the_question(
    place: str, tmp_path: Path
) -> None:
    async with late(tmp_path) as (here, told):
        await here.ask("hello", place)
        await until(here.platform.posts)
        assert await here.half.settled() == ["sent"]
    assert [(each.path, each.to) for each in told.deliveries] == [(PUSH, CHATS[place])]
    assert told.deliveries[0].key


TOKENS: dict[str, Any] = {
    "LINE says expired": lambda told: told.faults.append(Fault.TOKEN_EXPIRED),
    "used by somebody else": lambda told: used(told, is_used=True),
    "a minute old at LINE": lambda told: used(told, issued_at=told.now() - 61.0),
    "never handed out": lambda told: told.tokens.clear(),
}


def used(told: LineSimulator, **over: Any) -> None:
    for token in told.tokens.values():
        for name, value in over.items():
            setattr(token, name, value)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("spoil", TOKENS.values(), ids=TOKENS)
async def test_a_token_that_is_refused_is_followed_by_one_push_with_a_key(
    spoil: Any, place: str, tmp_path: Path
) -> None:
    async with late(tmp_path, reply_window_s=45.0) as (here, told):
        delivery = here.platform.says("hello", place)
        spoil(told)
        await here.bring(delivery)
        await until(here.platform.posts)
        assert await here.half.settled() == ["sent"]
    assert told.calls == [REPLY, PUSH]
    assert [(each.path, each.to) for each in told.deliveries] == [(PUSH, CHATS[place])]


OTHER_REFUSALS = [Fault.BAD_REQUEST, Fault.FORBIDDEN, Fault.UNAUTHORISED]


@pytest.mark.parametrize("fault", OTHER_REFUSALS)
async def test_any_other_refusal_of_a_reply_is_final_and_no_push(
    fault: Fault, tmp_path: Path
) -> None:
    async with late(tmp_path, reply_window_s=45.0) as (here, told):
        told.faults.append(fault)
        await here.ask("hello")
        await until(lambda: told.calls)
        assert await here.half.settled() == ["dead"]
    assert told.calls == [REPLY]


IN_DOUBT = [Fault.CLOSE_AFTER, Fault.CLOSE_BEFORE, Fault.GARBAGE]


@pytest.mark.parametrize("fault", IN_DOUBT)
async def test_a_reply_in_doubt_is_told_apart_and_followed_by_nothing(
    fault: Fault, tmp_path: Path
) -> None:
    async with late(tmp_path, reply_window_s=45.0) as (here, told):
        told.faults.append(fault)
        await here.ask("hello")
        await until(lambda: told.calls)
        assert await here.half.settled() == ["unknown"]
        await here.ask("and now?")
        await until(lambda: "re: and now?" in here.texts())
    assert told.calls == [REPLY, REPLY]


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.RATE])
async def test_a_reply_that_line_did_not_take_goes_again_by_the_same_token(
    fault: Fault, tmp_path: Path
) -> None:
    async with late(tmp_path, reply_window_s=45.0) as (here, told):
        told.faults += [fault, fault]
        await here.ask("hello")
        await until(here.platform.posts)
        assert await here.half.settled() == ["sent"]
    assert told.calls == [REPLY] * 3
    assert here.texts() == ["re: hello"]


async def test_a_reply_that_line_took_before_it_failed_is_never_pushed(tmp_path: Path) -> None:
    async with late(tmp_path, reply_window_s=45.0) as (here, told):
        told.faults.append(Fault.SERVER_ERROR_AFTER)
        await here.ask("hello")
        await until(lambda: len(told.calls) == 2)
        assert await here.half.settled() == ["unknown"]
    assert told.calls == [REPLY, REPLY]
    assert here.texts() == ["re: hello"]


# ---------------------------------------------------------------- the month's quota


@asynccontextmanager
async def counted(
    home: Path, window_s: float
) -> AsyncIterator[tuple[Door, LineSimulator, Counted]]:
    meter = Counted()
    async with line(reply_window_s=window_s, push_overflow=True) as opened:
        sending = SendingOptions(first_pause_s=0.001, longest_pause_s=0.01, meter=meter)
        async with door(opened, home, twelve_parts, sending=sending) as here:
            yield here, opened.simulator, meter


async def twelve_parts(half: Durable, claimed: Claimed, _: Channel) -> None:
    count = 12 if claimed.message.text == "long" else 1
    await half.reply(claimed, *(f"{claimed.message.text} {n}" for n in range(count)))


async def test_a_used_up_quota_ends_the_push_and_tells_the_operator(tmp_path: Path) -> None:
    """Once each: no storm of further tries, a dead letter, an error in the log, a figure."""
    with capture_logs() as logs:
        async with counted(tmp_path, 0.0) as (here, told, meter):
            told.faults += [Fault.QUOTA] * 50
            for words in ("one", "two"):
                await here.ask(words)
            await until(lambda: len(told.calls) == 2)
            assert await here.half.settled() == ["dead", "dead"]
            reasons = [reason for _, reason in await here.half.states()]
    assert told.calls == [PUSH, PUSH]
    assert reasons == ["monthly quota used up"] * 2
    alerts = [each for each in logs if each["log_level"] == "error"]
    assert [(each["event"], each["reason"]) for each in alerts] == [
        ("call given up", "monthly quota used up")
    ] * 2
    assert meter.of("given_up") == [{"channel": "line", "state": "dead"}] * 2
    assert meter.of("rate_limited") == []


async def test_a_used_up_quota_does_not_touch_replies(tmp_path: Path) -> None:
    """The reply is free; only what goes beyond its five messages is lost."""
    async with counted(tmp_path, 45.0) as (here, told, meter):
        await here.ask("short")
        await until(here.platform.posts)
        told.faults += [None, Fault.QUOTA, Fault.QUOTA]  # type: ignore[list-item]
        await here.ask("long")
        await until(lambda: len(told.calls) == 4)
        await here.ask("again")
        await until(lambda: here.texts()[-1] == "again 0")
        assert sorted(await here.half.settled()) == ["dead", "dead", "sent", "sent", "sent"]
    assert told.calls == [REPLY, REPLY, PUSH, PUSH, REPLY]
    assert here.texts() == ["short 0", *(f"long {n}" for n in range(5)), "again 0"]
    assert len(meter.of("given_up")) == 2


async def test_the_rate_is_told_from_the_quota(tmp_path: Path) -> None:
    async with counted(tmp_path, 0.0) as (here, told, meter):
        told.faults += [Fault.RATE, Fault.RATE]
        await here.ask("hello")
        await until(here.platform.posts)
        assert await here.half.settled() == ["sent"]
    assert told.calls == [PUSH] * 3
    assert len({each.key for each in told.deliveries}) == 1
    assert len(meter.of("rate_limited")) == 2
    assert meter.of("given_up") == []
