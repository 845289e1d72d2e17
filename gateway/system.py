"""The machine's time and new ids, behind the protocols that everything else takes."""

import time
from datetime import UTC, datetime

import uuid6


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place where the clock is read

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic()


class Uuid7Ids:
    """Ids that sort by the time they were made."""

    def new(self) -> str:
        """A UUIDv7."""
        return str(uuid6.uuid7())
