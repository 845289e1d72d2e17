"""Searches of the tool `knowledge_base` in one turn: each within its time, some meanwhile."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import structlog

from gateway.core.grounds import Reading
from gateway.core.knowledge_tool import FAILED, LONG_TIMEOUT_S, TOO_SLOW, KnowledgeBaseTool
from gateway.core.passages import Hit
from gateway.errors import GatewayError
from gateway.reading import TurnReader

log = structlog.get_logger()
Found = Sequence[Hit] | str  # or the words that say why there is nothing


@dataclass(frozen=True, slots=True)
class Delivery:
    """A search of the background that has ended."""

    number: int  # of the turn's searches, from 1
    query: str
    found: Found


class Lookups:
    """What goes on in the background ends with the block at the latest, as the turn does."""

    def __init__(self, reader: TurnReader, tool: KnowledgeBaseTool, reading: Reading) -> None:
        self._reader = reader
        self._tool = tool
        self._reading = reading
        self._begun = 0
        self._under_way: dict[int, tuple[str, asyncio.Task[Found]]] = {}
        self._tasks = asyncio.TaskGroup()
        if tool.timeout_s > LONG_TIMEOUT_S:
            agent = reading.entry.agent_id
            log.warning("knowledge_base waits long", agent=agent, timeout_s=tool.timeout_s)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for _, task in self._under_way.values():
            task.cancel()
        # an error of the turn is no business of the group's, which would wrap it up
        is_cancelled = isinstance(error, asyncio.CancelledError)
        told = (kind, error, trace) if is_cancelled else (None, None, None)
        await self._tasks.__aexit__(*told)

    @property
    def is_any_under_way(self) -> bool:
        """Whether something is still to be delivered."""
        return bool(self._under_way)

    async def find(self, query: str) -> Found:
        """Search, within the scope of now."""
        tool = self._tool
        try:
            async with asyncio.timeout(tool.timeout_s):
                return await self._reader.search_more(
                    query, tool.top_k, None, self._reading, within=tool.filters
                )
        except TimeoutError:
            self._not_found("timeout")
            return TOO_SLOW
        except GatewayError as error:
            self._not_found(error.code)
            return FAILED

    def begin(self, query: str) -> None:
        """Search while the model goes on."""
        self._begun += 1
        self._under_way[self._begun] = (query, self._tasks.create_task(self.find(query)))

    async def ended(self, *, wait: bool) -> Sequence[Delivery]:
        """Those that have ended since the last time; with `wait` all that are under way.

        What could be read when it was found and cannot now is not among it.
        """
        if wait and self._under_way:
            await asyncio.wait([task for _, task in self._under_way.values()])
        over = [number for number, (_, task) in self._under_way.items() if task.done()]
        deliveries = []
        for number in over:
            query, task = self._under_way.pop(number)
            found = task.result()
            if not isinstance(found, str):
                found = await self._reader.still(found, self._reading)
            deliveries.append(Delivery(number, query, found))
        return deliveries

    def _not_found(self, code: str) -> None:
        entry = self._reading.entry
        log.warning("lookup failed", turn=entry.turn_id, agent=entry.agent_id, code=code)
