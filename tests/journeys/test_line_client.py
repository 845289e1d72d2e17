"""What each answer of LINE means for a call we owe: every outcome, both ways of sending."""

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from channels.line import client as line_client
from channels.line.channel import LineChannel, LineSettings
from gateway.core.messages import (
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
from gateway.errors import ConfigError
from tests.simulators.line import OWN_SPEC, PUSH, REPLY, Fault, LineSimulator
from tests.simulators.openapi import OpenApi
from tests.simulators.shared import shared

USER = "U" + "1" * 32
NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def settings(url: str) -> LineSettings:
    return LineSettings(
        name="main",
        agent="helper",
        channel_secret=Secret("line-secret"),
        channel_access_token=Secret("line-token"),
        api_base_url=url,
    )


@pytest.fixture
async def simulator() -> AsyncIterator[LineSimulator]:
    async with LineSimulator().running() as running:
        yield running
    assert running.violations == []


@pytest.fixture
async def channel(simulator: LineSimulator) -> AsyncIterator[LineChannel]:
    channel = LineChannel(settings(simulator.url))
    yield channel
    await channel.close()


def owed(simulator: LineSimulator, *parts: str) -> OutboundCall:
    token = simulator.text_event("hello", USER)["replyToken"]
    return OutboundCall(
        id=str(uuid.UUID(int=1)),
        turn_id=str(uuid.UUID(int=2)),
        seq=0,
        conversation=Conversation("line", "main", USER, is_direct=True),
        parts=parts or ("answer",),
        idempotency_key=str(uuid.UUID(int=3)),
        created_at=NOW,
        reply_handle=ReplyHandle(token, NOW + timedelta(seconds=45)),
    )


@pytest.mark.parametrize("method", [SendMethod.REPLY, SendMethod.PUSH])
async def test_parts_arrive_in_order_in_one_call(
    simulator: LineSimulator, channel: LineChannel, method: SendMethod
) -> None:
    parts = ("一", "two 😀", "三\n[1] 手冊 p. 3", "四", "五" * 5000)
    outcome = await channel.send(owed(simulator, *parts), method)
    assert isinstance(outcome, Delivered)
    assert len(outcome.platform_ids) == 5
    assert simulator.texts_to(USER) == [parts]
    assert simulator.deliveries[0].path == {SendMethod.REPLY: REPLY, SendMethod.PUSH: PUSH}[method]


MEANINGS: list[tuple[Fault, SendMethod, type[SendOutcome], int]] = [
    (Fault.RATE, SendMethod.REPLY, RetryLater, 0),
    (Fault.RATE, SendMethod.PUSH, RetryLater, 0),
    (Fault.QUOTA, SendMethod.PUSH, Refused, 0),
    (Fault.TOKEN_EXPIRED, SendMethod.REPLY, TryOtherMethod, 0),
    (Fault.BAD_REQUEST, SendMethod.REPLY, Refused, 0),
    (Fault.BAD_REQUEST, SendMethod.PUSH, Refused, 0),
    (Fault.UNAUTHORISED, SendMethod.REPLY, Refused, 0),
    (Fault.FORBIDDEN, SendMethod.PUSH, Refused, 0),
    (Fault.SERVER_ERROR, SendMethod.REPLY, RetryLater, 0),
    (Fault.SERVER_ERROR, SendMethod.PUSH, RetryLater, 0),
    (Fault.CLOSE_BEFORE, SendMethod.REPLY, OutcomeUnknown, 0),
    (Fault.CLOSE_BEFORE, SendMethod.PUSH, RetryLater, 0),
    (Fault.CLOSE_AFTER, SendMethod.REPLY, OutcomeUnknown, 1),
    (Fault.CLOSE_AFTER, SendMethod.PUSH, RetryLater, 1),
    (Fault.GARBAGE, SendMethod.REPLY, OutcomeUnknown, 1),
    (Fault.GARBAGE, SendMethod.PUSH, RetryLater, 1),
]


@pytest.mark.parametrize(("fault", "method", "outcome", "reached"), MEANINGS)
async def test_what_an_answer_means(
    simulator: LineSimulator,
    channel: LineChannel,
    fault: Fault,
    method: SendMethod,
    outcome: type[SendOutcome],
    reached: int,
) -> None:
    simulator.faults.append(fault)
    assert isinstance(await channel.send(owed(simulator), method), outcome)
    assert len(simulator.deliveries) == reached


async def test_a_repeated_push_is_accepted_once(
    simulator: LineSimulator, channel: LineChannel
) -> None:
    simulator.faults.append(Fault.CLOSE_AFTER)
    call = owed(simulator)
    assert isinstance(await channel.send(call, SendMethod.PUSH), RetryLater)
    assert isinstance(await channel.send(call, SendMethod.PUSH), Delivered)
    assert simulator.texts_to(USER) == [("answer",)]


@pytest.mark.parametrize(("told", "meant"), [(7.0, 7.0), (None, None)])
async def test_the_wait_is_the_one_the_platform_asks_for(
    simulator: LineSimulator, channel: LineChannel, told: float | None, meant: float | None
) -> None:
    simulator.faults.append(Fault.RATE)
    simulator.retry_after_s = told
    outcome = await channel.send(owed(simulator), SendMethod.REPLY)
    assert outcome == RetryLater(meant, "rate limit")


async def test_a_used_or_unknown_token_asks_for_the_other_way(
    simulator: LineSimulator, channel: LineChannel
) -> None:
    call = owed(simulator)
    assert isinstance(await channel.send(call, SendMethod.REPLY), Delivered)
    assert isinstance(await channel.send(call, SendMethod.REPLY), TryOtherMethod)
    assert len(simulator.deliveries) == 1


@pytest.mark.parametrize("method", [SendMethod.REPLY, SendMethod.PUSH])
async def test_a_call_that_never_left_may_be_tried_again(method: SendMethod) -> None:
    async with LineSimulator().running() as gone:
        call = owed(gone)
        url = gone.url
    channel = LineChannel(settings(url))
    assert isinstance(await channel.send(call, method), RetryLater)
    await channel.close()


@pytest.mark.parametrize(
    ("method", "outcome"),
    [(SendMethod.REPLY, OutcomeUnknown), (SendMethod.PUSH, RetryLater)],
)
async def test_a_call_without_an_answer_has_a_deadline(
    simulator: LineSimulator, method: SendMethod, outcome: type[SendOutcome]
) -> None:
    hasty = line_client.LineClient(Secret("line-token"), simulator.url, send_timeout_s=0.3)
    simulator.faults.append(Fault.HANG_AFTER)
    call = owed(simulator)
    assert call.reply_handle is not None
    message = [{"type": "text", "text": "answer"}]
    sending = (
        hasty.reply(call.reply_handle.token, message)
        if method is SendMethod.REPLY
        else hasty.push(USER, message, call.idempotency_key)
    )
    async with asyncio.timeout(20):
        assert isinstance(await sending, outcome)
    await hasty.close()


@pytest.mark.parametrize(
    "parts",
    [(), ("",), (" \n",), ("x" * 5001,), ("😀" * 2501,), ("a",) * 6],
    ids=["none", "empty", "blank", "5001 units", "5002 units", "six"],
)
async def test_what_cannot_be_carried_never_leaves(
    simulator: LineSimulator, channel: LineChannel, parts: tuple[str, ...]
) -> None:
    call = OutboundCall("i", "t", 0, Conversation("line", "main", USER), parts, "k", NOW)
    assert isinstance(await channel.send(call, SendMethod.PUSH), Refused)
    assert simulator.calls == []


def test_a_call_replies_while_its_token_is_young_and_pushes_afterwards() -> None:
    call = owed(LineSimulator())
    channel = LineChannel(settings("http://127.0.0.1:9"))
    assert channel.method(call, NOW + timedelta(seconds=44.9)) is SendMethod.REPLY
    assert channel.method(call, NOW + timedelta(seconds=45)) is SendMethod.PUSH


def test_secrets_do_not_print_and_are_never_empty() -> None:
    assert "line-secret" not in repr(settings("http://127.0.0.1:9"))
    assert "line-token" not in repr(settings("http://127.0.0.1:9"))
    with pytest.raises(ConfigError, match=r"channels\.line\.main\.channel_secret"):
        dataclasses.replace(settings("http://127.0.0.1:9"), channel_secret=Secret(""))
    with pytest.raises(ConfigError, match=r"channels\.line\.main\.channel_access_token"):
        dataclasses.replace(settings("http://127.0.0.1:9"), channel_access_token=Secret(""))


@pytest.mark.shared
def test_the_specification_we_check_against_is_the_official_one() -> None:
    whole = shared("platform-specs", "line", "messaging-api.yml")
    own, official = OpenApi(OWN_SPEC).spec, OpenApi(whole).spec
    for name, schema in own["components"]["schemas"].items():
        assert schema == official["components"]["schemas"][name], name
    for name, operations in own["paths"].items():
        assert operations == official["paths"][name], name


@pytest.mark.parametrize(
    ("path", "headers", "body", "complaint"),
    [
        (REPLY, {}, b"{}", "no bearer token"),
        (REPLY, {}, b"{", "not JSON"),
        (REPLY, {}, b'{"replyToken":"t","messages":[]}', "non-empty"),
        (REPLY, {}, b'{"replyToken":"t","messages":[{"type":"text"}]}', "'text' is a required"),
        (REPLY, {}, b'{"replyToken":"t","messages":[{"type":"poem","text":"x"}]}', "not"),
        (REPLY, {}, b'{"replyToken":"t","messages":[{"type":"text","txt":"x"}]}', "unknown key"),
        (PUSH, {"X-Line-Retry-Key": "12"}, b'{"to":"U","messages":[]}', "is not a 'uuid'"),
        ("/v2/bot/message/poke", {}, b"{}", "not in the specification"),
    ],
)
def test_the_simulator_notices(
    path: str, headers: dict[str, str], body: bytes, complaint: str
) -> None:
    found = OpenApi(OWN_SPEC).violations("POST", path, headers, body)
    assert any(complaint in violation for violation in found), found
