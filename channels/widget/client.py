"""The visitors' sockets; there is no platform to talk to."""

from channels.sockets import Frame, Hub, Seat

__all__ = ["Frame", "Hub", "Seat"]
