"""How fast a conversation turns over; two programs that answer each other never end it."""

from collections import OrderedDict, deque

MINUTE_S = 60.0
MOST_LANES = 10_000  # remembered; the least recently used is forgotten first


class Pace:
    """How many turns each lane had in the last minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: OrderedDict[str, deque[float]] = OrderedDict()

    def may_go(self, lane: str, now_s: float) -> bool:
        """Whether another turn of the lane may begin; counts it as begun."""
        begun = self._begun.setdefault(lane, deque(maxlen=self._most))
        self._begun.move_to_end(lane)
        if len(self._begun) > MOST_LANES:
            self._begun.popitem(last=False)
        if len(begun) == self._most and now_s - begun[0] < MINUTE_S:
            return False
        begun.append(now_s)
        return True
