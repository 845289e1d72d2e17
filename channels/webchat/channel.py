"""The web chat of this gateway: its limits, its seal, and how a reply reaches the sockets."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime

from channels.plain import PlainChannel
from channels.sealing import KEY_BYTES
from channels.sockets import Frame, Hub
from channels.webchat import parse, render
from gateway.core.messages import (
    Delivered,
    InboundMessage,
    Limits,
    OutboundCall,
    Refused,
    SendMethod,
    SendOutcome,
)
from gateway.interfaces import Channel


class WebChatChannel(PlainChannel):
    """Implements the Channel protocol of gateway/interfaces.py for our own page."""

    def __init__(self) -> None:
        self.hub = Hub()
        self._key = secrets.token_bytes(KEY_BYTES)

    @property
    def name(self) -> str:
        """The platform."""
        return parse.CHANNEL

    @property
    def account_name(self) -> str:
        """There is one."""
        return parse.ACCOUNT

    @property
    def limits(self) -> Limits:
        """One large part; the citations travel beside it."""
        return render.LIMITS

    def seal(self, entry: parse.Entry) -> tuple[Mapping[str, str], bytes]:
        """What the socket checked, in the form that `parse` takes."""
        return parse.seal(entry, self._key)

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """SignatureError for what this gateway did not seal."""
        return parse.parse(headers, body, now, self._key)

    def method(self, _call: OutboundCall, _now: datetime) -> SendMethod:
        """A frame, which may be repeated: it carries the turn's id."""
        return SendMethod.FRAME

    async def send(self, call: OutboundCall, _method: SendMethod) -> SendOutcome:
        """Delivered also where nobody is connected: the turn is kept and read at the next time."""
        try:
            frame = Frame(render.final(call), turn_id=call.turn_id)
        except ValueError as error:
            return Refused(f"cannot be carried: {error}")
        self.hub.publish(call.conversation.id, frame)
        return Delivered()

    async def show_typing(self, message: InboundMessage) -> None:
        """The page shows by itself that it waits."""

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """A piece of the draft to whoever is connected."""
        frame = Frame(render.delta(turn_id, text), is_final=False)
        self.hub.publish(message.conversation.id, frame)

    async def close(self) -> None:
        """End every socket."""
        self.hub.close()


fits: type[Channel] = WebChatChannel
