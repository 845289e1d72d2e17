"""Search and reading within a scope: two lists, one order, and what is known of its worth."""

from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from gateway.core.audit import QUERY_KEPT_CHARS, AccessAction, AccessEntry
from gateway.core.calibration import Calibration
from gateway.core.followups import Wording
from gateway.core.followups_found import fused, is_decided
from gateway.core.lookups import Lookup
from gateway.core.matching import QueryTerms, query_terms, script, storable
from gateway.core.passages import Hit, NoVectors, Passage, SearchMode, SearchResult
from gateway.core.redaction import CLOUD_KEY
from gateway.core.relevance import NOTHING_FOUND
from gateway.core.scope import Scope
from gateway.errors import NotFoundError
from gateway.interfaces import (
    Audit,
    Clock,
    Encoder,
    LexicalHits,
    PassageIndex,
    Vector,
    VectorStore,
)
from gateway.knowledge.lists import WEIGHED, Lists, nearest_of
from gateway.knowledge.questions import Questions
from gateway.knowledge.side_by_side import side_by_side, together
from gateway.knowledge.tops import Top
from gateway.knowledge.vector_blocks import Nearest
from gateway.knowledge.vectors import VectorIndex

LEXICAL_LIMIT = 400  # bm25 of what follows is too small to matter in the blend
VECTOR_LIMIT = 150

Calibrations = Callable[[str], Calibration | None]
MayLeave = Callable[[Scope], Awaitable[frozenset[str]]]
KEYWORD = "keyword"  # the calibration for searches without vectors

NOTHING = SearchResult((), SearchMode.KEYWORD_ONLY, 0.0, NOTHING_FOUND)
NO_WORDS = LexicalHits((), 0, {})


async def _nothing(_scope: Scope) -> frozenset[str]:
    return frozenset()


