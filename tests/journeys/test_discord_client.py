"""What each answer of Discord means for a call we owe, and what of a text Discord gets to see."""

import dataclasses
import json
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from channels.discord import render
from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.discord.client import DiscordClient, Trouble
from gateway.core import footer, splitting
from gateway.core.messages import (
    Attachment,
    Conversation,
    Delivered,
    InboundMessage,
    OutboundCall,
    Refused,
    ReplyHandle,
    RetryLater,
    SendMethod,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.passages import Locator, Passage
from gateway.core.secrets import Secret
from gateway.errors import ChannelError, ConfigError
from tests.fakes.wound_clock import WoundClock
from tests.simulators.discord import (
    BOT_ID,
    DM_ID,
    OTHER_ID,
    OWN_SPEC,
    DiscordSimulator,
    Fault,
)
from tests.simulators.shared import shared

PLACE = Conversation("discord", "main", DM_ID, is_direct=True)
QUESTION_ID = "5"


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock()


@pytest.fixture
async def simulator(clock: WoundClock) -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator(wall=clock.monotonic).running() as running:
        yield running
    assert running.violations == []


@pytest.fixture
async def channel(simulator: DiscordSimulator, clock: WoundClock) -> AsyncIterator[DiscordChannel]:
    channel = DiscordChannel(settings(simulator), clock)
    yield channel
    await channel.close()


def settings(simulator: DiscordSimulator, token: str | None = None) -> DiscordSettings:
    return DiscordSettings(
        "main", "helper", Secret(token or simulator.token), api_base_url=simulator.url
    )


def owed(clock: WoundClock, part: str = "answer", seq: int = 0, turn: int = 2) -> OutboundCall:
    return OutboundCall(
        id=str(uuid.UUID(int=100 * turn + seq)),
        turn_id=str(uuid.UUID(int=turn)),
        seq=seq,
        conversation=PLACE,
        parts=(part,),
        idempotency_key=str(uuid.UUID(int=7_000 + 100 * turn + seq)),
        created_at=clock.now(),
        reply_to=QUESTION_ID if seq == 0 else None,
    )


def question(clock: WoundClock) -> InboundMessage:
    return InboundMessage(PLACE, "5", f"{DM_ID}:5", "question", clock.now(), reply_to=QUESTION_ID)


def shown_as(call: OutboundCall, preview: str, clock: WoundClock) -> OutboundCall:
    handle = ReplyHandle(preview, clock.now() + timedelta(days=1000))
    return dataclasses.replace(call, reply_handle=handle)


async def send(channel: DiscordChannel, call: OutboundCall) -> SendOutcome:
    return await channel.send(call, channel.method(call, call.created_at))


async def test_a_long_reply_goes_in_several_messages_and_only_the_first_refers(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    parts = splitting.split("字" * 2001, "", channel.limits, "cut")
    assert len(parts) == 2
    for seq, part in enumerate(parts):
        assert isinstance(await send(channel, owed(clock, part, seq)), Delivered)
    assert simulator.ours() == list(parts)
    references = [payload.get("message_reference") for payload in simulator.payloads]
    assert references == [{"message_id": QUESTION_ID, "fail_if_not_exists": False}, None]


def test_a_code_block_that_is_cut_is_closed_and_opened_again() -> None:
    body = "x " * 975 + "\n```python\n" + "print(arr[1])\n" * 40 + "```"
    parts = splitting.split(body, "[1] 手冊 · p. 3", render.LIMITS, "cut")
    assert len(parts) >= 2
    for part in parts:
        content = render.edit(part)["content"]
        assert len(content) <= 2000
        assert content.count("```") % 2 == 0
    assert parts[1].startswith("```python\n")
    assert parts[-1].endswith("[1] 手冊 · p. 3")


MENTIONS = [
    "@everyone", "@here", "@EVERYONE", f"<@{BOT_ID}>", f"<@!{BOT_ID}>", "<@&123>", "<#123>",
    "</ask:123>", "<t:1700000000:R>", "<:smile:123>", "<a:dance:123>", "<id:customize>",
    "[Policy](https://evil.example)", "[Policy](<https://evil.example>)", "<@U1>",
    "[1](https://evil.example)", "<https://evil.example|Policy>", "[x]( https://evil.example)",
]  # fmt: skip
TITLES = [*MENTIONS, "**bold** ||x|| `code` # head", "@everyone <!channel>"]
LIVE = ("@everyone", "@here", "<@", "<#1", "</ask", "<t:", "<:", "<a:", "<id:", "](h", "](<h",
        "<https", "]( h")  # fmt: skip


@pytest.mark.parametrize("text", MENTIONS)
async def test_nothing_in_a_body_mentions_anybody_or_masks_a_link(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock, text: str
) -> None:
    assert isinstance(await send(channel, owed(clock, f"see {text} [1]")), Delivered)
    [content] = simulator.ours()
    assert not any(sign in content.lower() for sign in LIVE)
    assert content.endswith(" [1]")
    [payload] = simulator.payloads
    assert payload["allowed_mentions"] == {"parse": [], "replied_user": False}
    assert payload["flags"] & (1 << 2)


@pytest.mark.parametrize("title", TITLES)
def test_nothing_in_a_title_is_live_and_the_footer_keeps_its_limit(title: str) -> None:
    passage = Passage(1, "c", "s", "r", 0, title * 20, f"{title} annual leave", Locator(page=3))
    sources = footer.build({1: passage}, "annual leave?", render.LIMITS, "+{count}")
    content = render.edit(sources)["content"]
    assert content == sources  # the footer needs no further care, so it keeps its length
    assert content.startswith("[1] ")
    assert content.endswith(("p. 3", "」", "”"))
    assert len(content) <= 600
    assert not any(sign in content.lower() for sign in (*LIVE, "**", "||", "`", "# "))


def test_code_and_marks_stay_as_they_are() -> None:
    text = "see [1][2]\n```html\n<div></div> a<b arr[0](x) x@y.z\n```\nmail hr@corp.example"
    assert render.literal(text) == text


@given(st.text(alphabet="@everyonh<>[]()!#&:/htps 1\n\u200b😀", max_size=40))
def test_harmless_text_never_grows_and_is_told_again(text: str) -> None:
    harmless = render.literal(text)
    assert len(harmless) <= len(text)
    assert render.literal(harmless) == harmless


@pytest.mark.parametrize("part", ["", " \n", "\u200b", "\u2060 \ufeff", "x" * 2001, "\u0000"])
async def test_what_discord_would_refuse_is_not_sent(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock, part: str
) -> None:
    assert isinstance(await send(channel, owed(clock, part)), Refused)
    assert simulator.calls == []


NOT_SENT = [Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.CLOSE_BEFORE]
IN_DOUBT = [Fault.CLOSE_AFTER, Fault.TRUNCATED, Fault.GARBAGE]


@pytest.mark.parametrize("fault", [*NOT_SENT, *IN_DOUBT])
async def test_whatever_went_wrong_a_repeat_is_one_message(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock, fault: Fault
) -> None:
    simulator.faults.append(fault)
    call = owed(clock)
    first = await send(channel, call)
    assert isinstance(first, RetryLater)
    assert len(simulator.calls) == 1  # the outbox repeats, not the SDK
    clock.wind(seconds=100)
    again = await send(channel, call)
    assert isinstance(again, Delivered)
    assert simulator.ours() == ["answer"]


@pytest.mark.parametrize("fault", IN_DOUBT)
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_late_repeat_finds_the_message_that_is_there(
    simulator: DiscordSimulator,
    channel: DiscordChannel,
    clock: WoundClock,
    fault: Fault,
    is_restarted: bool,
) -> None:
    simulator.faults.append(fault)
    call = owed(clock, "the same  answer [1]\n")
    assert isinstance(await send(channel, call), RetryLater)
    clock.wind(hours=1)  # the nonce is long forgotten
    other = DiscordChannel(settings(simulator), clock) if is_restarted else channel
    again = await send(other, call)
    assert isinstance(again, Delivered)
    assert again.platform_ids == (simulator.messages[DM_ID][0]["id"],)
    assert len(simulator.ours()) == 1
    await other.close()


async def test_a_late_first_try_is_sent_though_others_said_the_same(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    await simulator.send(simulator.said("answer", OTHER_ID))
    late = owed(clock, turn=3)
    clock.wind(seconds=1)
    assert isinstance(await send(channel, owed(clock, turn=2)), Delivered)
    clock.wind(hours=1)
    for _ in range(2):
        assert isinstance(await send(channel, late), Delivered)
    assert simulator.ours() == ["answer", "answer"]


async def test_the_same_words_to_another_question_are_another_message(
    simulator: DiscordSimulator, clock: WoundClock
) -> None:
    before, after = (DiscordChannel(settings(simulator), clock) for _ in range(2))
    late = dataclasses.replace(owed(clock, turn=3), reply_to="6")
    assert isinstance(await send(before, owed(clock, turn=2)), Delivered)
    clock.wind(hours=1)
    assert isinstance(await send(after, late), Delivered)
    assert simulator.ours() == ["answer", "answer"]
    await before.close()
    await after.close()


async def test_the_look_back_reads_on_in_a_busy_channel_and_fails_closed(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    for n in range(250):
        await simulator.send(simulator.said(f"chatter {n}", OTHER_ID))
    simulator.faults.append(Fault.CLOSE_AFTER)
    call = owed(clock)
    assert isinstance(await send(channel, call), RetryLater)
    clock.wind(hours=1)
    simulator.faults.append(Fault.UNAVAILABLE)
    assert isinstance(await send(channel, call), RetryLater)  # it cannot look, so it waits
    assert isinstance(await send(channel, call), Delivered)
    assert simulator.ours() == ["answer"]


async def test_without_a_right_to_the_history_the_reply_goes_without_reference(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    simulator.faults.append(Fault.NO_HISTORY)
    assert isinstance(await send(channel, owed(clock)), Delivered)
    assert "message_reference" not in simulator.payloads[0]
    call = owed(clock, turn=4)
    clock.wind(hours=1)
    simulator.faults.append(Fault.FORBIDDEN)  # of the look back
    assert isinstance(await send(channel, call), Delivered)
    assert len(simulator.ours()) == 2


@pytest.mark.parametrize(
    "fault",
    [Fault.FORBIDDEN, Fault.DM_CLOSED, Fault.NO_CHANNEL, Fault.BAD_REQUEST, Fault.UNAUTHORISED],
)
async def test_a_refusal_for_good_is_told_without_the_token(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock, fault: Fault
) -> None:
    simulator.faults.append(fault)
    outcome = await send(channel, owed(clock))
    assert isinstance(outcome, Refused)
    assert simulator.token not in repr(outcome)
    assert len(simulator.calls) == 1


async def test_a_wrong_token_is_refused_and_told_by_check(
    simulator: DiscordSimulator, clock: WoundClock
) -> None:
    wrong = DiscordChannel(settings(simulator, "wrong"), clock)
    assert await send(wrong, owed(clock)) == Refused("wrong_token")
    [check] = await wrong.check()
    assert (check.name, check.is_ok, check.detail) == ("credentials", False, "wrong_token")
    await wrong.close()


async def test_check_looks_at_token_gateway_and_content_intent(
    simulator: DiscordSimulator, channel: DiscordChannel
) -> None:
    assert [(each.name, each.is_ok) for each in await channel.check()] == [
        ("credentials", True),
        ("connection", True),
        ("message_content_intent", True),
    ]
    simulator.application_flags = 0
    assert [each.is_ok for each in await channel.check()] == [True, True, False]


async def test_a_platform_that_is_down_is_waited_for(clock: WoundClock) -> None:
    nowhere = DiscordSettings("main", "helper", Secret("t"), api_base_url="http://127.0.0.1:9")
    channel = DiscordChannel(nowhere, clock)
    assert isinstance(await send(channel, owed(clock)), RetryLater)
    [check] = await channel.check()
    assert not check.is_ok
    await channel.close()


async def test_a_hang_is_in_doubt_and_repeated(simulator: DiscordSimulator) -> None:
    client = DiscordClient(
        Secret(simulator.token), simulator.url, lambda *_: None, call_timeout_s=0.5
    )
    payload = render.message("answer", "nonce", None)
    await client.open()
    for fault in (Fault.HANG, Fault.HANG_AFTER):
        simulator.faults.append(fault)
        with pytest.raises(Trouble) as caught:
            await client.post(DM_ID, payload)
        assert caught.value.status is None
    assert await client.post(DM_ID, payload)
    assert simulator.ours() == ["answer"]
    await client.close()


# ---------------------------------------------------------------- rates


async def test_five_messages_go_at_once_and_then_one_a_second(
    channel: DiscordChannel, clock: WoundClock
) -> None:
    assert [channel.reserve(PLACE) for _ in range(5)] == [0.0] * 5
    assert 0.0 < channel.reserve(PLACE) <= 1.0
    elsewhere = dataclasses.replace(PLACE, id="1")
    assert channel.reserve(elsewhere) == 0.0
    clock.wind(seconds=1)
    assert channel.reserve(PLACE) == 0.0


@pytest.mark.parametrize(
    ("fault", "held_elsewhere_s"),
    [(Fault.RATE, 0.0), (Fault.GLOBAL_RATE, 33.0), (Fault.EDGE_RATE, 33.0)],
)
async def test_a_429_is_not_slept_through_but_held(
    simulator: DiscordSimulator,
    channel: DiscordChannel,
    clock: WoundClock,
    fault: Fault,
    held_elsewhere_s: float,
) -> None:
    simulator.faults.append(fault)
    simulator.retry_after_s = 33.0
    assert await send(channel, owed(clock)) == RetryLater(33.0, "rate limit")
    assert channel.reserve(PLACE) == 33.0
    assert channel.reserve(dataclasses.replace(PLACE, id="1")) == held_elsewhere_s
    clock.wind(seconds=33.5)
    assert channel.reserve(PLACE) == 0.0


async def test_a_spent_window_is_waited_for_before_it_is_refused(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    simulator.rate_headers = {
        "X-RateLimit-Limit": "5",
        "X-RateLimit-Remaining": "3",
        "X-RateLimit-Reset-After": "4.5",
        "X-RateLimit-Bucket": "abc",
    }
    assert isinstance(await send(channel, owed(clock)), Delivered)
    assert channel.reserve(PLACE) == 0.0
    simulator.rate_headers["X-RateLimit-Remaining"] = "0"
    assert isinstance(await send(channel, owed(clock, turn=3)), Delivered)
    assert channel.reserve(PLACE) == 4.5


# ---------------------------------------------------------------- drafts


async def test_a_draft_is_shown_at_intervals_and_becomes_the_reply(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    call = owed(clock)
    for piece in ("An", "nual ", "leave "):
        await channel.show_delta(question(clock), call.turn_id, piece)
    assert simulator.ours() == ["An"]
    clock.wind(seconds=2)
    await channel.show_delta(question(clock), call.turn_id, "is @everyone")
    assert simulator.ours() == ["Annual leave is ＠everyone"]
    preview = channel.preview(call.turn_id)
    assert preview is not None
    final = shown_as(call, preview, clock)
    assert channel.method(final, clock.now()) is SendMethod.EDIT
    for _ in range(2):  # saying the same twice is no failure
        assert await send(channel, final) == Delivered((preview,))
    assert simulator.ours() == ["answer"]
    assert [key for key in simulator.payloads[0] if key == "message_reference"]


async def test_a_reply_equal_to_its_draft_is_delivered(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    call = owed(clock)
    await channel.show_delta(question(clock), call.turn_id, "answer")
    preview = channel.preview(call.turn_id)
    assert preview is not None
    assert isinstance(await send(channel, shown_as(call, preview, clock)), Delivered)
    assert simulator.ours() == ["answer"]


async def test_a_re_run_goes_on_with_the_draft_that_is_there(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    call = owed(clock)
    await channel.show_delta(question(clock), call.turn_id, "first ")
    for adopts in (False, True):
        again = DiscordChannel(settings(simulator), clock)
        if adopts:
            again.adopt_preview(call.turn_id, channel.preview(call.turn_id) or "")
        await again.show_delta(question(clock), call.turn_id, "first ")
        clock.wind(seconds=2)
        await again.show_delta(question(clock), call.turn_id, "and more")
        assert simulator.ours() == ["first and more"]
        assert again.preview(call.turn_id) == channel.preview(call.turn_id)
        await again.close()


async def test_a_draft_that_was_deleted_makes_way_for_a_new_message(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    call = shown_as(owed(clock), "123", clock)
    assert isinstance(await send(channel, call), TryOtherMethod)
    without = dataclasses.replace(call, reply_handle=None)
    assert channel.method(without, clock.now()) is SendMethod.NONCE
    assert isinstance(await send(channel, without), Delivered)
    assert simulator.ours() == ["answer"]


@pytest.mark.parametrize("fault", [Fault.FORBIDDEN, Fault.BAD_REQUEST])
@pytest.mark.parametrize("is_deletable", [True, False])
async def test_a_draft_that_cannot_be_edited_goes_before_the_reply_is_posted_anew(
    simulator: DiscordSimulator,
    channel: DiscordChannel,
    clock: WoundClock,
    fault: Fault,
    is_deletable: bool,
) -> None:
    call = owed(clock)
    await channel.show_delta(question(clock), call.turn_id, "draft")
    final = shown_as(call, channel.preview(call.turn_id) or "", clock)
    simulator.faults += [fault] if is_deletable else [fault, Fault.FORBIDDEN]
    assert isinstance(await send(channel, final), TryOtherMethod)
    assert simulator.ours() == ([] if is_deletable else ["draft"])


@pytest.mark.parametrize("fault", [*NOT_SENT, *IN_DOUBT])
async def test_an_edit_in_doubt_is_repeated_until_the_text_is_right(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock, fault: Fault
) -> None:
    call = owed(clock)
    await channel.show_delta(question(clock), call.turn_id, "draft")
    final = shown_as(call, channel.preview(call.turn_id) or "", clock)
    simulator.faults.append(fault)
    assert isinstance(await send(channel, final), RetryLater)
    clock.wind(hours=1)
    assert isinstance(await send(channel, final), Delivered)
    assert simulator.ours() == ["answer"]


async def test_a_429_on_a_draft_silences_the_chat_and_the_reply_still_comes(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    call = owed(clock)
    await channel.show_delta(question(clock), call.turn_id, "draft ")
    clock.wind(seconds=2)
    simulator.faults.append(Fault.RATE)
    simulator.retry_after_s = 33.0
    with pytest.raises(ChannelError):
        await channel.show_delta(question(clock), call.turn_id, "goes on ")
    made = len(simulator.calls)
    for _ in range(10):
        clock.wind(seconds=3)
        await channel.show_delta(question(clock), call.turn_id, "and on ")
        await channel.show_typing(question(clock))
        assert channel.reserve(PLACE) > 0.0
    assert len(simulator.calls) == made
    clock.wind(seconds=3.5)
    assert channel.reserve(PLACE) == 0.0
    final = shown_as(call, channel.preview(call.turn_id) or "", clock)
    assert isinstance(await send(channel, final), Delivered)
    assert simulator.ours() == ["answer"]


async def test_a_draft_longer_than_a_message_is_shown_by_its_beginning(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    await channel.show_delta(question(clock), "t", "字" * 5000)
    [content] = simulator.ours()
    assert len(content) == 2000
    assert content.endswith(" …")
    await channel.show_delta(question(clock), "u", "x" + "👨\u200d👩\u200d👧" * 500)
    assert simulator.ours()[1] == "x" + "👨\u200d👩\u200d👧" * 399 + " …"


async def test_typing_is_shown_and_its_failure_told(
    simulator: DiscordSimulator, channel: DiscordChannel, clock: WoundClock
) -> None:
    await channel.show_typing(question(clock))
    assert simulator.typing == [DM_ID]
    simulator.faults.append(Fault.SERVER_ERROR)
    with pytest.raises(ChannelError):
        await channel.show_typing(question(clock))


# ---------------------------------------------------------------- files


async def read(channel: DiscordChannel, url: str) -> list[bytes]:
    return [chunk async for chunk in channel.fetch(Attachment(url, "a.pdf"))]


async def test_a_file_comes_from_the_platform_without_our_token(
    simulator: DiscordSimulator, channel: DiscordChannel
) -> None:
    simulator.files["a.pdf"] = web.Response(body=b"%PDF" * 50_000)
    url = simulator.url.replace("/api/v10", "/files/a.pdf")
    chunks = await read(channel, url)
    assert b"".join(chunks) == b"%PDF" * 50_000
    assert len(chunks) > 1
    assert not any(simulator.token in str(headers) for headers in simulator.file_headers)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest", "http://cdn.discordapp.com/x", "file:///etc/passwd",
        "https://cdn.discordapp.com.evil.example/x", "https://evil.example/cdn.discordapp.com",
        "https://cdn.discordapp.com@evil.example/x", "https://u:p@cdn.discordapp.com/x",
        "https://cdn.discordapp.com:22/x", "https://discord.com/api/v10/users/@me", "",
        "https://[::1]/x", "https://cdn.discordapp.com:port/x", "//cdn.discordapp.com/x",
    ],
)  # fmt: skip
async def test_nothing_is_fetched_from_elsewhere(
    simulator: DiscordSimulator, channel: DiscordChannel, url: str
) -> None:
    with pytest.raises(ChannelError) as caught:
        await read(channel, url)
    assert caught.value.code == "attachment_unavailable"
    assert simulator.file_headers == []


def test_discords_own_file_hosts_are_open() -> None:
    client = DiscordClient(Secret("t"), "https://discord.com/api/v10", lambda *_: None)
    assert client.may_fetch("https://cdn.discordapp.com/attachments/1/2/a.pdf?ex=1&is=2&hm=3")
    assert client.may_fetch("https://media.discordapp.net/attachments/1/2/a.png")


@pytest.mark.parametrize("status", [302, 403, 404, 500])
async def test_a_file_that_is_gone_or_elsewhere_is_told_so(
    simulator: DiscordSimulator, channel: DiscordChannel, status: int
) -> None:
    elsewhere = {"Location": "http://127.0.0.1:9/"}
    simulator.files["a.pdf"] = web.Response(status=status, headers=elsewhere)
    url = simulator.url.replace("/api/v10", "/files/a.pdf")
    with pytest.raises(ChannelError) as caught:
        await read(channel, url)
    assert caught.value.code == "attachment_unavailable"


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize("token", ["", "  "])
def test_an_empty_token_is_named_at_the_start(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DiscordSettings("main", "helper", Secret(token))
    assert caught.value.params["path"] == "channels.discord.main.bot_token"


def test_the_token_never_prints() -> None:
    assert "hush" not in repr(DiscordSettings("main", "helper", Secret("hush")))


@pytest.mark.shared
def test_our_copy_of_the_specification_is_a_part_of_the_official_one() -> None:
    whole = json.loads(
        shared("platform-specs", "discord", "openapi.trimmed.json").read_text("utf-8")
    )
    own = json.loads(OWN_SPEC.read_text("utf-8"))
    for name, schema in own["components"]["schemas"].items():
        assert schema == whole["components"]["schemas"][name]
    for path, methods in own["paths"].items():
        for method, operation in methods.items():
            if method != "parameters":
                there = whole["paths"][path][method]
                assert operation.get("parameters") == there.get("parameters")
                content = operation.get("requestBody", {}).get("content", {})
                for media_type, body in content.items():
                    assert body == there["requestBody"]["content"][media_type]
