"""Whether there is room for a document (FEATURES A29): asked before its bytes are kept."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from gateway.core.documents import Source
from gateway.core.limits import KnowledgeLimits
from gateway.errors import GatewayError
from gateway.interfaces import Sources

PutSource = Callable[[Source], Awaitable[tuple[Source, bool]]]  # as Sources.add
Keep = Callable[[], Awaitable[object]]
Usage = Mapping[str, tuple[int, int, int]]  # as Sources.usage
_MEGABYTE = 1_000_000


@dataclass(slots=True)
class _Held:
    """Room for one document that several uploads of the same bytes may share."""

    size_bytes: int
    holders: int = 0


class Room:
    """What is on its way takes its room too, so that uploads side by side never overdraw."""

    def __init__(self, sources: Sources, limits: KnowledgeLimits) -> None:
        self._sources = sources
        self._limits = limits
        self._asking = asyncio.Lock()
        self._held: dict[tuple[str, str], _Held] = {}

    async def add(self, draft: Source, keep: Keep, put: PutSource) -> tuple[Source, bool]:
        """`keep` stores the bytes once there is room, then `put` the source.

        GatewayError `quota_sources`, `quota_bytes`, `quota_chunks`; not for what is there already.
        """
        key = (draft.collection_id, draft.identity)
        async with self._asking:
            if key not in self._held and not await self._is_there(draft):
                self._check(draft, await self._sources.usage())
            held = self._held.setdefault(key, _Held(draft.size_bytes))
            held.holders += 1
        try:
            await keep()
            async with self._asking:
                return await put(draft)
        finally:
            held.holders -= 1
            if not held.holders:
                del self._held[key]

    async def _is_there(self, draft: Source) -> bool:
        listed = await self._sources.list(draft.collection_id)
        return any(each.identity == draft.identity for each in listed)

    def _check(self, draft: Source, usage: Usage) -> None:
        limits = self._limits
        waiting = sum(1 for shelf, _ in self._held if shelf == draft.collection_id)
        count = usage.get(draft.collection_id, (0, 0, 0))[0]
        if count + waiting >= limits.max_sources_per_collection:
            raise refused("quota_sources", limit=limits.max_sources_per_collection)
        here = sum(
            held.size_bytes
            for (shelf, _), held in self._held.items()
            if shelf == draft.collection_id
        )
        everywhere = sum(held.size_bytes for held in self._held.values())
        _check_bytes(limits, draft, draft.size_bytes, usage, (here, everywhere))
        if sum(each[1] for each in usage.values()) >= limits.max_chunks_total:
            raise refused("quota_chunks", limit=limits.max_chunks_total)


def check_growth(limits: KnowledgeLimits, source: Source, size_bytes: int, usage: Usage) -> None:
    """`quota_bytes` where a page that is fetched again no longer fits."""
    _check_bytes(limits, source, size_bytes - source.size_bytes, usage, (0, 0))


def _check_bytes(
    limits: KnowledgeLimits, source: Source, more: int, usage: Usage, waiting: tuple[int, int]
) -> None:
    size = usage.get(source.collection_id, (0, 0, 0))[2] + waiting[0] + more
    total = sum(each[2] for each in usage.values()) + waiting[1] + more
    if size > limits.max_collection_bytes or total > limits.max_total_bytes:
        raise refused("quota_bytes", limit_mb=limits.max_collection_bytes // _MEGABYTE)


def refused(code: str, **params: int) -> GatewayError:
    """What a limit says no to."""
    return GatewayError(code, code=code, **params)
