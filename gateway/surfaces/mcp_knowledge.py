"""The four tools of an agent's run: what they take, and how they answer (FEATURES A21)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec

from gateway.catalogue import text
from gateway.core.access import Collection
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.filters import equal_to
from gateway.core.matching import storable
from gateway.core.run_block import collections_block, passages_block
from gateway.core.turns import PresentedPassage
from gateway.errors import InvalidRequestError, NotFoundError
from gateway.interfaces import Audit, Clock, Collections, FilteringRetriever
from gateway.knowledge.proposals import FromAgent, Proposals, ProposingTurn
from gateway.operations.reading import passage_id
from gateway.operations.registry import MESSAGE_CHARS
from gateway.operations.runs import SURFACE, Run, Standing
from gateway.surfaces.mcp_tools import TextContent, ToolAnswer

QUERY_CHARS = 1_000  # more is no question
Arguments = Mapping[str, Any]
A = TypeVar("A")


class SearchArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Of `knowledge_search`."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=QUERY_CHARS)]
    collections: list[str] | None = None
    filters: dict[str, Any] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5


class PassageArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Of `knowledge_get_passage`."""

    chunk_id: str
    context: Annotated[int, msgspec.Meta(ge=0, le=2)] = 1


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Of `knowledge_list_collections`."""


class SourceArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Of `knowledge_add_source`: one of `path`, `url` and `text`."""

    collection: str
    path: str | None = None
    url: str | None = None
    text: str | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class RunTools:
    """The functions behind the tools; each reads within the scope of the moment."""

    retriever: FilteringRetriever
    collections: Collections
    proposals: Proposals
    audit: Audit
    clock: Clock

    async def search(self, run: Run, now: Standing, given: Arguments) -> ToolAnswer:
        """Passages under the run's numbers; slugs that are missing or forbidden find nothing."""
        asked = checked(given, SearchArguments)
        query = storable(asked.query).strip()
        if not query:
            raise InvalidRequestError("query", reason="query: empty")
        within = equal_to(asked.filters) if asked.filters else None
        readable = await self.collections.list(now.scope.collections)
        scope = now.scope
        if asked.collections is not None:
            named = [each.id for each in readable if each.slug in asked.collections]
            scope = scope.narrow(frozenset(named))
        entry = self._entry(AccessAction.SEARCH, run, now)
        found = await self.retriever.search(query, scope, asked.limit, entry=entry, within=within)
        return self._passages(run, now, [hit.passage for hit in found.hits], readable)

    async def passage(self, run: Run, now: Standing, given: Arguments) -> ToolAnswer:
        """NotFoundError for absent and forbidden alike."""
        asked = checked(given, PassageArguments)
        found = await self.retriever.around(
            now.scope,
            passage_id(asked.chunk_id),
            asked.context,
            entry=self._entry(AccessAction.PASSAGE, run, now),
        )
        readable = await self.collections.list(now.scope.collections)
        return self._passages(run, now, found, readable)

    async def list(self, run: Run, now: Standing, given: Arguments) -> ToolAnswer:
        """What this run may read now, with the numbers of sources and passages."""
        checked(given, NoArguments)
        readable = await self.collections.list(now.scope.collections)
        counts = await self.collections.counts(now.scope.collections)
        ids = tuple(each.id for each in readable)
        entry = self._entry(AccessAction.LIST, run, now, ids)
        await self.audit.record(entry)
        rows = [(each, *counts.get(each.id, (0, 0))) for each in readable]
        told = [
            {
                "slug": each.slug,
                "name": each.name,
                "description": each.description,
                "sources": sources,
                "passages": passages,
            }
            for each, sources, passages in rows
        ]
        language = now.caller.language
        head = text("mcp.collections" if rows else "mcp.no_collections", language)
        return _answer(head, collections_block(rows), {"collections": told})

    async def add(self, run: Run, now: Standing, given: Arguments) -> ToolAnswer:
        """A card; nothing is added before somebody approves it."""
        asked = checked(given, SourceArguments)
        side = now.caller.agent
        if side is None:
            raise NotFoundError("agent")
        turn = ProposingTurn(run.id, now.caller.audience, side, SURFACE)
        content = FromAgent(asked.path, asked.url, asked.text)
        card = await self.proposals.from_agent(turn, asked.collection, content, asked.title)
        said = text("mcp.proposed", now.caller.language, id=card.id)
        return _answer(said, "", {"proposal_id": card.id, "state": card.state.value})

    def _entry(
        self, action: AccessAction, run: Run, now: Standing, collections: tuple[str, ...] = ()
    ) -> AccessEntry:
        return AccessEntry(
            action,
            self.clock.now(),
            account_id=run.account.id,
            agent_id=run.agent_id,
            channel=SURFACE,
            turn_id=run.id,
            collections=tuple(sorted(now.scope.collections)),
            results=collections,
        )

    def _passages(
        self, run: Run, now: Standing, found: Sequence[Any], readable: Sequence[Collection]
    ) -> ToolAnswer:
        presented = run.present(found)
        by_id = {each.id: each for each in readable}
        names = {each.id: each.name for each in readable}
        head = text("mcp.is_content" if presented else "mcp.nothing_found", now.caller.language)
        told = [_told(each, by_id) for each in presented]
        return _answer(head, passages_block(presented, names), {"passages": told})


def checked(given: Arguments, kind: type[A]) -> A:
    """InvalidRequestError names what does not fit."""
    try:
        return msgspec.convert(dict(given), kind, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidRequestError(str(error), reason=str(error)[:MESSAGE_CHARS]) from error


def _told(each: PresentedPassage, collections: Mapping[str, Collection]) -> dict[str, Any]:
    passage = each.passage
    collection = collections.get(passage.collection_id)
    return {
        "n": each.n,
        "chunk_id": str(passage.id),
        "source_id": passage.source_id,
        "collection": collection.slug if collection is not None else "",
        "title": passage.title,
        "locator": passage.locator.label(),
        "text": passage.text,
    }


def _answer(head: str, block: str, structured: Mapping[str, Any]) -> ToolAnswer:
    return ToolAnswer([TextContent(f"{head}\n{block}" if block else head)], structured)
