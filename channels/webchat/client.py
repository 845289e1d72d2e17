"""The page's sockets; there is no platform to talk to."""

from channels.sockets import (
    DELTAS_WAITING,
    KEPT_CONVERSATIONS,
    KEPT_FRAMES,
    MOST_WAITING,
    Frame,
    Hub,
    Seat,
)

__all__ = [
    "DELTAS_WAITING",
    "KEPT_CONVERSATIONS",
    "KEPT_FRAMES",
    "MOST_WAITING",
    "Frame",
    "Hub",
    "Seat",
]
