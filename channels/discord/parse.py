"""From the payloads of Discord's gateway to messages; pure, event by event."""

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import msgspec

from channels import sealing
from channels.text import clean, join_surrogates
from gateway.core.messages import (
    Attachment,
    Conversation,
    InboundMessage,
    Notice,
    NoticeKind,
    Sender,
)

CHANNEL = "discord"
SEAL_HEADER = "X-Discord-Seal"
DISPATCH = 0
DIRECT = 1  # channel types
THREADS = frozenset({10, 11, 12})
DEFAULT, REPLY = 0, 19  # message types; all others are the platform's own words
EPHEMERAL = 1 << 6
NAME_CHARS = 80
_MENTION = re.compile(r"<@!?([0-9]{1,20})>( ?)")
_CUSTOM_EMOJI = re.compile(r"<a?(:\w{1,32}:)[0-9]{1,20}>")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


class _User(msgspec.Struct):
    id: str
    username: str | None = None
    global_name: str | None = None
    bot: bool | None = None
    system: bool | None = None


class _File(msgspec.Struct):
    id: str
    url: str
    filename: str = ""
    content_type: str | None = None
    size: int | None = None


class _Referenced(msgspec.Struct):
    author: _User | None = None


class _Message(msgspec.Struct):
    id: str
    channel_id: str
    type: int = DEFAULT
    content: str | None = None
    author: _User | None = None
    guild_id: str | None = None
    channel_type: int | None = None
    webhook_id: str | None = None
    flags: int | None = None
    timestamp: str | None = None
    mentions: list[_User] = []
    attachments: list[_File] = []
    referenced_message: _Referenced | None = None
    interaction: Any = None
    interaction_metadata: Any = None


class _Deleted(msgspec.Struct):
    channel_id: str
    id: str | None = None
    ids: list[str] = []


class Envelope(msgspec.Struct):
    """One frame of the gateway: what it is, its number in the session, its data as they came."""

    op: int = -1
    t: str | None = None
    s: int | None = None
    d: msgspec.Raw = msgspec.Raw(b"null")


_ENVELOPE = msgspec.json.Decoder(Envelope)
_MESSAGE = msgspec.json.Decoder(_Message)
_DELETED = msgspec.json.Decoder(_Deleted)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one Discord account needs to know to read its gateway."""

    account_name: str
    bot_id: str  # our own user id
    agent_id: str | None = None
    language: str | None = None
    prefix: str | None = None  # addresses the bot in a channel, beside its mention


def seal(payload: bytes, key: bytes) -> tuple[Mapping[str, str], bytes]:
    """A payload of our own connection in the form that `parse` takes."""
    return sealing.seal(payload, key, SEAL_HEADER)


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, reading: Reading, key: bytes
) -> tuple[InboundMessage, ...]:
    """SignatureError for whatever our own connection did not bring, a webhook's body too."""
    sealing.check(headers, body, key, SEAL_HEADER)
    return decode(body, now, reading)


def envelope(payload: bytes) -> Envelope:
    """The frame; one of no kind we know for bytes that are none."""
    try:
        return _ENVELOPE.decode(payload)
    except (msgspec.ValidationError, RecursionError):
        return Envelope()
    except msgspec.DecodeError:  # half a surrogate pair, or a stray byte
        joined = join_surrogates(_loose(payload))
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            return _ENVELOPE.decode(joined.encode())
        return Envelope()


def decode(
    payload: bytes,
    now: datetime,
    reading: Reading,
    parents: Mapping[str, str] | None = None,
) -> tuple[InboundMessage, ...]:
    """The messages of one gateway frame: none for kinds and shapes we do not know.

    `parents` are channels by the ids of their threads, as far as they are known.
    """
    frame = envelope(payload)
    if frame.op != DISPATCH:
        return ()
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        # a shape we do not know gives no message; the connection goes on
        if frame.t == "MESSAGE_CREATE":
            found = _message(_MESSAGE.decode(frame.d), now, reading, parents or {})
            return (found,) if found is not None else ()
        if frame.t in ("MESSAGE_DELETE", "MESSAGE_DELETE_BULK"):
            return _retraction(_DELETED.decode(frame.d), now, reading)
    return ()


