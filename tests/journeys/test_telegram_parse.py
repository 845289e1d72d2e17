"""Telegram's updates: what is read, what is ignored, and what is refused."""

import contextlib
import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram import parse as telegram_parse
from channels.telegram.parse import Reading
from gateway.core.messages import InboundMessage, Notice, NoticeKind, Sender
from gateway.errors import ChannelError, GatewayError, InvalidRequestError, SignatureError
from tests.simulators.shared import shared
from tests.simulators.telegram import BOT_ID, BOT_NAME, SECRET_HEADER, TelegramSimulator

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
NOW_S = int(NOW.timestamp())
USER, GROUP = 1001, -1001234
OTHER_BOT = {"id": 77, "is_bot": True, "first_name": "Other"}
US = {"id": BOT_ID, "is_bot": True, "first_name": "Shutten", "username": BOT_NAME}
simulator = TelegramSimulator()
reading = Reading(
    account_name="main",
    bot_id=BOT_ID,
    secret_token=simulator.secret.encode(),
    username=BOT_NAME,
    agent_id="helper",
    language="ja",
    prefix="問",
)


def read(update: Any, how: Reading = reading) -> list[InboundMessage]:
    return read_bytes(simulator.body(update), how)


def read_bytes(body: bytes, how: Reading = reading) -> list[InboundMessage]:
    return list(telegram_parse.parse(simulator.headers(), body, NOW, how))


def direct(text: str | None = "特休有幾天？", /, **over: Any) -> dict[str, Any]:
    return simulator.message(text, USER, **({"date": NOW_S} | over))


def group(text: str, /, **over: Any) -> dict[str, Any]:
    return simulator.in_group(text, USER, **over)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def mention(text: str, what: str, kind: str = "mention", **more: Any) -> dict[str, Any]:
    """The entity over the first occurrence of `what`, in UTF-16 units."""
    return {
        "type": kind,
        "offset": units(text[: text.index(what)]),
        "length": units(what),
    } | more


def test_a_private_message_of_a_person_is_direct() -> None:
    update = direct()
    [message] = read(update)
    said = update["message"]
    assert message.conversation.lane == f"telegram/main/{USER}"
    assert message.conversation.is_direct
    assert message.sender == Sender("telegram", "main", str(USER))
    assert message.delivery_id == str(update["update_id"])
    assert message.message_key == f"{USER}:{said['message_id']}"
    assert (message.text, message.sender_name) == ("特休有幾天？", "Mei Lin")
    assert (message.agent_id, message.language, message.received_at) == ("helper", "ja", NOW)
    assert (message.is_addressed, message.reply_to) == (True, str(said["message_id"]))
    assert message.reply_handle is None


# ---------------------------------------------------------------- identity

ANONYMOUS = {
    "id": 1087968824,
    "is_bot": True,
    "first_name": "Group",
    "username": "GroupAnonymousBot",
}
NOT_PROVEN: list[tuple[str, dict[str, Any]]] = [
    ("business connection", {"business_connection_id": "b1"}),
    ("business connection of an odd type", {"business_connection_id": 0}),
    ("guest query", {"guest_query_id": "g1"}),
    ("guest caller", {"guest_bot_caller_user": {"id": USER, "is_bot": False}}),
    ("sent for a chat", {"sender_chat": {"id": USER, "type": "channel"}}),
    ("sent for a chat we cannot read", {"sender_chat": "?"}),
    ("other chat id", {"chat": {"id": USER + 1, "type": "private"}}),
    (
        "direct messages of a channel",
        {"chat": {"id": USER, "type": "private", "is_direct_messages": True}},
    ),
    ("nobody", {"from": None}),
    ("perhaps a bot", {"from": {"id": USER, "first_name": "Mei"}}),
    ("channel", {"chat": {"id": USER, "type": "channel"}}),
    ("unknown type", {"chat": {"id": USER, "type": "square"}}),
    ("no type", {"chat": {"id": USER}}),
]


