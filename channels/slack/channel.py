"""One Slack account: its settings, its limits, and how a call goes out at a given moment."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from channels.drafts import Drafts
from channels.pacing import Pacer, Rates
from channels.plain import PlainChannel
from channels.slack import parse, render
from channels.slack.client import Post, RemoteFile, SlackClient
from channels.slack.events import CHANNEL, Identity, Reading
from channels.slack.outcomes import Answer
from channels.slack.sockets import FIRST_PAUSE_S, LONGEST_PAUSE_S, SlackSocket
from gateway import catalogue
from gateway.core.matching import script
from gateway.core.messages import (
    Attachment,
    ChannelState,
    Check,
    Conversation,
    Delivered,
    InboundMessage,
    Limits,
    LinkState,
    OutboundCall,
    Refused,
    RetryLater,
    SendMethod,
    SendOutcome,
    TryOtherMethod,
)
from gateway.core.secrets import Secret
from gateway.errors import ChannelError, ConfigError
from gateway.interfaces import Accept

RATES = Rates(per_chat_s=1.0, burst=3)
DRAFT_EVERY_S = 1.5
SCOPES = ("chat:write",)  # without it nothing can be answered


class Mode(StrEnum):
    """How events come."""

    EVENTS = "events"  # Slack calls our webhook
    SOCKET = "socket"  # we keep a connection, for where nobody can call us


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """One `[channels.slack.<name>]` table. Secrets never print."""

    name: str
    agent: str
    bot_token: Secret
    signing_secret: Secret = Secret("")  # noqa: RUF009 - immutable; mode "events" needs it
    app_token: Secret = Secret("")  # noqa: RUF009 - mode "socket" needs it
    mode: Mode = Mode.EVENTS
    api_base_url: str = "https://slack.com/api/"
    language: str | None = None
    prefix: str | None = None  # text that addresses the bot in channels, beside its mention
    team_id: str | None = None  # else learned from the bot token
    app_id: str | None = None

    def __post_init__(self) -> None:
        """An empty secret would accept what anybody signs."""
        needed = {Mode.EVENTS: "signing_secret", Mode.SOCKET: "app_token"}[self.mode]
        for key in ("bot_token", needed):
            if not getattr(self, key).reveal().strip():
                path = f"channels.slack.{self.name}.{key}"
                raise ConfigError(f"{path} is empty", path=path, reason="is empty")


class SlackChannel(PlainChannel):
    """Implements the Channel protocol of gateway/interfaces for Slack."""

    def __init__(
        self,
        settings: SlackSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._first_pause_s = first_pause_s
        is_webhook = settings.mode is Mode.EVENTS
        self._reading = Reading(
            account_name=settings.name,
            signing_secret=settings.signing_secret.reveal().encode() if is_webhook else b"",
            agent_id=settings.agent,
            language=settings.language,
            prefix=settings.prefix,
            app_id=settings.app_id,
            me=Identity(team_id=settings.team_id or None),
        )
        self._client = SlackClient(settings.bot_token, settings.api_base_url)
        self._socket = SlackSocket(self._client, settings.app_token, first_pause_s)
        self._known = ChannelState(LinkState.STARTING)
        self._pacer = Pacer(RATES)
        self._courtesies = Pacer(RATES)  # of statuses, which have a rate of their own
        self._drafts = Drafts(DRAFT_EVERY_S)
        self._statuses: dict[str, str] = {}  # direct chat -> message below which one is shown

    @property
    def name(self) -> str:
        """The platform."""
        return CHANNEL

    @property
    def account_name(self) -> str:
        """Which of our Slack accounts."""
        return self._settings.name

    @property
    def limits(self) -> Limits:
        """One message a call."""
        return render.LIMITS

    @property
    def state(self) -> ChannelState:
        """Of the bot token, then of the socket where there is one."""
        is_known = self._known.state is LinkState.READY
        return self._socket.state if is_known and self._is_socket else self._known

    @property
    def _is_socket(self) -> bool:
        return self._settings.mode is Mode.SOCKET

    async def run(self, accept: Accept) -> None:
        """Learn who we are, then, in Socket Mode, keep the connection."""
        await self._learn()

        async def take(payload: Any) -> None:
            messages = parse.pushed(payload, self._reading)
            if messages:
                await accept(messages)

        if self._is_socket:
            await self._socket.run(take)

    async def check(self) -> Sequence[Check]:
        """The bot token, what it may do, and in Socket Mode the app's token."""
        answer = await self._client.identity()
        checks = [Check("credentials", not answer.error, answer.error or _named(answer))]
        if not answer.error:
            granted = {each.strip() for each in answer.headers.get("x-oauth-scopes", "").split(",")}
            missing = [each for each in SCOPES if granted - {""} and each not in granted]
            wanted = self._settings.team_id or answer.data.get("team_id")
            is_team = wanted == answer.data.get("team_id")
            checks.append(Check("scopes", not missing, " ".join(missing)))
            checks.append(Check("workspace", is_team, str(answer.data.get("team_id"))))
        if self._is_socket:
            _, error, _ = await self._socket.address()
            checks.append(Check("connection", not error, error))
        return tuple(checks)

    def challenge(self, body: bytes) -> str | None:
        """Slack's url_verification."""
        return parse.challenge(body)

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """Verify the raw bytes, then decode; SignatureError, InvalidRequestError."""
        return parse.parse(headers, body, now, self._reading)

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        """The message that shows the draft becomes the reply; else a new one."""
        handle = call.reply_handle
        if handle is not None and now < handle.expires_at:
            return SendMethod.EDIT
        return SendMethod.POST

    def reserve(self, conversation: Conversation) -> float:
        """All threads of a channel share its rate."""
        channel, _ = render.address(conversation)
        return self._pacer.reserve(channel, self._monotonic())

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome:
        """One call, always to the conversation the message came from."""
        try:
            text = render.text(call.parts)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        channel, thread = render.address(call.conversation)
        await self._end_status(call.conversation)
        if method is SendMethod.EDIT and call.reply_handle is not None:
            ts = render.previewed(call.reply_handle.token, channel)
            if ts is None:
                return TryOtherMethod("no message of this chat")
            outcome = await self._client.update(channel, ts, text)
        else:
            since_s = call.created_at.timestamp()
            outcome = await self._client.post(
                Post(channel, thread, text, call.idempotency_key, since_s)
            )
        self._note(channel, outcome)
        if isinstance(outcome, Delivered):
            self._drafts.end(call.turn_id)
        return outcome

    async def show_typing(self, message: InboundMessage) -> None:
        """A status below the question, where the answer's thread is; it ends with the answer."""
        place = message.conversation
        channel, thread = render.address(place)
        below = thread or message.reply_to
        now_s = self._monotonic()
        if (
            below is None
            or max(self._pacer.held(channel, now_s), self._courtesies.held(channel, now_s)) > 0.0
        ):
            return
        language = message.language or script(message.text)  # "zh" is not offered: zh-TW
        status = catalogue.text("slack.status", language)
        answer = await self._client.set_status(channel, below, status)
        if answer.retry_after_s:
            self._courtesies.hold(None, answer.retry_after_s, now_s)
        if not answer.error and thread is None:
            self._statuses[place.id] = below

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """A message that is edited as the draft grows; nothing while the chat is held."""
        now_s = self._monotonic()
        draft = self._drafts.add(turn_id, text, now_s)
        shown = render.preview(draft) if draft is not None else ""
        channel, thread = render.address(message.conversation)
        if not shown or self._pacer.reserve(channel, now_s) > 0.0:
            return
        ts = render.previewed(self._drafts.preview(turn_id) or "", channel)
        if ts is None:
            await self._end_status(message.conversation)
            post = Post(channel, thread, shown, turn_id, message.received_at.timestamp())
            outcome = await self._client.post(post)
        else:
            outcome = await self._client.update(channel, ts, shown)
        self._note(channel, outcome)
        if isinstance(outcome, Delivered):
            if ts is None and outcome.platform_ids:
                self._drafts.shown(turn_id, render.preview_id(channel, outcome.platform_ids[0]))
        elif not isinstance(outcome, RetryLater):
            raise ChannelError(f"slack draft not shown: {outcome.reason}")

    def preview(self, turn_id: str) -> str | None:
        """Channel and ts of the message that shows the draft."""
        return self._drafts.preview(turn_id)

    def adopt_preview(self, turn_id: str, preview: str) -> None:
        """Go on editing it."""
        self._drafts.shown(turn_id, preview)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The file's bytes from Slack's own hosts; ChannelError `attachment_unavailable`."""
        file_id, _, url = attachment.handle.partition(" ")
        if url:
            file = RemoteFile(url, attachment.media_type, attachment.size_bytes)
        else:
            file = await self._client.file(file_id)  # file_access: check_file_info
        async for chunk in self._client.download(file):
            yield chunk

    async def close(self) -> None:
        """Close the SDK's sockets."""
        await self._client.close()

    async def _learn(self) -> None:
        """Workspace and bot user, asked until Slack answers; events come meanwhile all the same."""
        pause_s = self._first_pause_s
        while (answer := await self._client.identity()).error:
            self._known = ChannelState(LinkState.DOWN, answer.error)
            await asyncio.sleep(max(pause_s, answer.retry_after_s or 0.0))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        is_one_team = not answer.data.get("is_enterprise_install")
        team = answer.data.get("team_id") if is_one_team else None
        me = Identity(self._settings.team_id or team, answer.data.get("user_id"))
        self._reading = dataclasses.replace(self._reading, me=me)
        self._known = ChannelState(LinkState.READY)

    async def _end_status(self, place: Conversation) -> None:
        """Before what ends it: Slack ends it by itself only in the thread that shows it."""
        thread = self._statuses.pop(place.id, None)
        if thread is not None:
            await self._client.set_status(place.id, thread, "")

    def _note(self, channel: str, outcome: SendOutcome) -> None:
        if isinstance(outcome, RetryLater) and outcome.after_s:
            self._pacer.hold(channel, outcome.after_s, self._monotonic())


def _named(answer: Answer) -> str:
    return f"{answer.data.get('team_id')} {answer.data.get('user_id')}"
