"""Several things at once, none of which runs on behind another's failure."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

A = TypeVar("A")


async def side_by_side(calls: Iterable[Awaitable[A]]) -> list[A]:
    """What each came to; what one of them raises comes out as itself, once all have ended."""
    ended: list[A] = []
    for each in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(each, BaseException):
            raise each
        ended.append(each)
    return ended