@pytest.mark.parametrize("over", [row[1] for row in NOT_PROVEN], ids=[row[0] for row in NOT_PROVEN])
def test_whatever_is_not_provably_a_persons_own_chat_has_no_identity(over: dict[str, Any]) -> None:
    for message in read(direct(**over)):
        assert not message.conversation.is_direct
        assert message.sender is None


@pytest.mark.parametrize(
    "over",
    [
        {"business_connection_id": "b1"},
        {"guest_query_id": "g1"},
        {"guest_bot_caller_chat": {"id": GROUP}},
    ],
    ids=lambda over: next(iter(over)),
)
def test_a_chat_that_only_shares_an_id_is_never_answered_nor_mixed_up(over: dict[str, Any]) -> None:
    [message] = read(direct(document={"file_id": "f"}, **over))
    [own] = read(direct())
    assert not message.is_addressed
    assert message.conversation.lane != own.conversation.lane
    assert (message.attachments, message.sender_name) == ((), None)


@pytest.mark.parametrize("kind", ["group", "supergroup"])
def test_a_member_of_a_group_is_known_but_the_group_is_not_direct(kind: str) -> None:
    [message] = read(group("hello", chat={"id": GROUP, "type": kind}))
    assert message.sender == Sender("telegram", "main", str(USER))
    assert not message.conversation.is_direct
    assert not message.is_addressed


def test_an_anonymous_administrator_is_nobody() -> None:
    said = {"from": ANONYMOUS, "sender_chat": {"id": GROUP, "type": "supergroup"}}
    text = f"@{BOT_NAME} hello"
    [message] = read(group(text, entities=[mention(text, f"@{BOT_NAME}")], **said))
    assert message.is_addressed
    assert (message.sender, message.sender_name) == (None, None)


@pytest.mark.parametrize("user", [OTHER_BOT, US, {"id": BOT_ID, "is_bot": False}])
@pytest.mark.parametrize("chat", [{}, {"chat": {"id": GROUP, "type": "supergroup"}}])
def test_bots_are_never_heard(user: dict[str, Any], chat: dict[str, Any]) -> None:
    text = f"@{BOT_NAME} hello"
    entities = [mention(text, f"@{BOT_NAME}")]
    assert read(direct(text, entities=entities, **({"from": user} | chat))) == []


def test_our_own_words_are_not_heard_where_they_come_in_the_name_of_the_group() -> None:
    said = {"from": US, "sender_chat": {"id": GROUP, "type": "supergroup"}}
    assert read(group("hello", **said)) == []


@pytest.mark.parametrize(
    "kind",
    [
        "edited_message",
        "channel_post",
        "edited_channel_post",
        "business_message",
        "edited_business_message",
        "guest_message",
        "new_update_kind",
    ],
)
def test_only_the_message_field_is_read(kind: str) -> None:
    update = direct()
    update[kind] = update.pop("message")
    assert read(update) == []


# ---------------------------------------------------------------- for us?

NAME = f"@{BOT_NAME}"
ADDRESSED: list[tuple[str, str, dict[str, Any], str | None]] = [
    ("mention", f"{NAME} 特休？", {"entities": [(NAME, "mention")]}, "特休？"),
    (
        "mention in other letters",
        "@shuttenBOT hi",
        {"entities": [("@shuttenBOT", "mention")]},
        "hi",
    ),
    (
        "mention after emoji",
        f"😀👨‍👩‍👧 {NAME} hi",
        {"entities": [(NAME, "mention")]},
        "😀👨‍👩‍👧  hi",
    ),
    ("bare mention", NAME, {"entities": [(NAME, "mention")]}, ""),
    ("mention of another", "@OtherBot hi", {"entities": [("@OtherBot", "mention")]}, None),
    ("longer name", f"{NAME}2 hi", {"entities": [(f"{NAME}2", "mention")]}, None),
    ("mention that is only text", f"{NAME} hi", {}, None),
    ("text mention", "出典 hi", {"entities": [("出典", "text_mention", US)]}, "hi"),
    ("text mention of another", "Bo hi", {"entities": [("Bo", "text_mention", OTHER_BOT)]}, None),
    ("command for us", f"/help{NAME}", {"entities": [(f"/help{NAME}", "bot_command")]}, "/help"),
    (
        "command for another",
        "/help@OtherBot",
        {"entities": [("/help@OtherBot", "bot_command")]},
        None,
    ),
    ("command for nobody", "/help", {"entities": [("/help", "bot_command")]}, None),
    ("reply to us", "and?", {"reply_to_message": {"from": US}}, "and?"),
    ("reply to another", "and?", {"reply_to_message": {"from": OTHER_BOT}}, None),
    (
        "first message of a topic we made",
        "and?",
        {"reply_to_message": {"from": US, "forum_topic_created": {"name": "t"}}},
        None,
    ),
    ("prefix", "問 特休？", {}, "特休？"),
    ("prefix later", "請問特休？", {}, None),
    (
        "entity outside of the text",
        "hi",
        {"entities": [{"type": "mention", "offset": 9, "length": 9}]},
        None,
    ),
    (
        "entity in half a character",
        "😀",
        {"entities": [{"type": "mention", "offset": 1, "length": 1}]},
        None,
    ),
    (
        "entities of odd types",
        "hi",
        {"entities": ["x", {"type": 1}, {"type": "mention", "offset": "0"}]},
        None,
    ),
    ("entities that are no list", "hi", {"entities": {"type": "mention"}}, None),
]


