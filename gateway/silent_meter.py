"""A meter that nobody reads."""

from gateway.interfaces import Meter


class SilentMeter:
    """For programs and tests without figures."""

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Nothing is kept."""

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Nothing is kept."""


fits: type[Meter] = SilentMeter
SILENT = SilentMeter()
