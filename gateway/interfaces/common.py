"""What everything may ask for: time, ids, figures, and the small types of the seams."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gateway.core.messages import InboundMessage

Vector = NDArray[np.float32]
OnDelta = Callable[[str], Awaitable[None]]
Accept = Callable[[Sequence[InboundMessage]], Awaitable[object]]  # durable when it returns
Generation = Callable[[], int]  # of all that decides who reads what, as of the newest commit


class Preview(Protocol):
    """Where a draft is shown; an `OnDelta` that asks again before anything goes out."""

    async def __call__(self, text: str) -> None:
        """The next piece."""
        ...

    def only_while(self, may_show: Callable[[], Awaitable[bool]]) -> None:
        """Ask this right before each time; after a no, nothing more is shown."""
        ...


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds, for measuring and waiting."""
        ...


class Ids(Protocol):
    """New UUIDv7 strings."""

    def new(self) -> str: ...


class Meter(Protocol):
    """Where figures about the running program go; names are those of docs/operating.md."""

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None: ...
    def observe(self, name: str, value: float, **labels: str) -> None:
        """A duration in seconds."""
        ...


class Unmetered:
    """Implements Meter where nobody measures: tests, and commands that end at once."""

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Nothing is kept."""

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Nothing is kept."""
