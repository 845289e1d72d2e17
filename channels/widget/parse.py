"""From a visitor's frames, and the gateway's own sealed entry, to messages; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from channels import sealing
from channels.text import clean
from gateway.core.messages import Conversation, InboundMessage
from gateway.errors import GatewayError, InvalidRequestError

CHANNEL = "widget"
SEAL_HEADER = "X-Widget-Seal"
ID_CHARS = 100
TOKEN_CHARS = 200
LANGUAGES = frozenset({"zh-TW", "ja", "en"})


class Hello(msgspec.Struct, tag_field="type", tag="hello"):
    """The first frame: the token of before, and the last turn seen (None: the page is new)."""

    token: str | None = None
    after: str | None = None
    language: str | None = None  # as the embedding page declares it


class UserMessage(msgspec.Struct, tag_field="type", tag="user_message"):
    """A question (DESIGN 8.17). Whatever else a frame claims (a user, an account) is not read."""

    id: str
    text: str


class Entry(msgspec.Struct):
    """A visitor's message: what was checked, in one value that is sealed."""

    visitor_id: str
    id: str
    text: str
    language: str | None = None


_FRAME = msgspec.json.Decoder(Hello | UserMessage)


def frame(data: str | bytes) -> Hello | UserMessage:
    """Decode a frame; `parse_error` for what is no JSON, else InvalidRequestError."""
    try:
        found = _FRAME.decode(data)
    except msgspec.ValidationError as error:
        raise InvalidRequestError("frame", reason=str(error)[:200]) from error
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise GatewayError("frame", code="parse_error") from error
    if isinstance(found, Hello):
        return _known(found)
    if not 1 <= len(found.id) <= ID_CHARS:
        raise InvalidRequestError("frame", reason=f"id: 1 to {ID_CHARS} characters")
    if not found.text.strip():
        raise InvalidRequestError("frame", reason="text: empty")
    return found


def _known(hello: Hello) -> Hello:
    """Of a greeting only what can be one of ours; the rest counts as not given."""
    token, after, language = hello.token, hello.after, hello.language
    return Hello(
        token if token is not None and len(token) <= TOKEN_CHARS else None,
        after if after is not None and len(after) <= ID_CHARS else None,
        language if language in LANGUAGES else None,
    )


def seal(entry: Entry, key: bytes) -> tuple[Mapping[str, str], bytes]:
    """The entry as a body and the header that vouches for it."""
    return sealing.seal(msgspec.json.encode(entry), key, SEAL_HEADER)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one widget needs to know to read its entries."""

    account_name: str
    key: bytes = field(repr=False)
    agent_id: str
    language: str | None = None


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, reading: Reading
) -> tuple[InboundMessage, ...]:
    """SignatureError for whatever this gateway did not seal itself, a webhook's body too."""
    sealing.check(headers, body, reading.key, SEAL_HEADER)
    entry = msgspec.json.decode(body, type=Entry)
    message_id = f"{entry.visitor_id}.{clean(entry.id)}"
    return (
        InboundMessage(
            conversation=conversation(reading.account_name, entry.visitor_id),
            delivery_id=message_id,
            message_key=message_id,
            text=clean(entry.text),
            received_at=now,
            agent_id=reading.agent_id,
            is_visitor=True,
            language=entry.language or reading.language,
        ),
    )


def conversation(account_name: str, visitor_id: str) -> Conversation:
    """A visitor's own conversation; never 1:1, for nobody knows who it is."""
    return Conversation(CHANNEL, account_name, visitor_id)
