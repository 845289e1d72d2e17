"""Slack's events: what is read, what is ignored, who is known, and what is refused."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.channel import Mode, SlackChannel, SlackSettings
from channels.slack.events import Identity, Reading
from channels.slack.parse import MAX_BODY_BYTES, messages
from gateway.core.messages import InboundMessage, NoticeKind, Sender
from gateway.core.secrets import Secret
from gateway.errors import GatewayError, InvalidRequestError, SignatureError
from tests.simulators.shared import shared
from tests.simulators.slack import (
    APP,
    BOT,
    BOT_USER,
    CHANNEL,
    DIRECT,
    PERSON,
    TEAM,
    SlackSimulator,
    sign,
)

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
NOW_S = NOW.timestamp()
TS, ROOT = "1772355000.000100", "1772350000.000200"
OTHER_TEAM = "T0000ELSE"
ME = Identity(TEAM, BOT_USER, BOT)

simulator = SlackSimulator()
channel = SlackChannel(
    SlackSettings(
        name="main",
        agent="helper",
        bot_token=Secret(simulator.token),
        signing_secret=Secret(simulator.secret),
        language="ja",
        prefix="/ask",
    )
)


def read(event: Any, **over: Any) -> list[InboundMessage]:
    return read_bytes(simulator.body(event, **over))


def read_bytes(body: bytes) -> list[InboundMessage]:
    return list(channel.parse(sign(simulator.secret, body, NOW_S), body, NOW))


def direct(text: str = "特休有幾天？", **over: Any) -> dict[str, Any]:
    return simulator.event(text, ts=TS, **over)


def in_channel(text: str = "hello", **over: Any) -> dict[str, Any]:
    return simulator.in_channel(text, ts=TS, **over)


def test_a_direct_message() -> None:
    [message] = read(direct(), event_id="Ev1")
    assert message.conversation.lane == f"slack/main/{DIRECT}"
    assert message.conversation.is_direct
    assert message.conversation.parent_id is None
    assert message.sender == Sender("slack", "main", f"{TEAM}:{PERSON}")
    assert message.delivery_id == "Ev1"
    assert message.message_key == f"{TEAM}:{DIRECT}:{TS}"
    assert message.text == "特休有幾天？"
    assert (message.agent_id, message.language) == ("helper", "ja")
    assert message.received_at == datetime.fromtimestamp(float(TS), UTC)
    assert message.reply_handle is None


# ---------------------------------------------------------------- identity

PLACES: list[tuple[str, dict[str, Any], str, str | None, bool, bool]] = [
    ("im", direct(), DIRECT, None, True, True),
    ("thread in an im", direct(thread_ts=ROOT), f"{DIRECT}:{ROOT}", DIRECT, True, True),
    ("root of a thread in an im", direct(thread_ts=TS), DIRECT, None, True, True),
    ("channel", in_channel(), f"{CHANNEL}:{TS}", CHANNEL, False, True),
    ("thread", in_channel(thread_ts=ROOT), f"{CHANNEL}:{ROOT}", CHANNEL, False, True),
    ("mpim", direct(channel_type="mpim"), f"{DIRECT}:{TS}", DIRECT, False, True),
    ("private", direct(channel_type="group"), f"{DIRECT}:{TS}", DIRECT, False, True),
    ("no type", direct(channel_type=None), f"{DIRECT}:{TS}", DIRECT, False, True),
    ("app_home", direct(channel_type="app_home"), f"{DIRECT}:{TS}", DIRECT, False, True),
    ("unknown type", direct(channel_type="IM"), f"{DIRECT}:{TS}", DIRECT, False, True),
    ("im in a C channel", in_channel(channel_type="im"), f"{CHANNEL}:{TS}", CHANNEL, False, True),
    ("mention", simulator.mention_of(direct()), f"{DIRECT}:{TS}", DIRECT, False, True),
    (
        "mention that says im",
        direct() | {"type": "app_mention"},
        f"{DIRECT}:{TS}",
        DIRECT,
        False,
        True,
    ),
    ("im without a user", direct(user=None), DIRECT, None, False, False),
    ("im with an empty user", direct(user=""), DIRECT, None, False, False),
    (
        "thread in an im without a user",
        direct(user=None, thread_ts=ROOT),
        f"{DIRECT}:{ROOT}",
        DIRECT,
        False,
        False,
    ),
    ("user's team elsewhere", direct(user_team=OTHER_TEAM), DIRECT, None, False, False),
    ("team elsewhere", direct(team=OTHER_TEAM), DIRECT, None, False, False),
    ("source elsewhere", direct(source_team=OTHER_TEAM), DIRECT, None, False, False),
    (
        "profile elsewhere",
        direct(user_profile={"team": OTHER_TEAM, "real_name": "Ann"}),
        DIRECT,
        None,
        False,
        False,
    ),
]


@pytest.mark.parametrize(
    ("event", "place", "parent", "is_direct", "is_known"),
    [row[1:] for row in PLACES],
    ids=[row[0] for row in PLACES],
)
def test_only_an_im_with_a_user_of_our_workspace_is_direct(
    event: dict[str, Any], place: str, parent: str | None, is_direct: bool, is_known: bool
) -> None:
    for reading in (Reading("main"), Reading("main", me=ME)):
        event = event | {"text": f"<@{BOT_USER}> {event['text']}"}
        [message] = messages(simulator.envelope(event), reading, NOW)
        assert (message.conversation.id, message.conversation.parent_id) == (place, parent)
        assert message.conversation.is_direct is is_direct
        assert (message.sender is not None) is is_known


SHARED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("shared channel", {}, {"is_ext_shared_channel": True}),
    ("sent from another workspace", {}, {"team_id": OTHER_TEAM}),
    ("both", {"user_team": OTHER_TEAM}, {"team_id": OTHER_TEAM, "is_ext_shared_channel": True}),
]


@pytest.mark.parametrize("make", [direct, in_channel])
@pytest.mark.parametrize(
    ("over", "around"), [row[1:] for row in SHARED], ids=[r[0] for r in SHARED]
)
def test_what_another_workspace_shares_names_nobody(
    make: Any, over: dict[str, Any], around: dict[str, Any]
) -> None:
    [message] = read(make(f"<@{BOT_USER}> hi", **over), **around)
    assert message.sender is None
    assert not message.conversation.is_direct


def test_events_of_another_app_or_workspace_are_not_ours() -> None:
    reading = Reading("main", app_id=APP, me=Identity(team_id=TEAM))
    own = simulator.envelope(direct())
    assert len(messages(own, reading, NOW)) == 1
    elsewhere = {"team_id": OTHER_TEAM, "authorizations": [{"team_id": OTHER_TEAM, "is_bot": True}]}
    for over in ({"api_app_id": "A0000ELSE"}, {"api_app_id": None}, elsewhere):
        assert messages(own | over, reading, NOW) == ()


IGNORED: list[tuple[str, dict[str, Any]]] = [
    ("own user", direct(user=BOT_USER)),
    ("a bot", direct(bot_id="B0000ELSE")),
    ("a bot that mentions us", in_channel(f"<@{BOT_USER}> hi", bot_id="B0000ELSE")),
    ("an app with a profile", direct(bot_profile={"id": "B0000ELSE"})),
    ("bot_message", direct(subtype="bot_message", user=None)),
    ("slackbot", direct(user="USLACKBOT")),
    ("changed", direct(subtype="message_changed", message={"text": "x", "ts": TS})),
    ("join", in_channel(subtype="channel_join")),
    ("unknown subtype", direct(subtype="hologram")),
    ("hidden", direct(hidden=True)),
    ("ephemeral", direct(is_ephemeral=True)),
    ("no channel", direct(channel=None)),
    ("a channel object", direct(channel={"id": DIRECT})),
    ("a numeric channel", in_channel(channel=7)),
    ("no ts", direct() | {"ts": None}),
    ("an odd ts", direct() | {"ts": "yesterday"}),
    ("an odd thread", direct(thread_ts="C1:../")),
    ("nothing said", direct(" ")),
    ("numeric text", direct() | {"text": 7}),
    ("another kind", {"type": "reaction_added", "user": PERSON, "event_ts": TS}),
    ("no kind", {"text": "hello"}),
]


@pytest.mark.parametrize("event", [row[1] for row in IGNORED], ids=[row[0] for row in IGNORED])
def test_what_is_no_persons_message_is_ignored(event: dict[str, Any]) -> None:
    assert read(event) == []


@pytest.mark.parametrize("subtype", [None, "file_share", "thread_broadcast", "me_message"])
def test_these_kinds_of_messages_are_questions(subtype: str | None) -> None:
    [message] = read(direct("hello", subtype=subtype))
    assert message.text == "hello"


# ---------------------------------------------------------------- addressing

RICH = [{"type": "rich_text", "elements": [{"elements": [{"type": "user", "user_id": BOT_USER}]}]}]
ADDRESSING: list[tuple[str, dict[str, Any], bool, str]] = [
    ("plain", in_channel("hello"), False, "hello"),
    ("own", in_channel(f"<@{BOT_USER}> 特休？"), True, "特休？"),
    ("own with a label", in_channel(f"hi <@{BOT_USER}|helper> x"), True, "hi  x"),
    ("someone else", in_channel("<@U0000ELSE> hi"), False, "@U0000ELSE hi"),
    ("everybody", in_channel("<!channel> hi"), False, "@channel hi"),
    ("written, not a mention", in_channel(f"&lt;@{BOT_USER}&gt; hi"), False, f"<@{BOT_USER}> hi"),
    ("in the rich text alone", in_channel("helper hi", blocks=RICH), True, "helper hi"),
    ("prefix", in_channel("/ASK  特休？"), True, "特休？"),
    ("prefix inside", in_channel("x /ask y"), False, "x /ask y"),
    ("bare mention", in_channel(f"<@{BOT_USER}>"), True, ""),
    ("below our message", in_channel("y", thread_ts=ROOT, parent_user_id=BOT_USER), True, "y"),
    ("below another's", in_channel("y", thread_ts=ROOT, parent_user_id=PERSON), False, "y"),
    ("mpim", direct("x", channel_type="mpim"), False, "x"),
    ("direct", direct(f"<@{BOT_USER}> /ask"), True, "/ask"),
]


@pytest.mark.parametrize(
    ("event", "is_addressed", "text"),
    [row[1:] for row in ADDRESSING],
    ids=[row[0] for row in ADDRESSING],
)
def test_a_channel_is_answered_when_addressed(
    event: dict[str, Any], is_addressed: bool, text: str
) -> None:
    [message] = read(event)
    assert (message.is_addressed, message.text) == (is_addressed, text)


def test_a_mentions_two_events_are_one_message_that_is_addressed() -> None:
    event = in_channel(f"<@{BOT_USER}> hi")
    [said] = read(event, event_id="Ev1")
    [mention] = read(simulator.mention_of(event), event_id="Ev2")
    assert said.message_key == mention.message_key
    assert said.delivery_id != mention.delivery_id
    assert said.conversation == mention.conversation
    assert (said.is_addressed, mention.is_addressed) == (True, True)
    assert (said.text, mention.text) == ("hi", "hi")


def test_a_mention_of_a_bot_nobody_knows_yet_is_not_lost() -> None:
    event = in_channel("<@U0000WHOX> hi")
    around: dict[str, Any] = {"authorizations": None}
    [said] = read(event, **around)
    [mention] = read(simulator.mention_of(event), **around)
    assert not said.is_addressed  # and so is not stored
    assert (mention.is_addressed, mention.text) == (True, "hi")


TEXTS = [
    ("a &amp; b &lt;c&gt;", "a & b <c>"),
    ("&amp;lt; &amp;amp;", "&lt; &amp;"),
    ("&quot;", "&quot;"),
    ("<https://a.example/x?a=1&amp;b=2>", "https://a.example/x?a=1&b=2"),
    ("<https://a.example|the &lt;rules&gt;>", "the <rules> (https://a.example)"),
    ("<http://a.example|a.example>", "http://a.example"),
    ("<mailto:a@b.example|a@b.example>", "a@b.example"),
    ("<#C0000ELSE|general> <#C0000ELSE>", "#general #C0000ELSE"),
    ("<!here> <!everyone> <!subteam^S1|@team>", "@here @everyone @team"),
    ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
    ("<@U1|ann> <@U1>", "@ann @U1"),
    ("< > <> <|>", ""),
    ("a\0b\x1b", "ab"),
]


@pytest.mark.parametrize(("sent", "meant"), TEXTS)
def test_text_is_read_as_a_person_reads_it(sent: str, meant: str) -> None:
    [message] = read(direct(f"x {sent}"))
    assert message.text.split() == f"x {meant}".split()


@given(st.text(alphabet="<>&;@!#|^ ltampU1x:/\n"))
def test_any_text_is_read(text: str) -> None:
    [message] = read(direct(f"x{text}"))
    assert message.text.startswith("x")


# ---------------------------------------------------------------- deleting

GONE: list[tuple[str, dict[str, Any], str]] = [
    (
        "in a direct chat",
        direct(subtype="message_deleted", deleted_ts=ROOT, previous_message={"ts": ROOT}),
        DIRECT,
    ),
    (
        "in a thread",
        in_channel(
            subtype="message_deleted",
            hidden=True,
            deleted_ts=ROOT,
            previous_message={"ts": ROOT, "thread_ts": "1772340000.000300"},
        ),
        f"{CHANNEL}:1772340000.000300",
    ),
    (
        "with answers below it",
        in_channel(
            subtype="message_changed",
            hidden=True,
            message={"subtype": "tombstone", "ts": ROOT, "thread_ts": ROOT, "user": "USLACKBOT"},
            previous_message={"ts": ROOT, "thread_ts": ROOT, "user": PERSON},
        ),
        f"{CHANNEL}:{ROOT}",
    ),
    (
        "without details",
        in_channel(subtype="message_deleted", deleted_ts=ROOT),
        f"{CHANNEL}:{ROOT}",
    ),
]


@pytest.mark.parametrize(
    ("event", "place"), [row[1:] for row in GONE], ids=[row[0] for row in GONE]
)
def test_a_deleted_message_is_told(event: dict[str, Any], place: str) -> None:
    [notice] = read(event, event_id="Ev9")
    assert notice.notice is not None
    assert notice.notice.kind is NoticeKind.RETRACTED
    assert notice.notice.message_keys == (f"{TEAM}:{event['channel']}:{ROOT}",)
    assert (notice.conversation.id, notice.text, notice.sender) == (place, "", None)
    assert notice.message_key not in notice.notice.message_keys


def test_a_deleted_message_has_the_lane_and_the_key_of_the_message() -> None:
    for event in (direct(), direct(thread_ts=ROOT), in_channel(), in_channel(thread_ts=ROOT)):
        [said] = read(event)
        past = {key: event[key] for key in ("ts", "thread_ts") if event.get(key)}
        gone = {"subtype": "message_deleted", "deleted_ts": TS, "previous_message": past}
        [notice] = read(event | gone | {"ts": "1772355999.000100", "text": None, "user": None})
        assert notice.notice is not None
        assert notice.notice.message_keys == (said.message_key,)
        assert notice.conversation.lane == said.conversation.lane


@pytest.mark.parametrize("over", [{"deleted_ts": "x"}, {"channel": None, "deleted_ts": ROOT}])
def test_a_deletion_that_names_nothing_is_ignored(over: dict[str, Any]) -> None:
    assert read(in_channel(**({"subtype": "message_deleted"} | over))) == []


# ---------------------------------------------------------------- files

URL = "https://files.slack.com/files-pri/T1-F1/download/a.pdf"
FILES: list[tuple[dict[str, Any], str]] = [
    ({"name": "../../x.PDF", "filetype": "pdf"}, "slack-F1.pdf"),
    ({"name": "a.tar.gz"}, "slack-F1.gz"),
    ({"name": "no extension", "filetype": "png"}, "slack-F1.png"),
    ({"name": "x./etc/passwd", "filetype": "../x"}, "slack-F1"),
    ({"name": None}, "slack-F1"),
]


@pytest.mark.parametrize(("file", "name"), FILES)
def test_a_file_gets_a_name_of_ours(file: dict[str, Any], name: str) -> None:
    file = {"id": "F1", "url_private_download": URL, "size": 7, "mimetype": "text/plain"} | file
    [message] = read(direct("see", subtype="file_share", files=[file]))
    [attachment] = message.attachments
    assert (attachment.name, attachment.handle) == (name, f"F1 {URL}")
    assert (attachment.media_type, attachment.size_bytes) == ("text/plain", 7)


def test_files_without_a_word_and_odd_files() -> None:
    files = [
        {"id": "F1", "file_access": "check_file_info"},
        {"id": "F2", "mode": "tombstone"},
        {"id": "../F3"},
        {"id": "F4", "size": "many"},
        7,
    ]
    [message] = read(direct("", subtype="file_share", files=files))
    assert [each.handle for each in message.attachments] == ["F1"]
    assert read(direct("", subtype="file_share", files="none")) == []


# ---------------------------------------------------------------- signatures

BODY = simulator.body(direct("hello"))
GOOD = sign(simulator.secret, BODY, NOW_S)
STAMP, SIGNATURE = "X-Slack-Request-Timestamp", "X-Slack-Signature"
BAD_HEADERS: list[tuple[str, dict[str, str]]] = [
    ("none", {}),
    ("no timestamp", {SIGNATURE: GOOD[SIGNATURE]}),
    ("no signature", {STAMP: GOOD[STAMP]}),
    ("words", GOOD | {STAMP: "abc"}),
    ("a float", GOOD | {STAMP: f"{NOW_S:.3f}"}),
    ("an exponent", GOOD | {STAMP: "1e9"}),
    ("negative", GOOD | {STAMP: "-1"}),
    ("endless", GOOD | {STAMP: "9" * 5000}),
    ("other digits", GOOD | {STAMP: "".join(chr(0x660 + int(d)) for d in GOOD[STAMP])}),
    ("blanks around", GOOD | {STAMP: f" {GOOD[STAMP]} "}),
    ("not a number", GOOD | {STAMP: "nan"}),
    ("surrogates", GOOD | {STAMP: "\ud800", SIGNATURE: "\ud800\udcff"}),
    ("not ASCII", GOOD | {SIGNATURE: "v0=é😀"}),
    ("another version", GOOD | {SIGNATURE: GOOD[SIGNATURE].replace("v0", "v1")}),
    ("without version", GOOD | {SIGNATURE: GOOD[SIGNATURE][3:]}),
    ("empty", GOOD | {SIGNATURE: ""}),
    ("another secret", sign("guess", BODY, NOW_S)),
    ("no secret", sign("", BODY, NOW_S)),
    ("ten minutes old", sign(simulator.secret, BODY, NOW_S - 600)),
    ("ten minutes ahead", sign(simulator.secret, BODY, NOW_S + 600)),
]


@pytest.mark.parametrize("headers", [r[1] for r in BAD_HEADERS], ids=[r[0] for r in BAD_HEADERS])
def test_unsigned_bodies_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        channel.parse(headers, BODY, NOW)


def test_a_signed_body_is_good_for_five_minutes_whichever_clock_is_ahead() -> None:
    for skew in (-300, 0, 300):
        assert channel.parse(GOOD, BODY, NOW + timedelta(seconds=skew))
    for skew in (-301, 301):
        with pytest.raises(SignatureError):
            channel.parse(GOOD, BODY, NOW + timedelta(seconds=skew))


def test_a_retry_header_is_no_proof_of_a_duplicate() -> None:
    retried = GOOD | {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
    assert channel.parse(retried, BODY, NOW) == channel.parse(GOOD, BODY, NOW)


def test_the_raw_bytes_are_what_is_signed() -> None:
    odd = BODY.replace(b'"hello"', b'  "hi \\uD83E\\uDD28 \\/ \\u00e9"  ')
    [message] = read_bytes(odd)
    assert message.text == "hi 🤨 / é"
    headers = sign(simulator.secret, odd, NOW_S)
    for at in (0, len(odd) // 2, len(odd) - 1):
        flipped = odd[:at] + bytes([odd[at] ^ 1]) + odd[at + 1 :]
        with pytest.raises(SignatureError):
            channel.parse(headers, flipped, NOW)


def test_without_a_signing_secret_no_webhook_is_ours() -> None:
    settings = SlackSettings(
        "main", "helper", Secret("xoxb"), Secret(""), Secret("xapp"), mode=Mode.SOCKET
    )
    with pytest.raises(SignatureError):
        SlackChannel(settings).parse(sign("", BODY, NOW_S), BODY, NOW)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b"null", b'"x"', b"\xff\xfe", b"[" * 9999]
)
def test_a_signed_body_that_is_no_object_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        read_bytes(body)


def test_half_a_surrogate_pair_and_a_stray_byte_are_read() -> None:
    [message] = read_bytes(BODY.replace(b'"hello"', b'"a\\ud83dz \xff"'))
    assert message.text == "a\ufffdz \ufffd"


def test_a_body_over_the_cap_is_refused() -> None:
    with pytest.raises(GatewayError, match="cap") as refused:
        read_bytes(b" " * (MAX_BODY_BYTES + 1))
    assert refused.value.code == "payload_too_large"


def test_a_signed_form_is_nothing_to_us() -> None:
    body = b"payload=%7B%7D"
    headers = sign(simulator.secret, body, NOW_S)
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    assert channel.parse(headers, body, NOW) == ()


def test_the_challenge_is_echoed_and_is_no_message() -> None:
    body = json.dumps({"type": "url_verification", "token": "t", "challenge": "3eZb"}).encode()
    assert channel.challenge(body) == "3eZb"
    assert read_bytes(body) == []
    for other in (b"{", b"[]", BODY, b'{"type":"url_verification","challenge":7}'):
        assert channel.challenge(other) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    [*direct(files=[], blocks=[], subtype=None, previous_message={}), "hidden"]
)
AROUND = st.sampled_from([*simulator.envelope({})])


@given(st.dictionaries(FIELDS, JSON, max_size=3), st.dictionaries(AROUND, JSON, max_size=2))
def test_odd_shapes_never_raise_and_never_gain_identity(
    inside: dict[str, Any], around: dict[str, Any]
) -> None:
    value = simulator.envelope(in_channel() | inside) | around
    for message in messages(value, Reading("main", me=ME), NOW):
        assert message.sender is None or message.sender.id.startswith(f"{TEAM}:")
        assert not message.conversation.is_direct


@pytest.mark.shared
def test_every_recorded_payload_goes_through() -> None:
    counted = 0
    for folder in ("samples", "events-shapes"):
        for path in sorted(shared("platform-specs", "slack", folder).glob("*.json")):
            body = path.read_bytes()
            for value in (json.loads(body), json.loads(body).get("payload")):
                if isinstance(value, dict):
                    found = read_bytes(json.dumps(value).encode())
                    said = value.get("event", {}).get("type", "") if value.get("event") else ""
                    assert not found or said in ("message", "app_mention"), path.name
                    counted += len(found)
    assert counted >= 12
