"""JSON of strangers: by the letter, and nothing that databases or other programs cannot hold."""

import re

import msgspec

from gateway.errors import GatewayError

GREATEST_INT = 2**63 - 1  # what databases and other programs take
_LONG_NUMBER = re.compile(rb"\d{19}")


def decoded(body: bytes) -> object:
    """JSON by the letter: no NaN, no lone surrogate, no number that nothing can hold."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise GatewayError(str(error), code="parse_error") from error
    if _LONG_NUMBER.search(body) and _has_long_number(value):
        raise GatewayError("a number beyond 64 bits", code="parse_error")
    return value


def _has_long_number(value: object) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, int) and abs(each) > GREATEST_INT:
            return True
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return False
