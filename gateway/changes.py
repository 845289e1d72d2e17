"""Tells whoever listens which agents may read something else than before, after each change."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from gateway.core.access import AgentSide, Audience, AudienceKind
from gateway.core.scope_reasons import Why
from gateway.errors import GatewayError
from gateway.interfaces import AgentFiles, Agents, Scopes

log = structlog.get_logger()
POLL_S = 5.0  # for files edited by hand; what goes through the program is told at once
GATHERED_S = 0.1  # changes that come together are one
NOT_ITS = frozenset({Why.NOT_GRANTED_TO_AGENT.value, Why.NOT_IN_AGENT_LIST.value})
FOR_NOBODY = Audience(AudienceKind.SYSTEM)  # no person side: what is left is the agent's own

Side = Mapping[str, str]  # collection id -> by what rule it is the agent's
Sides = Mapping[str, Side]  # agent id -> side; an archived agent has none


@dataclass(frozen=True, slots=True)
class Change:
    """Agents whose side changed, and the collections that came, went or changed sensitivity."""

    agents: frozenset[str]
    collections: frozenset[str]
    generation: int  # of the access rules, as they were read for this

    def with_older(self, older: "Change | None") -> "Change":
        """Both in one, where the older one was not taken yet."""
        if older is None:
            return self
        agents, collections = older.agents | self.agents, older.collections | self.collections
        return Change(agents, collections, self.generation)


class Subscription:
    """What one listener has not taken yet, as a single change: it never grows with time."""

    def __init__(self) -> None:
        self._waiting: Change | None = None
        self._news = asyncio.Event()

    def put(self, change: Change) -> None:
        """Add to what waits."""
        self._waiting = change.with_older(self._waiting)
        self._news.set()

    async def next(self) -> Change:
        """Wait for the next change."""
        await self._news.wait()
        self._news.clear()
        change, self._waiting = self._waiting, None
        assert change is not None
        return change

    async def __aiter__(self) -> AsyncIterator[Change]:
        """Change after change, for ever."""
        while True:
            yield await self.next()


class Changes:
    """Compares the sides of all agents when the generation moved, while somebody listens.

    A listener may be told of a change it has seen already, and never misses one that was
    committed after it subscribed: the first word it gets is of every agent. Nothing is read while
    nobody listens.
    """

    def __init__(
        self,
        agents: Agents,
        files: AgentFiles,
        scopes: Scopes,
        generation: Callable[[], int],
    ) -> None:
        self._agents = agents
        self._files = files
        self._scopes = scopes
        self._generation = generation
        self._known: Sides = {}
        self._listeners: set[Subscription] = set()
        self._fresh: set[Subscription] = set()  # of whom nobody knows what they had seen
        self._wake = asyncio.Event()

    def note(self) -> None:
        """The generation moved; on the event loop."""
        self._wake.set()

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Listen as long as the block runs."""
        listener = Subscription()
        self._listeners.add(listener)
        self._fresh.add(listener)
        self._wake.set()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            self._fresh.discard(listener)

    async def run(self) -> None:
        """Until cancelled. A store that cannot be read is asked again at the next occasion."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_S if self._listeners else None):
                    await self._wake.wait()
            if not self._listeners:
                self._wake.clear()
                continue
            await asyncio.sleep(GATHERED_S)
            self._wake.clear()
            try:
                await self.look()
            except GatewayError as error:
                log.warning("changes of access not looked at", code=error.code)

    async def look(self) -> None:
        """Compare now, and tell."""
        generation = self._generation()
        sides = await self._sides()
        change = _between(self._known, sides, generation)
        everything = Change(frozenset(sides), _collections(sides), generation)
        fresh, self._fresh, self._known = self._fresh, set(), sides
        if change.agents:
            log.info("agents read something else", agents=len(change.agents))
        for listener in self._listeners:
            told = everything.with_older(change) if listener in fresh else change
            if told.agents:
                listener.put(told)

    async def _sides(self) -> Sides:
        return {agent.id: await self._side(agent.id) for agent in await self._agents.list()}

    async def _side(self, agent_id: str) -> Side:
        settings = await self._files.load(agent_id)
        if settings is None or settings.is_archived:
            return {}
        side: AgentSide = settings.side
        scope = await self._scopes.scope(FOR_NOBODY, side)
        return {each.collection_id: each.code for each in scope.reasons if each.code not in NOT_ITS}


def _collections(sides: Sides) -> frozenset[str]:
    return frozenset(each for side in sides.values() for each in side)


def _between(before: Sides, now: Sides, generation: int) -> Change:
    agents: set[str] = set()
    collections: set[str] = set()
    for agent_id in before.keys() | now.keys():
        differing = set(before.get(agent_id, {}).items()) ^ set(now.get(agent_id, {}).items())
        if differing:
            agents.add(agent_id)
            collections |= {collection_id for collection_id, _ in differing}
    return Change(frozenset(agents), frozenset(collections), generation)
