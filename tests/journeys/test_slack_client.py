"""What each answer of Slack means for a call we owe; files; what the operator is told."""

import asyncio
import dataclasses
import json
import os
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from channels.slack.channel import Mode, SlackChannel, SlackSettings
from channels.slack.client import Post, SlackClient
from gateway.core.messages import (
    Attachment,
    Conversation,
    Delivered,
    OutboundCall,
    OutcomeUnknown,
    Refused,
    ReplyHandle,
    RetryLater,
    SendMethod,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.secrets import Secret
from gateway.errors import ChannelError, ConfigError
from tests.simulators.shared import shared
from tests.simulators.slack import (
    CHANNEL,
    DIRECT,
    POST,
    TEAM,
    UPDATE,
    Error,
    Fault,
    Message,
    RemoteFile,
    SlackSimulator,
)
from tests.simulators.slack_spec import SlackSpec

ROOT = "1772350000.000200"
IM = Conversation("slack", "main", DIRECT, is_direct=True)
THREAD = Conversation("slack", "main", f"{CHANNEL}:{ROOT}", parent_id=CHANNEL)


def settings(url: str, **over: Any) -> SlackSettings:
    wanted: dict[str, Any] = {
        "name": "main",
        "agent": "helper",
        "bot_token": Secret("xoxb-slack-token"),
        "signing_secret": Secret("slack-secret"),
        "api_base_url": url,
    }
    return SlackSettings(**wanted | over)


@pytest.fixture
async def simulator() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator().running() as running:
        yield running
    assert running.violations == []


@pytest.fixture
async def channel(simulator: SlackSimulator) -> AsyncIterator[SlackChannel]:
    channel = SlackChannel(settings(simulator.api_url))
    channel._client.settle_s = 0.0
    yield channel
    await channel.close()


def owed(place: Conversation = IM, text: str = "answer", preview: str = "") -> OutboundCall:
    now = datetime.now(UTC)
    return OutboundCall(
        id=str(uuid.UUID(int=1)),
        turn_id=str(uuid.UUID(int=2)),
        seq=0,
        conversation=place,
        parts=(text,),
        idempotency_key=str(uuid.UUID(int=3)),
        created_at=now,
        reply_handle=ReplyHandle(preview, now + timedelta(days=1)) if preview else None,
    )


def shown_draft(simulator: SlackSimulator, place: str = DIRECT, thread: str | None = None) -> str:
    simulator.messages.append(Message(place, "1772355000.000900", "draft", thread))
    return f"{place}:1772355000.000900"


@pytest.mark.parametrize(
    ("place", "where", "thread"),
    [
        (IM, DIRECT, None),
        (THREAD, CHANNEL, ROOT),
        (Conversation("slack", "main", f"{DIRECT}:{ROOT}", DIRECT, is_direct=True), DIRECT, ROOT),
    ],
)
async def test_a_part_arrives_where_the_question_was(
    simulator: SlackSimulator,
    channel: SlackChannel,
    place: Conversation,
    where: str,
    thread: str | None,
) -> None:
    outcome = await channel.send(owed(place), SendMethod.POST)
    [message] = simulator.messages
    assert outcome == Delivered((message.ts,))
    assert simulator.texts_in(where, thread) == ["answer"]


HOSTILE = "@everyone <!channel> <@U1> <https://evil.example|Policy> &lt;!here&gt; & *b* &amp;"


async def test_nothing_in_a_text_calls_anybody_or_hides_a_link(
    simulator: SlackSimulator, channel: SlackChannel
) -> None:
    await channel.send(owed(text=HOSTILE), SendMethod.POST)
    preview = shown_draft(simulator)
    await channel.send(owed(text=HOSTILE, preview=preview), SendMethod.EDIT)
    assert simulator.texts_in(DIRECT) == [HOSTILE, HOSTILE]
    assert all("<" not in each.text and ">" not in each.text for each in simulator.messages)
    assert simulator.bodies[0]["unfurl_links"] is simulator.bodies[0]["unfurl_media"] is False


MEANINGS: list[tuple[Fault | Error, type[SendOutcome], type[SendOutcome]]] = [
    # posted; edited
    (Fault.RATE, RetryLater, RetryLater),
    (Error("ratelimited"), RetryLater, RetryLater),
    (Fault.FORBIDDEN_PAGE, Refused, TryOtherMethod),
    (Error("channel_not_found"), Refused, Refused),
    (Error("not_in_channel"), Refused, Refused),
    (Error("is_archived"), Refused, Refused),
    (Error("account_inactive"), Refused, Refused),
    (Error("invalid_auth"), Refused, Refused),
    (Error("token_revoked", 401), Refused, Refused),
    (Error("msg_too_long"), Refused, Refused),
    (Error("something_new"), Refused, TryOtherMethod),
    (Error("message_not_found"), Refused, TryOtherMethod),
    (Error("edit_window_closed"), Refused, TryOtherMethod),
    (Error("cant_update_message"), Refused, TryOtherMethod),
    (Error("message_not_modified"), Refused, Delivered),
]


@pytest.mark.parametrize(("fault", "posted", "edited"), MEANINGS)
async def test_what_a_clear_answer_means(
    simulator: SlackSimulator,
    channel: SlackChannel,
    fault: Fault | Error,
    posted: type[SendOutcome],
    edited: type[SendOutcome],
) -> None:
    simulator.faults.append(fault)
    assert isinstance(await channel.send(owed(), SendMethod.POST), posted)
    assert simulator.messages == []
    assert simulator.calls == [POST]
    preview = shown_draft(simulator)
    simulator.faults.append(fault)
    assert isinstance(await channel.send(owed(preview=preview), SendMethod.EDIT), edited)
    # what cannot be edited goes: no draft stays beside the reply that is posted anew
    stays = edited is not TryOtherMethod or fault == Error("message_not_found")
    assert simulator.texts_in(DIRECT) == (["draft"] if stays else [])


# whether it was accepted, and what is known once the chat could be read, or could not
DOUBTS: list[tuple[Fault | Error, type[SendOutcome], type[SendOutcome]]] = [
    (Fault.SERVER_ERROR, RetryLater, OutcomeUnknown),
    (Fault.UNAVAILABLE, RetryLater, OutcomeUnknown),
    (Error("internal_error"), RetryLater, OutcomeUnknown),
    (Error("fatal_error"), RetryLater, OutcomeUnknown),
    (Error("service_unavailable", 503), RetryLater, OutcomeUnknown),
    (Fault.GATEWAY_TIMEOUT, OutcomeUnknown, OutcomeUnknown),
    (Fault.CLOSE_BEFORE, OutcomeUnknown, OutcomeUnknown),
    (Fault.SERVER_ERROR_AFTER, Delivered, OutcomeUnknown),
    (Fault.CLOSE_AFTER, Delivered, OutcomeUnknown),
    (Fault.TRUNCATED, Delivered, OutcomeUnknown),
    (Fault.GARBAGE, Delivered, OutcomeUnknown),
    (Fault.LIST, Delivered, OutcomeUnknown),
    (Fault.TEXT, Delivered, OutcomeUnknown),
]


@pytest.mark.parametrize("place", [IM, THREAD], ids=["direct", "thread"])
@pytest.mark.parametrize(("fault", "found", "blind"), DOUBTS)
async def test_a_post_in_doubt_is_looked_up_and_never_sent_twice(
    simulator: SlackSimulator,
    channel: SlackChannel,
    place: Conversation,
    fault: Fault | Error,
    found: type[SendOutcome],
    blind: type[SendOutcome],
) -> None:
    simulator.faults.append(fault)
    assert isinstance(await channel.send(owed(place), SendMethod.POST), found)
    assert len(simulator.messages) == (found is Delivered)
    simulator.messages.clear()
    simulator.faults.extend([fault, Error("missing_scope")])
    assert isinstance(await channel.send(owed(place), SendMethod.POST), blind)
    assert simulator.calls.count(POST) == 2


async def test_an_earlier_message_with_the_same_words_is_not_the_one_in_doubt(
    simulator: SlackSimulator, channel: SlackChannel
) -> None:
    await channel.send(owed(), SendMethod.POST)
    simulator.faults.append(Fault.CLOSE_BEFORE)
    other = dataclasses.replace(owed(), idempotency_key=str(uuid.UUID(int=4)))
    assert isinstance(await channel.send(other, SendMethod.POST), OutcomeUnknown)


@pytest.mark.parametrize("fault", sorted({row[0] for row in DOUBTS if isinstance(row[0], Fault)}))
async def test_an_edit_in_doubt_is_made_again(
    simulator: SlackSimulator, channel: SlackChannel, fault: Fault
) -> None:
    call = owed(preview=shown_draft(simulator))
    simulator.faults.append(fault)
    assert isinstance(await channel.send(call, SendMethod.EDIT), RetryLater)
    assert isinstance(await channel.send(call, SendMethod.EDIT), Delivered)
    assert simulator.texts_in(DIRECT) == ["answer"]


@pytest.mark.parametrize("preview", [f"{CHANNEL}:1772355000.000900", "nonsense", f"{DIRECT}:"])
async def test_a_preview_of_another_chat_is_never_the_reply(
    simulator: SlackSimulator, channel: SlackChannel, preview: str
) -> None:
    outcome = await channel.send(owed(preview=preview), SendMethod.EDIT)
    assert isinstance(outcome, TryOtherMethod)
    assert simulator.calls == []


@pytest.mark.parametrize(
    ("told", "meant"), [("7", 7.0), ("0.5", 0.5), (None, None), ("Wed, 21 Oct", None)]
)
async def test_the_wait_is_the_one_the_platform_asks_for(
    simulator: SlackSimulator, channel: SlackChannel, told: str | None, meant: float | None
) -> None:
    simulator.faults.append(Fault.RATE)
    simulator.retry_after_s = told
    assert await channel.send(owed(), SendMethod.POST) == RetryLater(meant, "ratelimited")


async def test_a_root_that_takes_no_answers_is_answered_beside_it(
    simulator: SlackSimulator, channel: SlackChannel
) -> None:
    simulator.faults.append(Error("cannot_reply_to_message"))
    assert isinstance(await channel.send(owed(THREAD), SendMethod.POST), Delivered)
    assert simulator.texts_in(CHANNEL) == ["answer"]


@pytest.mark.parametrize("method", [SendMethod.POST, SendMethod.EDIT])
async def test_a_call_that_never_left_may_be_tried_again(method: SendMethod) -> None:
    async with SlackSimulator().running() as gone:
        url = gone.api_url
    channel = SlackChannel(settings(url))
    call = owed(preview=f"{DIRECT}:{ROOT}")
    assert isinstance(await channel.send(call, method), RetryLater)
    await channel.close()


async def test_a_call_without_an_answer_has_a_deadline(simulator: SlackSimulator) -> None:
    hasty = SlackClient(Secret("xoxb-slack-token"), simulator.api_url, 0.3, settle_s=0.0)
    post = Post(DIRECT, None, "answer", "key", 0.0)
    async with asyncio.timeout(20):
        simulator.faults.append(Fault.HANG)
        assert isinstance(await hasty.post(post), OutcomeUnknown)
        simulator.faults.append(Fault.HANG_AFTER)
        assert isinstance(await hasty.post(post), Delivered)
    assert simulator.texts_in(DIRECT) == ["answer"]
    await hasty.close()


@pytest.mark.parametrize(
    "parts",
    [(), ("",), (" \n",), ("\x00",), ("x" * 3901,), ("😀" * 1951,), ("&" * 781,), ("a", "b")],
    ids=["none", "empty", "blank", "null", "3901", "surrogates", "entities", "two"],
)
async def test_what_cannot_be_carried_never_leaves(
    simulator: SlackSimulator, channel: SlackChannel, parts: tuple[str, ...]
) -> None:
    call = dataclasses.replace(owed(), parts=parts)
    assert isinstance(await channel.send(call, SendMethod.POST), Refused)
    assert simulator.calls == []


async def test_proxies_of_the_environment_decide_nothing(
    simulator: SlackSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert os.environ["HTTPS_PROXY"]
    channel = SlackChannel(settings(simulator.api_url))
    assert isinstance(await channel.send(owed(), SendMethod.POST), Delivered)
    await channel.close()


def test_a_call_edits_the_preview_as_long_as_there_is_one() -> None:
    channel = SlackChannel(settings("http://127.0.0.1:9/api/"))
    call = owed(preview=f"{DIRECT}:{ROOT}")
    assert channel.method(call, call.created_at) is SendMethod.EDIT
    assert channel.method(call, call.created_at + timedelta(days=2)) is SendMethod.POST
    assert channel.method(owed(), call.created_at) is SendMethod.POST


# ---------------------------------------------------------------- settings


def test_secrets_do_not_print_and_are_never_empty() -> None:
    good = settings("http://127.0.0.1:9", app_token=Secret("xapp-1"))
    for secret in ("xoxb", "slack-secret", "xapp"):
        assert secret not in repr(good)
        assert secret not in repr(SlackChannel(good)._client)
    for key, mode in (
        ("bot_token", Mode.EVENTS),
        ("bot_token", Mode.SOCKET),
        ("signing_secret", Mode.EVENTS),
        ("app_token", Mode.SOCKET),
    ):
        for empty in ("", " \n"):
            with pytest.raises(ConfigError, match=rf"channels\.slack\.main\.{key}"):
                dataclasses.replace(good, mode=mode, **{key: Secret(empty)})  # type: ignore[arg-type]


async def test_an_operator_is_told_what_is_wrong(simulator: SlackSimulator) -> None:
    async def checks(**over: Any) -> dict[str, tuple[bool, str]]:
        channel = SlackChannel(settings(simulator.api_url, **over))
        found = {each.name: (each.is_ok, each.detail) for each in await channel.check()}
        await channel.close()
        return found

    assert await checks() == {
        "credentials": (True, f"{TEAM} U0000BOTX"),
        "scopes": (True, ""),
        "workspace": (True, TEAM),
    }
    assert (await checks(bot_token=Secret("xoxb-wrong")))["credentials"] == (False, "invalid_auth")
    assert (await checks(team_id="T0000ELSE"))["workspace"] == (False, TEAM)
    socket = {"mode": Mode.SOCKET, "app_token": Secret(simulator.app_token)}
    assert (await checks(**socket))["connection"] == (True, "")
    socket["app_token"] = Secret("xapp-wrong")
    assert (await checks(**socket))["connection"] == (False, "invalid_auth")
    simulator.scopes = "im:history"
    assert (await checks())["scopes"] == (False, "chat:write")


# ---------------------------------------------------------------- files


def attachment(url: str, **over: Any) -> Attachment:
    return Attachment(f"F1 {url}", "slack-F1.pdf", "application/pdf", **over)


async def fetched(channel: SlackChannel, file: Attachment) -> bytes:
    return b"".join([chunk async for chunk in channel.fetch(file)])


async def test_a_file_comes_with_our_token(
    simulator: SlackSimulator, channel: SlackChannel
) -> None:
    simulator.files["/files/a.pdf"] = RemoteFile(b"%PDF" * 40_000, "application/pdf")
    url = f"{simulator.url}/files/a.pdf"
    assert await fetched(channel, attachment(url, size_bytes=160_000)) == b"%PDF" * 40_000
    simulator.files["/files/moved.pdf"] = RemoteFile(b"", location="/files/a.pdf")
    assert (
        await fetched(channel, attachment(f"{simulator.url}/files/moved.pdf")) == b"%PDF" * 40_000
    )
    assert set(simulator.tokens_seen) == {"Bearer xoxb-slack-token"}


async def test_a_file_that_is_only_named_is_asked_for_first(
    simulator: SlackSimulator, channel: SlackChannel
) -> None:
    simulator.files["/files/a.txt"] = RemoteFile(b"seven", "text/plain")
    simulator.file_infos["F1"] = {
        "id": "F1",
        "url_private": f"{simulator.url}/files/a.txt",
        "mimetype": "text/plain",
        "size": 5,
    }
    assert await fetched(channel, Attachment("F1", "slack-F1")) == b"seven"
    for info in ({}, {"id": "F1"}, {"id": "F1", "url_private": "http://169.254.169.254/"}):
        simulator.file_infos["F1"] = info
        with pytest.raises(ChannelError):
            await fetched(channel, Attachment("F1", "slack-F1"))


BAD_FILES: list[tuple[str, RemoteFile, int | None]] = [
    ("the login page", RemoteFile(b"<html>Sign in", "text/html; charset=utf-8"), None),
    ("shorter than announced", RemoteFile(b"1234", "application/pdf"), 5),
    ("longer than announced", RemoteFile(b"123456", "application/pdf"), 5),
    ("endless", RemoteFile(b"x" * 1000, "application/pdf", is_endless=True), 5000),
    ("gone", RemoteFile(b"", "text/plain", status=404), None),
    ("moved away", RemoteFile(b"", location="http://localhost:9/files/a.pdf"), None),
    ("moved for ever", RemoteFile(b"", location="/files/a.pdf"), None),
    ("moved nowhere", RemoteFile(b"", status=302), None),
]


@pytest.mark.parametrize(
    ("file", "size"), [r[1:] for r in BAD_FILES], ids=[r[0] for r in BAD_FILES]
)
async def test_what_is_not_the_file_is_refused(
    simulator: SlackSimulator, channel: SlackChannel, file: RemoteFile, size: int | None
) -> None:
    simulator.files["/files/a.pdf"] = file
    with pytest.raises(ChannelError) as refused:
        await fetched(channel, attachment(f"{simulator.url}/files/a.pdf", size_bytes=size))
    assert refused.value.code == "attachment_unavailable"


async def test_our_token_is_not_taken_from_one_host_on_to_another(
    simulator: SlackSimulator, channel: SlackChannel
) -> None:
    simulator.files["/files/a.pdf"] = RemoteFile(b"", location="https://files.slack.com/a.pdf")
    with pytest.raises(ChannelError, match="another host"):
        await fetched(channel, attachment(f"{simulator.url}/files/a.pdf"))


FOREIGN = [
    "http://169.254.169.254/latest/meta-data",
    "http://files.slack.com/x",
    "https://files.slack.com:8443/x",
    "https://evil.example/x",
    "https://slack.com.evil.example/x",
    "https://evilslack.com/x",
    "https://files.slack.com@evil.example/x",
    "https://user:pw@files.slack.com/x",
    "file:///etc/passwd",
    "//files.slack.com/x",
    "not an address",
    "https://[::1]/x",
    "https://files.slack.com\\@evil.example/",
    "https:///x",
    "https://files.slack.com:99999/x",
]


@pytest.mark.parametrize("url", FOREIGN)
async def test_our_token_goes_to_slacks_hosts_alone(channel: SlackChannel, url: str) -> None:
    with pytest.raises(ChannelError, match=r"foreign address|ValueError") as refused:
        await fetched(channel, attachment(url))
    assert refused.value.code == "attachment_unavailable"


# ---------------------------------------------------------------- the simulator itself


@pytest.mark.shared
def test_the_specification_we_check_against_is_the_official_one() -> None:

    whole = json.loads(
        shared("platform-specs", "slack", "slack_web_openapi_v2.trimmed.json").read_text("utf-8")
    )
    for path, operations in SlackSpec().paths.items():
        for verb, operation in operations.items():
            official = whole["paths"][path][verb]
            assert operation == {key: official[key] for key in operation}, path


@pytest.mark.parametrize(
    ("method", "values", "complaint"),
    [
        ("chat.poke", {}, "not in the specification"),
        (POST, {"text": "x"}, "channel is missing"),
        (POST, {"channel": "C1", "text": "x", "colour": 1}, "unknown argument"),
        (POST, {"channel": 1, "text": "x"}, "channel is a int"),
        (POST, {"channel": "C1", "text": "<!here>"}, "unescaped <"),
        (POST, {"channel": "C1", "text": "a & b"}, "unescaped &"),
        (POST, {"channel": "C1", "text": "x" * 4001}, "4001 characters"),
        (POST, {"channel": "C1", "text": " "}, "no text"),
        (POST, {"channel": "C1", "text": "x", "unfurl_links": True}, "previews"),
        (UPDATE, {"channel": "C1", "ts": "1.0", "text": "x"}, "own parsing"),
    ],
)
def test_the_simulator_notices(method: str, values: dict[str, Any], complaint: str) -> None:
    found = SlackSpec().violations("POST", method, values, is_json=True)
    assert any(complaint in violation for violation in found), found
