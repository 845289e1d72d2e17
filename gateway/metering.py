"""Where a meter is not given, one that nobody reads; and how a stage of a turn is timed."""

from collections.abc import Iterator
from contextlib import contextmanager

from gateway.interfaces import Clock, Meter, Unmetered

SILENT: Meter = Unmetered()


@contextmanager
def timed(meter: Meter, clock: Clock, stage: str) -> Iterator[None]:
    """Observe how long a stage of a turn takes, also when it fails."""
    begun_s = clock.monotonic()
    try:
        yield
    finally:
        meter.observe("turn", clock.monotonic() - begun_s, stage=stage)
