"""One Telegram bot: its settings, its limits, how its messages come and how a call goes out."""

import asyncio
import dataclasses
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

import structlog

from channels.drafts import Drafts
from channels.pacing import Pacer
from channels.plain import PlainChannel
from channels.telegram import parse, render
from channels.telegram.client import FILE_BYTES_MAX, POLL_S, TelegramClient
from channels.telegram.troubles import TelegramTrouble, Trouble
from channels.telegram.updates import number_of, webhook_check
from gateway.core.messages import (
    Attachment,
    ChannelState,
    Check,
    Conversation,
    InboundMessage,
    Limits,
    LinkState,
    OutboundCall,
    Refused,
    RetryLater,
    SendMethod,
    SendOutcome,
)
from gateway.core.secrets import Secret
from gateway.errors import ChannelError, ConfigError, GatewayError
from gateway.interfaces import Accept

log = structlog.get_logger()

TOKEN = re.compile(r"(\d{1,20}):[A-Za-z0-9_-]+")
NO_SECRET = Secret("")
SECRET_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")


class Mode(StrEnum):
    """How messages come."""

    WEBHOOK = "webhook"
    POLLING = "polling"


@dataclass(frozen=True, slots=True)
class TelegramSettings:
    """One `[channels.telegram.<name>]` table. Secrets never print."""

    name: str
    agent: str
    bot_token: Secret
    secret_token: Secret = NO_SECRET  # what the webhook's calls carry; polling needs none
    mode: Mode = Mode.WEBHOOK
    api_base_url: str = "https://api.telegram.org"
    language: str | None = None
    prefix: str | None = None  # text that addresses the bot in groups, beside its mention

    def __post_init__(self) -> None:
        """An empty secret would let anybody speak as Telegram."""
        if not TOKEN.fullmatch(self.bot_token.reveal()):
            reason = "is not a bot's token (number:letters)" if self.bot_token else "is empty"
            raise self._wrong("bot_token", reason)
        if self.mode is Mode.POLLING:
            return
        if not self.secret_token:
            raise self._wrong("secret_token", "is empty; a webhook needs it")
        if not SECRET_TOKEN.fullmatch(self.secret_token.reveal()):
            raise self._wrong("secret_token", "must be 1 to 256 characters of A-Z a-z 0-9 _ -")

    def _wrong(self, key: str, reason: str) -> ConfigError:
        path = f"channels.telegram.{self.name}.{key}"
        return ConfigError(f"{path} {reason}", path=path, reason=reason)


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long a broken connection waits before it is tried again."""

    first_s: float = 1.0  # doubled each time
    longest_s: float = 60.0
    standing_s: float = 30.0  # what somebody has to put right: a token, a second poller


class TelegramChannel(PlainChannel):
    """Implements the Channel protocol of gateway/interfaces for Telegram."""

    def __init__(
        self,
        settings: TelegramSettings,
        monotonic: Callable[[], float] = time.monotonic,
        pauses: Pauses = Pauses(),
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._pauses = pauses
        token = settings.bot_token.reveal()
        self._is_polling = settings.mode is Mode.POLLING
        self._reading = parse.Reading(
            account_name=settings.name,
            bot_id=int(token.partition(":")[0]),
            secret_token=b"" if self._is_polling else settings.secret_token.reveal().encode(),
            agent_id=settings.agent,
            language=settings.language,
            prefix=settings.prefix,
        )
        self._client = TelegramClient(settings.bot_token, settings.api_base_url)
        self._pacer = Pacer(render.MESSAGES)
        self._draft_pacer = Pacer(render.DRAFTS)
        self._typing_pacer = Pacer(render.TYPING)
        self._drafts = Drafts(render.PER_CHAT_S)
        self._state = ChannelState(LinkState.STARTING)
        self._offset: int | None = None

    @property
    def name(self) -> str:
        """The platform."""
        return parse.CHANNEL

    @property
    def account_name(self) -> str:
        """Which of our bots."""
        return self._settings.name

    @property
    def limits(self) -> Limits:
        """One message a call, eight calls a reply."""
        return render.LIMITS

    @property
    def state(self) -> ChannelState:
        """Ready once we know our name, and with polling once a poll was answered."""
        return self._state

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """Verify the secret token, then decode; the errors of `channels.telegram.parse`."""
        return self._noted(parse.parse(headers, body, now, self._reading))

    async def run(self, accept: Accept) -> None:
        """Learn our name, then poll for ever; a webhook brings everything else by itself."""
        await self._until_done(self._introduce)
        if not self._is_polling:
            self._ready()
            return
        await self._until_done(self._client.delete_webhook)
        while True:
            await self._until_done(partial(self._take, accept))

    async def check(self) -> Sequence[Check]:
        """The token by getMe, the webhook by getWebhookInfo."""
        try:
            name = await self._client.me()
            told = await self._client.webhook()
        except TelegramTrouble as trouble:
            return (Check("credentials", is_ok=False, detail=trouble.reason),)
        own = Check("credentials", is_ok=True, detail=f"@{name}")
        return own, webhook_check(told, is_polling=self._is_polling)

    async def _introduce(self) -> None:
        username = await self._client.me()
        self._reading = dataclasses.replace(self._reading, username=username)

    async def _take(self, accept: Accept) -> None:
        """One poll. The offset, which confirms, moves only when everything is stored."""
        is_ready = self._state.state is LinkState.READY
        updates = await self._client.updates(self._offset, POLL_S if is_ready else 0)
        messages = [each for one in updates for each in parse.read(one, None, self._reading)]
        if messages:
            await accept(self._noted(messages))
        numbers = [number for one in updates if (number := number_of(one)) is not None]
        if updates and not numbers:
            raise TelegramTrouble(Trouble.IN_DOUBT, "updates without a number")
        # an empty answer confirmed what was before it; after a quiet week numbers begin anew
        self._offset = max(numbers) + 1 if numbers else None
        self._ready()

    async def _until_done(self, step: Callable[[], Awaitable[None]]) -> None:
        """Again and again, with pauses; what is wrong meanwhile is our state."""
        pause_s = self._pauses.first_s
        while True:
            try:
                return await step()
            except TelegramTrouble as trouble:
                reason, wait_s = trouble.reason, trouble.after_s or pause_s
                if trouble.trouble in {Trouble.CREDENTIALS, Trouble.CONFLICT}:
                    wait_s = self._pauses.standing_s
            except GatewayError as error:  # the store took nothing: Telegram keeps it for us
                reason, wait_s = error.code, pause_s
            self._down(reason)
            await asyncio.sleep(wait_s)
            pause_s = min(2 * pause_s, self._pauses.longest_s)

    def _noted(self, messages: Sequence[InboundMessage]) -> Sequence[InboundMessage]:
        """A group that moved: what we still owe it goes to its new id."""
        for message in messages:
            if message.notice is not None and message.notice.new_chat_id:
                self._client.moved(int(message.conversation.id), int(message.notice.new_chat_id))
        return messages

    def _ready(self) -> None:
        if self._state.state is not LinkState.READY:
            log.info("telegram ready", account=self._settings.name)
        self._state = ChannelState(LinkState.READY)

    def _down(self, reason: str) -> None:
        state = ChannelState(LinkState.DOWN, reason)
        if self._state != state:
            log.warning("telegram down", account=self._settings.name, reason=reason)
        self._state = state

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        """There is one way only, and no idempotency key."""
        return SendMethod.POST

    def reserve(self, conversation: Conversation) -> float:
        """A message a second, in groups twenty a minute; nothing where 429 said to wait."""
        chat = self._chat(conversation)
        per_chat_s = render.PER_GROUP_S if chat.startswith("-") else render.PER_CHAT_S
        return self._pacer.reserve(chat, self._monotonic(), per_chat_s=per_chat_s)

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome:
        """One message, always to the chat and topic that the question came from."""
        try:
            to, body = render.address(call.conversation), render.message(call)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        outcome = await self._client.send(to, body)
        if isinstance(outcome, RetryLater) and outcome.after_s is not None:
            self._hold(call.conversation, outcome.after_s)
        return outcome

    async def show_typing(self, message: InboundMessage) -> None:
        """Not while the chat is held, nor where too many others are shown it. ChannelError."""
        place, now_s = message.conversation, self._monotonic()
        if not self._held_s(place) and not self._typing_pacer.reserve(place.id, now_s):
            await self._show(place, self._client.show_typing)

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """In private chats, where a draft is a preview of its own kind and is never posted.

        In groups there is none: it would take edits out of the twenty messages a minute.
        """
        place, now_s = message.conversation, self._monotonic()
        whole = self._drafts.add(turn_id, text, now_s) if place.is_direct else None
        shown = render.draft(whole) if whole else None
        chat = self._chat(place)
        if shown is None or self._held_s(place) or self._draft_pacer.reserve(chat, now_s):
            return
        number = render.draft_id(turn_id)
        await self._show(place, partial(self._client.show_draft, draft_id=number, text=shown))

    def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        """By getFile, which gives 20 MB at most. ChannelError `attachment_unavailable`."""
        if (attachment.size_bytes or 0) > FILE_BYTES_MAX:
            raise ChannelError("over what Telegram gives bots", code="attachment_unavailable")
        return self._client.file(attachment.handle)

    async def close(self) -> None:
        """Close the SDK's sockets."""
        await self._client.close()

    async def _show(
        self, place: Conversation, show: Callable[[render.Address], Awaitable[None]]
    ) -> None:
        try:
            await show(render.address(place))
        except ValueError as error:
            raise ChannelError("a conversation without a chat") from error
        except TelegramTrouble as trouble:
            if trouble.after_s is not None:
                self._hold(place, trouble.after_s)
            raise

    def _chat(self, place: Conversation) -> str:
        """Topics share the rates of their chat."""
        try:
            return str(self._client.where(render.address(place).chat_id))
        except ValueError:
            return place.id

    def _hold(self, place: Conversation, seconds: float) -> None:
        self._pacer.hold(self._chat(place), seconds, self._monotonic())

    def _held_s(self, place: Conversation) -> float:
        return self._pacer.held(self._chat(place), self._monotonic())
