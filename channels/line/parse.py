"""From LINE's signed webhook bytes to verified messages; pure, event by event."""

import base64
import contextlib
import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from channels.text import clean, header, join_surrogates_in, utf16_slice
from gateway.core.messages import (
    Attachment,
    Conversation,
    InboundMessage,
    Notice,
    NoticeKind,
    ReplyHandle,
    Sender,
)
from gateway.errors import GatewayError, InvalidRequestError, SignatureError

CHANNEL = "line"
MAX_BODY_BYTES = 1024 * 1024  # a hundred events of 5,000 characters, and some room
SIGNATURE_HEADER = "x-line-signature"
VERIFY_TOKENS = frozenset({"0" * 32, "f" * 32})  # the console's trial events; nobody waits


class _Mentionee(msgspec.Struct):
    index: int = 0
    length: int = 0
    isSelf: bool | None = None  # noqa: N815 - LINE's own spelling, here and below


class _Mention(msgspec.Struct):
    mentionees: list[_Mentionee] = []


class _ContentProvider(msgspec.Struct):
    type: str | None = None
    originalContentUrl: str | None = None  # noqa: N815


class _Message(msgspec.Struct):
    type: str
    id: str
    text: str | None = None
    mention: _Mention | None = None
    fileName: str | None = None  # noqa: N815
    fileSize: int | None = None  # noqa: N815
    contentProvider: _ContentProvider | None = None  # noqa: N815


class _Link(msgspec.Struct):
    result: str | None = None
    nonce: str | None = None


class _Unsend(msgspec.Struct):
    messageId: str | None = None  # noqa: N815


class _Source(msgspec.Struct):
    type: str | None = None
    userId: str | None = None  # noqa: N815
    groupId: str | None = None  # noqa: N815
    roomId: str | None = None  # noqa: N815


class _Event(msgspec.Struct):
    type: str
    message: _Message | None = None
    link: _Link | None = None
    unsend: _Unsend | None = None
    source: _Source | None = None
    mode: str | None = None
    timestamp: int | None = None
    replyToken: str | None = None  # noqa: N815
    webhookEventId: str | None = None  # noqa: N815


class _Body(msgspec.Struct):
    events: list[msgspec.Raw]


_BODY = msgspec.json.Decoder(_Body)
_EVENT = msgspec.json.Decoder(_Event)
_MEDIA_TYPES = {"image": "image/jpeg", "video": "video/mp4", "audio": "audio/m4a", "file": ""}
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")
BY_URL = "url:"  # begins the handle of a file that lies elsewhere; a message's id has no colon


@dataclass(frozen=True, slots=True)
class Reading:
    """What one LINE account needs to know to read its webhooks."""

    account_name: str
    channel_secret: bytes
    agent_id: str | None = None
    language: str | None = None
    prefix: str | None = None  # addresses the bot in a group, where the app offers no mention
    reply_window_s: float = 45.0


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, reading: Reading
) -> tuple[InboundMessage, ...]:
    """Verify the raw bytes, then decode; one odd event does not fail the others.

    Raises SignatureError, InvalidRequestError, and `payload_too_large` over MAX_BODY_BYTES.
    """
    verify(headers, body, reading.channel_secret)
    if len(body) > MAX_BODY_BYTES:
        raise GatewayError("LINE body over the cap", code="payload_too_large")
    messages = (_read(event, now, reading) for event in _events(body))
    return tuple(message for message in messages if message is not None)


def verify(headers: Mapping[str, str], body: bytes, secret: bytes) -> None:
    """SignatureError unless the header is base64 of the body's HMAC-SHA256, whatever it holds."""
    given = header(headers, SIGNATURE_HEADER)
    expected = base64.b64encode(hmac.digest(secret, body, hashlib.sha256))
    if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected):
        raise SignatureError("LINE signature does not fit the body")


def _events(body: bytes) -> Sequence[_Event]:
    found = []
    try:
        for raw in _BODY.decode(body).events:
            with contextlib.suppress(msgspec.ValidationError):
                # an event of a shape we do not know is left out; its neighbours are still answered
                found.append(_EVENT.decode(raw))
    except (msgspec.DecodeError, RecursionError):
        return _events_with_odd_strings(body)
    return found


def _events_with_odd_strings(body: bytes) -> Sequence[_Event]:
    """The slow path: half a surrogate pair or a stray byte, which msgspec refuses wholesale."""
    try:
        decoded = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError("LINE body is not JSON") from error
    events = decoded.get("events") if isinstance(decoded, dict) else None
    if not isinstance(events, list):
        raise InvalidRequestError("LINE body has no list of events")
    found = []
    for event in events:
        with contextlib.suppress(msgspec.ValidationError, RecursionError):  # as above
            found.append(msgspec.convert(join_surrogates_in(event), _Event))
    return found


def _read(event: _Event, now: datetime, reading: Reading) -> InboundMessage | None:
    if event.type == "unsend":  # of what we have, it holds in standby too
        return _unsent(event, now, reading)
    if event.mode == "standby":
        return None
    if event.type == "accountLink":
        return _account_link(event, now, reading)
    return _message(event, now, reading)