@pytest.mark.parametrize(
    ("text", "over", "meant"), [row[1:] for row in ADDRESSED], ids=[row[0] for row in ADDRESSED]
)
def test_in_a_group_the_bot_is_addressed_by_structure_alone(
    text: str, over: dict[str, Any], meant: str | None
) -> None:
    fields = dict(over)
    if isinstance(over.get("entities"), list):
        fields["entities"] = [
            mention(text, one[0], one[1], **({"user": one[2]} if one[2:] else {}))
            if isinstance(one, tuple)
            else one
            for one in over["entities"]
        ]
    [message] = read(group(text, **fields))
    assert message.is_addressed == (meant is not None)
    assert message.text == (text if meant is None else meant)


def test_words_under_a_picture_count_as_text() -> None:
    caption = f"{NAME} 這是什麼？"
    entities = [mention(caption, NAME)]
    photo = [{"file_id": "small", "width": 90}, {"file_id": "large", "width": 800, "file_size": 9}]
    said = {"text": None, "caption": caption, "caption_entities": entities, "photo": photo}
    [message] = read(group("x", **said))
    assert (message.text, message.is_addressed) == ("這是什麼？", True)
    assert [each.handle for each in message.attachments] == ["large"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/start", "/start"),
        (f"/link{NAME} ABCD-1234", "/link ABCD-1234"),
        ("/help@Other", "/help@Other"),
    ],
)
def test_commands_stay_text_without_our_name(text: str, meant: str) -> None:
    command = text.split(maxsplit=1)[0]
    [message] = read(direct(text, entities=[mention(text, command, "bot_command")]))
    assert (message.text, message.is_addressed) == (meant, True)


@given(before=st.text(max_size=30), after=st.text(max_size=30))
def test_our_mention_alone_is_cut_out_of_any_text(before: str, after: str) -> None:
    text = f"{before}{NAME}{after}"
    offset = len(before.encode("utf-16-le", "surrogatepass")) // 2
    entity = {"type": "mention", "offset": offset, "length": units(NAME)}
    messages = read(group(text, entities=[entity]))
    assert [each.is_addressed for each in messages] == [True]
    assert NAME not in messages[0].text or NAME in before + after


def test_before_our_name_is_known_nothing_that_may_be_ours_is_lost() -> None:
    unknown = dataclasses.replace(reading, username=None)
    for text, kind in ((f"{NAME} hi", "mention"), (f"/help{NAME}", "bot_command")):
        entities = [mention(text, text.split(maxsplit=1)[0], kind)]
        with pytest.raises(ChannelError) as refused:
            read(group(text, entities=entities), unknown)
        assert refused.value.code == "unavailable"
        assert len(read(direct(text, entities=entities), unknown)) == 1
        business = {"business_connection_id": "b"}
        assert not read(group(text, entities=entities, **business), unknown)[0].is_addressed
    assert not read(group("hello"), unknown)[0].is_addressed
    replied = group("and?", reply_to_message={"from": US})
    assert read(replied, unknown)[0].is_addressed


