"""Reading by the tools of the document service: namespaces, documents, sections, pictures (B1)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.core.access import Collection
from gateway.core.audit import AccessAction
from gateway.core.documents import Source
from gateway.core.found_sections import FoundSection, found_sections, pictured
from gateway.core.grounding import passing
from gateway.core.matching import storable
from gateway.core.passages import Passage
from gateway.core.scope import Scope
from gateway.errors import InvalidRequestError
from gateway.interfaces import Outlines, PassageIndex, Retriever, Sources
from gateway.knowledge.page_pictures import PagePictures
from gateway.operations.namespaces import Namespaces
from gateway.operations.table import Caller

QUERY_CHARS = 1_000
MOST_HITS = 12  # passages; at most three of a document
MOST_PICTURES = 6
DRAWING_S = 20.0  # when no further page is begun
MOST_LISTED = 1_000  # documents in one answer

Step = Callable[[int, int], Awaitable[None]]  # (pages drawn, all); 0: the search is over


@dataclass(frozen=True, slots=True)
class Namespace:
    """A collection, and how many documents it has."""

    collection: Collection
    documents: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A page; `path` within the workspace of a caller that has one."""

    source_id: str
    page: int
    data: bytes
    path: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """What answers, best first; empty where nothing does."""

    sections: tuple[FoundSection, ...] = ()
    pictures: tuple[Picture, ...] = ()
    wanted: tuple[tuple[str, int], ...] = ()  # (source id, page), drawn or not

    @property
    def passages(self) -> int:
        """How many."""
        return sum(len(each.passages) for each in self.sections)


@dataclass(frozen=True, slots=True)
class Seen:
    """An image of the workspace."""

    data: bytes
    source_ids: tuple[str, ...]  # of the documents it is known to show


class DocumentService:
    """Read-only; each call decides anew what may be read."""

    def __init__(
        self,
        namespaces: Namespaces,
        sources: Sources,
        retriever: Retriever,
        index: PassageIndex,
        outlines: Outlines,
        pictures: PagePictures,
    ) -> None:
        self._namespaces = namespaces
        self._sources = sources
        self._retriever = retriever
        self._index = index
        self._outlines = outlines
        self._pictures = pictures

    async def namespaces(self, caller: Caller) -> Sequence[Namespace]:
        """Those that can be read now, by slug."""
        scope = await self._namespaces.scope(caller)
        readable = await self._namespaces.readable(scope)
        counts = await self._namespaces.collections.counts(scope.collections)
        ids = [each.id for each in readable]
        await self._namespaces.log(AccessAction.LIST, caller, scope, ids)
        return [Namespace(each, counts.get(each.id, (0, 0))[0]) for each in readable]

    async def documents(self, caller: Caller, slug: str) -> tuple[Sequence[Source], int]:
        """The oldest MOST_LISTED, and how many there are. NotFoundError as Namespaces.named."""
        collection, scope = await self._namespaces.named(caller, slug)
        found = await self._sources.list(collection.id)
        await self._namespaces.log(AccessAction.LIST, caller, scope, [collection.id])
        return found[:MOST_LISTED], len(found)

    async def search(self, caller: Caller, slug: str, query: str, step: Step) -> Found:
        """Sections that pass the relevance decision, with pictures of their pages.

        NotFoundError as Namespaces.named, also where it went while pages were drawn.
        """
        query = storable(query).strip()
        if not query or len(query) > QUERY_CHARS:
            raise InvalidRequestError("query", reason=f"query: 1 to {QUERY_CHARS} characters")
        collection, scope = await self._namespaces.named(caller, slug)
        entry = self._namespaces.entry(AccessAction.SEARCH, caller, scope)
        result = await self._retriever.search(query, scope, MOST_HITS, entry=entry)
        passages = [each.passage for each in passing(result)]
        sections = await self._sections(scope, passages)
        wanted = pictured(sections, MOST_PICTURES)
        await step(0, len(wanted))
        drawn = await self._drawn(sections, wanted, step)
        # drawing took its time: what is shown and kept is what may be read now
        collection, scope = await self._namespaces.named(caller, slug)
        left = await self._index.load(scope, [each.id for each in passages])
        if len(left) < len(passages):
            sections = await self._sections(scope, left)
        shown = {each.source_id for each in sections}
        kept = {place: data for place, data in drawn.items() if place[0] in shown}
        pictures = [
            Picture(*place, data, await self._saved(caller, collection, *place, data))
            for place, data in kept.items()
        ]
        wanted = tuple(place for place in wanted if place[0] in shown)
        return Found(sections, tuple(pictures), wanted)

    async def image(self, caller: Caller, file_path: str) -> Seen:
        """NotFoundError for what is missing, leads elsewhere, or shows a document that this
        caller may not read now, alike; and for a caller without a workspace.
        """
        scope = await self._namespaces.scope(caller)
        agent_id = caller.agent.agent_id if caller.agent is not None else ""
        seen = None
        if agent_id:
            seen = await self._pictures.seen(agent_id, file_path, scope.collections)
        if seen is None:
            raise await self._namespaces.denied(caller, scope)
        data, source_ids = seen
        await self._namespaces.log(AccessAction.PASSAGE, caller, scope, source_ids)
        return Seen(data, source_ids)

    async def _sections(
        self, scope: Scope, passages: Sequence[Passage]
    ) -> tuple[FoundSection, ...]:
        outlines = await self._outlines.of_passages(scope, [each.id for each in passages])
        return found_sections(passages, outlines)

    async def _drawn(
        self,
        sections: Sequence[FoundSection],
        wanted: Sequence[tuple[str, int]],
        step: Step,
    ) -> Mapping[tuple[str, int], bytes]:
        """One after the other, so that no call fills the lane; what takes too long is left out."""
        ids = dict.fromkeys(each.source_id for each in sections)
        sources = {each: await self._sources.find(each) for each in ids}
        found: dict[tuple[str, int], bytes] = {}
        until = self._namespaces.clock.monotonic() + DRAWING_S
        for done, (source_id, page) in enumerate(wanted, 1):
            source = sources[source_id]
            if source is not None and self._namespaces.clock.monotonic() < until:
                data = await self._pictures.drawn(source, page)
                if data is not None:
                    found[source_id, page] = data
            await step(done, len(wanted))
        return found

    async def _saved(
        self, caller: Caller, collection: Collection, source_id: str, page: int, data: bytes
    ) -> str | None:
        if caller.agent is None:
            return None
        return await self._pictures.save(
            caller.agent.agent_id, collection.slug, source_id, page, data
        )
