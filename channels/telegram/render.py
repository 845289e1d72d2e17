"""From a part of a reply to the parameters of Telegram's sendMessage; pure."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from channels.pacing import Rates
from channels.text import clean
from gateway.core.messages import Conversation, Limits, OutboundCall, Unit

LIMITS = Limits(
    unit=Unit.UTF16,
    part_units=4096,
    parts_per_call=1,
    footer_units=1200,
    max_calls=8,
    typing_every_s=4.0,  # an action is shown for five seconds
)
PER_CHAT_S = 1.0
PER_GROUP_S = 3.0  # twenty a minute
MESSAGES = Rates(per_chat_s=PER_CHAT_S, overall_per_s=25.0)
DRAFTS = Rates(per_chat_s=PER_CHAT_S, overall_per_s=5.0)  # thirty a second together
TYPING = Rates(per_chat_s=PER_CHAT_S, overall_per_s=30.0)  # is no message; a refusal costs a chat
ALLOWED_UPDATES = ("message",)
NO_PREVIEW = {"is_disabled": True}
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9_])")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a message goes: a chat, and the topic in it where there is one."""

    chat_id: int
    thread_id: int | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The General topic has no thread id: Telegram refuses its number."""
        if self.thread_id is None:
            return {"chat_id": self.chat_id}
        return {"chat_id": self.chat_id, "message_thread_id": self.thread_id}


def conversation_id(chat_id: int, thread_id: int | None) -> str:
    """`chat` or `chat:topic`."""
    return str(chat_id) if thread_id is None else f"{chat_id}:{thread_id}"


def address(conversation: Conversation) -> Address:
    """The way back from a conversation's id; ValueError for one that leads nowhere."""
    chat, _, thread = conversation.id.partition(":")
    return Address(int(chat), int(thread) if thread else None)


def message(call: OutboundCall) -> dict[str, Any]:
    """Text and options, without any markup; ValueError where Telegram would refuse the call.

    There is no parse_mode, so that nothing in a text can become markup or be refused as such.
    """
    body: dict[str, Any] = {
        "text": _text(call.parts, is_direct=call.conversation.is_direct),
        "link_preview_options": NO_PREVIEW,
    }
    if call.reply_to is not None and call.reply_to.isdecimal():
        told = {"message_id": int(call.reply_to), "allow_sending_without_reply": True}
        body["reply_parameters"] = told
    return body


def draft(text: str) -> str | None:
    """The draft as it may be shown; None where it is too long or blank."""
    text = clean(text)
    return text if text.strip() and _units(text) <= LIMITS.part_units else None


def draft_id(turn_id: str) -> int:
    """The same number for every draft of a turn, never 0."""
    digest = hashlib.sha256(turn_id.encode()).digest()
    return int.from_bytes(digest[:4]) & 0x7FFFFFFF or 1


def _text(parts: Sequence[str], *, is_direct: bool) -> str:
    if len(parts) != LIMITS.parts_per_call:
        raise ValueError(f"{len(parts)} messages in a call")
    text = clean(parts[0])
    if not is_direct:  # Telegram makes a mention of any @name, and tells that person
        text = _MENTION.sub("＠", text)
    units = _units(text)
    if not text.strip() or units > LIMITS.part_units:
        raise ValueError(f"a message of {units} units")
    return text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
