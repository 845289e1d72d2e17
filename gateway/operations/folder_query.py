"""`GET /agents/{id}/documents/query`: an agent's documents, as a program of it may read them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.core.audit import AccessAction
from gateway.core.filters import Filter, Value
from gateway.core.matching import storable
from gateway.core.passages import Hit
from gateway.errors import InvalidRequestError
from gateway.interfaces import Clock, FilteringRetriever, Scopes, Sources
from gateway.operations.acting import access_entry
from gateway.operations.table import Caller

SURFACE = "folders"
QUERY_CHARS = 1_000  # more is no question
TOP_K = 5
MOST_RESULTS = 20


@dataclass(frozen=True, slots=True)
class Result:
    """One passage; `score` compares results of one answer, and nothing else. `is_flagged`: it
    holds wording that looks like an instruction to a model.
    """

    content: str
    document_id: str
    folder_id: str
    name: str
    locator: str
    metadata: Mapping[str, Value]
    score: float
    is_flagged: bool


class FolderQuery:
    """Searches the folders attached to an agent, less what its asker may not read."""

    def __init__(
        self,
        search: FilteringRetriever,
        scopes: Scopes,
        sources: Sources,
        clock: Clock,
        check_open: Callable[[], None],
    ) -> None:
        """`check_open` is Desk.check_open."""
        self._search = search
        self._scopes = scopes
        self._sources = sources
        self._clock = clock
        self._check_open = check_open

    async def query(
        self, caller: Caller, text: str, top_k: int = TOP_K, within: Filter | None = None
    ) -> Sequence[Result]:
        """At most `top_k` passages, best first; nothing where no folder is attached (D4).

        InvalidRequestError names what is out of range.
        """
        self._check_open()
        text = storable(text).strip()
        if not 1 <= len(text) <= QUERY_CHARS:
            raise InvalidRequestError("query", reason=f"query: 1 to {QUERY_CHARS} characters")
        if not 1 <= top_k <= MOST_RESULTS:
            raise InvalidRequestError("top_k", reason=f"top_k: 1 to {MOST_RESULTS}")
        scope = await self._scopes.scope(caller.audience, caller.agent)
        entry = access_entry(AccessAction.SEARCH, caller, scope, self._clock)
        found = await self._search.search(text, scope, top_k, entry=entry, within=within)
        return await self._results(found.hits)

    async def _results(self, hits: Sequence[Hit]) -> Sequence[Result]:
        """A document that went meanwhile is left out."""
        metadata: dict[str, Mapping[str, Value]] = {}
        for source_id in dict.fromkeys(hit.passage.source_id for hit in hits):
            source = await self._sources.find(source_id)
            if source is not None:
                metadata[source_id] = source.metadata
        return [
            Result(
                content=hit.passage.text,
                document_id=hit.passage.source_id,
                folder_id=hit.passage.collection_id,
                name=hit.passage.title,
                locator=hit.passage.locator.label(),
                metadata=metadata[hit.passage.source_id],
                score=round(hit.score, 4),
                is_flagged=hit.passage.is_flagged,
            )
            for hit in hits
            if hit.passage.source_id in metadata
        ]
