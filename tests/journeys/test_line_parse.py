"""LINE's webhook bodies: what is read, what is ignored, and what is refused."""

import contextlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.line import parse as line_parse
from channels.line.channel import LineChannel, LineSettings
from gateway.core.messages import Conversation, InboundMessage, Notice, NoticeKind, Sender
from gateway.core.secrets import Secret
from gateway.errors import GatewayError, InvalidRequestError, SignatureError
from tests.simulators.line import LineSimulator, sign
from tests.simulators.shared import shared

SECRET = "line-secret"
USER, GROUP, ROOM = "U" + "1" * 32, "C" + "2" * 32, "R" + "3" * 32
NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
IN_GROUP = {"type": "group", "groupId": GROUP, "userId": USER}

simulator = LineSimulator(secret=SECRET)
channel = LineChannel(
    LineSettings(
        name="main",
        agent="helper",
        channel_secret=Secret(SECRET),
        channel_access_token=Secret("token"),
        language="ja",
        prefix="/ask",
    )
)


def event(text: str = "特休有幾天？", **over: Any) -> dict[str, Any]:
    return simulator.text_event(text, USER, timestamp=NOW_MS, **over)


def read(*events: Any) -> list[InboundMessage]:
    return read_bytes(simulator.body(*events))


def read_bytes(body: bytes) -> list[InboundMessage]:
    return list(channel.parse({"X-Line-Signature": sign(SECRET, body)}, body, NOW))


def test_a_direct_message() -> None:
    given_event = event()
    [message] = read(given_event)
    assert message.conversation.lane == f"line/main/{USER}"
    assert message.conversation.is_direct
    assert message.sender == Sender("line", "main", USER)
    assert message.delivery_id == given_event["webhookEventId"]
    assert message.message_key == given_event["message"]["id"]
    assert message.text == "特休有幾天？"
    assert (message.agent_id, message.language, message.received_at) == ("helper", "ja", NOW)
    assert message.reply_handle is not None
    assert message.reply_handle.token == given_event["replyToken"]
    assert message.reply_handle.expires_at == NOW + timedelta(seconds=45)


# ---------------------------------------------------------------- identity

PLACES: list[tuple[str, Any, str, bool, str | None]] = [
    ("user", {"type": "user", "userId": USER}, USER, True, USER),
    ("group", IN_GROUP, GROUP, False, USER),
    ("group without sender", {"type": "group", "groupId": GROUP}, GROUP, False, None),
    ("room", {"type": "room", "roomId": ROOM, "userId": USER}, ROOM, False, USER),
    ("unknown type with a user", {"type": "square", "userId": USER}, USER, False, USER),
    ("no type", {"userId": USER}, USER, False, USER),
    ("user and group", {"type": "user", "userId": USER, "groupId": GROUP}, GROUP, False, USER),
    ("user without id", {"type": "user"}, "message:", False, None),
    ("empty user id", {"type": "user", "userId": ""}, "message:", False, None),
    ("nothing", {}, "message:", False, None),
    ("null", None, "message:", False, None),
]


@pytest.mark.parametrize(
    ("source", "place", "is_direct", "sender"),
    [row[1:] for row in PLACES],
    ids=[row[0] for row in PLACES],
)
def test_only_a_user_source_with_an_id_is_direct(
    source: Any, place: str, is_direct: bool, sender: str | None
) -> None:
    [message] = read(event() | {"source": source})
    assert message.conversation.is_direct is is_direct
    assert message.conversation.id.startswith(place)
    assert (message.sender.id if message.sender else None) == sender


# ---------------------------------------------------------------- addressing


def mention(text: str, *mentionees: dict[str, Any]) -> dict[str, Any]:
    return event(source=IN_GROUP, message={"text": text, "mention": {"mentionees": mentionees}})


def at(index: int, length: int, **more: Any) -> dict[str, Any]:
    return {"index": index, "length": length, "type": "user", **more}


ADDRESSING: list[tuple[str, dict[str, Any], bool, str]] = [
    ("plain", event("hello", source=IN_GROUP), False, "hello"),
    ("own", mention("@Bot 特休？", at(0, 4, isSelf=True)), True, "特休？"),
    ("own after emoji", mention("😀 @Bot go", at(3, 4, isSelf=True)), True, "😀  go"),
    ("someone else", mention("@Ann hi", at(0, 4, isSelf=False)), False, "@Ann hi"),
    ("all", mention("@All hi", {"index": 0, "length": 4, "type": "all"}), False, "@All hi"),
    (
        "two of ours and one other",
        mention("@Bot @Ann @Bot x", *(at(i, 4, isSelf=i != 5) for i in (0, 5, 10))),
        True,
        "@Ann  x",
    ),
    ("position is no mention", mention("hi @Bot", at(0, 2, isSelf=True)), True, "hi @Bot"),
    ("position outside", mention("@Bot hi", at(90, 4, isSelf=True)), True, "@Bot hi"),
    ("position negative", mention("@Bot hi", at(-1, 4, isSelf=True)), True, "@Bot hi"),
    ("position in a pair", mention("@😀 hi", at(0, 2, isSelf=True)), True, "@😀 hi"),
    ("prefix", event("/ask 特休？", source=IN_GROUP), True, "特休？"),
    ("prefix, other case", event("/ASK  hi", source=IN_GROUP), True, "hi"),
    ("prefix inside", event("I /ask", source=IN_GROUP), False, "I /ask"),
    ("direct needs none", event("hello"), True, "hello"),
]