# ---------------------------------------------------------------- topics and moves


@pytest.mark.parametrize(
    ("over", "place", "parent"),
    [
        ({"message_thread_id": 4, "is_topic_message": True}, f"{GROUP}:4", str(GROUP)),
        ({"message_thread_id": 4}, str(GROUP), None),
        ({"message_thread_id": 1, "is_topic_message": True}, str(GROUP), None),
        ({"message_thread_id": "4", "is_topic_message": True}, str(GROUP), None),
        ({"is_topic_message": True}, str(GROUP), None),
        ({}, str(GROUP), None),
    ],
)
def test_a_topic_is_a_conversation_of_its_own(
    over: dict[str, Any], place: str, parent: str | None
) -> None:
    [message] = read(group("hello", **over))
    assert (message.conversation.id, message.conversation.parent_id) == (place, parent)


def test_a_topic_of_a_private_chat_stays_direct() -> None:
    [message] = read(direct(message_thread_id=9, is_topic_message=True))
    assert message.conversation.id == f"{USER}:9"
    assert message.conversation.is_direct


def test_a_group_that_became_a_supergroup_is_told() -> None:
    chat = {"id": -55, "type": "group"}
    [message] = read(group("x", chat=chat, text=None, migrate_to_chat_id=-1009))
    assert message.notice == Notice(NoticeKind.CHAT_MOVED, new_chat_id="-1009")
    assert (message.conversation.id, message.text, message.sender) == ("-55", "", None)
    assert read(group("x", text=None, migrate_from_chat_id=-55)) == []


# ---------------------------------------------------------------- files

FILES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "document",
        {"file_name": "../../x/手冊.PDF", "mime_type": "application/pdf"},
        "telegram-document-u1.pdf",
        "application/pdf",
    ),
    ("document", {"file_name": "a.b/c", "mime_type": "no type\n"}, "telegram-document-u1", ""),
    ("document", {"file_name": 7, "mime_type": 7}, "telegram-document-u1", ""),
    ("voice", {}, "telegram-voice-u1", "audio/ogg"),
    ("video", {}, "telegram-video-u1", "video/mp4"),
    ("video_note", {}, "telegram-video_note-u1", "video/mp4"),
    ("audio", {"mime_type": "audio/flac"}, "telegram-audio-u1", "audio/flac"),
]


@pytest.mark.parametrize(("kind", "over", "name", "media_type"), FILES)
def test_a_file_is_a_lazy_handle_under_a_name_of_our_own(
    kind: str, over: dict[str, Any], name: str, media_type: str
) -> None:
    file = {"file_id": "F-1", "file_unique_id": "u1", "file_size": 12} | over
    [message] = read(direct(None, **{kind: file}))
    [attachment] = message.attachments
    assert (attachment.handle, attachment.name) == ("F-1", name)
    assert (attachment.media_type, attachment.size_bytes) == (media_type, 12)


@pytest.mark.parametrize(
    "file", ["x", [], {}, {"file_id": 7}, {"file_id": "f", "file_size": "many"}]
)
def test_a_file_of_an_odd_shape_does_not_lose_the_words(file: Any) -> None:
    [message] = read(direct("hello", document=file, photo=file))
    assert (message.text, message.attachments) == ("hello", ())


@pytest.mark.parametrize(
    "over",
    [
        {"sticker": {"file_id": "s"}},
        {"location": {"latitude": 1.0, "longitude": 2.0}},
        {"new_chat_members": [US]},
        {"text": ""},
        {},
    ],
)
def test_what_has_neither_words_nor_files_is_no_message(over: dict[str, Any]) -> None:
    assert read(direct(None, **over)) == []


