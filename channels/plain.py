"""What a channel does that has no connection, rates, drafts or files of its own."""

from collections.abc import AsyncIterator, Sequence

from gateway.core.messages import (
    Attachment,
    ChannelState,
    Check,
    Conversation,
    InboundMessage,
)
from gateway.errors import ChannelError
from gateway.interfaces import Accept


class PlainChannel:
    """The parts of the Channel protocol that not every platform has; override what yours has."""

    @property
    def state(self) -> ChannelState:
        """Nothing to be up or down."""
        return ChannelState()

    async def run(self, accept: Accept) -> None:
        """Everything comes by webhook."""

    async def check(self) -> Sequence[Check]:
        """Nothing to ask a platform."""
        return ()

    def challenge(self, _body: bytes) -> str | None:
        """Nothing to echo."""
        return None

    def reserve(self, _conversation: Conversation) -> float:
        """No rates."""
        return 0.0

    async def show_typing(self, message: InboundMessage) -> None:
        """Nothing to show."""

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """Drafts cannot be shown."""

    def preview(self, _turn_id: str) -> str | None:
        """No draft is shown."""
        return None

    def adopt_preview(self, turn_id: str, preview: str) -> None:
        """No draft is shown."""

    async def link_token(self, _user_id: str) -> str | None:
        """No linking flow of its own."""
        return None

    def link_dialog(self, _token: str, _nonce: str) -> str | None:
        """No linking flow of its own."""
        return None

    def fetch(self, _attachment: Attachment) -> AsyncIterator[bytes]:
        """No files."""
        raise ChannelError("this channel has no files", code="attachment_unavailable")
