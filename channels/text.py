"""Pure text helpers that the channels share: UTF-16 slices, text that every platform takes."""

import re
from collections.abc import Mapping
from typing import Any

from gateway.core.messages import Limits, OutboundCall

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without control characters, lone surrogates shown as U+FFFD.

    Neither can be stored as UTF-8 or sent to a platform; tab, CR and LF stay.
    """
    return _CONTROLS.sub("", join_surrogates(text))


def join_surrogates(text: str) -> str:
    """Pairs of surrogate code points joined, lone ones replaced by U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def join_surrogates_in(value: Any) -> Any:
    """The same for every text in decoded JSON."""
    if isinstance(value, str):
        return join_surrogates(value)
    if isinstance(value, dict):
        return {join_surrogates(key): join_surrogates_in(item) for key, item in value.items()}
    if isinstance(value, list):
        return [join_surrogates_in(item) for item in value]
    return value


def utf16_slice(text: str, start: int, length: int) -> tuple[str, str, str] | None:
    """(before, inside, after) by UTF-16 code units; None when the cut is outside or in a pair."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    if start < 0 or length < 0 or 2 * (start + length) > len(encoded):
        return None
    first, last = 2 * start, 2 * (start + length)
    pieces = encoded[:first], encoded[first:last], encoded[last:]
    try:
        before, inside, after = (piece.decode("utf-16-le") for piece in pieces)
    except UnicodeDecodeError:
        return None
    return before, inside, after


def header(headers: Mapping[str, str], name: str) -> str:
    """A header by its name in lower case; "" where there is none."""
    value = headers.get(name)  # aiohttp's mapping ignores case; a plain dict does not
    if value is None:
        value = next((found for key, found in headers.items() if key.lower() == name), "")
    return value


def whole_text(call: OutboundCall, limits: Limits) -> str:
    """The answer as a page shows it, in full where it fits; ValueError where it does not."""
    if len(call.parts) != limits.parts_per_call:
        raise ValueError(f"{len(call.parts)} parts in a call")
    [part] = call.parts
    if not part.strip() or len(part) > limits.part_units:
        raise ValueError(f"a part of {len(part)} characters")
    text: str = (call.extra or {}).get("text", part)
    return text if len(text) <= limits.part_units else part
