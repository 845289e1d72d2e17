"""Search of the documents a filter means: chosen within the scope, before any is ranked."""

from collections.abc import Sequence

from gateway.core.audit import AccessEntry
from gateway.core.filters import Filter
from gateway.core.followups import Wording
from gateway.core.lookups import Lookup
from gateway.core.passages import Passage, SearchResult
from gateway.core.scope import Scope
from gateway.interfaces import FilteringRetriever, LexicalHits, PassageIndex, SourcePassages
from gateway.knowledge.search import Search


class FilteredSearch:
    """Search.search with a filter; without one it is the search itself."""

    def __init__(self, search: Search, index: PassageIndex, chosen: SourcePassages) -> None:
        self._search = search
        self._index = index
        self._chosen = chosen

    async def search(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        entry: AccessEntry,
        wordings: Sequence[Wording] = (),
        within: Filter | None = None,
    ) -> SearchResult:
        """At most `limit` passages of the documents in `scope` that `within` matches."""
        asked = (Lookup(query, entry, wordings),)
        return (await self.search_each(asked, scope, limit, within=within))[0]

    async def search_each(
        self,
        asked: Sequence[Lookup],
        scope: Scope,
        limit: int,
        *,
        within: Filter | None = None,
    ) -> Sequence[SearchResult]:
        """Several questions in the same passes over the library, each as if it came alone."""
        search = self._search
        if within is not None:
            ids = await self._chosen.of_filter(scope, within)
            search = search.among(_Among(self._index, self._chosen, ids), ids)
        return await search.search_each(asked, scope, limit)

    async def around(
        self, scope: Scope, passage_id: int, context: int, *, entry: AccessEntry
    ) -> Sequence[Passage]:
        """As Search.around."""
        return await self._search.around(scope, passage_id, context, entry=entry)


class _Among:
    """Implements PassageIndex; only the words of some passages are looked up."""

    def __init__(
        self, index: PassageIndex, chosen: SourcePassages, passage_ids: Sequence[int]
    ) -> None:
        self._chosen = chosen
        self._ids = passage_ids
        self.replace = index.replace
        self.load = index.load
        self.around = index.around
        self.of_revision = index.of_revision
        self.searchable = index.searchable

    async def lexical(
        self, scope: Scope, terms: Sequence[str], limit: int, phrases: Sequence[Sequence[str]] = ()
    ) -> LexicalHits:
        return await self._chosen.lexical(scope, terms, limit, phrases, self._ids)


fits: type[FilteringRetriever] = FilteredSearch