# ---------------------------------------------------------------- secret and bytes


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {SECRET_HEADER: ""},
        {SECRET_HEADER: simulator.secret + "x"},
        {SECRET_HEADER: simulator.secret.upper()},
        {SECRET_HEADER: "\udcff\udc80"},
        {SECRET_HEADER: "\ud83d😀"},
        {SECRET_HEADER: "密"},
        {"X-Telegram-Bot-Api-Secret": simulator.secret},
    ],
)
def test_without_the_secret_nothing_is_read(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        telegram_parse.parse(headers, simulator.body(direct()), NOW, reading)


def test_an_account_without_a_secret_takes_no_webhook() -> None:
    polling = dataclasses.replace(reading, secret_token=b"")
    for headers in ({}, {SECRET_HEADER: ""}, simulator.headers()):
        with pytest.raises(SignatureError):
            telegram_parse.parse(headers, simulator.body(direct()), NOW, polling)


def test_the_headers_name_may_be_written_in_any_letters() -> None:
    for name in (SECRET_HEADER, SECRET_HEADER.lower(), SECRET_HEADER.upper()):
        headers = {name: simulator.secret}
        assert telegram_parse.parse(headers, simulator.body(direct()), NOW, reading)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"update_id": 1'])
def test_bytes_that_are_no_json_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        read_bytes(body)


def test_a_huge_body_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(GatewayError) as refused:
        read_bytes(b" " * (telegram_parse.MAX_BODY_BYTES + 1))
    assert refused.value.code == "payload_too_large"


@pytest.mark.parametrize(
    "body",
    [b"[]", b"1", b"null", b'"x"', b"{}", b'{"update_id": "x"}', b'{"update_id": 1e99}', b"[" * 9],
)
def test_json_of_another_shape_is_ignored(body: bytes) -> None:
    assert read_bytes(body) == []


def test_endless_nesting_ends() -> None:
    deep = b"[" * 20_000 + b"]" * 20_000
    body = simulator.body(direct("hi", photo="QQ")).replace(b'"QQ"', deep)
    with contextlib.suppress(InvalidRequestError):
        assert read_bytes(body) == []


def test_half_a_character_and_stray_bytes_lose_no_message() -> None:
    body = simulator.body(direct("QQ")).replace(b"QQ", b"\\ud83d hi \\u0000")
    assert [each.text for each in read_bytes(body)] == ["\ufffd hi"]
    body = simulator.body(direct("QQ")).replace(b"QQ", b"\xff hi")
    assert [each.text for each in read_bytes(body)] == ["\ufffd hi"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    "message_id",
    "chat",
    "from",
    "date",
    "text",
    "caption",
    "entities",
    "caption_entities",
    "sender_chat",
    "business_connection_id",
    "guest_query_id",
    "message_thread_id",
    "is_topic_message",
    "reply_to_message",
    "migrate_to_chat_id",
    "photo",
    "document",
    "voice",
)


@given(over=st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=4), number=ODD)
def test_odd_types_never_fail_and_never_prove_anything(over: dict[str, Any], number: Any) -> None:
    update = direct(**over) | ({"update_id": number} if number else {})
    decoded = telegram_parse.read(update, NOW, reading)
    with contextlib.suppress(UnicodeEncodeError):
        assert list(decoded) == read(update)
    for message in decoded:
        message.text.encode()
        is_proven = not over.keys() & {"from", "chat"}
        assert is_proven or not message.conversation.is_direct


@given(date=st.integers() | st.none() | st.text(max_size=3))
def test_a_message_is_never_later_than_now(date: Any) -> None:
    [message] = read(direct(date=date))
    assert message.received_at <= NOW


@pytest.mark.shared
@pytest.mark.parametrize("wrap", [False, True], ids=["as it is", "as a message"])
def test_every_recorded_payload_is_read_or_ignored(wrap: bool) -> None:
    folder = shared("platform-specs", "telegram", "samples")
    samples = sorted(folder.glob("*.json"))
    assert len(samples) >= 30
    heard = 0
    for path in samples:
        sample = json.loads(path.read_text("utf-8"))
        if wrap:
            sample = {"update_id": 1, "message": sample}
        heard += len(read(sample))
        heard += sum(len(read(one)) for one in updates_of(sample))
    assert heard > 3


def updates_of(sample: Any) -> list[Any]:
    """Of an answer to getUpdates."""
    result = sample.get("result") if isinstance(sample, dict) else None
    return result if isinstance(result, list) else []
