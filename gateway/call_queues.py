"""Calls that are ours to send, by channel: what one platform holds up holds up no other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gateway.core.messages import Conversation
from gateway.interfaces import DueCall

Key = tuple[str, str]  # (platform, account name)
Reserve = Callable[[Conversation], float]  # seconds to wait; 0.0 takes the platform's turn

AT_ONCE = 64  # calls of one channel on their way
MOST_WAITING = 256  # of one channel; more go back into the store for a while
PROBES = 64  # refusals of one channel in a row after which its rates are believed
KEPT_S = 30.0  # well within a claim
BACK_S = 5.0  # for what found its channel's queue full


@dataclass(slots=True)
class _Waiting:
    """A claimed call that may not go yet."""

    due: DueCall
    claimed_at_s: float
    retry_at_s: float


@dataclass(slots=True)
class _Queue:
    waiting: list[_Waiting] = field(default_factory=list)
    in_flight: int = 0


@dataclass(slots=True)
class Verdicts:
    """What is to become of calls now: sent, or given back for so many seconds."""

    go: list[DueCall] = field(default_factory=list)
    back: list[tuple[DueCall, float]] = field(default_factory=list)


class CallQueues:
    """One queue a channel; times are seconds, monotonic. Order within a chat is the store's."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._queues: dict[Key, _Queue] = {}

    def add(self, calls: Iterable[DueCall], now_s: float) -> None:
        """Claimed just now."""
        for due in calls:
            self._of(due).waiting.append(_Waiting(due, now_s, now_s))

    def ended(self, due: DueCall) -> None:
        """A call that went is over."""
        self._of(due).in_flight -= 1

    def verdicts(self, reserve: Reserve, now_s: float) -> Verdicts:
        """Look at all that wait; who goes has taken the platform's turn."""
        found = Verdicts()
        for queue in self._queues.values():
            self._look(queue, reserve, now_s, found)
        return found

    def next_s(self, now_s: float) -> float | None:
        """Seconds until a call that waits for its platform may be tried, None without any."""
        waits = [
            each.retry_at_s - now_s
            for queue in self._queues.values()
            if queue.in_flight < self._at_once
            for each in queue.waiting
        ]
        return max(0.0, min(waits)) if waits else None

    def _of(self, due: DueCall) -> _Queue:
        place = due.call.conversation
        return self._queues.setdefault((place.channel, place.account_name), _Queue())

    def _look(self, queue: _Queue, reserve: Reserve, now_s: float, found: Verdicts) -> None:
        kept: list[_Waiting] = []
        refused = 0
        shortest_s = 0.0
        for each in queue.waiting:
            if now_s - each.claimed_at_s > KEPT_S:
                found.back.append((each.due, 0.0))
            elif queue.in_flight >= self._at_once or each.retry_at_s > now_s:
                kept.append(each)
            elif refused >= PROBES:
                each.retry_at_s = now_s + shortest_s
                kept.append(each)
            elif (wait_s := reserve(each.due.call.conversation)) <= 0.0:
                queue.in_flight += 1
                found.go.append(each.due)
            elif wait_s > KEPT_S:
                found.back.append((each.due, wait_s))
            else:
                refused += 1
                shortest_s = min(wait_s, shortest_s or wait_s)
                each.retry_at_s = now_s + wait_s
                kept.append(each)
        found.back += [(each.due, BACK_S) for each in kept[MOST_WAITING:]]
        queue.waiting = kept[:MOST_WAITING]
