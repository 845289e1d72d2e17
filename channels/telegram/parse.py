"""From Telegram's updates to verified messages; pure, one update at a time."""

import contextlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from channels.telegram.render import conversation_id
from channels.telegram.updates import (
    Entity,
    Message,
    Replied,
    Update,
    User,
    attachments_of,
    convert,
    decode,
    list_of,
    one_of,
)
from channels.text import clean, utf16_slice
from gateway.core.messages import Conversation, InboundMessage, Notice, NoticeKind, Sender
from gateway.errors import ChannelError, GatewayError, SignatureError

CHANNEL = "telegram"
MAX_BODY_BYTES = 1024 * 1024  # an update is a few kilobytes
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
GENERAL_TOPIC = 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one Telegram account needs to know to read its updates."""

    account_name: str
    bot_id: int
    secret_token: bytes = field(default=b"", repr=False)  # empty: no webhook is taken
    username: str | None = None  # the bot's own, once it is known
    agent_id: str | None = None
    language: str | None = None
    prefix: str | None = None  # addresses the bot in a group, beside its mention


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, reading: Reading
) -> tuple[InboundMessage, ...]:
    """Verify the header, then decode; an update of another kind gives no message.

    Raises SignatureError, InvalidRequestError, `payload_too_large` over MAX_BODY_BYTES, and
    ChannelError `unavailable` for a mention that cannot be told ours before our name is known:
    Telegram then delivers it again.
    """
    verify(headers, reading.secret_token)
    if len(body) > MAX_BODY_BYTES:
        raise GatewayError("Telegram body over the cap", code="payload_too_large")
    return _read(decode(body), now, reading)


def read(update: Any, now: datetime | None, reading: Reading) -> tuple[InboundMessage, ...]:
    """The same from decoded JSON, as polling brings it. ChannelError as above."""
    return _read(convert(update), now, reading)


def verify(headers: Mapping[str, str], secret: bytes) -> None:
    """SignatureError unless the header is the secret, whatever bytes it holds."""
    given = headers.get(SECRET_HEADER)  # aiohttp's mapping ignores case; a plain dict does not
    if given is None:
        found = (value for key, value in headers.items() if key.lower() == SECRET_HEADER)
        given = next(found, "")
    is_same = hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret)
    if not (secret and is_same):
        raise SignatureError("Telegram's secret token is not ours")


def _read(
    update: Update | None, now: datetime | None, reading: Reading
) -> tuple[InboundMessage, ...]:
    if update is None or update.message is None:
        return ()
    said = update.message
    if said.migrate_to_chat_id is not None:
        return (_moved(update, said, now, reading),)
    if said.sender is not None and _is_a_bot(said.sender, said, reading):
        return ()
    is_elsewhere = _is_elsewhere(said)
    attachments = () if is_elsewhere else attachments_of(said)
    raw = said.text or said.caption or ""
    if not raw and not attachments:
        return ()
    is_open = not is_elsewhere and not said.chat.is_direct_messages
    text, is_addressed = _addressed(said, raw, reading) if is_open else (clean(raw).strip(), False)
    message = InboundMessage(
        conversation=_conversation(said, reading),
        delivery_id=str(update.update_id),
        message_key=f"{said.chat.id}:{said.message_id}",
        text=text,
        received_at=_sent_at(said.date, now),
        sender=_sender(said, reading),
        agent_id=reading.agent_id,
        is_addressed=is_addressed,
        attachments=attachments,
        language=reading.language,
        sender_name=_name(said),
        reply_to=str(said.message_id),
    )
    return (message,)


def _moved(update: Update, said: Message, now: datetime | None, reading: Reading) -> InboundMessage:
    """The last word of a group that goes on as a supergroup, under another id."""
    return InboundMessage(
        conversation=Conversation(CHANNEL, reading.account_name, str(said.chat.id)),
        delivery_id=str(update.update_id),
        message_key=f"{said.chat.id}:{said.message_id}",
        text="",
        received_at=_sent_at(said.date, now),
        agent_id=reading.agent_id,
        notice=Notice(NoticeKind.CHAT_MOVED, new_chat_id=str(said.migrate_to_chat_id)),
    )


# ---------------------------------------------------------------- who and where


def _is_a_bot(user: User, said: Message, reading: Reading) -> bool:
    """Bots are never answered. With a sender_chat the user is a made-up one, not a bot."""
    return user.id == reading.bot_id or (user.is_bot is True and said.sender_chat is None)


def _is_elsewhere(said: Message) -> bool:
    """Of a business account's or a guest's chat, which may share its id with one of ours.

    An answer by that id could reach another person's chat, so there is none; and whoever reads
    the message finds no sender in it.
    """
    marks = (
        said.business_connection_id,
        said.guest_query_id,
        said.guest_bot_caller_user,
        said.guest_bot_caller_chat,
    )
    return any(mark is not None for mark in marks)


def _is_direct(said: Message) -> bool:
    """A person's own private chat with the bot, by everything that Telegram says about it."""
    who = said.sender
    return (
        said.chat.type == "private"
        and who is not None
        and who.id == said.chat.id
        and who.is_bot is False
        and said.sender_chat is None
        and not said.chat.is_direct_messages
        and not _is_elsewhere(said)
    )


