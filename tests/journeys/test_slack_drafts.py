"""Drafts on Slack: a message that grows, is silent when told to be, and becomes the reply."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from channels.slack.channel import DRAFT_EVERY_S, SlackChannel, SlackSettings
from gateway.core.messages import (
    Conversation,
    Delivered,
    InboundMessage,
    OutboundCall,
    ReplyHandle,
    RetryLater,
    SendMethod,
    TryOtherMethod,
)
from gateway.core.secrets import Secret
from gateway.core.splitting import units
from gateway.errors import ChannelError
from tests.simulators.slack import (
    CHANNEL,
    DIRECT,
    POST,
    UPDATE,
    Error,
    Fault,
    SlackSimulator,
    shown,
)

ROOT = "1772350000.000200"
IM = Conversation("slack", "main", DIRECT, is_direct=True)
THREAD = Conversation("slack", "main", f"{CHANNEL}:{ROOT}", parent_id=CHANNEL)
TURN, OTHER_TURN = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


@dataclass
class World:
    """A channel whose time moves only when told to."""

    slack: SlackSimulator
    channel: SlackChannel
    now_s: float = 1000.0

    async def say(self, text: str, place: Conversation = IM, turn: str = TURN) -> None:
        message = InboundMessage(place, "Ev1", "key", "question", datetime.now(UTC))
        await self.channel.show_delta(message, turn, text)

    async def finish(self, text: str, place: Conversation = IM, turn: str = TURN) -> object:
        """As the outbox does: the preview is the first call's handle."""
        now, preview = datetime.now(UTC), self.channel.preview(turn)
        handle = ReplyHandle(preview, now + timedelta(days=1)) if preview else None
        call = OutboundCall("call", turn, 0, place, (text,), "key", now, handle)
        return await self.channel.send(call, self.channel.method(call, now))


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with SlackSimulator().running() as slack:
        settings = SlackSettings(
            name="main",
            agent="helper",
            bot_token=Secret(slack.token),
            signing_secret=Secret(slack.secret),
            api_base_url=slack.api_url,
        )
        world = World(slack, SlackChannel(settings, monotonic=lambda: world.now_s))
        world.channel._client.settle_s = 0.0
        yield world
        await world.channel.close()
    assert slack.violations == []


async def test_a_draft_grows_in_one_message_and_becomes_the_reply(here: World) -> None:
    for piece in ("特休", "有", "七日", "。"):
        await here.say(piece, THREAD)
        here.now_s += DRAFT_EVERY_S / 2
    [message] = here.slack.messages
    assert (message.channel, message.thread) == (CHANNEL, ROOT)
    assert [*message.edits, message.text] == ["特休", "特休有七日"]
    assert here.channel.preview(TURN) == f"{CHANNEL}:{message.ts}"
    assert isinstance(await here.finish("特休有七日。[1]", THREAD), Delivered)
    assert here.slack.texts_in(CHANNEL, ROOT) == ["特休有七日。[1]"]
    assert here.slack.calls == [POST, UPDATE, UPDATE]
    assert here.channel.preview(TURN) is None


async def test_drafts_of_two_turns_do_not_mix(here: World) -> None:
    await here.say("one", IM, TURN)
    await here.say("two", THREAD, OTHER_TURN)
    here.now_s += DRAFT_EVERY_S
    await here.say("!", IM, TURN)
    await here.finish("two.", THREAD, OTHER_TURN)
    assert here.slack.texts_in(DIRECT) == ["one!"]
    assert here.slack.texts_in(CHANNEL, ROOT) == ["two."]


async def test_a_chat_that_is_rate_limited_stays_silent_and_gets_the_whole_text(
    here: World,
) -> None:
    await here.say("a")
    here.slack.retry_after_s = "33"
    here.slack.faults.append(Fault.RATE)
    here.now_s += DRAFT_EVERY_S
    await here.say("b")
    calls = len(here.slack.calls)
    for _ in range(20):
        here.now_s += 1.6
        await here.say("c")
        assert here.channel.reserve(IM) > 0.0
    assert len(here.slack.calls) == calls
    assert here.channel.reserve(THREAD) == 0.0
    here.now_s += 1.1
    assert here.channel.reserve(IM) == 0.0
    assert isinstance(await here.finish("ab" + "c" * 20), Delivered)
    assert here.slack.texts_in(DIRECT) == ["ab" + "c" * 20]


