"""What comes in from a channel and what goes out to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class Sender:
    """Who wrote, as the platform names them; unique only within (channel, account name)."""

    channel: str
    account_name: str
    id: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One chat, group or thread of one of our platform accounts.

    `is_direct` is true only by the platform's own proof; whatever is not provably 1:1 is a group.
    """

    channel: str
    account_name: str
    id: str
    parent_id: str | None = None  # the group or channel a thread belongs to
    is_direct: bool = False

    @property
    def lane(self) -> str:
        """Key under which messages are answered one after the other."""
        return f"{self.channel}/{self.account_name}/{self.id}"


def web_chat(account_id: str, name: str) -> Conversation:
    """A signed-in account's own web chat conversation; nobody else's name can lead to it."""
    return Conversation("webchat", "web", f"{account_id}.{name}", is_direct=True)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file the platform holds; `handle` is what the channel needs to fetch it."""

    handle: str
    name: str
    media_type: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ReplyHandle:
    """A one-time way to answer, good until `expires_at`: LINE's reply token, or the message that
    shows a draft and is to become the reply.
    """

    token: str
    expires_at: datetime


class NoticeKind(StrEnum):
    """What a platform tells us about a chat, beside messages."""

    RETRACTED = "retracted"  # messages were unsent or deleted: our copies go too
    ACCOUNT_LINKED = "account_linked"  # the platform's own linking flow ended (FEATURES A32)
    CHAT_MOVED = "chat_moved"  # a Telegram group became a supergroup, with another id


@dataclass(frozen=True, slots=True)
class Notice:
    """Something other than a message. Only the fields of its kind are set."""

    kind: NoticeKind
    message_keys: tuple[str, ...] = ()  # RETRACTED: InboundMessage.message_key of each
    nonce: str = ""  # ACCOUNT_LINKED: the one our page made
    new_chat_id: str = ""  # CHAT_MOVED


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One message a person sent, decoded and verified (DESIGN section 5, channel protocol).

    `delivery_id` is the platform's id of this delivery, `message_key` the identity of the message
    itself; a repeat of either is a duplicate. `account_id` is set by web chat alone, where the
    gateway itself signed the session; every other channel names a sender and is resolved by link.
    `agent_id` is the agent the platform account is bound to. With a `notice` it is no message but
    something the platform tells us about the chat: it has no text and gets no answer.
    """

    conversation: Conversation
    delivery_id: str
    message_key: str
    text: str
    received_at: datetime
    sender: Sender | None = None
    account_id: str | None = None
    agent_id: str | None = None
    is_addressed: bool = True
    is_visitor: bool = False  # widget and website live chat: nobody signed in, nobody linked
    attachments: tuple[Attachment, ...] = ()
    reply_handle: ReplyHandle | None = None
    language: str | None = None  # the channel's setting, if it has one
    sender_name: str | None = None  # as the platform shows it; for people to recognise, no identity
    reply_to: str | None = None  # the platform's id of this message, where a reply can refer to it
    notice: Notice | None = None


class Unit(StrEnum):
    """In what a platform counts the length of a text."""

    CODE_POINTS = "code_points"
    UTF16 = "utf16"  # LINE, Telegram and Slack by the safer reading
    BYTES = "bytes"
    SLACK_ESCAPED = "slack_escaped"  # UTF-16 of the text with its & < > written as entities


@dataclass(frozen=True, slots=True)
class Limits:
    """What a channel can carry, as data, so that the core never asks which channel it is."""

    unit: Unit
    part_units: int
    parts_per_call: int
    footer_units: int
    max_calls: int = 1  # API calls a reply may take; LINE: 1, an extra metered push by a setting
    has_markdown: bool = False
    typing_every_s: float = 0.0  # how long the platform shows it; 0.0: once is enough
    shows_drafts: bool = True  # false spares the work of making a draft fit to be shown


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished reply: its parts in order, the footer whole in the last one."""

    turn_id: str
    parts: tuple[str, ...]
    text: str  # with [n] marks, without footer: what web chat shows and history keeps
    citations: tuple["CitationView", ...] = ()
    # the generation of the access rules at which all it rests on could be read; None: on nothing
    checked_at: int | None = None


@dataclass(frozen=True, slots=True)
class CitationView:
    """One citation as web chat shows it (DESIGN section 8.17)."""

    n: int
    chunk_id: str
    source_id: str
    title: str
    locator: str
    excerpt: str


class SendMethod(StrEnum):
    """How an outbox row goes out; chosen, and recorded, before the socket is written to."""

    REPLY = "reply"  # no idempotency key: a crash in mid-send leaves the outcome unknown
    PUSH = "push"  # LINE push: repeated under the same retry key it is accepted once
    FRAME = "frame"  # web chat: repeated frames carry the same turn id
    POST = "post"  # platforms without an idempotency key
    EDIT = "edit"  # the preview becomes the reply: saying the same twice changes nothing
    NONCE = "nonce"  # Discord: a repeat under the same nonce is the message that is there already


IDEMPOTENT = frozenset({SendMethod.PUSH, SendMethod.FRAME, SendMethod.EDIT, SendMethod.NONCE})


@dataclass(frozen=True, slots=True)
class OutboundCall:
    """One API call we owe (DESIGN section 8.6): at most `parts_per_call` parts, one key."""

    id: str
    turn_id: str
    seq: int
    conversation: Conversation
    parts: tuple[str, ...]
    idempotency_key: str
    created_at: datetime
    reply_handle: ReplyHandle | None = None
    extra: Mapping[str, Any] | None = None  # web chat: text and citations of the final frame
    reply_to: str | None = None  # of the first call: InboundMessage.reply_to


@dataclass(frozen=True, slots=True)
class Delivered:
    """The platform accepted the call."""

    platform_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Not accepted; the same call may be tried again after a while."""

    after_s: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class TryOtherMethod:
    """Certainly not accepted this way (an expired reply token); try again without the handle."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Never going to be accepted (blocked, quota used up, bad request): dead letter."""

    reason: str


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """The call may have been accepted and cannot be repeated safely."""

    reason: str


SendOutcome = Delivered | RetryLater | TryOtherMethod | Refused | OutcomeUnknown


class LinkState(StrEnum):
    """How a channel's connection is doing."""

    STARTING = "starting"
    READY = "ready"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class ChannelState:
    """For /readyz and doctor; `reason` is a code or an exception's name, never a secret."""

    state: LinkState = LinkState.READY
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that doctor looked at; `detail` holds no secret."""

    name: str  # "credentials" | "webhook" | "connection" | …
    is_ok: bool
    detail: str = ""
