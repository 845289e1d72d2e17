"""What people note down about a document, beside what the program knows of it (FEATURES D2)."""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence

from gateway.core.filters import MOST_FIELDS, Value, is_same
from gateway.errors import InvalidRequestError

KEY_CHARS = 100
TEXT_CHARS = 1_000
MOST_NUMBER = 2**63 - 1  # of a whole number, either side of nought
SHOWN_CHARS = 40  # of a wrong key, in the reason
_UNFIT = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, lone surrogates, line ends


def checked_metadata(given: Mapping[str, object]) -> Mapping[str, Value]:
    """The metadata as it is kept: a flat set of at most MOST_FIELDS named values.

    InvalidRequestError names the wrong key. Keys and texts are compared as they are written:
    blanks around a key are refused, and nothing is folded.
    """
    if len(given) > MOST_FIELDS:
        raise _wrong("", f"at most {MOST_FIELDS} keys")
    return {_checked_key(key): _checked_value(key, value) for key, value in given.items()}


def changed_keys(before: Mapping[str, Value], after: Mapping[str, Value]) -> Sequence[str]:
    """Keys that came, went or say something else now, in order."""
    kept = {key for key in before.keys() & after.keys() if is_same(before[key], after[key])}
    return sorted((before.keys() | after.keys()) - kept)


def named_value(text: str) -> tuple[str, Value]:
    """`key=value` as typed: 2026, true, false, null and "2026" are JSON, all else is a text.

    InvalidRequestError without a `=`.
    """
    key, mark, written = text.partition("=")
    if not mark:
        raise InvalidRequestError("metadata", reason=f"{text[:SHOWN_CHARS]}: key=value")
    return key, _typed(written)


def _typed(written: str) -> Value:
    try:
        value = json.loads(written, parse_constant=str)  # NaN is a text
    except (ValueError, RecursionError):
        return written
    return written if isinstance(value, (list, dict)) else value


def _checked_key(key: str) -> str:
    if not 1 <= len(key) <= KEY_CHARS or key != key.strip() or not _is_fit(key):
        raise _wrong(key, f"a key is one line of 1 to {KEY_CHARS} characters, no blanks around it")
    return key


def _checked_value(key: str, value: object) -> Value:
    if isinstance(value, str):
        if len(value) > TEXT_CHARS or not _is_fit(value):
            raise _wrong(key, f"one line of up to {TEXT_CHARS} characters")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _wrong(key, "a finite number")
    elif value is not None and not isinstance(value, int):
        raise _wrong(key, "a text, a number, true, false or null")
    elif isinstance(value, int) and abs(value) > MOST_NUMBER:
        raise _wrong(key, "a whole number of 64 bits")
    return value


def _is_fit(text: str) -> bool:
    return not any(unicodedata.category(char) in _UNFIT for char in text)


def _wrong(key: str, rule: str) -> InvalidRequestError:
    printable = "".join(char if char.isprintable() else "\ufffd" for char in key[:SHOWN_CHARS])
    where = f"metadata.{printable}" if key else "metadata"
    return InvalidRequestError("metadata", reason=f"{where}: {rule}")
