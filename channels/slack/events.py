"""From one of Slack's events to a message or a notice; pure, and never raises for an odd one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from channels.slack.markup import leading_mention, mentions, unescape
from channels.slack.shapes import Envelope, Event, File, Past, Profile, listed, read
from channels.text import clean
from gateway.core.messages import (
    Attachment,
    Conversation,
    InboundMessage,
    Notice,
    NoticeKind,
    Sender,
)

CHANNEL = "slack"
SUBTYPES = frozenset({None, "file_share", "thread_broadcast", "me_message"})
SLACKBOT = "USLACKBOT"  # writes without a bot_id
GONE = frozenset({"tombstone", "hidden_by_limit"})  # modes of files that are no more
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_ID = re.compile(r"[A-Za-z0-9]{1,64}")
_EXTENSION = re.compile(r"[A-Za-z0-9]{1,8}")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are at Slack, as far as it is known."""

    team_id: str | None = None
    user_id: str | None = None
    bot_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What one Slack account needs to know to read its events."""

    account_name: str
    signing_secret: bytes = b""  # empty: no webhook is ours
    agent_id: str | None = None
    language: str | None = None
    prefix: str | None = None
    app_id: str | None = None
    me: Identity = Identity()


@dataclass(frozen=True, slots=True)
class Said:
    """An event with what is known around it."""

    event: Event
    envelope: Envelope
    reading: Reading
    team: str  # ours
    bot_user: str | None  # ours


def message(said: Said, now: datetime | None) -> InboundMessage | None:
    event, reading = said.event, said.reading
    if not _is_shown(event) or _is_automatic(said):
        return None
    ts, sender = event.ts or "", _sender(said)
    place = _place(event, reading, ts, event.thread_ts, is_known=sender is not None)
    text, is_addressed = _addressed(said, place)
    attachments = tuple(_attachments(event))
    if not text and not attachments and (place.is_direct or not is_addressed):
        return None
    key = f"{said.team}:{event.channel}:{ts}"
    return InboundMessage(
        conversation=place,
        delivery_id=clean(said.envelope.event_id or f"message:{key}"),
        message_key=key,
        text=text,
        received_at=_sent_at(ts, now),
        sender=sender,
        agent_id=reading.agent_id,
        is_addressed=is_addressed,
        attachments=attachments,
        language=reading.language,
        sender_name=_name(event),
        reply_to=ts,
    )


def _is_shown(event: Event) -> bool:
    """Something a person may have said, in a place that has an address."""
    is_said = event.type in ("message", "app_mention") and event.subtype in SUBTYPES
    is_shown = is_said and not event.hidden and not event.is_ephemeral
    ids = _ID.fullmatch(event.channel or "") and _TS.fullmatch(event.ts or "")
    return bool(is_shown and ids and (not event.thread_ts or _TS.fullmatch(event.thread_ts)))


def _is_automatic(said: Said) -> bool:
    """Our own words and those of any other app: two that answer each other never stop."""
    event = said.event
    is_ours = event.user is not None and event.user in (said.bot_user, said.reading.me.user_id)
    return bool(event.bot_id or event.bot_profile) or is_ours or event.user == SLACKBOT


def _sender(said: Said) -> Sender | None:
    """A user of our own workspace, in a place that no other workspace shares; else nobody."""
    event, envelope = said.event, said.envelope
    profile = read(Profile, event.user_profile) or Profile()
    teams = (envelope.team_id, event.team, event.user_team, event.source_team, profile.team)
    is_foreign = any(team and team != said.team for team in teams)
    if is_foreign or envelope.is_ext_shared_channel or not said.team:
        return None
    if _ID.fullmatch(event.user or "") is None:
        return None
    return Sender(CHANNEL, said.reading.account_name, f"{said.team}:{event.user}")


def _name(event: Event) -> str | None:
    profile = read(Profile, event.user_profile) or Profile()
    return clean(profile.display_name or profile.real_name or "") or None


def _place(
    event: Event, reading: Reading, ts: str, thread: str | None, *, is_known: bool
) -> Conversation:
    """A direct chat or a thread in it; everywhere else the thread that the reply goes into.

    1:1 is a `message` with channel_type im in a D… channel, from somebody we know.
    """
    channel = event.channel or ""
    is_im = event.type == "message" and event.channel_type == "im" and channel.startswith("D")
    if is_im and (not thread or thread == ts):
        return Conversation(CHANNEL, reading.account_name, channel, is_direct=is_known)
    place = f"{channel}:{thread or ts}"
    return Conversation(
        CHANNEL, reading.account_name, place, parent_id=channel, is_direct=is_im and is_known
    )


def _addressed(said: Said, place: Conversation) -> tuple[str, bool]:
    """The text without our mention, or without the prefix, and whether it is for us."""
    event, is_mention = said.event, said.event.type == "app_mention"
    raw = event.text or ""
    own = said.bot_user or (leading_mention(raw) if is_mention else None)
    text, is_named = unescape(raw, own)
    text = clean(text).strip()
    is_reply = said.bot_user is not None and event.parent_user_id == said.bot_user
    if place.is_direct or is_mention or is_named or is_reply:
        return text, True
    if said.bot_user is not None and mentions(event.blocks, said.bot_user):
        return text, True
    prefix = said.reading.prefix or ""
    if prefix and text[: len(prefix)].casefold() == prefix.casefold():
        return text[len(prefix) :].strip(), True
    return text, False


def _attachments(event: Event) -> Iterator[Attachment]:
    """Lazy handles "id url" under names of our own; a file's given name is the sender's text."""
    for each in listed(event.files):
        file = read(File, each)
        if file is None or file.mode in GONE or _ID.fullmatch(file.id) is None:
            continue
        url = clean(file.url_private_download or file.url_private or "")
        media_type = clean(file.mimetype or "")
        yield Attachment(f"{file.id} {url}".strip(), file_name(file), media_type, file.size)


def file_name(file: File) -> str:
    """slack-<id> with the extension, where that is harmless."""
    ending = (file.name or "").rpartition(".")[2] if "." in (file.name or "") else ""
    for extension in (ending, file.filetype or ""):
        if _EXTENSION.fullmatch(extension):
            return f"slack-{file.id}.{extension.lower()}"
    return f"slack-{file.id}"


def retraction(said: Said, now: datetime | None) -> InboundMessage | None:
    """A deleted message, or one with answers below it, which a stone replaces."""
    event, previous = said.event, read(Past, said.event.previous_message) or Past()
    stone = read(Past, event.message) or Past()
    if event.type != "message" or _ID.fullmatch(event.channel or "") is None:
        return None
    if event.subtype == "message_deleted":
        ts = event.deleted_ts or previous.ts or ""
    elif event.subtype == "message_changed" and stone.subtype == "tombstone":
        ts = stone.ts or previous.ts or ""
    else:
        return None
    if _TS.fullmatch(ts) is None:
        return None
    thread = previous.thread_ts or stone.thread_ts
    key = f"{said.team}:{event.channel}:{ts}"
    return InboundMessage(
        conversation=_place(event, said.reading, ts, thread, is_known=False),
        delivery_id=clean(said.envelope.event_id or f"deleted:{key}"),
        message_key=f"deleted:{key}",
        text="",
        received_at=_sent_at(event.ts or "", now),
        agent_id=said.reading.agent_id,
        language=said.reading.language,
        notice=Notice(NoticeKind.RETRACTED, message_keys=(key,)),
    )


def _sent_at(ts: str, now: datetime | None) -> datetime:
    """When it was written, never later than now: no clock stretches a deadline."""
    try:
        sent_at = datetime.fromtimestamp(float(ts), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return now or datetime.fromtimestamp(0, tz=UTC)
    return sent_at if now is None else min(now, sent_at)