@pytest.mark.parametrize(
    ("given_event", "is_addressed", "text"),
    [row[1:] for row in ADDRESSING],
    ids=[row[0] for row in ADDRESSING],
)
def test_groups_are_answered_when_addressed(
    given_event: dict[str, Any], is_addressed: bool, text: str
) -> None:
    [message] = read(given_event)
    assert (message.is_addressed, message.text) == (is_addressed, text)


# ---------------------------------------------------------------- what is ignored

IGNORED: list[tuple[str, Any]] = [
    ("standby", event(mode="standby")),
    ("follow", {"type": "follow", "webhookEventId": "1", "source": {"type": "user"}}),
    ("unsend of nothing", {"type": "unsend", "unsend": {"messageId": ""}, "source": IN_GROUP}),
    ("unsend without detail", {"type": "unsend", "source": IN_GROUP}),
    ("unknown type", {"type": "telepathy", "message": {"id": "1", "type": "text", "text": "x"}}),
    ("sticker", event(message={"type": "sticker", "packageId": "1", "stickerId": "2"})),
    ("text is empty", event("")),
    ("console trial", event(replyToken="0" * 32)),
    ("older console trial", event(replyToken="f" * 32)),
    ("no message", {"type": "message", "source": IN_GROUP}),
    ("message is a list", event() | {"message": []}),
    ("text is a number", event(message={"text": 7})),
    ("no message id", event(message={"id": ""})),
    ("timestamp is text", event() | {"timestamp": "soon"}),
    ("not an object", 7),
    ("null", None),
    ("nested list", [[[]]]),
]


@pytest.mark.parametrize("odd", [row[1] for row in IGNORED], ids=[row[0] for row in IGNORED])
def test_one_odd_event_does_not_fail_the_others(odd: Any) -> None:
    assert read(odd) == []
    assert [message.text for message in read(event("first"), odd, event("last"))] == [
        "first",
        "last",
    ]


def test_no_events_is_nothing() -> None:
    assert read() == []


FILE = {"type": "file", "text": None, "fileName": "../../etc/passwd", "fileSize": 9}


def test_a_file_is_a_lazy_handle_with_a_name_of_our_own() -> None:
    [message] = read(event(message=FILE))
    [attachment] = message.attachments
    assert attachment.handle == message.message_key
    assert attachment.name == f"line-file-{message.message_key}"
    assert attachment.size_bytes == 9
    assert message.text == ""


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("規章.PDF", ".pdf"),
        ("../../x", ""),
        ("../../x.docx", ".docx"),
        ("x.tar.gz", ".gz"),
        ("a\u202efdp.exe", ".exe"),
        ("x.pdf/../../y", ""),
        ("x.p\0df", ""),
        ("x.pdf\n", ""),
        ("x." + "a" * 11, ""),
        (".", ""),
        ("", ""),
    ],
)
def test_only_the_extension_of_a_given_name_stays(given_name: str, kept: str) -> None:
    [message] = read(event(message=FILE | {"fileName": given_name, "id": "42"}))
    assert message.attachments[0].name == f"line-file-42{kept}"


def test_a_file_that_lies_elsewhere_is_a_handle_of_another_kind() -> None:
    provider = {"type": "external", "originalContentUrl": "https://example.com/a.jpg"}
    image = {"type": "image", "text": None, "contentProvider": provider}
    own = image | {"contentProvider": {"type": "line", "originalContentUrl": "https://evil/"}}
    nowhere = image | {"contentProvider": {"type": "external"}}
    found = [read(event(message=each))[0] for each in (image, own, nowhere)]
    handles = [message.attachments[0].handle for message in found]
    assert handles == ["url:https://example.com/a.jpg", found[1].message_key, "url:"]


@pytest.mark.parametrize("mode", ["active", "standby"])
def test_an_unsend_names_the_message_and_has_no_text(mode: str) -> None:
    source = {"type": "group", "groupId": "C1", "userId": "U1"}
    unsend = {"type": "unsend", "unsend": {"messageId": "77"}, "source": source, "mode": mode}
    [message] = read(event() | unsend)
    assert message.notice == Notice(NoticeKind.RETRACTED, message_keys=("77",))
    assert message.conversation == Conversation("line", "main", "C1")
    assert message.sender == Sender("line", "main", "U1")
    assert (message.text, message.attachments) == ("", ())
    assert message.message_key != "77"  # it is no repeat of what it takes back


