"""Search and reading within a scope: two lists, one order, and what is known of its worth."""

import asyncio
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from gateway.core.audit import QUERY_KEPT_CHARS, AccessAction, AccessEntry
from gateway.core.followups import Wording
from gateway.core.lookups import Lookup, Talk
from gateway.core.matching import QueryTerms, query_terms, storable
from gateway.core.passages import Hit, Passage, SearchMode, SearchResult
from gateway.core.relevance import NOTHING_FOUND
from gateway.core.scope import Scope
from gateway.errors import NotFoundError
from gateway.interfaces import Audit, Clock, Encoder, LexicalHits, PassageIndex, VectorStore
from gateway.knowledge.lists import WEIGHED, Lists
from gateway.knowledge.meaning import Calibrations, MayLeave, Meaning
from gateway.knowledge.side_by_side import side_by_side
from gateway.knowledge.tops import Top

__all__ = ["LEXICAL_LIMIT", "MayLeave", "Search"]
LEXICAL_LIMIT = 400  # bm25 of what follows is too small to matter in the blend

NOTHING = SearchResult((), SearchMode.KEYWORD_ONLY, 0.0, NOTHING_FOUND)
NO_WORDS = LexicalHits((), 0, {})


class Search:
    """Implements the Retriever: scope before rank, evidence in the result, one log row a read."""

    def __init__(
        self,
        index: PassageIndex,
        vectors: VectorStore,
        encoder: Encoder,
        audit: Audit,
        clock: Clock,
        calibrations: Calibrations,
    ) -> None:
        """`calibrations` finds by model key, and under "keyword" the one without a model."""
        self._index = index
        self._meaning = Meaning(vectors, encoder, clock, calibrations)
        self._audit = audit

    @property
    def may_leave(self) -> MayLeave:
        """Whose text may go to a cloud provider: nobody's, where nothing was said."""
        return self._meaning.may_leave

    @may_leave.setter
    def may_leave(self, may_leave: MayLeave) -> None:
        self._meaning.may_leave = may_leave

    def among(self, index: PassageIndex, passage_ids: Sequence[int]) -> "Search":
        """This search over some passages alone; `index` finds words in no others."""
        narrowed = copy(self)
        narrowed._index = index  # noqa: SLF001 - its own copy
        narrowed._meaning = self._meaning.among(passage_ids)  # noqa: SLF001
        return narrowed

    async def search(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        entry: AccessEntry,
        wordings: Sequence[Wording] = (),
    ) -> SearchResult:
        """At most `limit` passages of `scope`, best first; writes the access-log row.

        `wordings` are what `query` means after what was said before; the row keeps `query`.
        """
        return (await self.search_each((Lookup(query, entry, wordings),), scope, limit))[0]

    async def search_each(
        self, asked: Sequence[Lookup], scope: Scope, limit: int
    ) -> Sequence[SearchResult]:
        """Several questions in the same passes over the library, each as if it came alone."""
        meant = [each.wordings or (Wording(each.query),) for each in asked]
        found = await self.find_any_each(meant, scope, limit)
        rows = [
            self._record(each.entry, each.query, scope, [hit.passage.id for hit in result.hits])
            for each, result in zip(asked, found, strict=True)
        ]
        await side_by_side(rows)
        return found

    async def around(
        self, scope: Scope, passage_id: int, context: int, *, entry: AccessEntry
    ) -> Sequence[Passage]:
        """The passage and its neighbours; NotFoundError for absent and forbidden alike."""
        passages = await self._index.around(scope, passage_id, context)
        if all(passage.id != passage_id for passage in passages):
            refused = replace(entry, action=AccessAction.DENIED)
            await self._record(refused, entry.query, scope, [passage_id])
            raise NotFoundError(f"passage {passage_id}")
        await self._record(entry, entry.query, scope, [passage.id for passage in passages])
        return passages

    async def _record(
        self, entry: AccessEntry, query: str, scope: Scope, results: Sequence[int]
    ) -> None:
        filled = replace(
            entry,
            query=storable(query[:QUERY_KEPT_CHARS]),
            collections=tuple(sorted(scope.collections)),
            results=tuple(str(passage_id) for passage_id in results),
        )
        await self._audit.record(filled)

    async def find(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        mode: SearchMode = SearchMode.HYBRID,
        by_rank: bool = False,
    ) -> SearchResult:
        """Search without a log row. `by_rank` fuses by reciprocal rank instead of by scores."""
        return (await self._find_each([(query, limit)], scope, mode, by_rank=by_rank))[0]

    async def find_any(
        self,
        wordings: Sequence[Wording],
        scope: Scope,
        limit: int,
        *,
        mode: SearchMode = SearchMode.HYBRID,
    ) -> SearchResult:
        """Search for several wordings of one question, without a log row."""
        return (await self.find_any_each((wordings,), scope, limit, mode=mode))[0]

    async def find_any_each(
        self,
        questions: Sequence[Sequence[Wording]],
        scope: Scope,
        limit: int,
        *,
        mode: SearchMode = SearchMode.HYBRID,
    ) -> Sequence[SearchResult]:
        """`find_any` of several questions, in the same passes."""
        talks = [Talk(wordings, limit) for wordings in questions]
        while due := [(talk, at) for talk in talks for at in talk.due()]:
            wanted = [(talk.wordings[at].text, talk.most) for talk, at in due]
            results = await self._find_each(wanted, scope, mode)
            for (talk, at), result in zip(due, results, strict=True):
                talk.results[at] = result
        return [talk.fused() for talk in talks]

    async def _find_each(
        self,
        wanted: Sequence[tuple[str, int]],
        scope: Scope,
        mode: SearchMode,
        *,
        by_rank: bool = False,
    ) -> Sequence[SearchResult]:
        """`wanted` are questions, and how many passages of each."""
        results = [NOTHING] * len(wanted)
        places = [at for at, (text, _) in enumerate(wanted) if query_terms(text).terms]
        if scope.is_empty or not places:
            return results
        lists = await self._lists([wanted[at][0] for at in places], scope, mode)
        limits = [wanted[at][1] for at in places]
        judged = await self._load(lists, scope, [max(each, WEIGHED) for each in limits])
        hits = judged
        if by_rank:
            hits = await self._load(lists, scope, limits, by_rank=True)
        for at, limit, of, weighed, shown in zip(places, limits, lists, judged, hits, strict=True):
            results[at] = SearchResult(
                hits=shown[:limit],
                mode=mode if of.nearest.ranked else SearchMode.KEYWORD_ONLY,
                coverage=of.coverage,
                relevance=of.relevance(weighed),
                vector_unavailable=of.no_vectors,
            )
        return results

    async def _lists(self, texts: Sequence[str], scope: Scope, mode: SearchMode) -> Sequence[Lists]:
        """Words are looked up while the questions are embedded and their vectors compared."""
        terms = [query_terms(text) for text in texts]
        key = self._meaning.model_key
        looking, near = await asyncio.gather(
            self._look_up(terms, scope, mode),
            self._meaning.near(texts, scope, mode),
            return_exceptions=True,  # both are waited for: nothing runs on behind a failure
        )
        if isinstance(looking, BaseException):
            raise looking
        if isinstance(near, BaseException):
            raise near
        if self._meaning.model_key != key:  # another model took over meanwhile
            return await self._lists(texts, scope, mode)
        words, coverage = looking
        lists = [
            Lists(text, of.terms, lexical, coverage)
            for text, of, lexical in zip(texts, terms, words, strict=True)
        ]
        return await self._meaning.joined(lists, near, scope)

    async def _look_up(
        self, terms: Sequence[QueryTerms], scope: Scope, mode: SearchMode
    ) -> tuple[Sequence[LexicalHits], float]:
        """What the words find, and the share of the scope that has vectors."""
        total, having = await self._index.searchable(scope, self._meaning.model_key)
        words: Sequence[LexicalHits] = [NO_WORDS] * len(terms)
        if mode is not SearchMode.VECTOR_ONLY:
            words = await side_by_side([self._lexical(each, scope) for each in terms])
        return words, having / total if total else 0.0

    async def _lexical(self, terms: QueryTerms, scope: Scope) -> LexicalHits:
        lexical = await self._index.lexical(scope, terms.terms, LEXICAL_LIMIT, terms.phrases)
        if terms.phrases and not lexical.hits:  # quotation marks for emphasis, not for the words
            lexical = await self._index.lexical(scope, terms.terms, LEXICAL_LIMIT)
        return lexical

    async def _load(
        self,
        lists: Sequence[Lists],
        scope: Scope,
        limits: Sequence[int],
        *,
        by_rank: bool = False,
    ) -> list[tuple[Hit, ...]]:
        """Of each the best `limit` that still exist in the scope, at most three a source."""
        tops = [
            Top(of.ranked(by_rank=by_rank), None if by_rank else of.second_look(), limit)
            for of, limit in zip(lists, limits, strict=True)
        ]
        while wanted := {each for top in tops for each in top.wanted()}:
            passages = await self._index.load(scope, sorted(wanted))
            found = {passage.id: passage for passage in passages}
            for top in tops:
                top.take(found)
        return [top.hits() for top in tops]
