"""Values as JSON in the store; what no UTF-8 can hold is replaced, never refused."""

from collections.abc import Iterable
from typing import Any

import msgspec

from gateway.store.values import clean

_ENCODER = msgspec.json.Encoder()


def encoded(value: Any) -> bytes:
    """JSON of a dataclass or of plain values; lone surrogates become U+FFFD."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_cleaned(msgspec.to_builtins(value)))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(each) for each in value]
    return value


def json_list(values: Iterable[str | int]) -> str:
    return encoded(list(values)).decode()


def tuple_of(text: str | bytes) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])
