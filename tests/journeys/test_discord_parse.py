"""What is read out of a Discord gateway frame: who wrote, where, to whom; and what never is."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.discord.channel import DiscordChannel, DiscordSettings
from channels.discord.parse import Reading, decode
from gateway.core.messages import InboundMessage, NoticeKind, Sender
from gateway.core.secrets import Secret
from gateway.errors import SignatureError
from tests.simulators.discord import (
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    OTHER_ID,
    PERSON_ID,
    THREAD_ID,
    DiscordSimulator,
)
from tests.simulators.shared import shared

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
READING = Reading("main", BOT_ID, "helper", None, "/ask")
US = {"id": BOT_ID, "username": "helper", "bot": True}
OTHER = {"id": OTHER_ID, "username": "mei", "global_name": "美"}
FROM_BOT = {"id": OTHER_ID, "username": "b", "bot": True}
SYSTEM = {"id": OTHER_ID, "username": "s", "system": True}
PARENTS = {THREAD_ID: CHANNEL_ID}
said, in_guild, frame = (
    DiscordSimulator().said,
    DiscordSimulator().in_guild,
    DiscordSimulator().frame,
)


def read(data: dict[str, Any], kind: str = "MESSAGE_CREATE") -> InboundMessage | None:
    found = decode(frame(data, kind), NOW, READING, PARENTS)
    assert len(found) <= 1
    return found[0] if found else None


def heard(data: dict[str, Any]) -> InboundMessage:
    found = read(data)
    assert found is not None
    return found


def test_a_direct_message_names_its_sender_and_needs_no_mention() -> None:
    data = said("特休有幾天？")
    message = heard(data)
    assert message.conversation.is_direct
    assert message.is_addressed
    assert message.sender == Sender("discord", "main", PERSON_ID)
    assert message.sender_name == "王小明"
    assert (message.delivery_id, message.reply_to) == (data["id"], data["id"])
    assert message.message_key == f"{DM_ID}:{data['id']}"
    assert message.conversation.id == DM_ID
    assert message.received_at == datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    assert message.agent_id == "helper"


@pytest.mark.parametrize(
    "over",
    [
        {"channel_type": None},
        {"channel_type": 0},
        {"channel_type": 3},
        {"channel_type": 11},
        {"channel_type": 99},
        {"guild_id": GUILD_ID},
        {"flags": 1 << 6, "channel_type": 0},
        {"flags": 1 << 6},
        {"interaction_metadata": {"id": "1"}},
        {"interaction": {"id": "1"}},
        {"author": None},
    ],
)
def test_nothing_but_a_proven_direct_chat_is_one(over: dict[str, Any]) -> None:
    message = heard(said("payroll?", **over))
    assert not message.conversation.is_direct
    assert not message.is_addressed


@pytest.mark.parametrize(
    "over",
    [
        {"flags": 1 << 6},
        {"flags": 1 << 6, "channel_type": 0},
        {"flags": (1 << 6) | (1 << 2), "guild_id": GUILD_ID, "mentions": [US]},
        {"interaction_metadata": {"id": "1"}},
        {"interaction": {"id": "1"}},
        {"author": None},
    ],
)
def test_what_is_ephemeral_or_of_an_interaction_names_nobody(over: dict[str, Any]) -> None:
    message = heard(said("payroll?", **over))
    assert (message.sender, message.sender_name, message.account_id) == (None, None, None)


@pytest.mark.parametrize(
    "over",
    [
        {"author": US},
        {"author": FROM_BOT, "mentions": [US]},
        {"author": SYSTEM},
        {"webhook_id": "1", "mentions": [US]},
        {"webhook_id": "1", "author": {"id": "1", "username": "hook"}},
        {"type": 7},
        {"type": 6},
        {"type": 20},
        {"type": 23},
        {"type": 9999},
    ],
)
@pytest.mark.parametrize("make", [said, in_guild])
def test_bots_webhooks_ourselves_and_the_system_are_not_heard(
    make: Any, over: dict[str, Any]
) -> None:
    assert read(make(f"<@{BOT_ID}> hello", **over)) is None


@pytest.mark.parametrize(
    ("text", "over", "shown"),
    [
        (f"<@{BOT_ID}> hello", {"mentions": [US]}, "hello"),
        (f"<@!{BOT_ID}> hello", {"mentions": [US]}, "hello"),
        (f"hello <@{BOT_ID}>", {"mentions": [US]}, "hello"),
        (f"ask <@{OTHER_ID}>, <@{BOT_ID}> how", {"mentions": [OTHER, US]}, "ask @美, how"),
        ("/ask hello", {}, "hello"),
        ("/ASK hello", {}, "hello"),
        ("go on", {"type": 19, "referenced_message": {"author": US}}, "go on"),
        ("", {"mentions": [US]}, ""),
        (f"<@{BOT_ID}>", {"mentions": [US]}, ""),
        ("/ask", {}, ""),
        (f"<:wave:1234> <@{BOT_ID}>", {"mentions": [US]}, ":wave:"),
    ],
)
def test_in_a_group_it_is_addressed_by_mention_reply_or_prefix(
    text: str, over: dict[str, Any], shown: str
) -> None:
    message = heard(in_guild(text, **over))
    assert message.is_addressed
    assert message.text == shown
    assert not message.conversation.is_direct
    assert message.sender == Sender("discord", "main", PERSON_ID)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("hello all", {}),
        (f"<@{BOT_ID}> by text alone", {}),
        ("@everyone", {"mention_everyone": True}),
        ("<@&123> role", {"mention_roles": ["123"]}),
        ("hello", {"mentions": [OTHER]}),
        ("so", {"type": 19, "referenced_message": {"author": OTHER}}),
        ("so", {"type": 19, "referenced_message": None}),
        ("so what /ask", {}),
    ],
)
def test_in_a_group_nothing_else_addresses_us(text: str, over: dict[str, Any]) -> None:
    assert not heard(in_guild(text, **over)).is_addressed


@pytest.mark.parametrize("make", [said, in_guild])
def test_empty_content_makes_no_question(make: Any) -> None:
    assert read(make("")) is None
    assert read(make("  \n")) is None
    assert read(make("", content=None)) is None
    assert read(make("", type=19, referenced_message={"author": US})) is None
    assert read(make("\u0000\u0007")) is None


def test_a_thread_is_a_conversation_of_its_own_under_its_channel() -> None:
    message = heard(in_guild("hello", channel_id=THREAD_ID, channel_type=11))
    assert (message.conversation.id, message.conversation.parent_id) == (THREAD_ID, CHANNEL_ID)
    above = heard(in_guild("hello"))
    assert (above.conversation.id, above.conversation.parent_id) == (CHANNEL_ID, None)
    assert above.conversation.lane != message.conversation.lane


@pytest.mark.parametrize(
    ("filename", "suffix"),
    [
        ("../../x", ""),
        ("報告.PDF", ".pdf"),
        ("a.tar.gz", ".gz"),
        ("x./../../etc/passwd", ""),
        ("x.p\u202efd", ""),
        ("", ""),
        (".bashrc", ""),
        ("a.verylongsuffix", ""),
    ],
)
def test_a_file_gets_a_name_of_our_own(filename: str, suffix: str) -> None:
    url = "https://cdn.discordapp.com/attachments/1/2/x?ex=1"
    file = {"id": "77", "filename": filename, "url": url, "size": 5, "content_type": "a/b"}
    [attachment] = heard(said("", attachments=[file])).attachments
    assert attachment.name == f"discord-77{suffix}"
    assert (attachment.handle, attachment.size_bytes, attachment.media_type) == (url, 5, "a/b")


def test_deleted_messages_are_told_by_the_keys_they_came_under() -> None:
    data = in_guild("secret")
    key = heard(data).message_key
    one = read({"id": data["id"], "channel_id": CHANNEL_ID, "guild_id": GUILD_ID}, "MESSAGE_DELETE")
    many = read({"ids": ["5", data["id"]], "channel_id": CHANNEL_ID}, "MESSAGE_DELETE_BULK")
    assert one is not None
    assert many is not None
    assert one.notice is not None
    assert many.notice is not None
    assert (one.notice.kind, one.notice.message_keys) == (NoticeKind.RETRACTED, (key,))
    assert set(many.notice.message_keys) == {key, f"{CHANNEL_ID}:5"}
    assert one.conversation == many.conversation == heard(data).conversation
    assert len({one.delivery_id, many.delivery_id, data["id"]}) == 3
    assert read({"ids": [], "channel_id": CHANNEL_ID}, "MESSAGE_DELETE_BULK") is None


@pytest.mark.parametrize("kind", ["MESSAGE_UPDATE", "TYPING_START", "READY", "NEW_KIND", ""])
def test_other_kinds_give_no_message(kind: str) -> None:
    assert read(said("hello"), kind) is None


def test_halves_of_surrogate_pairs_are_shown_as_such_and_lose_nothing_else() -> None:
    body = (
        b'{"op":0,"t":"MESSAGE_CREATE","s":1,"d":'
        + json.dumps(said("hello X")).encode().replace(b"X", b"\\ud83d")
        + b"}"
    )
    [message] = decode(body, NOW, READING)
    assert message.text == "hello \ufffd"
    whole = body.replace(b"\\ud83d", b"\\ud83d\\ude00")
    [message] = decode(whole, NOW, READING)
    assert message.text == "hello 😀"


def test_a_clock_of_theirs_never_runs_ahead_of_ours() -> None:
    assert heard(said("x", timestamp="2031-01-01T00:00:00+00:00")).received_at == NOW
    assert heard(said("x", timestamp="soon")).received_at == NOW
    assert heard(said("x", timestamp=None)).received_at == NOW


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FIELDS = st.sampled_from([*said("x"), "guild_id", "webhook_id", "referenced_message", "ids"])
KINDS = st.sampled_from(["MESSAGE_CREATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "X"])


@given(data=st.dictionaries(FIELDS, JSON), kind=KINDS, raw=st.binary(max_size=20))
def test_no_frame_raises_and_an_odd_one_is_never_direct(
    data: dict[str, Any], kind: str, raw: bytes
) -> None:
    decode(raw, NOW, READING)
    [*found] = decode(frame(said("x") | data, kind), NOW, READING)
    for message in found:
        if message.conversation.is_direct:
            assert data.get("channel_type", 1) == 1
            assert message.sender is not None


def samples() -> Iterator[Any]:
    for path in sorted(shared("platform-specs", "discord", "samples").glob("*.json")):
        yield json.loads(path.read_text("utf-8"))


@pytest.mark.shared
def test_official_samples_pass_and_unknown_ones_give_nothing() -> None:
    kinds = "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "GUILD_CREATE", "INTERACTION"
    heard_of = 0
    for sample in samples():
        bare = json.dumps(sample).encode()
        assert decode(bare, NOW, READING) == ()
        for kind in kinds:
            wrapped = json.dumps({"op": 0, "s": 1, "t": kind, "d": sample}).encode()
            heard_of += len(decode(wrapped, NOW, READING))
    assert heard_of >= 1  # the official example message


@pytest.mark.shared
def test_official_samples_without_our_seal_are_refused_at_the_webhook() -> None:
    channel = DiscordChannel(DiscordSettings("main", "helper", Secret("token")))
    for sample in samples():
        body = json.dumps(sample).encode()
        for headers in ({}, {"X-Signature-Ed25519": "00" * 64, "X-Signature-Timestamp": "1"}):
            with pytest.raises(SignatureError):
                channel.parse(headers, body, NOW)
