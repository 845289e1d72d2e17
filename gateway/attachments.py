"""Files people sent in the last half hour, kept per chat and sender for adding to a library."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from gateway.catalogue import text
from gateway.core.filenames import title_of
from gateway.core.messages import Attachment, Conversation, InboundMessage, Sender
from gateway.downloads import MEBIBYTE, Downloads, NotKept, Refusal
from gateway.interfaces import Channel, Claimed, Clock

LanguageOf = Callable[[InboundMessage], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class ShelfLimits:
    """How many files are remembered, and for how long."""

    files_per_sender: int = 5  # in one chat; a sixth pushes the oldest out
    entries: int = 5_000  # noted files, downloaded or not; the oldest goes
    kept_for: timedelta = timedelta(minutes=30)
    beside_text_s: float = 10.0  # what an answer waits for files; they can be fetched later


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A downloaded file. It may go at any time: read it, or copy it, at once."""

    path: Path
    name: str
    size: int  # bytes
    sha256: str
    media_type: str  # as the platform says; "" where it does not
    message_key: str


@dataclass(slots=True)
class _Entry:
    """One file: a handle at first, with bytes on disk once it was downloaded."""

    lane: str
    sender: Sender
    message_key: str
    attachment: Attachment
    expires_at: datetime
    kept: KeptFile | None = None
    is_gone: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_wanted(self) -> bool:
        """False once it was taken back, pushed out or too old."""
        return not self.is_gone


_Key = tuple[str, str, int]  # lane, message key, which file of the message


