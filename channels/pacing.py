"""Pure accounts of a platform's rates: when a call to a chat may go out."""

from collections import OrderedDict
from dataclasses import dataclass

LONGEST_HOLD_S = 86_400.0  # whatever a platform says; the number may be a mistake
MOST_CHATS = 10_000  # remembered; the least recently used are forgotten first


def retry_after_s(told: str | None) -> float | None:
    """A Retry-After header in seconds; its date form is rare and counts as not given."""
    try:
        return min(max(0.0, float(told)), LONGEST_HOLD_S) if told is not None else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Rates:
    """What a platform allows. A chat gains one call every `per_chat_s`, up to `burst` at once."""

    per_chat_s: float
    burst: int = 1
    overall_per_s: float = 50.0


class Pacer:
    """One platform account's calls; every method is told the time in seconds, monotonic."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._chats: OrderedDict[str, float] = OrderedDict()  # when its allowance is whole again
        self._overall_s = 0.0  # the same for all chats together
        self._held: dict[str, float] = {}  # until when the platform told us to be silent
        self._all_held_s = 0.0

    def reserve(self, chat: str, now_s: float, *, per_chat_s: float | None = None) -> float:
        """Seconds to wait; 0.0 counts the call as made. `per_chat_s` for a kind with its own."""
        wait_s = max(self.held(chat, now_s), self._lacking(chat, now_s, per_chat_s))
        if wait_s > 0.0:
            return wait_s
        each_s = self._rates.per_chat_s if per_chat_s is None else per_chat_s
        self._chats[chat] = max(self._chats.get(chat, 0.0), now_s) + each_s
        self._chats.move_to_end(chat)
        self._overall_s = max(self._overall_s, now_s) + 1.0 / self._rates.overall_per_s
        if len(self._chats) > MOST_CHATS:
            self._chats.popitem(last=False)
        return 0.0

    def hold(self, chat: str | None, seconds: float, now_s: float) -> None:
        """The platform said when to come back: to this chat, or None for all of them."""
        seconds = min(seconds, LONGEST_HOLD_S)
        if chat is None:
            self._all_held_s = max(self._all_held_s, now_s + seconds)
            return
        self._held = {each: until for each, until in self._held.items() if until > now_s}
        self._held[chat] = max(self._held.get(chat, 0.0), now_s + seconds)

    def held(self, chat: str, now_s: float) -> float:
        """Seconds for which nothing at all may go to this chat, drafts and typing neither."""
        return max(0.0, self._held.get(chat, 0.0) - now_s, self._all_held_s - now_s)

    def _lacking(self, chat: str, now_s: float, per_chat_s: float | None) -> float:
        each_s = self._rates.per_chat_s if per_chat_s is None else per_chat_s
        allowance_s = each_s * (self._rates.burst - 1)
        of_chat_s = self._chats.get(chat, 0.0) - allowance_s - now_s
        return max(0.0, of_chat_s, self._overall_s - 1.0 - now_s)