def _loose(payload: bytes) -> str:
    try:
        return json.dumps(json.loads(payload.decode("utf-8", "replace")), ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def _message(
    said: _Message, now: datetime, reading: Reading, parents: Mapping[str, str]
) -> InboundMessage | None:
    author = said.author
    if said.type not in (DEFAULT, REPLY) or said.webhook_id is not None:
        return None
    if author is not None and (author.bot or author.system or author.id == reading.bot_id):
        return None
    has_identity = author is not None and not _is_veiled(said)
    is_direct = has_identity and said.guild_id is None and said.channel_type == DIRECT
    is_mentioned = any(user.id == reading.bot_id for user in said.mentions)
    text, has_prefix = _text(said, reading, is_named=is_direct or is_mentioned)
    attachments = tuple(_attachment(each) for each in said.attachments)
    if not (text or attachments or is_mentioned or has_prefix):
        return None  # a sticker, a forward; or the message-content intent is off
    is_reply = said.referenced_message is not None and _is_ours(said.referenced_message, reading)
    return InboundMessage(
        conversation=_conversation(said.channel_id, reading, parents, is_direct=is_direct),
        delivery_id=clean(said.id),
        message_key=_key(said.channel_id, said.id),
        text=text,
        received_at=_sent_at(said.timestamp, now),
        sender=Sender(CHANNEL, reading.account_name, clean(author.id))
        if author is not None and has_identity
        else None,
        agent_id=reading.agent_id,
        is_addressed=is_direct or is_mentioned or is_reply or has_prefix,
        attachments=attachments,
        language=reading.language,
        sender_name=_name(author) if author is not None and has_identity else None,
        reply_to=clean(said.id),
    )


def _is_veiled(said: _Message) -> bool:
    """Ephemeral, or what an interaction made: nobody is named by it (platform facts, Discord)."""
    is_ephemeral = bool((said.flags or 0) & EPHEMERAL)
    return is_ephemeral or said.interaction is not None or said.interaction_metadata is not None


def _is_ours(referenced: _Referenced, reading: Reading) -> bool:
    return referenced.author is not None and referenced.author.id == reading.bot_id


def _conversation(
    channel_id: str, reading: Reading, parents: Mapping[str, str], *, is_direct: bool = False
) -> Conversation:
    parent = parents.get(channel_id)
    return Conversation(
        CHANNEL,
        reading.account_name,
        clean(channel_id),
        parent_id=clean(parent) if parent is not None else None,
        is_direct=is_direct,
    )


def _text(said: _Message, reading: Reading, *, is_named: bool) -> tuple[str, bool]:
    """The text without our mention or the prefix, others' mentions by name; and if it had one."""
    names = {user.id: f"@{_name(user) or user.id}" for user in said.mentions}

    def shown(mention: re.Match[str]) -> str:
        if mention[1] == reading.bot_id:
            return ""
        name = names.get(mention[1])
        return f"{name}{mention[2]}" if name is not None else mention[0]

    text = _MENTION.sub(shown, said.content or "")
    text = clean(_CUSTOM_EMOJI.sub(r"\1", text)).strip()
    prefix = reading.prefix or ""
    if prefix and not is_named and text[: len(prefix)].casefold() == prefix.casefold():
        return text[len(prefix) :].strip(), True
    return text, False


def _name(user: _User) -> str | None:
    return clean(user.global_name or user.username or "")[:NAME_CHARS].strip() or None


def _attachment(file: _File) -> Attachment:
    """A lazy handle with a name of our own; the given one is the sender's text."""
    given = PurePosixPath(file.filename).suffix
    suffix = given.lower() if _SUFFIX.fullmatch(given) else ""
    name = f"discord-{''.join(c for c in file.id if c.isalnum())[:40]}{suffix}"
    return Attachment(clean(file.url), name, clean(file.content_type or ""), file.size)


def _sent_at(timestamp: str | None, now: datetime) -> datetime:
    """When it was sent; never later than now."""
    try:
        sent_at = datetime.fromisoformat(timestamp or "")
        return min(now, sent_at if sent_at.tzinfo else sent_at.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return now


def _retraction(gone: _Deleted, now: datetime, reading: Reading) -> tuple[InboundMessage, ...]:
    ids = [gone.id] if gone.id is not None else sorted(set(gone.ids))
    if not ids:
        return ()
    name = f"deleted:{ids[0]}:{len(ids)}"
    notice = Notice(
        NoticeKind.RETRACTED, message_keys=tuple(_key(gone.channel_id, each) for each in ids)
    )
    return (
        InboundMessage(
            conversation=_conversation(gone.channel_id, reading, {}),
            delivery_id=clean(name),
            message_key=_key(gone.channel_id, name),
            text="",
            received_at=now,
            agent_id=reading.agent_id,
            notice=notice,
        ),
    )


def _key(channel_id: str, message_id: str) -> str:
    return f"{clean(channel_id)}:{clean(message_id)}"