# ---------------------------------------------------------------- time

TIMES = [
    ("redelivered late", NOW_MS - 600_000, NOW - timedelta(minutes=10)),
    ("clock ahead", NOW_MS + 600_000, NOW),
    ("absent", None, NOW),
    ("absurd", 10**30, NOW),
    ("absurd, fits", 10**18, NOW),
]


@pytest.mark.parametrize(
    ("timestamp", "sent_at"), [row[1:] for row in TIMES], ids=[row[0] for row in TIMES]
)
def test_a_reply_handle_ends_45_s_after_the_event(timestamp: int | None, sent_at: datetime) -> None:
    [message] = read(event() | {"timestamp": timestamp})
    assert message.received_at == sent_at
    assert message.reply_handle is not None
    assert message.reply_handle.expires_at == sent_at + timedelta(seconds=45)


def test_an_event_without_delivery_id_or_token_is_still_a_message() -> None:
    bare = event()
    del bare["webhookEventId"], bare["replyToken"]
    [message] = read(bare)
    assert message.delivery_id == f"message:{message.message_key}"
    assert message.reply_handle is None


# ---------------------------------------------------------------- odd strings


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb"a\ud800b", "a�b"),
        (rb"a\udc00\ud800", "a��"),
        (rb"\ud83e\udd28", "🤨"),
        (rb"a\u0000b\u0007", "ab"),
        (b"a\xffb", "a�b"),
        (rb"a\tb\nc", "a\tb\nc"),
    ],
)
def test_text_that_cannot_be_stored_is_mended(escaped: bytes, text: str) -> None:
    body = simulator.body(event("first"), event("HERE")).replace(b"HERE", escaped)
    assert [message.text for message in read_bytes(body)] == ["first", text]


def test_a_hundred_kilobytes_of_question_are_read_whole() -> None:
    [message] = read(event("休" * 50_000))
    assert len(message.text) == 50_000


# ---------------------------------------------------------------- refusals

BODY = simulator.body(event())
SIGNATURES: list[tuple[str, dict[str, str]]] = [
    ("missing", {}),
    ("empty", {"X-Line-Signature": ""}),
    ("of another body", {"X-Line-Signature": sign(SECRET, BODY + b" ")}),
    ("with another secret", {"X-Line-Signature": sign("other", BODY)}),
    ("not base64", {"X-Line-Signature": "%%%"}),
    ("not ASCII", {"X-Line-Signature": "簽章"}),
    ("a stray surrogate", {"X-Line-Signature": "\udcff\udcfe"}),
    ("half of it", {"X-Line-Signature": sign(SECRET, BODY)[:20]}),
    ("in another header", {"X-Hub-Signature": sign(SECRET, BODY)}),
]


@pytest.mark.parametrize(
    "headers", [row[1] for row in SIGNATURES], ids=[row[0] for row in SIGNATURES]
)
def test_a_wrong_signature_is_refused_in_one_way(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        channel.parse(headers, BODY, NOW)


def test_the_signature_covers_the_raw_bytes() -> None:
    spaced = json.dumps(json.loads(BODY), indent=3).encode()
    assert len(read_bytes(spaced)) == 1
    with pytest.raises(SignatureError):
        channel.parse({"X-Line-Signature": sign(SECRET, BODY)}, spaced, NOW)


@pytest.mark.parametrize(
    "body",
    [b"", b"x", BODY[:-20], b"[]", b"{}", b'{"events":7}', b'{"events":null}', b"[" * 100_000],
    ids=["empty", "word", "truncated", "list", "no events", "number", "null", "deep"],
)
def test_a_signed_body_that_is_no_webhook_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        read_bytes(body)


def test_a_huge_signed_body_is_refused() -> None:
    with pytest.raises(GatewayError) as refused:
        read_bytes(b" " * (line_parse.MAX_BODY_BYTES + 1))
    assert refused.value.code == "payload_too_large"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "message",
                    "source",
                    "mention",
                    "mentionees",
                    "id",
                    "text",
                    "userId",
                    "index",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_no_event_of_any_shape_raises(events: list[Any]) -> None:
    for message in read(*events):
        message.text.encode()
        message.conversation.lane.encode()


@given(st.binary(max_size=200))
def test_signed_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(InvalidRequestError):
        read_bytes(body)


@pytest.mark.shared
@pytest.mark.parametrize("folder", ["samples", "samples-spec-complete"])
def test_the_official_samples_are_read(folder: str) -> None:
    texts = {}
    for path in sorted(shared("platform-specs", "line", folder).glob("*.json")):
        body = path.read_bytes()
        texts[path.stem] = [message.text for message in read_bytes(body)]
    assert texts["java-text-user"] == ["Hello, world"]
    assert texts["java-text-mention"] == ["Hello, world @Brown and @Cony"]
    assert texts["java-unsend"] == [""]  # a notice
    assert len(texts) == 28
