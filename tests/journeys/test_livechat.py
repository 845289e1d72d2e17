"""A website's live chat: what is taken in, what each answer means, and a whole turn."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.odoolivechat.channel import OdooLiveChatChannel, OdooLiveChatSettings
from channels.odoolivechat.client import LiveChatClient
from gateway.core.messages import (
    Conversation,
    Delivered,
    OutboundCall,
    Refused,
    RetryLater,
    SendMethod,
    SendOutcome,
)
from gateway.core.secrets import Secret
from gateway.errors import ConfigError, GatewayError, InvalidRequestError, SignatureError
from tests.simulators.livechat import Fault, LiveChatSimulator
from tests.surfaces.serving import serving
from tests.surfaces.visiting import ASK, OF_STAFF, configured

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
RELAY = LiveChatSimulator(now=NOW.timestamp)


def channel_to(url: str, **over: Any) -> OdooLiveChatChannel:
    values = {"name": "shop", "agent": "helper", "secret": Secret(RELAY.secret), "reply_url": url}
    return OdooLiveChatChannel(OdooLiveChatSettings(**{**values, **over}))


CHANNEL = channel_to("https://shop.example/replies", language="ja")


# ---------------------------------------------------------------- in


def test_a_visitors_message_names_nobody() -> None:
    [message] = CHANNEL.parse(*RELAY.signed(RELAY.event("こんにちは", "s7")), NOW)
    assert message.conversation == Conversation("odoolivechat", "shop", "s7", is_direct=False)
    assert (message.sender, message.account_id, message.is_visitor) == (None, None, True)
    assert (message.text, message.sender_name) == ("こんにちは", "Visitor 7")
    assert (message.agent_id, message.language, message.received_at) == ("helper", "ja", NOW)


def test_claims_of_an_account_are_not_read() -> None:
    event = RELAY.event("hi", user_id="admin", account_id="admin", sender="admin", is_direct=True)
    [message] = CHANNEL.parse(*RELAY.signed(event), NOW)
    assert (message.sender, message.account_id) == (None, None)
    assert not message.conversation.is_direct


def test_sessions_do_not_share_the_ids_of_messages() -> None:
    both = [RELAY.event("x", session, message_id=1) for session in ("a", "b")]
    first, second = (CHANNEL.parse(*RELAY.signed(each), NOW)[0] for each in both)
    assert first.message_key != second.message_key
    assert first.conversation.lane != second.conversation.lane


@pytest.mark.parametrize(
    ("seconds", "is_taken"), [(0, True), (299, True), (-299, True), (301, False), (-301, False)]
)
def test_a_signature_is_good_for_five_minutes(seconds: int, is_taken: bool) -> None:
    headers, body = RELAY.signed(RELAY.event("hi"), at=NOW.timestamp() + seconds)
    if is_taken:
        assert len(CHANNEL.parse(headers, body, NOW)) == 1
    else:
        with pytest.raises(SignatureError):
            CHANNEL.parse(headers, body, NOW)


ODD_HEADERS = ["", "abc", "é", "\udcff", "v1=", "v1=é", "１７", "-1", "1e9", "9" * 400, "\0", "nan"]


@pytest.mark.parametrize("odd", ODD_HEADERS)
def test_odd_headers_are_a_wrong_signature(odd: str) -> None:
    headers, body = RELAY.signed(RELAY.event("hi"))
    for name in headers:
        with pytest.raises(SignatureError):
            CHANNEL.parse({**headers, name: odd}, body, NOW)
        with pytest.raises(SignatureError):
            CHANNEL.parse({key: headers[key] for key in headers if key != name}, body, NOW)


def test_the_raw_bytes_are_what_was_signed() -> None:
    raw = b'{ "event_id":"1",  "session_id": 5,"message_id":6,"text":"\\uD83E\\uDD28 \\u00e9" }'
    headers, body = RELAY.signed(raw)
    [message] = CHANNEL.parse(headers, body, NOW)
    assert (message.text, message.conversation.id) == ("🤨 é", "5")
    with pytest.raises(SignatureError):
        CHANNEL.parse(headers, json.dumps(json.loads(raw)).encode(), NOW)
    with pytest.raises(SignatureError):
        CHANNEL.parse(RELAY.signed(raw, secret="")[0], body, NOW)


NOTHING: list[Any] = [
    {},
    [],
    None,
    {"type": "ping"},
    RELAY.event(" \n"),
    RELAY.event("x", session_id=""),
    RELAY.event("x", session_id=None),
    RELAY.event("x", session_id={"a": 1}),
    RELAY.event("x", message_id="y" * 1000),
    RELAY.event("x") | {"text": 7},
    RELAY.event("our own words", author="bot"),
    RELAY.event("a colleague's", author="operator"),
]


@pytest.mark.parametrize("event", NOTHING, ids=range(len(NOTHING)))
def test_what_is_no_visitors_message_gives_none(event: Any) -> None:
    assert list(CHANNEL.parse(*RELAY.signed(event), NOW)) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"x":' + b"[" * 100_000, b"not json"],
    ids=["empty", "cut", "bytes", "deep", "words"],
)
def test_signed_nonsense_is_refused_and_nothing_worse(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        CHANNEL.parse(*RELAY.signed(body), NOW)


def test_half_a_surrogate_loses_one_letter_not_the_message() -> None:
    raw = b'{"event_id":"1","session_id":"s","message_id":"2","text":"a\\ud800b","x":[1]}'
    [message] = CHANNEL.parse(*RELAY.signed(raw), NOW)
    assert message.text == "a\ufffdb"


def test_a_body_over_the_cap_is_not_decoded() -> None:
    with pytest.raises(GatewayError) as refused:
        CHANNEL.parse(*RELAY.signed(RELAY.event("x" * 300_000)), NOW)
    assert refused.value.code == "payload_too_large"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["event_id", "session_id", "message_id", "text", "visitor_name", "author"]),
)
def test_no_field_of_whatever_shape_raises(value: Any, field: str) -> None:
    event = RELAY.event("hi") | {field: value}
    for message in CHANNEL.parse(*RELAY.signed(event), NOW):
        assert message.text.strip()
        assert message.is_visitor


ADDRESSES = [
    ("https://shop.example/replies", True),
    ("http://127.0.0.1:8069/replies", True),
    ("http://localhost:8069/", True),
    ("http://[::1]:8069/", True),
    ("http://shop.example/replies", False),
    ("http://127.0.0.1.evil.example/", False),
    ("http://localhost.evil.example/", False),
    ("ftp://shop.example", False),
    ("https://", False),
    ("https://user:pass@shop.example/", False),
    ("shop.example", False),
    ("", False),
    ("https://[", False),
]


@pytest.mark.parametrize(("address", "is_good"), ADDRESSES)
def test_replies_go_by_https_or_stay_on_this_machine(address: str, is_good: bool) -> None:
    if is_good:
        channel_to(address)
        return
    with pytest.raises(ConfigError) as refused:
        channel_to(address)
    assert refused.value.params["path"] == "channels.odoolivechat.shop.reply_url"


@pytest.mark.parametrize("secret", ["", " ", "\n"])
def test_an_empty_secret_is_refused_and_no_secret_prints(secret: str) -> None:
    with pytest.raises(ConfigError) as refused:
        channel_to("https://shop.example", secret=Secret(secret))
    assert refused.value.params["path"] == "channels.odoolivechat.shop.secret"
    assert RELAY.secret not in repr(CHANNEL._settings) + repr(CHANNEL._reading)


# ---------------------------------------------------------------- out


@pytest.fixture
async def simulator() -> AsyncIterator[LiveChatSimulator]:
    async with LiveChatSimulator().running() as running:
        yield running
    assert running.violations == []


@pytest.fixture
async def channel(simulator: LiveChatSimulator) -> AsyncIterator[OdooLiveChatChannel]:
    channel = channel_to(simulator.url)
    yield channel
    await channel.close()


def owed(*parts: str) -> OutboundCall:
    return OutboundCall(
        id=str(uuid.UUID(int=1)),
        turn_id=str(uuid.UUID(int=2)),
        seq=0,
        conversation=Conversation("odoolivechat", "shop", "s7"),
        parts=parts or ("answer",),
        idempotency_key=str(uuid.UUID(int=3)),
        created_at=NOW,
        reply_to="41",
    )


async def test_a_reply_goes_back_signed_to_the_session_it_came_from(
    simulator: LiveChatSimulator, channel: OdooLiveChatChannel
) -> None:
    assert await channel.send(owed("回覆 😀\n[1] 手冊"), SendMethod.PUSH) == Delivered()
    assert simulator.replies == [
        {
            "session_id": "s7",
            "message_id": "41",
            "turn_id": str(uuid.UUID(int=2)),
            "text": "回覆 😀\n[1] 手冊",
            "idempotency_key": str(uuid.UUID(int=3)),
        }
    ]


MEANINGS: list[tuple[Fault, type[SendOutcome], int]] = [
    (Fault.RATE, RetryLater, 0),
    (Fault.SERVER_ERROR, RetryLater, 0),
    (Fault.UNAVAILABLE, RetryLater, 0),
    (Fault.CLOSE_BEFORE, RetryLater, 0),
    (Fault.CLOSE_AFTER, RetryLater, 1),
    (Fault.GARBAGE, Delivered, 1),
    (Fault.UNAUTHORISED, Refused, 0),
    (Fault.BAD_REQUEST, Refused, 0),
    (Fault.GONE, Refused, 0),
    (Fault.REDIRECT, Refused, 0),
]


@pytest.mark.parametrize(("fault", "outcome", "reached"), MEANINGS)
async def test_what_an_answer_means(
    simulator: LiveChatSimulator,
    channel: OdooLiveChatChannel,
    fault: Fault,
    outcome: type[SendOutcome],
    reached: int,
) -> None:
    simulator.faults.append(fault)
    assert channel.method(owed(), NOW) is SendMethod.PUSH
    assert isinstance(await channel.send(owed(), SendMethod.PUSH), outcome)
    assert len(simulator.replies) == reached
    assert len(simulator.calls) == 1  # no redirect was followed, nothing tried again by itself
    if outcome is RetryLater:
        assert await channel.send(owed(), SendMethod.PUSH) == Delivered()
        assert len(simulator.replies) == 1  # a repeat is known by its key


@pytest.mark.parametrize(
    ("given_", "wait_s"), [("7", 7.0), ("0.5", 0.5), ("Wed, 21 Oct 2026 07:28:00 GMT", None)]
)
async def test_a_full_relay_says_when_to_come_back(
    simulator: LiveChatSimulator, channel: OdooLiveChatChannel, given_: str, wait_s: float | None
) -> None:
    simulator.retry_after = given_
    for fault in (Fault.RATE, Fault.UNAVAILABLE):
        simulator.faults.append(fault)
        outcome = await channel.send(owed(), SendMethod.PUSH)
        assert isinstance(outcome, RetryLater)
        assert outcome.after_s == wait_s


async def test_a_relay_that_accepts_and_never_answers_is_asked_again(
    simulator: LiveChatSimulator,
) -> None:
    simulator.faults.append(Fault.HANG_AFTER)
    client = LiveChatClient(simulator.url, send_timeout_s=0.2)
    headers, body = simulator.signed(
        dict.fromkeys(("session_id", "message_id", "turn_id", "text", "idempotency_key"), "x")
    )
    headers |= {"Content-Type": "application/json", "Idempotency-Key": "x"}
    assert isinstance(await client.post(body, headers), RetryLater)
    assert await client.post(body, headers) == Delivered()
    assert (len(simulator.replies), simulator.repeats) == (1, ["x"])
    await client.close()


async def test_a_relay_that_is_down_is_told_by_doctor_and_tried_again(
    simulator: LiveChatSimulator, channel: OdooLiveChatChannel
) -> None:
    [check] = await channel.check()
    assert check.is_ok  # any answer will do
    nobody = channel_to("http://127.0.0.1:1/")
    [check] = await nobody.check()
    assert (check.is_ok, check.detail) == (False, "ClientConnectorError")
    assert isinstance(await nobody.send(owed(), SendMethod.PUSH), RetryLater)
    await nobody.close()


@pytest.mark.parametrize("parts", [("",), (" \n",), ("x" * 20_001,), ("a", "b")])
async def test_what_cannot_be_carried_is_not_sent(
    simulator: LiveChatSimulator, channel: OdooLiveChatChannel, parts: tuple[str, ...]
) -> None:
    assert isinstance(await channel.send(owed(*parts), SendMethod.PUSH), Refused)
    assert simulator.calls == []


# ---------------------------------------------------------------- a whole turn


async def post(url: str, signed: tuple[dict[str, str], bytes]) -> int:
    headers, body = signed
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/webhooks/odoolivechat/shop", data=body, headers=headers) as response,
    ):
        return response.status


async def test_a_visitors_question_is_answered_once_from_public_documents(
    template: Path, tmp_path: Path
) -> None:
    async with LiveChatSimulator().running() as relay:
        table = {"agent": "xiaohe", "secret": relay.secret, "reply_url": relay.url}
        made = await asyncio.to_thread(
            configured, template, tmp_path / "made", channels__odoolivechat__shop=table
        )
        async with serving(made, tmp_path / "home") as world:
            question = relay.signed(relay.event(ASK, "s1"))
            old = relay.signed(
                relay.event(ASK, "s9"), at=relay.now() - timedelta(minutes=10).total_seconds()
            )
            assert await post(world.url, old) == 401
            assert await post(world.url, ({}, question[1])) == 401
            for _ in range(3):
                assert await post(world.url, question) == 200
            assert await post(world.url, relay.signed(relay.event(OF_STAFF, "s2"))) == 200
            await relay.wait_for(2)
            [answer] = relay.texts_to("s1")
            assert "兩年" in answer
            assert "[1] 產品常見問題.md" in answer.splitlines()[-2] + answer.splitlines()[-1]
            [other] = relay.texts_to("s2")
            assert "七日" not in other
        assert relay.violations == []
        assert relay.texts_to("s9") == []
