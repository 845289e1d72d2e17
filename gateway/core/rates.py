"""Token buckets: so many at once, then as many as flow in."""

from collections import OrderedDict

MOST_KEYS = 10_000  # the least recent are forgotten first, full as they mostly are by then


class Buckets:
    """One bucket a key. `per_minute` flow in and `per_minute` fit; 0 means no limit."""

    def __init__(self, per_minute: int, most_keys: int = MOST_KEYS) -> None:
        self._size = float(per_minute)
        self._per_s = per_minute / 60.0
        self._most_keys = most_keys
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # left, as of when

    def take(self, key: str, now_s: float) -> float:
        """Take one; 0.0 where there was one, else the seconds until there is."""
        wait_s = self.wait(key, now_s)
        if wait_s == 0.0 and self._size:
            self._left[key] = (self._now(key, now_s) - 1.0, now_s)
            self._left.move_to_end(key)
            if len(self._left) > self._most_keys:
                self._left.popitem(last=False)
        return wait_s

    def wait(self, key: str, now_s: float) -> float:
        """The seconds until there is one, without taking it."""
        if not self._size:
            return 0.0
        missing = 1.0 - self._now(key, now_s)
        return max(0.0, missing / self._per_s)

    def _now(self, key: str, now_s: float) -> float:
        left, at_s = self._left.get(key, (self._size, now_s))
        return min(self._size, left + max(0.0, now_s - at_s) * self._per_s)
