"""Channels, and what is durable on the way in and out."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from gateway.core.messages import (
    Attachment,
    ChannelState,
    Check,
    Conversation,
    InboundMessage,
    Limits,
    OutboundCall,
    Reply,
    SendMethod,
    SendOutcome,
)
from gateway.interfaces.common import Accept


@dataclass(frozen=True, slots=True)
class Claimed:
    """An inbox row being worked on; the turn's id is the row's id."""

    id: str
    message: InboundMessage
    attempts: int
    preview: str | None = None  # the platform's id of the message that shows the draft


class Inbox(Protocol):
    """Durable inbox rows; synchronous FULL, group commit."""

    async def put(
        self, rows: Sequence[tuple[str, InboundMessage]], lane_limit: int
    ) -> Sequence[str]:
        """Per row "new" | "duplicate" | "busy" (lane full: stored, to be answered with the
        busy sentence). Durable on return; all rows of one webhook body in one transaction.
        """
        ...

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> Sequence[Claimed]:
        """The oldest waiting row of each lane that has none running."""
        ...

    async def answered(self, row_id: str, calls: Sequence[OutboundCall], now: datetime) -> None:
        """Row done and its outbox rows written, in one transaction; idempotent by id."""
        ...

    async def release(self, row_id: str, *, failed: bool) -> int:
        """Give the claim back, counting the failure; returns failures so far."""
        ...

    async def recover(self, now: datetime) -> int:
        """At start: claims of a dead process are free again."""
        ...

    async def shown(self, row_id: str, preview: str) -> None:
        """Remember the message that shows the draft, for a re-run after a crash."""
        ...

    async def renew(self, row_ids: Sequence[str], until: datetime) -> None:
        """Keep holding claimed rows."""
        ...

    async def retract(self, conversation: Conversation, keys: Sequence[str]) -> Sequence[str]:
        """Wipe these messages of the chat: waiting ones are done without an answer, ones that
        come later than their retraction are duplicates. The turn ids of those we had.
        """
        ...

    async def purge(self, before: datetime) -> int:
        """Forget finished rows and dedupe keys older than `before` (kept >= 7 days)."""
        ...


class Retractions(Protocol):
    """The inbox's part in messages that are taken back."""

    async def retract(self, conversation: Conversation, keys: Sequence[str]) -> Sequence[str]:
        """As in Inbox."""
        ...

    async def retracted(self, turn_ids: Sequence[str] | None = None) -> Sequence[str]:
        """Turns whose message was taken back, as long as the inbox knows; or those of these."""
        ...


@dataclass(frozen=True, slots=True)
class DueCall:
    """An outbox row to be sent now. `method` is set when a repeat must use the same one."""

    call: OutboundCall
    attempts: int
    method: SendMethod | None = None


class Outbox(Protocol):
    """Durable outbox rows: pending -> sending -> sent | unknown | dead."""

    async def claim(self, by: str, until: datetime, now: datetime, limit: int) -> Sequence[DueCall]:
        """Due rows whose conversation has no earlier unsent row."""
        ...

    async def sending(self, call_id: str, method: SendMethod) -> None:
        """Durable before the socket is written to."""
        ...

    async def sent(self, call_id: str, now: datetime) -> None:
        """Wipes the text (DESIGN section 8.8)."""
        ...

    async def postpone(
        self,
        call_id: str,
        until: datetime,
        reason: str,
        *,
        without_handle: bool = False,
        uncounted: bool = False,
    ) -> None:
        """Due again at `until`; `without_handle` drops the one-time way and the method chosen,
        `uncounted` gives the attempt back (nothing was written to a socket).
        """
        ...

    async def give_up(self, call_id: str, state: str, reason: str, now: datetime) -> None:
        """`state` is "unknown" or "dead"."""
        ...

    async def recover(self, now: datetime) -> Sequence[str]:
        """At start: "sending" rows become pending when their method is idempotent, else
        "unknown"; returns ids of the latter.
        """
        ...

    async def listed(self, states: Sequence[str], limit: int) -> Sequence[Mapping[str, Any]]:
        """Dead letters and unknown outcomes, for people."""
        ...

    async def replay(
        self, call_id: str, now: datetime, states: Sequence[str] = ("dead", "unknown")
    ) -> None:
        """A dead or unknown call is due once more, by a person's decision; NotFoundError when it
        is in none of these states, or its text is gone.
        """
        ...


class Channel(Protocol):
    """One platform account we run. Messages enter through `inbox.accept` only."""

    @property
    def name(self) -> str:
        """The platform: `line`, `webchat`."""
        ...

    @property
    def account_name(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def state(self) -> ChannelState: ...

    async def run(self, accept: Accept) -> None:
        """Keep the connection by which messages come (polling, socket) until cancelled; returns
        at once where webhooks bring everything. Reconnects by itself; its troubles are `state`.
        """
        ...

    async def check(self) -> Sequence[Check]:
        """Ask the platform whether credentials and webhook are right; for doctor."""
        ...

    def challenge(self, body: bytes) -> str | None:
        """What a verified body wants echoed (Slack's url_verification), else None."""
        ...

    def parse(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> Sequence[InboundMessage]:
        """Verify the raw bytes, then decode; SignatureError, InvalidRequestError."""
        ...

    def method(self, call: OutboundCall, now: datetime) -> SendMethod:
        """How this call would go out at this moment."""
        ...

    def reserve(self, conversation: Conversation) -> float:
        """Seconds until the platform's rates let a call to this chat go out; 0.0 takes the turn."""
        ...

    async def send(self, call: OutboundCall, method: SendMethod) -> SendOutcome: ...
    async def show_typing(self, message: InboundMessage) -> None:
        """Called again every `limits.typing_every_s` while the turn runs. ChannelError."""
        ...

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        """`text` is the next piece of the draft. A channel that cannot show drafts does nothing;
        one that posts a message for it names that in `preview`. ChannelError.
        """
        ...

    def preview(self, turn_id: str) -> str | None:
        """The platform's id of the message that shows the turn's draft, if there is one."""
        ...

    def adopt_preview(self, turn_id: str, preview: str) -> None:
        """Go on with a message that showed the draft before a crash."""
        ...

    async def link_token(self, user_id: str) -> str | None:
        """A token of the platform's own linking flow for a user in a 1:1 chat; None where the
        platform has no such flow. ChannelError.
        """
        ...

    def link_dialog(self, token: str, nonce: str) -> str | None:
        """Where that flow goes on once our page knows the account; None as above."""
        ...

    def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """The file's bytes as they come; whoever reads counts them and stops. Only from the
        platform's own hosts. ChannelError `attachment_unavailable`.
        """
        ...

    async def close(self) -> None: ...


class Replies(Protocol):
    """The durable way out, as the turn sees it."""

    async def put(
        self, turn_id: str, message: InboundMessage, reply: Reply, channel: Channel | None = None
    ) -> None:
        """`channel`: the one that ran the turn, should another have its place by now."""
        ...
