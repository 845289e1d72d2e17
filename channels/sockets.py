"""Who is connected to our own pages: frames are laid before sockets, never waited for."""

import asyncio
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, replace

MOST_WAITING = 256  # frames before a socket that does not read
DELTAS_WAITING = 128  # beyond it drafts are left out: the final frame holds the whole text
KEPT_CONVERSATIONS = 1_000
KEPT_FRAMES = 20  # of one conversation, while nobody is connected


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; a final one may hold text of documents, and then names its turn.

    A late one was made while nobody was there: whoever takes it may have lost access since.
    """

    text: str
    is_final: bool = True
    turn_id: str = ""
    is_late: bool = False


class Seat:
    """One socket's place: what waits for it."""

    def __init__(self) -> None:
        self._waiting: deque[Frame] = deque()
        self._news = asyncio.Event()
        self._is_closed = False
        self.conversation_ids: set[str] = set()  # kept by the hub

    @property
    def waiting(self) -> tuple[Frame, ...]:
        """What the socket has not taken yet."""
        return tuple(self._waiting)

    def put(self, frame: Frame) -> None:
        """Lay a frame before the socket; one that never reads loses its seat."""
        waiting = len(self._waiting)
        if waiting >= (MOST_WAITING if frame.is_final else DELTAS_WAITING):
            if frame.is_final:
                self.close()
            return
        self._waiting.append(frame)
        self._news.set()

    def close(self) -> None:
        """No further frame; it comes back by itself and resumes."""
        self._is_closed = True
        self._news.set()

    async def next(self) -> Frame | None:
        """The next frame, None when the seat is closed."""
        while not self._waiting and not self._is_closed:
            self._news.clear()
            await self._news.wait()
        return None if self._is_closed else self._waiting.popleft()


class Hub:
    """The seats of each conversation."""

    def __init__(self) -> None:
        self._seats: defaultdict[str, set[Seat]] = defaultdict(set)
        self._unseen: OrderedDict[str, deque[Frame]] = OrderedDict()

    def __len__(self) -> int:
        """How many seats are taken, each counted once a conversation."""
        return sum(map(len, self._seats.values()))

    def join(self, seat: Seat, conversation_id: str) -> None:
        """From now on the seat gets the conversation's frames, and first what nobody saw.

        Sentences of our own (busy, an apology) are in no history, so they wait here.
        """
        if conversation_id in seat.conversation_ids:
            return
        self._seats[conversation_id].add(seat)
        seat.conversation_ids.add(conversation_id)
        for frame in self._unseen.pop(conversation_id, ()):
            seat.put(replace(frame, is_late=True))

    def leave(self, seat: Seat) -> None:
        """The socket is gone."""
        while seat.conversation_ids:
            conversation_id = seat.conversation_ids.pop()
            self._seats[conversation_id].discard(seat)
            if not self._seats[conversation_id]:
                del self._seats[conversation_id]

    def publish(self, conversation_id: str, frame: Frame) -> None:
        """To every seat of the conversation; a final frame waits where there is none."""
        seats = self._seats.get(conversation_id)
        if seats:
            for seat in seats:
                seat.put(frame)
        elif frame.is_final:
            self._keep(conversation_id, frame)

    def close(self) -> None:
        """Every socket ends."""
        for seats in self._seats.values():
            for seat in seats:
                seat.close()

    def _keep(self, conversation_id: str, frame: Frame) -> None:
        kept = self._unseen.setdefault(conversation_id, deque(maxlen=KEPT_FRAMES))
        kept.append(frame)
        self._unseen.move_to_end(conversation_id)
        if len(self._unseen) > KEPT_CONVERSATIONS:
            self._unseen.popitem(last=False)
