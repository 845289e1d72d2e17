"""From the gateway's own sealed entry to a message; pure."""

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from channels import sealing
from channels.text import clean
from gateway.core.messages import Attachment, InboundMessage, web_chat
from gateway.errors import GatewayError, InvalidRequestError

CHANNEL, ACCOUNT = "webchat", "web"
SEAL_HEADER = "X-Webchat-Seal"
ID_CHARS = 100
MOST_ATTACHMENTS = 10
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class FileReference(msgspec.Struct):
    """A file the page speaks of."""

    id: str
    name: str = ""


class UserMessage(msgspec.Struct):
    """The one frame a page sends (DESIGN 8.17), with the conversation and the agent it means."""

    type: str
    id: str
    text: str
    attachments: list[FileReference] = []
    conversation_id: str | None = None
    agent: str | None = None


class Entry(msgspec.Struct):
    """A message of a signed-in account: what was checked, in one value that is sealed."""

    account_id: str
    agent_id: str
    conversation: str
    id: str
    text: str
    attachments: list[FileReference] = []


def user_message(data: str | bytes) -> UserMessage:
    """Decode a frame; `parse_error` for what is no JSON, else InvalidRequestError."""
    try:
        frame = msgspec.json.decode(data, type=UserMessage)
    except msgspec.ValidationError as error:
        raise InvalidRequestError("frame", reason=str(error)[:200]) from error
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise GatewayError("frame", code="parse_error") from error
    if frame.type != "user_message":
        raise InvalidRequestError("frame", reason="type: user_message")
    if not 1 <= len(frame.id) <= ID_CHARS:
        raise InvalidRequestError("frame", reason=f"id: 1 to {ID_CHARS} characters")
    if not frame.text.strip():
        raise InvalidRequestError("frame", reason="text: empty")
    if len(frame.attachments) > MOST_ATTACHMENTS:
        raise InvalidRequestError("frame", reason=f"attachments: at most {MOST_ATTACHMENTS}")
    return frame


def conversation_name(name: str) -> str:
    """The name, if it is one; it becomes part of a lane's key."""
    if not _NAME.fullmatch(name):
        raise InvalidRequestError(
            "conversation", reason="conversation_id: A-Z, a-z, 0-9, _ and -, up to 64"
        )
    return name


def seal(entry: Entry, key: bytes) -> tuple[Mapping[str, str], bytes]:
    """The entry as a body and the header that vouches for it."""
    return sealing.seal(msgspec.json.encode(entry), key, SEAL_HEADER)


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, key: bytes
) -> tuple[InboundMessage, ...]:
    """SignatureError for whatever this gateway did not seal itself, a webhook's body too."""
    sealing.check(headers, body, key, SEAL_HEADER)
    entry = msgspec.json.decode(body, type=Entry)
    message_id = f"{entry.account_id}.{entry.conversation}.{entry.id}"
    return (
        InboundMessage(
            conversation=web_chat(entry.account_id, entry.conversation),
            delivery_id=message_id,
            message_key=message_id,
            text=clean(entry.text),
            received_at=now,
            account_id=entry.account_id,
            agent_id=entry.agent_id,
            attachments=tuple(Attachment(each.id, each.name) for each in entry.attachments),
        ),
    )
