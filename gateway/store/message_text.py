"""Messages and calls as JSON bytes in the store."""

from dataclasses import replace

import msgspec

from gateway.core.messages import InboundMessage
from gateway.store.values import clean

_MESSAGES = msgspec.json.Decoder(InboundMessage)
_ENCODER = msgspec.json.Encoder()


def encode_message(message: InboundMessage) -> bytes:
    """JSON of the message; lone surrogates become U+FFFD."""
    try:
        return _ENCODER.encode(message)
    except UnicodeEncodeError:
        attachments = tuple(replace(each, name=clean(each.name)) for each in message.attachments)
        return _ENCODER.encode(replace(message, text=clean(message.text), attachments=attachments))


def decode_message(payload: bytes) -> InboundMessage:
    return _MESSAGES.decode(payload)