def _sender(said: Message, reading: Reading) -> Sender | None:
    """Nobody where `from` is made up (sender_chat), or a private chat is not provably theirs."""
    who = said.sender
    is_person = who is not None and who.is_bot is False and said.sender_chat is None
    is_odd = said.chat.type not in {"group", "supergroup"} and not _is_direct(said)
    if who is None or not is_person or is_odd or _is_elsewhere(said):
        return None
    return Sender(CHANNEL, reading.account_name, str(who.id))


def _name(said: Message) -> str | None:
    if said.sender is None or said.sender_chat is not None or _is_elsewhere(said):
        return None
    names = (said.sender.first_name, said.sender.last_name)
    return clean(" ".join(name for name in names if isinstance(name, str)))[:200] or None


def _conversation(said: Message, reading: Reading) -> Conversation:
    chat = said.chat.id
    if _is_elsewhere(said):
        return Conversation(CHANNEL, reading.account_name, f"elsewhere:{chat}")
    thread = said.message_thread_id if said.is_topic_message is True else None
    if not isinstance(thread, int) or thread == GENERAL_TOPIC:
        thread = None
    return Conversation(
        CHANNEL,
        reading.account_name,
        conversation_id(chat, thread),
        parent_id=str(chat) if thread is not None else None,
        is_direct=_is_direct(said),
    )


def _sent_at(date: Any, now: datetime | None) -> datetime:
    """When the message was sent, in Telegram's words; never later than now."""
    sent_at = None
    if isinstance(date, int) and date > 0:
        with contextlib.suppress(ValueError, OverflowError, OSError):
            sent_at = datetime.fromtimestamp(date, tz=UTC)
    return min((each for each in (sent_at, now) if each is not None), default=EPOCH)


# ---------------------------------------------------------------- for us?


def _addressed(said: Message, raw: str, reading: Reading) -> tuple[str, bool]:
    """The text without the bot's mention, or without the prefix, and whether it is for us."""
    found = said.entities if said.text else said.caption_entities
    text, is_ours, is_open = _without_mentions(raw, list_of(found, Entity), reading)
    text = clean(text).strip()
    if said.chat.type == "private" or is_ours or _is_reply_to_us(said, reading):
        return text, True
    prefix = reading.prefix or ""
    if prefix and text[: len(prefix)].casefold() == prefix.casefold():
        return text[len(prefix) :].strip(), True
    if is_open:
        raise ChannelError("the bot's own name is not known yet", code="unavailable")
    return text, False


def _without_mentions(
    text: str, entities: Sequence[Entity], reading: Reading
) -> tuple[str, bool, bool]:
    """The text without our mentions, whether there were any, whether one cannot be told yet."""
    is_ours, is_open = False, False
    for entity in sorted(entities, key=lambda one: one.offset, reverse=True):
        cut = utf16_slice(text, entity.offset, entity.length)
        if cut is None:
            continue
        before, inside, after = cut
        kept, name = _kept(entity, inside)
        if _is_us(entity, name, reading):
            text, is_ours = before + kept + after, True
        is_open = is_open or (bool(name) and reading.username is None)
    return text, is_ours, is_open


def _kept(entity: Entity, inside: str) -> tuple[str, str]:
    """What stays of a mention or command in the text, and the user name in it."""
    match entity.type:
        case "mention":
            return "", inside.removeprefix("@")
        case "bot_command":
            command, _, name = inside.partition("@")
            return command, name
        case _:
            return "", ""


def _is_us(entity: Entity, name: str, reading: Reading) -> bool:
    if entity.type == "text_mention":
        return entity.user is not None and entity.user.id == reading.bot_id
    return bool(name) and name.casefold() == (reading.username or "").casefold()


def _is_reply_to_us(said: Message, reading: Reading) -> bool:
    replied = one_of(said.reply_to_message, Replied)
    if replied is None or replied.sender is None or replied.forum_topic_created is not None:
        return False
    return replied.sender.id == reading.bot_id