async def test_a_rate_limited_reply_silences_the_drafts_of_that_chat(here: World) -> None:
    here.slack.retry_after_s = "10"
    here.slack.faults.append(Fault.RATE)
    assert isinstance(await here.finish("x"), RetryLater)
    await here.say("draft")
    assert here.slack.calls == [POST]


async def test_one_message_a_second_and_chat_with_a_small_burst(here: World) -> None:
    other = Conversation("slack", "main", f"{CHANNEL}:1772350000.000300", parent_id=CHANNEL)
    assert [here.channel.reserve(place) for place in (THREAD, other, THREAD)] == [0.0, 0.0, 0.0]
    assert 0.0 < here.channel.reserve(other) <= 1.0
    assert here.channel.reserve(IM) == 0.0


@pytest.mark.parametrize(
    "draft", ["<!channel> & <@U1>", "&" * 9000, "😀" * 5000, "\x00a\ud800", "```py\n" + "<" * 5000]
)
async def test_a_draft_is_escaped_and_cut_to_the_limit(here: World, draft: str) -> None:
    await here.say(draft)
    [message] = here.slack.messages
    assert len(message.text.encode("utf-16-le")) // 2 <= 3900
    assert "<" not in message.text
    assert len(shown(message.text)) >= min(2, len(draft))
    assert units(message.text, here.channel.limits.unit) > 0


@pytest.mark.parametrize("draft", ["", " \n", "\x00"])
async def test_nothing_is_shown_of_nothing(here: World, draft: str) -> None:
    await here.say(draft)
    assert here.slack.calls == []


async def test_a_preview_that_was_deleted_is_posted_anew(here: World) -> None:
    await here.say("a")
    here.slack.messages.clear()
    here.now_s += DRAFT_EVERY_S
    with pytest.raises(ChannelError):
        await here.say("b")
    assert isinstance(await here.finish("ab"), TryOtherMethod)
    call = OutboundCall("call", TURN, 0, IM, ("ab",), "key", datetime.now(UTC))
    assert isinstance(await here.channel.send(call, SendMethod.POST), Delivered)
    assert here.slack.texts_in(DIRECT) == ["ab"]


async def test_the_final_edit_may_say_what_is_shown(here: World) -> None:
    await here.say("done")
    here.slack.faults.append(Error("message_not_modified"))
    assert isinstance(await here.finish("done"), Delivered)
    assert here.slack.texts_in(DIRECT) == ["done"]


@pytest.mark.parametrize("fault", [Error("not_in_channel"), Fault.GATEWAY_TIMEOUT])
async def test_a_draft_that_cannot_be_shown_is_an_error_of_the_channel(
    here: World, fault: Fault | Error
) -> None:
    here.slack.faults.append(fault)
    with pytest.raises(ChannelError):
        await here.say("a")
    assert here.channel.preview(TURN) is None


async def test_a_draft_whose_post_was_cut_off_is_found_again(here: World) -> None:
    here.slack.faults.append(Fault.CLOSE_AFTER)
    await here.say("a")
    [message] = here.slack.messages
    assert here.channel.preview(TURN) == f"{DIRECT}:{message.ts}"
    await here.finish("a.")
    assert here.slack.texts_in(DIRECT) == ["a."]


async def test_a_preview_from_before_a_crash_goes_on(here: World) -> None:
    await here.say("before")
    [message] = here.slack.messages
    preview = here.channel.preview(TURN)
    assert preview is not None
    settings = here.channel._settings
    await here.channel.close()
    here.channel = SlackChannel(settings, monotonic=lambda: here.now_s)
    here.channel.adopt_preview(TURN, preview)
    await here.say("after")
    assert here.slack.texts_in(DIRECT) == ["after"]
    assert [each.ts for each in here.slack.messages] == [message.ts]
    await here.finish("after.")
    assert here.slack.texts_in(DIRECT) == ["after."]
