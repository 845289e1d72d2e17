"""One Discord account: its settings, its limits, its rates and drafts, and how a call goes out."""

import base64
import binascii
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from channels import sealing
from channels.discord import parse, render
from channels.discord.client import DiscordClient, Trouble
from channels.discord.intake import CLOCK_SKEW, snowflake
from channels.discord.parse import Reading
from channels.discord.reception import Pauses, Reception
from channels.drafts import Drafts
from channels.pacing import Pacer, Rates
from channels.plain import PlainChannel
from gateway.core.messages import (
    Attachment,
    ChannelState,
    Check,
    Conversation,
    Delivered,
    InboundMessage,
    Limits,
    OutboundCall,
    Refused,
    RetryLater,
    SendMethod,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.secrets import Secret
from gateway.errors import ChannelError, ConfigError
from gateway.interfaces import Accept, Channel, Clock
from gateway.system import SystemClock

log = structlog.get_logger()

MESSAGES = Rates(per_chat_s=1.0, burst=5, overall_per_s=40.0)  # Discord: 5 in 5 s, 50 a second
COURTESIES = Rates(per_chat_s=1.0, burst=2, overall_per_s=10.0)  # typing and drafts: the rest
DRAFT_EVERY_S = 1.5
NONCE_LIFE = timedelta(minutes=2)  # "a few minutes", read carefully
MOST_SENT = 10_000  # remembered
CLOCK, PAUSES = SystemClock(), Pauses()
NO_HISTORY = 160002  # we may write here but not read, so not reply either


@dataclass(frozen=True, slots=True)
class DiscordSettings:
    """One `[channels.discord.<name>]` table. The token never prints."""

    name: str
    agent: str
    bot_token: Secret
    api_base_url: str = "https://discord.com/api/v10"
    gateway_url: str = "wss://gateway.discord.gg/"
    language: str | None = None
    prefix: str | None = None  # text that addresses the bot in channels, beside its mention

    def __post_init__(self) -> None:
        """Without a token there is no way in."""
        if not self.bot_token.reveal().strip():
            path = f"channels.discord.{self.name}.bot_token"
            raise ConfigError(f"{path} is empty", path=path, reason="is empty")


class DiscordChannel(PlainChannel):
    """Implements the Channel protocol of gateway/interfaces for Discord."""

    def __init__(
        self,
        settings: DiscordSettings,
        clock: Clock = CLOCK,
        session_file: Path | None = None,
        pauses: Pauses = PAUSES,
    ) -> None:
        """`session_file` keeps the session over a restart, so that nothing is missed."""
        self._settings = settings
        self._clock = clock
        self._key = secrets.token_bytes(sealing.KEY_BYTES)
        self._client = DiscordClient(settings.bot_token, settings.api_base_url, self._hold)
        self._reception = Reception(self._client, settings.gateway_url, clock, session_file, pauses)
        self._pacer = Pacer(MESSAGES)
        self._courtesies = Pacer(COURTESIES)
        self._drafts = Drafts(DRAFT_EVERY_S)
        self._sent: OrderedDict[str, str] = OrderedDict()  # message id -> call id
        self._reading = Reading(
            account_name=settings.name,
            bot_id=_id_in(settings.bot_token),
            agent_id=settings.agent,
            language=settings.language,
            prefix=settings.prefix,
        )

    @property
    def name(self) -> str:
        """The platform."""
        return parse.CHANNEL

    @property
    def account_name(self) -> str:
        """Which of our Discord accounts."""
        return self._settings.name

    @property
    def limits(self) -> Limits:
        """One message a call."""
        return render.LIMITS

    @property
    def state(self) -> ChannelState:
        """Of the gateway connection."""
        return self._reception.state

    async def run(self, accept: Accept) -> None:
        """Keep the gateway connection until cancelled."""
        await self._reception.run(self._decoded, accept)

    async def check(self) -> Sequence[Check]:
        """Token, gateway, message-content intent."""
        return await self._client.check()

    def seal(self, payload: bytes) -> tuple[Mapping[str, str], bytes]:
        """A gateway frame in the form that `parse` takes."""
        return parse.seal(payload, self._key)

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """SignatureError for what our own connection did not bring: there is no webhook."""
        return parse.parse(headers, body, now, self._known_reading(), self._key)

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        """The draft becomes the reply, else a message with a nonce."""
        handle = call.reply_handle
        is_shown = handle is not None and now < handle.expires_at
        return SendMethod.EDIT if is_shown else SendMethod.NONCE

    def reserve(self, conversation: Conversation) -> float:
        """Seconds until a message may go to this channel."""
        return self._pacer.reserve(conversation.id, self._clock.monotonic())

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome:
        """One message, new or in the place of the draft; either may be said twice."""
        handle = call.reply_handle
        is_edit = method is SendMethod.EDIT and handle is not None
        try:
            [part] = call.parts
            payload = render.edit(part)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        try:
            if is_edit and handle is not None:
                message_id = await self._client.edit(call.conversation.id, handle.token, payload)
            else:
                message_id = await self._post(call, part)
        except Trouble as error:
            return self._outcome(error, call.conversation.id, is_edit=is_edit)
        self._remember(message_id, call.id)
        self._drafts.end(call.turn_id)
        return Delivered((message_id,))

    async def show_typing(self, message: InboundMessage) -> None:
        """Shown for ten seconds, or until the next message. ChannelError."""
        chat = message.conversation.id
        if self._may_be_polite(chat):
            try:
                await self._client.type(chat)
            except Trouble as error:
                raise self._not_shown(error, chat) from error

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """The draft so far, in a message that becomes the reply. ChannelError."""
        chat = message.conversation.id
        draft = self._drafts.add(turn_id, text, self._clock.monotonic())
        if draft is None or not self._may_be_polite(chat):
            return
        shown = self._drafts.preview(turn_id)
        try:
            if shown is not None:
                await self._client.edit(chat, shown, render.edit(render.draft(draft)))
                return
            key = render.nonce(f"draft/{turn_id}")
            payload = render.message(render.draft(draft), key, message.reply_to)
            self._drafts.shown(turn_id, await self._post_replying(chat, payload))
        except ValueError:
            return  # nothing to see in it yet
        except Trouble as error:
            raise self._not_shown(error, chat) from error

    def preview(self, turn_id: str) -> str | None:
        """The id of the message that shows the draft."""
        return self._drafts.preview(turn_id)

    def adopt_preview(self, turn_id: str, preview: str) -> None:
        """Go on with it after a crash."""
        self._drafts.shown(turn_id, preview)

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """From Discord's file hosts only; the link in the handle is signed and ends."""
        return self._client.fetch(attachment.handle)

    async def close(self) -> None:
        """Close the SDK's sockets."""
        await self._client.close()

    def _decoded(self, payload: bytes, parents: Mapping[str, str]) -> Sequence[InboundMessage]:
        return parse.decode(payload, self._clock.now(), self._known_reading(), parents)

    def _known_reading(self) -> Reading:
        """With the id the platform itself told, once it did."""
        if self._client.bot_id not in ("", self._reading.bot_id):
            self._reading = replace(self._reading, bot_id=self._client.bot_id)
        return self._reading

    async def _post(self, call: OutboundCall, part: str) -> str:
        """A new message, or the one that an earlier try of this call left there."""
        if self._clock.now() - call.created_at > NONCE_LIFE:
            found = await self._find(call, part)
            if found is not None:
                return found
        key = render.nonce(call.idempotency_key)
        payload = render.message(part, key, call.reply_to)
        return await self._post_replying(call.conversation.id, payload)

    async def _post_replying(self, chat: str, payload: dict[str, Any]) -> str:
        try:
            return await self._client.post(chat, payload)
        except Trouble as error:
            if error.code != NO_HISTORY or "message_reference" not in payload:
                raise
        plain = {key: value for key, value in payload.items() if key != "message_reference"}
        return await self._client.post(chat, plain)

    async def _find(self, call: OutboundCall, part: str) -> str | None:
        """Our message with this part behind the question; the nonce is forgotten by now."""
        after = call.reply_to or snowflake(call.created_at - CLOCK_SKEW)
        try:
            messages = await self._client.messages(call.conversation.id, after)
        except Trouble as error:
            if error.status != 403:
                raise
            log.warning("discord history not open", call_id=call.id)
            return None
        for message in messages:
            is_free = self._sent.get(message["id"], call.id) == call.id
            if is_free and render.is_said(message, part, self._client.bot_id, call.reply_to):
                return str(message["id"])
        return None

    def _remember(self, message_id: str, call_id: str) -> None:
        self._sent[message_id] = call_id
        if len(self._sent) > MOST_SENT:
            self._sent.popitem(last=False)

    def _may_be_polite(self, chat: str) -> bool:
        """Typing and drafts never come before a message, nor while we are to be silent."""
        now_s = self._clock.monotonic()
        return self._pacer.held(chat, now_s) == 0.0 and self._courtesies.reserve(chat, now_s) == 0.0

    def _hold(self, chat: str | None, seconds: float) -> None:
        self._pacer.hold(chat, seconds, self._clock.monotonic())

    def _not_shown(self, error: Trouble, chat: str) -> ChannelError:
        if error.status == 429:
            self._hold(chat, error.after_s or 0.0)
        return ChannelError(error.reason)

    def _outcome(self, error: Trouble, chat: str, *, is_edit: bool) -> SendOutcome:
        """Whatever may have been accepted can be said again: the nonce or the edit holds it."""
        status = error.status
        if status == 429:
            self._hold(chat, error.after_s or 0.0)
            return RetryLater(error.after_s, "rate limit")
        if status is None or status >= 500 or status == 408:
            return RetryLater(error.after_s, error.reason)
        if is_edit and status != 401:
            return TryOtherMethod(f"draft not editable: {error.reason}")
        return Refused(f"{error.reason}, code {error.code}" if error.code else error.reason)


def _id_in(token: Secret) -> str:
    """Our user id as the token's first segment names it, "" where it does not."""
    first = token.reveal().partition(".")[0]
    try:
        named = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return named if named.isdigit() else ""


fits: type[Channel] = DiscordChannel