def _unsent(event: _Event, now: datetime, reading: Reading) -> InboundMessage | None:
    if event.unsend is None or not event.unsend.messageId:
        return None
    message_key = clean(event.unsend.messageId)
    key = clean(event.webhookEventId or f"unsend:{message_key}")
    notice = Notice(NoticeKind.RETRACTED, message_keys=(message_key,))
    return _told(event, key, notice, now, reading)


def _account_link(event: _Event, now: datetime, reading: Reading) -> InboundMessage | None:
    """LINE's own linking flow ended well; one that failed tells us nothing."""
    link, source = event.link, event.source or _Source()
    if link is None or link.result != "ok" or not link.nonce or not source.userId:
        return None
    key = clean(event.webhookEventId or f"link:{link.nonce}")
    notice = Notice(NoticeKind.ACCOUNT_LINKED, nonce=clean(link.nonce))
    return _told(event, key, notice, now, reading)


def _told(
    event: _Event, key: str, notice: Notice, now: datetime, reading: Reading
) -> InboundMessage:
    source = event.source or _Source()
    return InboundMessage(
        conversation=_conversation(source, key, reading),
        delivery_id=key,
        message_key=f"notice:{key}",
        text="",
        received_at=_sent_at(event.timestamp, now),
        sender=_sender(source, reading),
        agent_id=reading.agent_id,
        notice=notice,
    )


def _sender(source: _Source, reading: Reading) -> Sender | None:
    user_id = source.userId
    return Sender(CHANNEL, reading.account_name, clean(user_id)) if user_id else None


def _message(event: _Event, now: datetime, reading: Reading) -> InboundMessage | None:
    said = event.message
    if event.type != "message" or said is None or not said.id:
        return None
    attachments = _attachments(said)
    if (said.type != "text" or not said.text) and not attachments:
        return None
    if event.replyToken in VERIFY_TOKENS:
        return None
    source = event.source or _Source()
    conversation = _conversation(source, said.id, reading)
    text, is_addressed = _addressed(said, conversation, reading)
    sent_at = _sent_at(event.timestamp, now)
    return InboundMessage(
        conversation=conversation,
        delivery_id=clean(event.webhookEventId or f"message:{said.id}"),
        message_key=clean(said.id),
        text=text,
        received_at=sent_at,
        sender=_sender(source, reading),
        agent_id=reading.agent_id,
        is_addressed=is_addressed,
        attachments=attachments,
        reply_handle=_reply_handle(event.replyToken, sent_at, reading),
        language=reading.language,
    )


def _conversation(source: _Source, message_id: str, reading: Reading) -> Conversation:
    """1:1 only by `type: user` with a userId and nothing else; whatever is unknown is a group."""
    place = source.groupId or source.roomId
    is_direct = source.type == "user" and bool(source.userId) and not place
    # a place without any id can be answered by its reply token alone, and shares no lane
    conversation_id = place or source.userId or f"message:{message_id}"
    return Conversation(CHANNEL, reading.account_name, clean(conversation_id), is_direct=is_direct)


def _addressed(said: _Message, place: Conversation, reading: Reading) -> tuple[str, bool]:
    """The text without the bot's mention, or without the prefix, and whether it is for us."""
    text, is_mentioned = _without_mentions(said)
    text = clean(text).strip()
    if place.is_direct or is_mentioned:
        return text, True
    prefix = reading.prefix or ""
    if prefix and text[: len(prefix)].casefold() == prefix.casefold():
        return text[len(prefix) :].strip(), True
    return text, False


def _without_mentions(said: _Message) -> tuple[str, bool]:
    """Positions are not documented as UTF-16, so a slice that is no mention stays in the text."""
    text = said.text or ""
    own = [one for one in said.mention.mentionees if one.isSelf] if said.mention else []
    for mentionee in sorted(own, key=lambda one: one.index, reverse=True):
        cut = utf16_slice(text, mentionee.index, mentionee.length)
        if cut and cut[1].startswith("@"):
            text = cut[0] + cut[2]
    return text, bool(own)


def _attachments(said: _Message) -> tuple[Attachment, ...]:
    """A lazy handle with a name of our own: of the given one, the sender's text, only the
    extension stays.
    """
    if said.type not in _MEDIA_TYPES:
        return ()
    extension = _EXTENSION.search(said.fileName or "")
    number = "".join(c for c in said.id if c.isalnum())[:40]
    name = f"line-{said.type}-{number}{extension[0].lower() if extension else ''}"
    provider = said.contentProvider or _ContentProvider()
    handle = said.id
    if provider.type == "external":
        handle = BY_URL + (provider.originalContentUrl or "")
    return (Attachment(clean(handle), name, _MEDIA_TYPES[said.type], said.fileSize),)


def _sent_at(timestamp_ms: int | None, now: datetime) -> datetime:
    """When the message was sent; never later than now, so that no clock stretches a handle."""
    if timestamp_ms is None:
        return now
    try:
        return min(now, datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC))
    except (ValueError, OverflowError, OSError):
        return now


def _reply_handle(token: str | None, sent_at: datetime, reading: Reading) -> ReplyHandle | None:
    if not token:
        return None
    return ReplyHandle(clean(token), sent_at + timedelta(seconds=reading.reply_window_s))
