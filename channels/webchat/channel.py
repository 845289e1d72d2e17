"""The web chat of this gateway: its limits, its seal, and how a reply reaches the sockets."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime

from channels.framed import FramedChannel
from channels.sealing import KEY_BYTES
from channels.webchat import parse, render
from gateway.core.messages import InboundMessage, Limits, OutboundCall
from gateway.interfaces import Channel


class WebChatChannel(FramedChannel):
    """Implements the Channel protocol of gateway/interfaces for our own page."""

    def __init__(self) -> None:
        super().__init__()
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

    def final_frame(self, call: OutboundCall) -> str:
        """The finished answer with its citations."""
        return render.final(call)

    def delta_frame(self, turn_id: str, text: str) -> str:
        """A piece of a draft."""
        return render.delta(turn_id, text)


fits: type[Channel] = WebChatChannel
