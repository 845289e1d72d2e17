"""Agentic retrieval: plan several searches from messages, run them side by side, tell of each."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.chat import ChatMessage
from gateway.core.filters import Filter
from gateway.core.grounding import Reference, Scored, merged, passing
from gateway.core.lookups import Lookup
from gateway.core.passages import SearchResult
from gateway.core.planning import SubQuery, tokens
from gateway.core.scope import Scope
from gateway.errors import GatewayError
from gateway.interfaces import Clock, Collections, Scopes
from gateway.operations.planning import Plan, Planner
from gateway.operations.synthesis import Synthesis, Written
from gateway.operations.table import Caller

MOST_HITS = 20  # of one search
MOST_REFERENCES = 20
PASSES_AT_ONCE = 4  # over the library, of all retrievals; who waits longest goes first
PASSES_OF_ONE = 2  # of one retrieval, so that many sources in one hold up nobody else
SURFACE = "retrieve"


@dataclass(frozen=True, slots=True)
class Target:
    """A collection to search, by its slug, and how; `name` None: all that may be read."""

    name: str | None = None
    within: Filter | None = None
    filter_text: str | None = None
    threshold: float | None = None  # of the reranker score; None: the calibrated rule decides
    most: int = MOST_HITS
    with_references: bool = True
    with_data: bool = True


@dataclass(frozen=True, slots=True)
class Searched:
    """One search of one collection as an activity; `passed` are those above the threshold."""

    id: int
    query: str
    target: Target
    name: str | None  # the collection's slug
    at: datetime
    elapsed_ms: int
    passed: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """All that was done and found. Activities count from 0, the plan's; the ranking's is last."""

    plan: Plan
    searched: tuple[Searched, ...]
    references: tuple[Reference, ...]
    ranked_tokens: int
    ranked_ms: int
    written: Written | None = None  # None: the passages themselves are the answer


class FilteringSearch(Protocol):
    """Search within a scope and a filter; writes the access log itself."""

    async def search_each(
        self,
        asked: Sequence[Lookup],
        scope: Scope,
        limit: int,
        *,
        within: Filter | None = None,
    ) -> Sequence[SearchResult]:
        """Several questions in the same passes over the library, each as if it came alone."""
        ...


@dataclass(frozen=True, slots=True)
class _Run:
    query: SubQuery
    target: Target
    at: datetime
    elapsed_ms: int
    result: SearchResult


class Retrieval:
    """What an agent's program may ask for; the scope is decided once, after the plan."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        planner: Planner,
        search: FilteringSearch,
        scopes: Scopes,
        collections: Collections,
        clock: Clock,
        synthesis: Synthesis | None = None,
        *,
        is_open: bool = True,
    ) -> None:
        """`is_open` false: [knowledge] enabled is off (FEATURES A29). Without `synthesis` no model
        writes.
        """
        self._planner = planner
        self._search = search
        self._scopes = scopes
        self._collections = collections
        self._clock = clock
        self._synthesis = synthesis
        self._is_open = is_open
        self._passes = asyncio.Semaphore(PASSES_AT_ONCE)

    async def retrieve(
        self, caller: Caller, messages: Sequence[ChatMessage], targets: Sequence[Target]
    ) -> Retrieved:
        """Search all that may be read, or the targets alone; one that is missing or forbidden
        finds nothing.
        """
        if not self._is_open:
            raise GatewayError("retrieve", code="knowledge_disabled")
        plan = await self._planner.plan(caller, messages)
        scope = await self._scopes.scope(caller.audience, caller.agent)
        readable = await self._collections.list(scope.collections)
        slugs = {each.id: each.slug for each in readable}
        own = asyncio.Semaphore(PASSES_OF_ONE)
        passes = await _all(
            [
                self._pass(own, caller, _within(scope, slugs, target), plan.queries, target)
                for target in targets or (Target(),)
            ]
        )
        runs = [run for of_a_query in zip(*passes, strict=True) for run in of_a_query]
        found = self._told(plan, runs, slugs)
        if self._synthesis is None:
            return found
        left, written = await self._synthesis.written(caller, messages, scope, found.references)
        return replace(found, references=tuple(left), written=written)

    async def _pass(
        self,
        own: asyncio.Semaphore,
        caller: Caller,
        scope: Scope,
        queries: Sequence[SubQuery],
        target: Target,
    ) -> Sequence[_Run]:
        """All questions to one source, in one pass over it."""
        if not queries:
            return ()
        async with own, self._passes:
            at, began = self._clock.now(), self._clock.monotonic()
            entry = AccessEntry(
                AccessAction.SEARCH,
                at,
                account_id=None if caller.account is None else caller.account.id,
                agent_id=None if caller.agent is None else caller.agent.agent_id,
                channel=SURFACE,
            )
            asked = [Lookup(query.text, entry, query.wordings) for query in queries]
            results = await self._search.search_each(
                asked, scope, target.most, within=target.within
            )
            spent_ms = self._since(began)
        return [
            _Run(query, target, at, spent_ms, result)
            for query, result in zip(queries, results, strict=True)
        ]

    def _told(self, plan: Plan, runs: Sequence[_Run], slugs: Mapping[str, str]) -> Retrieved:
        began = self._clock.monotonic()
        searched: list[Searched] = []
        for run in runs:
            searched += _by_collection(run, slugs, 1 + len(searched))
        shown = {each.id: each.passed for each in searched if each.target.with_references}
        judged = sum(_judged_tokens(run) for run in runs)
        references = merged(shown, MOST_REFERENCES)
        return Retrieved(plan, tuple(searched), references, judged, self._since(began))

    def _since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)


def _within(scope: Scope, slugs: Mapping[str, str], target: Target) -> Scope:
    """What of a scope a target means; a name that is not in it means nothing."""
    if target.name is None:
        return scope
    return scope.narrow(frozenset(id_ for id_, slug in slugs.items() if slug == target.name))


def _by_collection(run: _Run, slugs: Mapping[str, str], first: int) -> list[Searched]:
    """A search of everything is told of by collection: those that hold something that passed."""
    passed = passing(run.result, run.target.threshold)
    by_slug: dict[str | None, list[Scored]] = defaultdict(list)
    for each in passed:
        by_slug[run.target.name or slugs.get(each.passage.collection_id)].append(each)
    if not by_slug:
        by_slug[run.target.name or _only(slugs)] = []
    return [
        Searched(number, run.query.text, run.target, name, run.at, run.elapsed_ms, tuple(some))
        for number, (name, some) in enumerate(by_slug.items(), first)
    ]


def _only(slugs: Mapping[str, str]) -> str | None:
    return next(iter(slugs.values())) if len(slugs) == 1 else None


def _judged_tokens(run: _Run) -> int:
    texts = [hit.passage.text for hit in run.result.hits]
    return sum(tokens(run.query.text) + tokens(text) for text in texts)


async def _all(passes: Sequence[Awaitable[Sequence[_Run]]]) -> Sequence[Sequence[_Run]]:
    """Side by side; what one of them raises comes out as itself, once all have ended."""
    found = await asyncio.gather(*passes, return_exceptions=True)
    ended: list[Sequence[_Run]] = []
    for each in found:
        if isinstance(each, BaseException):
            raise each
        ended.append(each)
    return ended
