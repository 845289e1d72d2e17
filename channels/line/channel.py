"""One LINE account: its settings, its limits, and how a call goes out at a given moment."""

import dataclasses
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode, urlsplit

from channels.line import parse, render
from channels.line.client import LineClient
from channels.plain import PlainChannel
from gateway.core.messages import (
    Attachment,
    Check,
    InboundMessage,
    Limits,
    OutboundCall,
    Refused,
    SendMethod,
    SendOutcome,
)
from gateway.core.secrets import Secret
from gateway.errors import ChannelError, ConfigError
from gateway.fetching import FetchLimits, GuardedFetch

OUTSIDE = FetchLimits(most_bytes=200 * 1024 * 1024, total_s=60.0)  # whoever reads stops earlier


@dataclass(frozen=True, slots=True)
class LineSettings:
    """One `[channels.line.<name>]` table. Secrets never print."""

    name: str
    agent: str
    channel_secret: Secret
    channel_access_token: Secret
    api_base_url: str = "https://api.line.me"
    language: str | None = None
    prefix: str | None = None  # text that addresses the bot in groups, beside its mention
    push_overflow: bool = False  # a second, metered call for what five messages cannot carry
    reply_window_s: float = 45.0  # after the event; the token lives about a minute
    api_data_base_url: str = "https://api-data.line.me"  # where files are
    account_link_url: str = "https://access.line.me/dialog/bot/accountLink"

    def __post_init__(self) -> None:
        """An empty secret would accept what anybody signs."""
        for key, secret in (
            ("channel_secret", self.channel_secret),
            ("channel_access_token", self.channel_access_token),
        ):
            if not secret:
                path = f"channels.line.{self.name}.{key}"
                raise ConfigError(f"{path} is empty", path=path, reason="is empty")


class LineChannel(PlainChannel):
    """Implements the Channel protocol of gateway/interfaces for LINE."""

    def __init__(self, settings: LineSettings, outside: GuardedFetch | None = None) -> None:
        """`outside` fetches files that lie on other hosts."""
        self._outside = outside or GuardedFetch(OUTSIDE)
        self._settings = settings
        self._reading = parse.Reading(
            account_name=settings.name,
            channel_secret=settings.channel_secret.reveal().encode(),
            agent_id=settings.agent,
            language=settings.language,
            prefix=settings.prefix,
            reply_window_s=settings.reply_window_s,
        )
        self._client = LineClient(
            settings.channel_access_token, settings.api_base_url, settings.api_data_base_url
        )

    @property
    def name(self) -> str:
        """The platform."""
        return parse.CHANNEL

    @property
    def account_name(self) -> str:
        """Which of our LINE accounts."""
        return self._settings.name

    @property
    def limits(self) -> Limits:
        """Five messages a call; one call, or two where the operator pays for a push."""
        calls = 2 if self._settings.push_overflow else 1
        return dataclasses.replace(render.LIMITS, max_calls=calls)

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """Verify the raw bytes, then decode; SignatureError, InvalidRequestError."""
        return parse.parse(headers, body, now, self._reading)

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        """Reply, which is free, while the token is young; afterwards push."""
        handle = call.reply_handle
        if handle is not None and now < handle.expires_at:
            return SendMethod.REPLY
        return SendMethod.PUSH

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome:
        """One API call, always to the conversation the message came from."""
        try:
            messages = render.messages(call.parts)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        if method is SendMethod.REPLY and call.reply_handle is not None:
            return await self._client.reply(call.reply_handle.token, messages)
        return await self._client.push(call.conversation.id, messages, call.idempotency_key)

    async def show_typing(self, message: InboundMessage) -> None:
        """The loading animation exists in 1:1 chats only."""
        if message.conversation.is_direct:
            await self._client.show_loading(message.conversation.id)

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """LINE cannot show a draft."""

    async def check(self) -> Sequence[Check]:
        """Whether LINE takes the token, and whether its events come to this account's address."""
        try:
            name = await self._client.bot_name()
        except ChannelError as error:
            return (Check("credentials", is_ok=False, detail=str(error)),)
        own = Check("credentials", is_ok=True, detail=name)
        try:
            webhook = await self._client.webhook()
        except ChannelError as error:
            return own, Check("webhook", is_ok=False, detail=str(error))
        if webhook is None:
            return own, Check("webhook", is_ok=False, detail="not set")
        url, is_active = webhook
        if not is_active:
            return own, Check("webhook", is_ok=False, detail=f"switched off: {url}")
        is_ours = urlsplit(url).path.endswith(f"/webhooks/line/{self._settings.name}")
        return own, Check("webhook", is_ours, f"{'' if is_ours else 'another address: '}{url}")

    async def link_token(self, user_id: str) -> str | None:
        """For the account-link flow: good once, ten minutes. ChannelError."""
        return await self._client.link_token(user_id)

    def link_dialog(self, token: str, nonce: str) -> str | None:
        """LINE's page, which checks that whoever opens it is the user the token was made for."""
        query = urlencode({"linkToken": token, "nonce": nonce})
        return f"{self._settings.account_link_url}?{query}"

    async def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        """From LINE's own host, or by the guard where the sender's app keeps files elsewhere."""
        if not attachment.handle.startswith(parse.BY_URL):
            async with aclosing(self._client.content(attachment.handle)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        url = attachment.handle.removeprefix(parse.BY_URL)
        async with self._outside.open(url) as opened, aclosing(opened.chunks()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """Close the SDK's sockets."""
        await self._client.close()
