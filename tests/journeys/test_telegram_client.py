"""What each answer of Telegram means for a call we owe, and what else we say to it."""

import asyncio
import dataclasses
import json
import logging
import socket
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram import render
from channels.telegram.channel import Mode, TelegramChannel, TelegramSettings
from channels.telegram.client import TelegramClient
from gateway.core.messages import (
    Attachment,
    Conversation,
    Delivered,
    InboundMessage,
    LinkState,
    OutboundCall,
    OutcomeUnknown,
    Refused,
    RetryLater,
    SendMethod,
    SendOutcome,
)
from gateway.core.secrets import Secret
from gateway.core.splitting import split
from gateway.errors import ChannelError, ConfigError
from tests.simulators.shared import shared
from tests.simulators.telegram import BOT_NAME, TOKEN, Fault, TelegramSimulator
from tests.simulators.telegram_api import OWN_SPEC, TelegramApi

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
USER, GROUP = 1001, -1001234
POST = SendMethod.POST
DIRECT = Conversation("telegram", "main", str(USER), is_direct=True)
IN_GROUP = Conversation("telegram", "main", str(GROUP))
IN_TOPIC = Conversation("telegram", "main", f"{GROUP}:4", parent_id=str(GROUP))


class Watch:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def settings(url: str = "http://127.0.0.1:9", **over: Any) -> TelegramSettings:
    plain = TelegramSettings("main", "helper", Secret(TOKEN), Secret("telegram-secret"))
    return dataclasses.replace(plain, api_base_url=url, **over)


@pytest.fixture
async def simulator() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator().running() as running:
        yield running
    assert running.violations == []


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def channel(simulator: TelegramSimulator, watch: Watch) -> AsyncIterator[TelegramChannel]:
    channel = TelegramChannel(settings(simulator.url), watch)
    yield channel
    await channel.close()


def owed(*parts: str, to: Conversation = DIRECT, reply_to: str | None = "55") -> OutboundCall:
    return OutboundCall(
        id=str(uuid.UUID(int=1)),
        turn_id=str(uuid.UUID(int=2)),
        seq=0,
        conversation=to,
        parts=parts or ("answer",),
        idempotency_key=str(uuid.UUID(int=3)),
        created_at=NOW,
        reply_to=reply_to,
    )


def said(place: Conversation) -> InboundMessage:
    return InboundMessage(place, "1", "1", "hello", NOW)


# ---------------------------------------------------------------- sending

MEANINGS: list[tuple[Fault, SendOutcome, int]] = [
    (Fault.RATE, RetryLater(7.0, "rate limit"), 0),
    (Fault.RATE_BARE, RetryLater(None, "rate limit"), 0),
    (Fault.UNAUTHORISED, Refused("credentials"), 0),
    (Fault.BLOCKED, Refused("bot was blocked by the user"), 0),
    (Fault.CHAT_NOT_FOUND, Refused("chat not found"), 0),
    (Fault.BAD_REQUEST, Refused("BadRequest"), 0),
    (Fault.NOT_MODIFIED, Delivered(), 0),
    (Fault.CONFLICT, RetryLater(None, "conflict"), 0),
    (Fault.SERVER_ERROR, RetryLater(None, "server error"), 0),
    (Fault.UNAVAILABLE, RetryLater(None, "server error"), 0),
    (Fault.UNAVAILABLE_PAGE, RetryLater(None, "server error"), 0),
    (Fault.BROKEN_PAGE, OutcomeUnknown("server error"), 0),
    (Fault.BAD_GATEWAY, OutcomeUnknown("server error"), 0),
    (Fault.CLOSE_BEFORE, OutcomeUnknown("RemoteProtocolError"), 0),
    (Fault.CLOSE_AFTER, OutcomeUnknown("RemoteProtocolError"), 1),
    (Fault.TRUNCATED, OutcomeUnknown("unreadable answer"), 1),
    (Fault.GARBAGE, OutcomeUnknown("unreadable answer"), 1),
    (Fault.ODD, OutcomeUnknown("TypeError"), 1),
]


