"""Ends the "process" at the n-th call to the store, before it or right after it was durable."""

from collections.abc import Awaitable, Callable
from typing import Any


class KilledError(BaseException):
    """What SIGKILL is to the code that runs: nothing it could catch."""


class Tripwire:
    """Counts the calls that go through its wrapped objects, and trips at one of them."""

    def __init__(self, at: int, *, is_after: bool) -> None:
        self.left = at
        self.is_after = is_after

    @property
    def has_tripped(self) -> bool:
        return self.left < 0

    def wrap(self, target: Any) -> Any:
        return _Wrapped(target, self)

    async def pass_through(self, call: Callable[..., Awaitable[Any]], *args: Any, **kw: Any) -> Any:
        self.left -= 1
        is_here = self.left < 0
        if is_here and not self.is_after:
            raise KilledError
        result = await call(*args, **kw)
        if is_here:
            raise KilledError
        return result


class _Wrapped:
    def __init__(self, target: Any, wire: Tripwire) -> None:
        self._target = target
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        if name == "path" or not callable(attribute):
            return attribute

        async def call(*args: Any, **kw: Any) -> Any:
            return await self._wire.pass_through(attribute, *args, **kw)

        return call
