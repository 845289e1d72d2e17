"""What one account knows of its gateway: session, threads, direct chats, and what it missed.

Beside the four files of a channel: a socket that resumes has a memory, and the memory is pure.
"""

import contextlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from channels.discord.parse import DIRECT, THREADS, Envelope

MOST_THREADS = 10_000
MOST_DIRECT_CHATS = 100
LONGEST_GAP = timedelta(hours=24)  # an answer to older words would only surprise
CLOCK_SKEW = timedelta(minutes=5)  # between our clock and the one in Discord's ids
_EPOCH_MS = 1_420_070_400_000  # of Discord's ids
_TIME_SHIFT = 22


@dataclass(frozen=True, slots=True)
class Session:
    """What RESUME needs, and up to where messages were taken; kept over a restart."""

    id: str = ""
    sequence: int = 0
    gateway_url: str = ""
    seen_id: str = ""  # the newest message that was taken
    direct_chats: tuple[str, ...] = ()  # the latest ones last: no event names them after a gap

    def ended(self) -> "Session":
        """Cannot be resumed any more; what was seen stays known."""
        return replace(self, id="", sequence=0, gateway_url="")


@dataclass(frozen=True, slots=True)
class Missed:
    """A chat that may hold messages which no event brought."""

    channel_id: str
    after: str
    channel_type: int | None
    guild_id: str | None = None


class _Place(msgspec.Struct):
    id: str
    type: int = -1
    parent_id: str | None = None
    last_message_id: str | None = None


class _Guild(msgspec.Struct):
    id: str = ""
    channels: list[_Place] = []
    threads: list[_Place] = []


class _Ready(msgspec.Struct):
    session_id: str
    resume_gateway_url: str


class _Written(msgspec.Struct):
    id: str
    channel_id: str
    guild_id: str | None = None
    channel_type: int | None = None


class _Person(msgspec.Struct):
    id: str


class _Channel(msgspec.Struct):
    type: int = -1
    parent_id: str | None = None
    recipients: list[_Person] = []


class Intake:
    """Follows the frames of one connection after the other; told of each before and after."""

    def __init__(self, session: Session = Session()) -> None:
        self.session = session
        self.parents: OrderedDict[str, str] = OrderedDict()  # thread -> its channel
        self._gap_from = session.seen_id  # of a session that began anew

    def look(self, frame: Envelope) -> None:
        """Learn what later frames need, before this one is read."""
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            # a frame of another shape teaches nothing
            if frame.t == "READY":
                ready = msgspec.json.decode(frame.d, type=_Ready)
                self._gap_from = self.session.seen_id
                self.session = replace(
                    self.session, id=ready.session_id, gateway_url=ready.resume_gateway_url
                )
            elif frame.t in ("GUILD_CREATE", "THREAD_LIST_SYNC"):
                for thread in msgspec.json.decode(frame.d, type=_Guild).threads:
                    self._know(thread)
            elif frame.t in ("THREAD_CREATE", "THREAD_UPDATE"):
                self._know(msgspec.json.decode(frame.d, type=_Place))

    def taken(self, frame: Envelope) -> None:
        """The frame is durable: RESUME begins behind it."""
        if frame.s is not None:
            self.session = replace(self.session, sequence=frame.s)
        written = _written(frame)
        if written is None:
            return
        seen = max(self.session.seen_id, written.id, key=_number)
        self.session = replace(self.session, seen_id=seen)
        if written.guild_id is None and written.channel_type == DIRECT:
            others = [each for each in self.session.direct_chats if each != written.channel_id]
            chats = (*others, written.channel_id)[-MOST_DIRECT_CHATS:]
            self.session = replace(self.session, direct_chats=chats)

    def began(self, now: datetime) -> None:
        """Before the first message: what is missed from here on can be looked up later."""
        if not self.session.seen_id:
            self.session = replace(self.session, seen_id=snowflake(now - CLOCK_SKEW))

    def unclear(self, frame: Envelope) -> str | None:
        """The channel to ask the platform about before this message can be read."""
        written = _written(frame)
        if written is None:
            return None
        is_unproven = written.channel_type is None and written.guild_id is None
        is_unknown = written.channel_type in THREADS and written.channel_id not in self.parents
        return written.channel_id if is_unproven or is_unknown else None

    def cleared(self, frame: Envelope, channel: Any) -> bytes:
        """The frame with what the platform says of its channel.

        Direct only if its one recipient is the author of this very message.
        """
        try:
            data = json.loads(bytes(frame.d))  # takes any number, of fields we do not read too
        except (ValueError, RecursionError):
            return b""  # of no kind we know
        try:
            found = msgspec.convert(channel, _Channel)
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
            found = _Channel()
        self._know(_Place(data["channel_id"], found.type, found.parent_id))
        author = data.get("author")
        author_id = author.get("id") if isinstance(author, dict) else None
        is_direct = [each.id for each in found.recipients] == [author_id]
        if data.get("channel_type") is None and (found.type != DIRECT or is_direct):
            data["channel_type"] = found.type
        return payload(data)

    def missed(self, frame: Envelope, now: datetime) -> Sequence[Missed]:
        """Where to look for messages that came while no session was kept."""
        if not self._gap_from:
            return ()
        after = max(self._gap_from, snowflake(now - LONGEST_GAP), key=_number)
        if frame.t == "READY":
            return [Missed(each, after, DIRECT) for each in self.session.direct_chats]
        if frame.t != "GUILD_CREATE":
            return ()
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            # a guild of another shape tells no channels
            guild = msgspec.json.decode(frame.d, type=_Guild)
            return [
                Missed(place.id, after, place.type, guild.id)
                for place in (*guild.channels, *guild.threads)
                if _number(place.last_message_id or "") > _number(after)
            ]
        return ()

    def _know(self, place: _Place) -> None:
        if place.type not in THREADS or place.parent_id is None:
            return
        self.parents[place.id] = place.parent_id
        self.parents.move_to_end(place.id)
        if len(self.parents) > MOST_THREADS:
            self.parents.popitem(last=False)


def found_again(message: dict[str, Any], where: Missed) -> bytes:
    """A message of the REST API as the event that should have brought it."""
    about: dict[str, Any] = {"channel_type": where.channel_type}
    if where.guild_id is not None:
        about["guild_id"] = where.guild_id
    return payload(message | about)


def payload(data: dict[str, Any]) -> bytes:
    """A MESSAGE_CREATE frame without a number."""
    frame = {"op": 0, "t": "MESSAGE_CREATE", "d": data}
    return json.dumps(frame).encode()  # any number, and half a surrogate pair as it came


def snowflake(at: datetime) -> str:
    """The least id that Discord gives at a time."""
    milliseconds = int(at.timestamp() * 1000) - _EPOCH_MS
    return str(max(0, milliseconds) << _TIME_SHIFT)


def _written(frame: Envelope) -> _Written | None:
    if frame.t != "MESSAGE_CREATE":
        return None
    try:
        return msgspec.json.decode(frame.d, type=_Written)
    except (msgspec.DecodeError, RecursionError):
        return None


def _number(snowflake_id: str) -> int:
    is_number = snowflake_id.isascii() and snowflake_id.isdigit() and len(snowflake_id) <= 20
    return int(snowflake_id) if is_number else 0
