"""Several things at once, none of which runs on behind another's failure."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def side_by_side(calls: Iterable[Awaitable[A]]) -> list[A]:
    """What each came to; what one of them raises comes out as itself, once all have ended."""
    ended: list[A] = []
    for each in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(each, BaseException):
            raise each
        ended.append(each)
    return ended


async def together(one: Awaitable[A], other: Awaitable[B]) -> tuple[A, B]:
    """The same of two that differ."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second
