"""How values are written down: time as INTEGER microseconds UTC, lists as JSON, text as UTF-8."""

from datetime import UTC, datetime, timedelta
from typing import overload

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@overload
def micros(at: datetime) -> int: ...
@overload
def micros(at: None) -> None: ...
def micros(at: datetime | None) -> int | None:
    """Microseconds since 1970 UTC; a naive datetime is a programming error (TypeError)."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


@overload
def instant(value: int) -> datetime: ...
@overload
def instant(value: None) -> None: ...
def instant(value: int | None) -> datetime | None:
    """The aware UTC time of a stored value."""
    return None if value is None else _EPOCH + value * _MICROSECOND


def clean(text: str) -> str:
    """`text` with lone surrogates replaced: no database can hold them, and people do send them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
