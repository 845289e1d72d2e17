"""A clock that only moves when told to."""

from datetime import UTC, datetime, timedelta

from gateway.interfaces import Clock


class WoundClock:
    """Starts on a fixed day; `wind` moves it on."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    def wind(self, **by: float) -> datetime:
        self._now += timedelta(**by)
        return self._now


fits: type[Clock] = WoundClock
