"""Time and ids as the journeys need them: real ones."""

import time
from datetime import UTC, datetime

import uuid6

from gateway.interfaces import Clock, Ids


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class RealIds:
    """UUIDv7."""

    def new(self) -> str:
        return str(uuid6.uuid7())


fits_clock: type[Clock] = RealClock
fits_ids: type[Ids] = RealIds
