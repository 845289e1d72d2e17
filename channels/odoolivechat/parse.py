"""From a relay's signed bytes to a visitor's message, and the signature both ways; pure."""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from channels.text import clean, join_surrogates
from gateway.core.messages import Conversation, InboundMessage
from gateway.errors import GatewayError, InvalidRequestError, SignatureError

CHANNEL = "odoolivechat"
SIGNATURE_HEADER, TIMESTAMP_HEADER = "X-Livechat-Signature", "X-Livechat-Timestamp"
WINDOW_S = 300
MAX_BODY_BYTES = 256 * 1024
ID_CHARS = 200
NAME_CHARS = 100
VISITOR = "visitor"
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one live chat needs to know to read its webhooks."""

    account_name: str
    secret: bytes = field(repr=False)
    agent_id: str
    language: str | None = None


class _Event(msgspec.Struct):
    event_id: str | int | None = None
    session_id: str | int | None = None
    message_id: str | int | None = None
    text: str | None = None
    visitor_name: str | None = None
    author: str = VISITOR  # anything else (a colleague, a bot, we ourselves) is not for us


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, reading: Reading
) -> tuple[InboundMessage, ...]:
    """Verify the raw bytes, then decode; what is no visitor's message gives none.

    Raises SignatureError, InvalidRequestError, and `payload_too_large` over MAX_BODY_BYTES.
    """
    verify(headers, body, now, reading.secret)
    if len(body) > MAX_BODY_BYTES:
        raise GatewayError("live chat body over the cap", code="payload_too_large")
    message = _message(_event(body), now, reading)
    return () if message is None else (message,)


def sign(secret: bytes, timestamp: str, body: bytes) -> str:
    """The signature header's value, for either direction."""
    said = b"v1:" + timestamp.encode("utf-8", "replace") + b":" + body
    return "v1=" + hmac.new(secret, said, hashlib.sha256).hexdigest()


def verify(headers: Mapping[str, str], body: bytes, now: datetime, secret: bytes) -> None:
    """SignatureError unless it was signed with our secret within five minutes of now."""
    timestamp = _header(headers, TIMESTAMP_HEADER)
    given = _header(headers, SIGNATURE_HEADER).encode("utf-8", "replace")
    is_same = hmac.compare_digest(given, sign(secret, timestamp, body).encode())
    if not _TIMESTAMP.fullmatch(timestamp) or not is_same:
        raise SignatureError("live chat signature does not fit the body")
    if abs(now.timestamp() - int(timestamp)) > WINDOW_S:
        raise SignatureError("live chat signature of another time")


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)  # aiohttp's mapping ignores case; a plain dict does not
    if value is None:
        lower = name.lower()
        value = next((found for key, found in headers.items() if key.lower() == lower), "")
    return value


def _event(body: bytes) -> _Event:
    try:
        return msgspec.json.decode(body, type=_Event)
    except msgspec.ValidationError:
        return _Event()  # of a shape we do not know
    except (msgspec.DecodeError, RecursionError):
        return _event_with_odd_strings(body)


def _event_with_odd_strings(body: bytes) -> _Event:
    """The slow path: half a surrogate pair or a stray byte, which msgspec refuses wholesale."""
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError("live chat body", reason="not JSON") from error
    if not isinstance(found, dict):
        return _Event()
    values = {
        key: join_surrogates(value) if isinstance(value, str) else value
        for key, value in found.items()
        if key in _Event.__struct_fields__
    }
    try:
        return msgspec.convert(values, _Event)
    except msgspec.ValidationError:
        return _Event()


def _message(event: _Event, now: datetime, reading: Reading) -> InboundMessage | None:
    event_id, session_id, message_id = map(
        _id, (event.event_id, event.session_id, event.message_id)
    )
    text = clean(event.text or "").strip()
    if not (session_id and message_id and text) or event.author != VISITOR:
        return None
    message_key = f"{session_id}:{message_id}"
    name = clean(event.visitor_name or "").strip()[:NAME_CHARS]
    return InboundMessage(
        conversation=Conversation(CHANNEL, reading.account_name, session_id),
        delivery_id=event_id or f"message:{message_key}",
        message_key=message_key,
        text=text,
        received_at=now,
        agent_id=reading.agent_id,
        is_visitor=True,
        language=reading.language,
        sender_name=name or None,
        reply_to=message_id,
    )


def _id(value: str | int | None) -> str:
    """Odoo's ids are numbers; "" for what is missing, empty or too long to be one."""
    text = clean(str(value)).strip() if value is not None else ""
    return text if len(text) <= ID_CHARS else ""
