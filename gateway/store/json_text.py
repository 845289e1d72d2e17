"""Small lists as JSON text: parameters for json_each, and columns of names."""

from collections.abc import Iterable

import msgspec


def json_list(values: Iterable[str | int]) -> str:
    return msgspec.json.encode(list(values)).decode()


def tuple_of(text: str | bytes) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])
