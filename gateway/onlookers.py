"""What stands in where nobody watches: checkpoints, channels held open, the access rules."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from gateway.interfaces import Channel

Checkpoint = Callable[[str], None]  # told of each state change of a message or call, by name
Using = Callable[[Channel], AbstractContextManager[None]]


def unwatched(_: str) -> None:
    """No one looks at the state changes."""


def not_counted(_: Channel) -> AbstractContextManager[None]:
    """Channels stay as they are."""
    return nullcontext()


def never_told() -> int:
    """No generation is known: what was looked at holds by its age alone."""
    return 0
