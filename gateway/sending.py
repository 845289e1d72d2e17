"""How calls are sent: how hard each is tried, and who is asked or told on the way."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.core.messages import OutboundCall
from gateway.interfaces import Generation, Meter
from gateway.metering import SILENT
from gateway.onlookers import Checkpoint, Using, never_told, not_counted, unwatched

Recheck = Callable[[OutboundCall], Awaitable[OutboundCall | None]]


async def _as_it_is(call: OutboundCall) -> OutboundCall:
    """What was decided holds."""
    return call


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Who may read what has changed at the last moment; nothing was written to a socket."""


@dataclass(frozen=True, slots=True)
class SendingOptions:
    """How hard a call is tried, and who watches."""

    worker: str = "gateway"  # who claims; a second gateway has another name
    concurrency: int = 64  # calls of one channel on their way at the same time
    attempts: int = 12  # with the pauses below: about a quarter of an hour
    first_pause_s: float = 1.0
    longest_pause_s: float = 300.0
    call_timeout_s: float = 60.0  # above every client's own deadline; a hang is then in doubt
    poll_s: float = 15.0  # rows nobody told us of: postponed by an earlier process
    using: Using = not_counted  # holds a channel open while a call goes out through it
    recheck: Recheck = _as_it_is  # of calls that waited; None: they may not go any more
    generation: Generation = never_told
    checkpoint: Checkpoint = unwatched
    meter: Meter = SILENT