class AttachmentShelf:
    """Only senders with an identity; nothing outlives a restart, a retraction or half an hour."""

    def __init__(
        self,
        downloads: Downloads,
        clock: Clock,
        language_of: LanguageOf,
        limits: ShelfLimits = ShelfLimits(),
    ) -> None:
        self._downloads = downloads
        self._clock = clock
        self._language_of = language_of
        self._limits = limits
        self._entries: dict[_Key, _Entry] = {}  # oldest first
        self._retracted: dict[tuple[str, str], datetime] = {}  # (lane, message key), until when
        self._dropped: list[_Entry] = []  # their bytes are still to be removed

    async def start(self) -> None:
        """Files from before a restart are nobody's any more."""
        await self._downloads.empty()

    def note(self, message: InboundMessage) -> None:
        """Remember the files of a message, addressed to us or not; a repeat changes nothing."""
        self._noted(message)

    async def receive(self, claimed: Claimed, channel: Channel) -> str | None:
        """Download the files of a message to us; the reply, where it holds nothing but files."""
        message = claimed.message
        if not message.attachments:
            return None
        if message.text.strip():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.beside_text_s):
                    await self._download(self._noted(message), channel)
            return None
        language = await self._language_of(message)
        if message.sender is None or message.is_visitor:
            return text("attachments.not_kept", language)
        entries = self._noted(message)
        refusals = await self._download(entries, channel)
        return self._told(message, entries, refusals, language)

    async def files(
        self, conversation: Conversation, sender: Sender, channel: Channel
    ) -> tuple[KeptFile, ...]:
        """The sender's files of the last half hour here, oldest first; those that can be had."""
        self._expire()
        whose = (conversation.lane, sender)
        own = [each for each in self._entries.values() if (each.lane, each.sender) == whose]
        await self._download(own, channel)
        return tuple(each.kept for each in own if each.kept is not None and each.is_wanted())

    async def forget(self, conversation: Conversation, message_keys: Sequence[str]) -> None:
        """Drop the files of messages taken back, also of those that come after that."""
        lane, until = conversation.lane, self._clock.now() + self._limits.kept_for
        keys = [(lane, key) for key in message_keys]
        self._retracted |= dict.fromkeys(keys, until)
        while len(self._retracted) > self._limits.entries:
            del self._retracted[next(iter(self._retracted))]
        self._drop([key for key in self._entries if key[:2] in self._retracted])
        await self._tidy()

    async def sweep(self) -> None:
        """Remove what is too old; to be run every minute or so."""
        self._expire()
        await self._tidy()

    def _noted(self, message: InboundMessage) -> list[_Entry]:
        """The entries of a message, made where there are none."""
        sender, lane = message.sender, message.conversation.lane
        message_key, now = message.message_key or message.delivery_id, self._clock.now()
        expires_at = min(now, message.received_at) + self._limits.kept_for
        is_retracted = (lane, message_key) in self._retracted
        if sender is None or message.is_visitor or is_retracted or expires_at <= now:
            return []
        files = message.attachments[: self._limits.files_per_sender]
        for n, attachment in enumerate(files):
            if (lane, message_key, n) not in self._entries:
                entry = _Entry(lane, sender, message_key, attachment, expires_at)
                self._entries[lane, message_key, n] = entry
        self._make_room(lane, sender)
        keys = [(lane, message_key, n) for n in range(len(files))]
        return [self._entries[key] for key in keys if key in self._entries]

    def _make_room(self, lane: str, sender: Sender) -> None:
        whose = (lane, sender)
        own = [key for key, each in self._entries.items() if (each.lane, each.sender) == whose]
        self._drop(own[: -self._limits.files_per_sender])
        self._drop(list(self._entries)[: -self._limits.entries])

    def _expire(self) -> None:
        now = self._clock.now()
        self._drop([key for key, each in self._entries.items() if each.expires_at <= now])
        self._retracted = {key: until for key, until in self._retracted.items() if until > now}

    def _drop(self, keys: Collection[_Key]) -> None:
        for key in keys:
            entry = self._entries.pop(key)
            entry.is_gone = True
            self._dropped.append(entry)

    async def _tidy(self) -> None:
        """Bytes of what was dropped; a download that still runs notices and ends by itself."""
        while self._dropped:
            await self._remove(self._dropped.pop())

    async def _remove(self, entry: _Entry) -> None:
        kept, entry.kept = entry.kept, None
        if kept is not None:
            await self._downloads.remove(entry.sender, kept.path, kept.size)

    async def _download(
        self, entries: Sequence[_Entry], channel: Channel
    ) -> Sequence[Refusal | None]:
        """Per entry None, or why it is not kept; side by side."""
        async with asyncio.TaskGroup() as tasks:
            ended = [tasks.create_task(self._fetch(each, channel)) for each in entries]
        await self._tidy()
        return [each.result() for each in ended]

    async def _fetch(self, entry: _Entry, channel: Channel) -> Refusal | None:
        async with entry.lock:
            if entry.kept is not None and entry.is_wanted():
                return None
            try:
                found = await self._downloads.fetch(
                    entry.attachment, channel, entry.sender, entry.is_wanted
                )
            except NotKept as error:
                return error.refusal
            attachment = entry.attachment
            entry.kept = KeptFile(
                found.path,
                title_of(attachment.name),
                found.size,
                found.sha256,
                attachment.media_type,
                entry.message_key,
            )
            if entry.is_wanted():
                return None
            await self._remove(entry)
            return Refusal.UNAVAILABLE

    def _told(
        self,
        message: InboundMessage,
        entries: Sequence[_Entry],
        refusals: Sequence[Refusal | None],
        language: str | None,
    ) -> str:
        """One sentence for what was kept, and one for each reason why something was not."""
        said = []
        if count := refusals.count(None):
            minutes = int(self._limits.kept_for / timedelta(minutes=1))
            said.append(text("attachments.kept", language, count=count, minutes=minutes))
        if Refusal.TOO_LARGE in refusals:
            limit_mb = self._downloads.limits.file_bytes // MEBIBYTE
            said.append(text("attachments.too_large", language, limit_mb=limit_mb))
        if Refusal.FULL in refusals:
            said.append(text("attachments.full", language))
        if Refusal.UNAVAILABLE in refusals or not entries:
            said.append(text("attachments.unavailable", language))
        if len(message.attachments) > self._limits.files_per_sender and entries:
            most = self._limits.files_per_sender
            said.append(text("attachments.only_first", language, count=most))
        return "\n".join(said)
