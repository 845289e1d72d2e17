"""One website's live chat: its settings, its limits, and how a reply goes back to its relay."""

import ipaddress
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from yarl import URL

from channels.odoolivechat import parse, render
from channels.odoolivechat.client import LiveChatClient
from channels.plain import PlainChannel
from gateway.core.messages import (
    Check,
    InboundMessage,
    Limits,
    OutboundCall,
    Refused,
    SendMethod,
    SendOutcome,
)
from gateway.core.secrets import Secret
from gateway.errors import ConfigError
from gateway.interfaces import Channel

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class OdooLiveChatSettings:
    """One `[channels.odoolivechat.<name>]` table. The secret never prints."""

    name: str
    agent: str
    secret: Secret  # signs both ways
    reply_url: str  # where the relay takes our replies: https, or http on this machine
    language: str | None = None

    def __post_init__(self) -> None:
        """An empty secret would accept what anybody signs; http would show it to the network."""
        if not self.secret.reveal().strip():
            raise self._wrong("secret", "is empty")
        if not _is_safe(self.reply_url):
            raise self._wrong("reply_url", "must be https, or http to this machine itself")

    def _wrong(self, key: str, reason: str) -> ConfigError:
        path = f"channels.odoolivechat.{self.name}.{key}"
        return ConfigError(f"{path} {reason}", path=path, reason=reason)


class OdooLiveChatChannel(PlainChannel):
    """Implements the Channel protocol of gateway/interfaces for a website's live chat."""

    def __init__(
        self, settings: OdooLiveChatSettings, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._settings = settings
        self._now_ns = now_ns
        self._secret = settings.secret.reveal().encode()
        self._reading = parse.Reading(
            settings.name, self._secret, settings.agent, settings.language
        )
        self._client = LiveChatClient(settings.reply_url)

    @property
    def name(self) -> str:
        """The platform."""
        return parse.CHANNEL

    @property
    def account_name(self) -> str:
        """Which of the websites."""
        return self._settings.name

    @property
    def limits(self) -> Limits:
        """One text a call, one call a reply."""
        return render.LIMITS

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """Verify the raw bytes, then decode; SignatureError, InvalidRequestError."""
        return parse.parse(headers, body, now, self._reading)

    def method(self, _call: OutboundCall, _now: datetime) -> SendMethod:
        """A push under a key by which the relay knows a repeat."""
        return SendMethod.PUSH

    async def send(self, call: OutboundCall, _method: SendMethod) -> SendOutcome:
        """One signed call, always to the session the question came from."""
        try:
            body = render.body(call)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        timestamp = str(self._now_ns() // NANOSECONDS)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": call.idempotency_key,
            parse.TIMESTAMP_HEADER: timestamp,
            parse.SIGNATURE_HEADER: parse.sign(self._secret, timestamp, body),
        }
        return await self._client.post(body, headers)

    async def check(self) -> Sequence[Check]:
        """Whether anything answers where replies go; whether it knows the secret shows there."""
        failed = await self._client.reach()
        return (Check("connection", is_ok=not failed, detail=failed),)

    async def close(self) -> None:
        """Close the sockets."""
        await self._client.close()


def _is_safe(address: str) -> bool:
    try:
        url = URL(address)
        host = url.host or ""
    except ValueError:
        return False
    if not host or url.user is not None or url.password is not None or url.fragment:
        return False
    return url.scheme == "https" or (url.scheme == "http" and _is_here(host))


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


fits: type[Channel] = OdooLiveChatChannel
