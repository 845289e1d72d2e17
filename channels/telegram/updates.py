"""The shapes of Telegram's updates, as far as we read them; odd ones fail nothing else."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from channels.text import clean, join_surrogates
from gateway.core.messages import Attachment, Check
from gateway.errors import InvalidRequestError

MOST_ENTITIES = 100  # in one message, by Telegram's own limit
T = TypeVar("T")


class User(msgspec.Struct):
    """Who wrote."""

    id: int
    is_bot: bool | None = None
    first_name: Any = None
    last_name: Any = None


class Chat(msgspec.Struct):
    """Where."""

    id: int
    type: str | None = None
    is_direct_messages: Any = None


class Message(msgspec.Struct):
    """Only what decides who asked what and where is typed here; the rest is read with care."""

    message_id: int
    chat: Chat
    sender: User | None = msgspec.field(default=None, name="from")
    date: Any = None
    text: str | None = None
    caption: str | None = None
    entities: Any = None
    caption_entities: Any = None
    sender_chat: Any = None
    business_connection_id: Any = None
    guest_query_id: Any = None
    guest_bot_caller_user: Any = None
    guest_bot_caller_chat: Any = None
    message_thread_id: Any = None
    is_topic_message: Any = None
    reply_to_message: Any = None
    migrate_to_chat_id: int | None = None
    photo: Any = None
    document: Any = None
    voice: Any = None
    video: Any = None
    video_note: Any = None
    audio: Any = None


class Update(msgspec.Struct):
    """Edits, channel posts, business and guest messages are other fields: nobody reads those."""

    update_id: int
    message: Message | None = None


class Entity(msgspec.Struct):
    """A part of a text that means something; by UTF-16 code units."""

    type: str
    offset: int
    length: int
    user: User | None = None


class Replied(msgspec.Struct):
    """The message that this one answers."""

    sender: User | None = msgspec.field(default=None, name="from")
    forum_topic_created: Any = None  # each message of a topic "replies" to its first one


class File(msgspec.Struct):
    """A file that Telegram holds."""

    file_id: str
    file_unique_id: Any = None
    file_size: int | None = None
    mime_type: Any = None
    file_name: Any = None
    width: int = 0


_UPDATE = msgspec.json.Decoder(Update)
_MEDIA_TYPES = {
    "document": "",
    "voice": "audio/ogg",
    "video": "video/mp4",
    "video_note": "video/mp4",
    "audio": "audio/mpeg",
}
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,100}", re.ASCII)
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def decode(body: bytes) -> Update | None:
    """The update; None for a shape we do not know. InvalidRequestError where it is no JSON."""
    try:
        return _UPDATE.decode(body)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, RecursionError):
        return convert(_with_odd_strings(body))


def convert(update: Any) -> Update | None:
    """The same from decoded JSON, as polling brings it."""
    try:
        return msgspec.convert(_joined(update), Update)
    except (msgspec.ValidationError, RecursionError):
        return None


def _with_odd_strings(body: bytes) -> Any:
    """The slow path: half a surrogate pair or a stray byte, which msgspec refuses wholesale."""
    try:
        decoded = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError("Telegram body is not JSON") from error
    return decoded


def _joined(value: Any) -> Any:
    if isinstance(value, str):
        return join_surrogates(value)
    if isinstance(value, dict):
        return {join_surrogates(key): _joined(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_joined(item) for item in value]
    return value


def attachments_of(said: Message) -> tuple[Attachment, ...]:
    """Lazy handles with names of our own; of a given name only a harmless suffix is kept."""
    found = [
        _attachment(kind, media_type, file)
        for kind, media_type in _MEDIA_TYPES.items()
        if (file := one_of(getattr(said, kind), File)) is not None
    ]
    photos = list_of(said.photo, File)  # one picture in several sizes
    if photos:
        found.append(_attachment("photo", "image/jpeg", max(photos, key=lambda one: one.width)))
    return tuple(found)


def _attachment(kind: str, media_type: str, file: File) -> Attachment:
    unique = "".join(c for c in str(file.file_unique_id or file.file_id) if c.isalnum())[:40]
    given = file.file_name if isinstance(file.file_name, str) else ""
    suffix = _SUFFIX.search(given)
    told = file.mime_type if isinstance(file.mime_type, str) else ""
    return Attachment(
        handle=clean(file.file_id),
        name=f"telegram-{kind}-{unique}{suffix[0].lower() if suffix else ''}",
        media_type=told if _MEDIA_TYPE.fullmatch(told) else media_type,
        size_bytes=file.file_size,
    )


def one_of(value: Any, kind: type[T]) -> T | None:
    """The value where it has the shape we know; one that has not fails nothing else."""
    try:
        return msgspec.convert(value, kind) if value is not None else None
    except msgspec.ValidationError:
        return None


def list_of(value: Any, kind: type[T]) -> list[T]:
    """The items that have the shape we know."""
    items = value[:MOST_ENTITIES] if isinstance(value, list) else ()
    return [found for item in items if (found := one_of(item, kind)) is not None]


def number_of(update: Any) -> int | None:
    """What confirms it, whatever else it holds."""
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) else None


def webhook_check(told: Mapping[str, Any], *, is_polling: bool) -> Check:
    """From getWebhookInfo. Its last error is old news where nothing waits any more."""
    is_set = bool(told.get("url"))
    if is_polling:
        detail = "one is set: polling removes it" if is_set else "not set"
        return Check("webhook", not is_set, detail)
    waiting, allowed = told.get("pending_update_count"), told.get("allowed_updates")
    trouble = str(told.get("last_error_message") or "")[:200]
    is_deaf = isinstance(allowed, list) and bool(allowed) and "message" not in allowed
    words = ["set" if is_set else "not set"]
    words += ["allowed_updates lacks message"] * is_deaf
    words += [f"{waiting} waiting"] * bool(waiting)
    words += [f"last error: {trouble}"] * bool(trouble)
    return Check("webhook", is_set and not is_deaf and not (waiting and trouble), "; ".join(words))