class Counted(NamedTuple):
    """The share of a scope's passages that have vectors of a model."""

    model_key: str
    share: float


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
        self.may_leave: MayLeave = _nothing  # whose text may go to a cloud provider
        self._index = index
        self._vectors = vectors
        self._questions = Questions(encoder, clock)
        self._audit = audit
        self._calibrations = calibrations
        self._memory: VectorIndex | None = None
        self._only: Sequence[int] | None = None  # the passages it is about, where not all

    def among(self, index: PassageIndex, passage_ids: Sequence[int]) -> "Search":
        """This search over some passages alone; `index` finds words in no others."""
        self._memory_of(self._questions.model_key)  # both follow the same vectors
        narrowed = copy(self)
        narrowed._index, narrowed._only = index, passage_ids  # noqa: SLF001 - its own copy
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
        """Several questions side by side, each as if it came alone; one commit for their rows."""
        counted = await self._count(scope) if len(asked) > 1 else None
        found = await side_by_side(
            self._find_any(each.wordings or (Wording(each.query),), scope, limit, counted=counted)
            for each in asked
        )
        await side_by_side(
            self._record(each.entry, each.query, scope, [hit.passage.id for hit in result.hits])
            for each, result in zip(asked, found, strict=True)
        )
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
        return await self._find(query, scope, limit, mode, by_rank=by_rank)

    async def _find(
        self,
        query: str,
        scope: Scope,
        limit: int,
        mode: SearchMode,
        *,
        by_rank: bool = False,
        counted: Counted | None = None,
    ) -> SearchResult:
        """`counted` is of the same scope, where it is known."""
        if scope.is_empty or not query_terms(query).terms:
            return NOTHING
        lists = await self._lists(query, scope, mode, counted)
        judged = await self._load(lists, scope, max(limit, WEIGHED))
        hits = await self._load(lists, scope, limit, by_rank=True) if by_rank else judged[:limit]
        return SearchResult(
            hits=hits,
            mode=mode if lists.nearest.ranked else SearchMode.KEYWORD_ONLY,
            coverage=lists.coverage,
            relevance=lists.relevance(judged),
            vector_unavailable=lists.no_vectors,
        )

    async def find_any(
        self,
        wordings: Sequence[Wording],
        scope: Scope,
        limit: int,
        *,
        mode: SearchMode = SearchMode.HYBRID,
    ) -> SearchResult:
        """Search for several wordings of one question, without a log row."""
        return await self._find_any(wordings, scope, limit, mode=mode)

    async def _find_any(
        self,
        wordings: Sequence[Wording],
        scope: Scope,
        limit: int,
        *,
        mode: SearchMode = SearchMode.HYBRID,
        counted: Counted | None = None,
    ) -> SearchResult:
        most = limit if len(wordings) == 1 else 2 * limit
        found: list[tuple[Wording, SearchResult]] = []
        for each in wordings:
            if each.weight > 0 or not is_decided(found):
                found.append(
                    (each, await self._find(each.text, scope, most, mode, counted=counted))
                )
        return fused(found, limit)

    async def _lists(
        self, question: str, scope: Scope, mode: SearchMode, counted: Counted | None = None
    ) -> Lists:
        """Words are looked up while the question is embedded and its vector compared."""
        terms = query_terms(question)
        key = self._questions.model_key
        is_known = counted is not None and counted.model_key == key
        (lexical, share), (vector, nearest) = await together(
            self._look_up(terms, scope, mode, counted if is_known else None),
            self._find_near(question, scope, mode),
        )
        if self._questions.model_key != key:  # another model took over meanwhile
            return await self._lists(question, scope, mode)
        lists = Lists(question, terms.terms, lexical, share)
        if not isinstance(vector, NoVectors) and vector is not None:
            return await self._with_vectors(lists, vector, nearest, scope)
        return replace(lists, no_vectors=vector, calibration=self._calibrations(KEYWORD))

    async def _look_up(
        self, terms: QueryTerms, scope: Scope, mode: SearchMode, counted: Counted | None
    ) -> tuple[LexicalHits, float]:
        """What the words find, and the share of the scope that has vectors."""
        share = (counted or await self._count(scope)).share
        if mode is SearchMode.VECTOR_ONLY:
            return NO_WORDS, share
        lexical = await self._index.lexical(scope, terms.terms, LEXICAL_LIMIT, terms.phrases)
        if terms.phrases and not lexical.hits:  # quotation marks for emphasis, not for the words
            lexical = await self._index.lexical(scope, terms.terms, LEXICAL_LIMIT)
        return lexical, share

    async def _count(self, scope: Scope) -> Counted:
        key = self._questions.model_key
        total, having = await self._index.searchable(scope, key)
        return Counted(key, having / total if total else 0.0)

    async def _embed(
        self, question: str, scope: Scope, mode: SearchMode
    ) -> Vector | NoVectors | None:
        if mode is SearchMode.KEYWORD_ONLY:
            return None
        if not await self._embedded(scope):  # then the question does not leave either
            return self._questions.note(NoVectors.ALL_EXCLUDED)
        return await self._questions.embed(question)

    async def _embedded(self, scope: Scope) -> frozenset[str]:
        """Where meaning is searched: a cloud's vectors of a collection that is restricted or
        local by now are not used (FEATURES A14).
        """
        if not self._questions.model_key.startswith(CLOUD_KEY):
            return scope.collections
        return scope.collections & await self.may_leave(scope)

    async def _find_near(
        self, question: str, scope: Scope, mode: SearchMode
    ) -> tuple[Vector | NoVectors | None, Nearest]:
        vector = await self._embed(question, scope, mode)
        if isinstance(vector, NoVectors) or vector is None:
            return vector, Nearest()
        nearest = await self._memory_of(self._questions.model_key).nearest(
            await self._embedded(scope), (vector, script(question)), VECTOR_LIMIT, self._only or ()
        )
        if self._only is not None:
            nearest = nearest_of(nearest, self._only, VECTOR_LIMIT)
        return vector, nearest

    async def _with_vectors(
        self, lists: Lists, vector: Vector, nearest: Nearest, scope: Scope
    ) -> Lists:
        key = self._questions.model_key
        calibration = self._calibrations(key)
        if not nearest.ranked:
            reason = self._questions.note(NoVectors.NO_VECTORS_YET)
            return replace(lists, no_vectors=reason, calibration=self._calibrations(KEYWORD))
        words = [passage_id for passage_id, _ in lists.lexical.hits]
        more = self._memory_of(key).cosines(
            await self._embedded(scope), (vector, script(lists.question)), words
        )
        nearest = replace(nearest, cosines={**nearest.cosines, **more})
        return replace(
            lists, nearest=nearest, calibration=calibration or self._calibrations(KEYWORD)
        )

    def _memory_of(self, key: str) -> VectorIndex:
        if self._memory is None or self._memory.model_key != key:
            self._memory = VectorIndex(self._vectors, key, self._calibrations(key))
        return self._memory

    async def _load(
        self, lists: Lists, scope: Scope, limit: int, *, by_rank: bool = False
    ) -> tuple[Hit, ...]:
        """The best `limit` that still exist in the scope, at most three a source."""
        look = None if by_rank else lists.second_look()
        top = Top(lists.ranked(by_rank=by_rank), look, limit)
        while wanted := top.wanted():
            top.take({each.id: each for each in await self._index.load(scope, wanted)})
        return top.hits()
