"""`knowledge.search`, `knowledge.passages.get`, `knowledge.citations.*`: reading the library."""

from collections.abc import Iterable, Sequence

from gateway.core.access import Account, Role
from gateway.core.audit import QUERY_KEPT_CHARS, AccessAction, AccessEntry
from gateway.core.filters import equal_to
from gateway.core.messages import web_chat
from gateway.core.passages import Hit, Passage, SearchResult
from gateway.core.scope import Scope
from gateway.core.turns import TurnCitation
from gateway.errors import InvalidRequestError, NotFoundError, NotSignedInError
from gateway.interfaces import Audit, Clock, FilteringRetriever, Sources, Turns
from gateway.knowledge.desk import Desk
from gateway.operations.decision import decision_view
from gateway.operations.reading_types import (
    HitView,
    PassageRequest,
    PassageView,
    RestoredCitation,
    SearchRequest,
    SearchView,
    SessionRequest,
)
from gateway.operations.table import Caller, Operation, Permission

MOST_HITS = 20
MOST_CONTEXT = 2
MOST_TURNS = 200
MOST_PASSAGE = 2**63 - 1
NO_PASSAGE = -1


class Reading:
    """What these operations share."""

    def __init__(
        self,
        *,
        desk: Desk,
        retriever: FilteringRetriever,
        turns: Turns,
        sources: Sources,
        audit: Audit,
        clock: Clock,
    ) -> None:
        self._desk = desk
        self._retriever = retriever
        self._turns = turns
        self._sources = sources
        self._audit = audit
        self._clock = clock

    async def search(self, caller: Caller, request: SearchRequest) -> SearchView:
        """Search everything the account may read, or the named collections of it."""
        account = _account(caller)
        if not 1 <= request.limit <= MOST_HITS:
            raise InvalidRequestError("limit", reason=f"limit: 1 to {MOST_HITS}")
        within = equal_to(request.filters) if request.filters else None
        scope = await self._narrowed(account, request.collections)
        entry = AccessEntry(
            AccessAction.SEARCH,
            self._clock.now(),
            account_id=account.id,
            query=request.query[:QUERY_KEPT_CHARS],
        )
        result = await self._retriever.search(
            request.query, scope, request.limit, entry=entry, within=within
        )
        return _search_view(result, with_raw_scores=account.is_admin)

    async def passage(self, caller: Caller, request: PassageRequest) -> Sequence[PassageView]:
        """Open a passage; the permission is checked anew at each opening."""
        account = _account(caller)
        asked_for = passage_id(request.chunk_id)
        entry = AccessEntry(AccessAction.PASSAGE, self._clock.now(), account_id=account.id)
        found = await self._retriever.around(
            await self._desk.scope(account),
            asked_for,
            min(max(request.context, 0), MOST_CONTEXT),
            entry=entry,
        )
        return [_passage_view(passage, asked_for) for passage in found]

    async def citations(
        self, caller: Caller, request: SessionRequest
    ) -> Sequence[RestoredCitation]:
        """Restore the citations of an old conversation (FEATURES A19)."""
        account = _account(caller)
        scope = await self._desk.scope(account)
        lane = web_chat(account.id, request.conversation_id).lane
        turns = await self._turns.of_conversation(lane, MOST_TURNS)
        shown = [
            await self.restored(turn.id, citation, scope)
            for turn in turns
            for citation in turn.citations
            if citation.is_cited
        ]
        await self.log_shown(account, scope, shown)
        return shown

    async def log_shown(
        self, account: Account, scope: Scope, shown: Iterable[RestoredCitation]
    ) -> None:
        """One row for all that a restored conversation showed of documents."""
        entry = AccessEntry(
            AccessAction.PASSAGE,
            self._clock.now(),
            account_id=account.id,
            collections=tuple(sorted(scope.collections)),
            results=tuple(dict.fromkeys(each.chunk_id for each in shown if each.chunk_id)),
        )
        await self._audit.record(entry)

    async def restored(
        self, turn_id: str, citation: TurnCitation, scope: Scope
    ) -> RestoredCitation:
        """A citation of an old reply as `scope` allows it to be seen."""
        known = await self._sources.title_of(citation.source_id)
        if known is None or known[1] not in scope.collections:
            return RestoredCitation(turn_id, citation.n)
        title, _collection, is_deleted = known
        if is_deleted:
            return RestoredCitation(turn_id, citation.n, title=title, is_deleted=True)
        return RestoredCitation(
            turn_id,
            citation.n,
            str(citation.passage_id),
            citation.source_id,
            citation.title,
            citation.locator,
            citation.excerpt,
        )

    async def _narrowed(self, account: Account, references: Sequence[str]) -> Scope:
        scope = await self._desk.scope(account)
        if not references:
            return scope
        named = set()
        for reference in references:
            try:
                named.add((await self._desk.require(account, reference, Role.VIEWER)).id)
            except NotFoundError:  # absent and forbidden narrow alike: to nothing of that name
                continue
        return scope.narrow(frozenset(named))


def _account(caller: Caller) -> Account:
    if caller.account is None:
        raise NotSignedInError
    return caller.account


def passage_id(chunk_id: str) -> int:
    """One that cannot be is looked for, refused and logged like one that is not there."""
    is_number = chunk_id.isascii() and chunk_id.isdecimal() and len(chunk_id) <= 19
    number = int(chunk_id) if is_number else NO_PASSAGE
    return number if number <= MOST_PASSAGE else NO_PASSAGE


def _search_view(result: SearchResult, *, with_raw_scores: bool) -> SearchView:
    return SearchView(
        [_hit_view(hit, with_raw_scores=with_raw_scores) for hit in result.hits],
        result.mode.value,
        round(result.coverage, 4),
        result.vector_unavailable,
        result.scan_capped,
        result.relevance.is_relevant,
        round(result.relevance.probability, 4),
        decision_view(result.relevance) if with_raw_scores else None,
    )


def _hit_view(hit: Hit, *, with_raw_scores: bool) -> HitView:
    passage = hit.passage
    return HitView(
        str(passage.id),
        passage.source_id,
        passage.collection_id,
        passage.title,
        passage.locator.label(),
        passage.text,
        hit.score,
        hit.lexical_rank,
        hit.vector_rank,
        hit.lexical_score if with_raw_scores else None,
        hit.cosine if with_raw_scores else None,
    )


def _passage_view(passage: Passage, asked_for: int) -> PassageView:
    return PassageView(
        str(passage.id),
        passage.source_id,
        passage.title,
        passage.locator.label(),
        passage.text,
        passage.id == asked_for,
        passage.locator.page,
    )


def operations(reading: Reading) -> tuple[Operation, ...]:
    """The rows of reading."""
    signed_in = Permission.SIGNED_IN
    return (
        Operation(
            "knowledge.search",
            "Search the documents one may read.",
            signed_in,
            SearchRequest,
            reading.search,
        ),
        Operation(
            "knowledge.passages.get",
            "Open a passage with its neighbours.",
            signed_in,
            PassageRequest,
            reading.passage,
        ),
        Operation(
            "knowledge.citations.for_session",
            "Restore the citations of a web chat conversation.",
            signed_in,
            SessionRequest,
            reading.citations,
        ),
    )