@pytest.mark.parametrize(("fault", "outcome", "reached"), MEANINGS)
async def test_what_an_answer_means(
    simulator: TelegramSimulator,
    channel: TelegramChannel,
    fault: Fault,
    outcome: SendOutcome,
    reached: int,
) -> None:
    simulator.faults.append(fault)
    assert await channel.send(owed(), POST) == outcome
    assert len(simulator.deliveries) == reached
    assert simulator.calls == ["sendMessage"]


async def test_a_message_is_plain_text_without_a_preview(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    text = "*   **整體**：a_b_c [3] (x) https://example.com/a_b_c <b>😀</b> `"
    assert await channel.send(owed(text), POST) == Delivered(("901",))
    [delivery] = simulator.deliveries
    assert (delivery.chat, delivery.text, delivery.thread) == (str(USER), text, None)
    assert not {"parse_mode", "entities"} & delivery.fields.keys()
    assert json.loads(delivery.fields["link_preview_options"]) == {"is_disabled": True}
    told = json.loads(delivery.fields["reply_parameters"])
    assert told == {"message_id": 55, "allow_sending_without_reply": True}


@pytest.mark.parametrize("reply_to", [None, "", "x", "-1"])
async def test_a_part_that_answers_no_message_says_so(
    simulator: TelegramSimulator, channel: TelegramChannel, reply_to: str | None
) -> None:
    await channel.send(owed(reply_to=reply_to), POST)
    assert "reply_parameters" not in simulator.deliveries[0].fields


@pytest.mark.parametrize(
    ("place", "chat", "thread"),
    [(DIRECT, USER, None), (IN_GROUP, GROUP, None), (IN_TOPIC, GROUP, 4)],
)
async def test_an_answer_goes_to_the_chat_and_topic_of_its_question(
    simulator: TelegramSimulator,
    channel: TelegramChannel,
    place: Conversation,
    chat: int,
    thread: int | None,
) -> None:
    await channel.send(owed(to=place), POST)
    await channel.show_typing(said(place))
    assert [(each.chat, each.thread) for each in simulator.deliveries] == [(str(chat), thread)]
    assert simulator.actions == [(str(chat), thread)]


async def test_a_formatting_refusal_is_tried_once_more_and_only_once(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    simulator.faults.append(Fault.ENTITIES)
    assert isinstance(await channel.send(owed("a_b*c", to=IN_TOPIC), POST), Delivered)
    assert simulator.deliveries[0].fields.keys() == {"chat_id", "message_thread_id", "text"}
    simulator.faults += [Fault.ENTITIES, Fault.ENTITIES, Fault.ENTITIES]
    assert await channel.send(owed("a_b*c"), POST) == Refused("can't parse entities")
    assert simulator.calls == ["sendMessage"] * 4


async def test_a_moved_group_is_answered_at_its_new_id_from_then_on(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    simulator.faults.append(Fault.MIGRATED)
    old = Conversation("telegram", "main", "-55")
    assert isinstance(await channel.send(owed(to=old), POST), Delivered)
    assert isinstance(await channel.send(owed(to=old), POST), Delivered)
    await channel.show_typing(said(old))
    assert [each.chat for each in simulator.deliveries] == [str(simulator.migrated_to)] * 2
    assert "reply_parameters" not in simulator.deliveries[0].fields
    assert simulator.actions == [(str(simulator.migrated_to), None)]
    assert len(simulator.calls) == 4


async def test_a_move_that_was_told_needs_no_refusal(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    update = simulator.in_group(
        "x", text=None, chat={"id": -55, "type": "group"}, migrate_to_chat_id=-1009
    )
    assert channel.parse(simulator.headers(), simulator.body(update), NOW)
    await channel.send(owed(to=Conversation("telegram", "main", "-55")), POST)
    assert [each.chat for each in simulator.deliveries] == ["-1009"]


async def test_a_group_that_keeps_moving_ends_in_a_later_try(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    simulator.faults += [Fault.MIGRATED, Fault.MIGRATED]
    assert await channel.send(owed(to=IN_GROUP), POST) == RetryLater(None, "chat moved")
    assert len(simulator.calls) == 2


async def test_a_call_that_never_left_may_be_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        channel = TelegramChannel(settings(url))
        outcome = await channel.send(owed(), POST)
    assert outcome == RetryLater(None, "not connected: ConnectError")
    await channel.close()


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.HANG_AFTER])
async def test_a_call_without_an_answer_has_a_deadline(
    simulator: TelegramSimulator, fault: Fault
) -> None:
    hasty = TelegramClient(Secret(TOKEN), simulator.url, send_timeout_s=0.3)
    simulator.faults.append(fault)
    async with asyncio.timeout(20):
        outcome = await hasty.send(render.Address(USER), {"text": "answer"})
    assert outcome == OutcomeUnknown("ReadTimeout")
    await hasty.close()


@pytest.mark.parametrize(
    "parts",
    [(), ("",), (" \n",), ("\0",), ("x" * 4097,), ("😀" * 2049,), ("a", "b")],
    ids=["none", "empty", "blank", "control", "4097 units", "4098 units", "two"],
)
async def test_what_cannot_be_carried_never_leaves(
    simulator: TelegramSimulator, channel: TelegramChannel, parts: tuple[str, ...]
) -> None:
    call = dataclasses.replace(owed(), parts=parts)
    assert isinstance(await channel.send(call, POST), Refused)
    assert simulator.calls == []


@pytest.mark.parametrize("place", ["elsewhere:1001", "", "x", "1:y"])
async def test_a_place_that_is_no_chat_of_ours_is_never_written_to(
    simulator: TelegramSimulator, channel: TelegramChannel, place: str
) -> None:
    nowhere = Conversation("telegram", "main", place)
    assert isinstance(await channel.send(owed(to=nowhere), POST), Refused)
    with pytest.raises(ChannelError):
        await channel.show_typing(said(nowhere))
    assert channel.reserve(nowhere) == 0.0
    assert simulator.calls == []


LONG = (
    "第一段："
    + "說明😀👨\u200d👩\u200d👧\u200d👦。" * 900
    + "\n\n"
    + "```py\n"
    + "x = 1\n" * 2000
    + "```"
)


async def test_a_long_reply_goes_out_in_parts_that_the_platform_takes(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    footer = "[1] 手冊 · p. 3\n「＠everyone ＜b＞ *x* _y_」"
    parts = split(LONG, footer, channel.limits, "(shortened)")
    assert 1 < len(parts) <= channel.limits.max_calls
    for part in parts:
        assert isinstance(await channel.send(owed(part), POST), Delivered)
    assert simulator.texts_to(USER) == list(parts)
    assert all(len(part.encode("utf-16-le")) // 2 <= 4096 for part in parts)
    assert parts[-1].endswith(footer)


@given(text=st.text(min_size=1, max_size=60))
def test_a_text_names_nobody_in_a_group_and_stays_as_long(text: str) -> None:
    call = owed(f"x{text}@everyone @shutten mail@example.com", to=IN_GROUP)
    shown = render.message(call)["text"]
    assert "＠shutten mail@example.com" in shown
    private = render.message(dataclasses.replace(call, conversation=DIRECT))["text"]
    assert len(shown) == len(private)
    assert shown.replace("＠", "@") == private.replace("＠", "@")


# ---------------------------------------------------------------- rates and what passes the time


def test_chats_and_groups_have_their_own_rates(watch: Watch) -> None:
    channel = TelegramChannel(settings(), watch)
    assert channel.reserve(DIRECT) == 0.0
    assert channel.reserve(DIRECT) == pytest.approx(1.0)
    assert channel.reserve(IN_GROUP) == 0.0
    assert channel.reserve(IN_TOPIC) == pytest.approx(3.0)  # its topics are the same chat
    watch.now_s += 3.0
    assert channel.reserve(IN_TOPIC) == channel.reserve(DIRECT) == 0.0


def test_all_chats_together_stay_under_thirty_a_second(watch: Watch) -> None:
    channel = TelegramChannel(settings(), watch)
    begun_s, sent = watch.now_s, 0
    while watch.now_s < begun_s + 10:
        free = Conversation("telegram", "main", str(sent + 1), is_direct=True)
        if channel.reserve(free) == 0.0:
            sent += 1
        else:
            watch.now_s += 0.01
    assert sent <= 30 * 10
    assert sent >= 200


async def test_after_a_rate_refusal_of_a_draft_the_chat_is_left_alone(
    simulator: TelegramSimulator, channel: TelegramChannel, watch: Watch
) -> None:
    simulator.faults.append(Fault.RATE)
    simulator.retry_after_s = 33
    with pytest.raises(ChannelError):
        await channel.show_delta(said(DIRECT), "t1", "so far")
    for _ in range(32):
        watch.now_s += 1.0
        await channel.show_delta(said(DIRECT), "t1", " more")
        await channel.show_typing(said(DIRECT))
        assert channel.reserve(DIRECT) > 0.0
    assert simulator.calls == ["sendMessageDraft"]
    assert channel.reserve(IN_GROUP) == 0.0  # others are not held
    watch.now_s += 1.0
    assert channel.reserve(DIRECT) == 0.0
    assert isinstance(await channel.send(owed("the whole answer"), POST), Delivered)


async def test_after_a_rate_refusal_of_a_message_the_chat_is_left_alone(
    simulator: TelegramSimulator, channel: TelegramChannel, watch: Watch
) -> None:
    simulator.faults.append(Fault.RATE)
    assert await channel.send(owed(), POST) == RetryLater(7.0, "rate limit")
    await channel.show_typing(said(DIRECT))
    assert simulator.calls == ["sendMessage"]
    assert channel.reserve(DIRECT) == pytest.approx(7.0)


async def test_a_draft_grows_under_one_number_once_a_second(
    simulator: TelegramSimulator, channel: TelegramChannel, watch: Watch
) -> None:
    message = said(DIRECT)
    for piece in ("特休", "有", "14", "天"):
        await channel.show_delta(message, "t1", piece)
        watch.now_s += 0.5
    await channel.show_delta(message, "t2", "other")
    texts = [text for _, _, text in simulator.drafts]
    assert texts == ["特休", "特休有14", "other"]
    numbers = [number for _, number, _ in simulator.drafts]
    assert numbers[0] == numbers[1] != numbers[2]
    assert channel.preview("t1") is None


async def test_a_draft_is_shown_in_private_chats_only_and_never_too_long(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    await channel.show_delta(said(IN_GROUP), "t1", "so far")
    await channel.show_delta(said(DIRECT), "t2", "😀" * 2049)
    await channel.show_delta(said(DIRECT), "t3", " \n")
    assert simulator.calls == []


async def test_typing_for_very_many_at_once_is_left_out_for_some(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    for number in range(100):
        await channel.show_typing(said(Conversation("telegram", "main", str(number + 1))))
    assert 30 <= len(simulator.actions) <= 31


@pytest.mark.parametrize("fault", [Fault.BLOCKED, Fault.SERVER_ERROR, Fault.GARBAGE, Fault.RATE])
async def test_typing_that_fails_says_so(
    simulator: TelegramSimulator, channel: TelegramChannel, fault: Fault
) -> None:
    simulator.faults.append(fault)
    with pytest.raises(ChannelError):
        await channel.show_typing(said(DIRECT))


async def test_typing_that_hangs_can_be_given_up(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    simulator.faults.append(Fault.HANG)
    async with asyncio.TaskGroup() as tasks:
        typing = tasks.create_task(channel.show_typing(said(DIRECT)))
        await simulator.wait_for_calls("sendChatAction", 1)
        typing.cancel()
    assert isinstance(await channel.send(owed(), POST), Delivered)


# ---------------------------------------------------------------- files


async def read_file(channel: TelegramChannel, handle: str = "F1", size: int | None = None) -> bytes:
    chunks = channel.fetch(Attachment(handle, "telegram-document-1", size_bytes=size))
    return b"".join([chunk async for chunk in chunks])


@pytest.mark.parametrize("path", ["documents/file_1.pdf", "文件/a b%2f?#.md"])
async def test_a_file_comes_from_the_platforms_own_host(
    simulator: TelegramSimulator, channel: TelegramChannel, path: str
) -> None:
    content = bytes(range(256)) * 1000
    simulator.files["F1"] = (path, content)
    assert await read_file(channel) == content
    assert simulator.fetched == [path]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/hostname",
        "../../bot1:x/getMe",
        "documents/../../x",
        "http://169.254.169.254/latest",
        "//evil.example/x",
        "documents\\x",
        "./x",
        "",
        None,
        7,
    ],
)
async def test_a_path_that_leads_elsewhere_is_never_followed(
    simulator: TelegramSimulator, channel: TelegramChannel, path: Any
) -> None:
    simulator.files["F1"] = (path, b"x")
    with pytest.raises(ChannelError) as refused:
        await read_file(channel)
    assert refused.value.code == "attachment_unavailable"
    assert simulator.fetched == []


FILE_ANSWERS: list[Callable[[], web.StreamResponse]] = [
    lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1:9/evil"}),
    lambda: web.Response(status=404),
    lambda: web.Response(status=500),
]


@pytest.mark.parametrize("answer", FILE_ANSWERS)
async def test_a_file_that_is_not_given_is_unavailable(
    simulator: TelegramSimulator,
    channel: TelegramChannel,
    answer: Callable[[], web.StreamResponse],
) -> None:
    simulator.files["F1"] = ("documents/file_1.pdf", b"x")
    simulator.file_answer = answer()
    with pytest.raises(ChannelError) as refused:
        await read_file(channel)
    assert refused.value.code == "attachment_unavailable"
    assert TOKEN not in str(refused.value)
    assert len(simulator.fetched) == 1


@pytest.mark.parametrize("fault", [Fault.FILE_TOO_BIG, Fault.SERVER_ERROR, Fault.RATE])
async def test_a_file_the_platform_refuses_is_unavailable(
    simulator: TelegramSimulator, channel: TelegramChannel, fault: Fault
) -> None:
    simulator.faults.append(fault)
    with pytest.raises(ChannelError) as refused:
        await read_file(channel)
    assert refused.value.code == "attachment_unavailable"


async def test_a_file_known_to_be_too_big_is_not_asked_for(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    with pytest.raises(ChannelError) as refused:
        await read_file(channel, size=20 * 1024 * 1024 + 1)
    assert refused.value.code == "attachment_unavailable"
    assert simulator.calls == []


# ---------------------------------------------------------------- doctor, settings, secrets


async def test_doctor_sees_the_token_and_the_webhook(
    simulator: TelegramSimulator, channel: TelegramChannel
) -> None:
    seen = []
    for told in (
        {"url": ""},
        {"url": "https://x/webhooks/telegram/main", "pending_update_count": 0},
        {"url": "https://x", "pending_update_count": 3, "last_error_message": "401 Unauthorized"},
        {"url": "https://x", "pending_update_count": 0, "last_error_message": "old news"},
        {"url": "https://x", "allowed_updates": ["edited_message"]},
    ):
        simulator.webhook = told
        credentials, webhook = await channel.check()
        assert (credentials.is_ok, credentials.detail) == (True, f"@{BOT_NAME}")
        seen.append((webhook.is_ok, webhook.detail))
    assert seen == [
        (False, "not set"),
        (True, "set"),
        (False, "set; 3 waiting; last error: 401 Unauthorized"),
        (True, "set; last error: old news"),
        (False, "set; allowed_updates lacks message"),
    ]
    simulator.token = "4242:another"
    [credentials] = await channel.check()
    assert (credentials.is_ok, credentials.detail) == (False, "credentials")


async def test_doctor_finds_a_webhook_in_the_way_of_polling(simulator: TelegramSimulator) -> None:
    channel = TelegramChannel(settings(simulator.url, mode=Mode.POLLING))
    assert [each.is_ok for each in await channel.check()] == [True, True]
    simulator.webhook["url"] = "https://x"
    assert [each.is_ok for each in await channel.check()] == [True, False]
    await channel.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bot_token", ""),
        ("bot_token", "no-colon"),
        ("bot_token", "4242:a/../b"),
        ("bot_token", "4242:a{token}"),
        ("secret_token", ""),
        ("secret_token", "x" * 257),
        ("secret_token", "密"),
        ("secret_token", "a b"),
        ("secret_token", "ab\n"),
    ],
)
def test_a_missing_or_wrong_secret_is_refused_by_its_key(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"channels\.telegram\.main\.{key}") as refused:
        dataclasses.replace(settings(), **{key: Secret(value)})  # type: ignore[arg-type]
    assert not value.strip() or value not in str(refused.value)


def test_polling_needs_no_secret_token_and_secrets_do_not_print() -> None:
    polling = settings(mode=Mode.POLLING, secret_token=Secret(""))
    assert TelegramChannel(polling).state.state is LinkState.STARTING
    for shown in (repr(settings()), repr(polling), repr(vars(TelegramChannel(settings())))):
        assert TOKEN not in shown
        assert "telegram-secret" not in shown


async def test_the_token_is_in_no_log_and_no_error(
    simulator: TelegramSimulator, channel: TelegramChannel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    simulator.files["F1"] = ("documents/1", b"x")
    words = []
    for fault in [*Fault]:
        if fault in {Fault.HANG, Fault.HANG_AFTER}:
            continue
        simulator.faults.append(fault)
        outcome = await channel.send(owed("a private text"), POST)
        words.append(repr(outcome))
        simulator.faults.clear()
        simulator.faults.append(fault)
        try:
            await read_file(channel)
        except ChannelError as error:
            words.append(repr(error) + str(error.__cause__))
        simulator.faults.clear()
    words += [record.getMessage() for record in caplog.records if record.name != "asyncio"]
    assert not [word for word in words if "AAtest" in word or "private text" in word]
    gone = TelegramClient(Secret(TOKEN), "ftp://nowhere")
    assert "AAtest" not in repr(await gone.send(render.Address(1), {"text": "x"}))
    await gone.close()


# ---------------------------------------------------------------- what the simulator checks by


@pytest.mark.shared
def test_the_specification_we_check_against_is_the_official_one() -> None:
    official = TelegramApi(shared("platform-specs", "telegram", "api.json")).spec
    own = TelegramApi(OWN_SPEC).spec
    for part in ("methods", "types"):
        for name, entry in own[part].items():
            assert entry == official[part][name], name


@pytest.mark.parametrize(
    ("method", "given", "complaint"),
    [
        ("sendMessage", {"chat_id": "1"}, "text is missing"),
        ("sendMessage", {"chat_id": "1", "text": ""}, "0 units"),
        ("sendMessage", {"chat_id": "1", "text": "😀" * 2049}, "4098 units"),
        ("sendMessage", {"chat_id": "1", "text": "x", "texts": "x"}, "texts is unknown"),
        ("sendMessage", {"chat_id": "1", "text": "x", "message_thread_id": "a"}, "not JSON"),
        ("sendMessage", {"chat_id": "1", "text": "x", "message_thread_id": "true"}, "no Integer"),
        (
            "sendMessage",
            {"chat_id": "1", "text": "x", "reply_parameters": "{}"},
            "message_id is missing",
        ),
        (
            "sendMessage",
            {"chat_id": "1", "text": "x", "entities": '[{"type": "bold"}]'},
            "offset is missing",
        ),
        (
            "sendMessage",
            {"chat_id": "1", "text": "x", "link_preview_options": "1"},
            "no LinkPreview",
        ),
        ("getUpdates", {"limit": "101"}, "out of range"),
        ("getUpdates", {"allowed_updates": '"message"'}, "no list of String"),
        ("sendPoem", {}, "not in the specification"),
    ],
)
def test_the_simulator_notices(method: str, given: dict[str, str], complaint: str) -> None:
    found = TelegramApi().violations(method, given)
    assert any(complaint in violation for violation in found), found
