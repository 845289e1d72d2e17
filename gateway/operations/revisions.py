"""`search_knowledge`: a ranked search, or one revision of one document by address (FEATURES C)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gateway.core.access import Collection, Role, SubjectKind
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.documents import Source, WholeText
from gateway.core.matching import storable
from gateway.core.passages import Hit, SearchMode, SearchResult
from gateway.core.scope import Scope
from gateway.core.weighing import weighed
from gateway.core.whole_text import joined, place_of, window
from gateway.errors import GatewayError, NotSignedInError
from gateway.interfaces import (
    Audit,
    Clock,
    Collections,
    Grants,
    PassageIndex,
    RevisionTexts,
    Scopes,
    Sources,
)
from gateway.operations.acting import access_entry
from gateway.operations.table import Caller

MODES = ("hybrid", "lexical", "semantic", "rrf")
QUERY_CHARS = 1_000
MOST_RESULTS = 50
MOST_CHARS = 10_000
EXCERPT_CHARS = 400
POOL = 100  # of each list, that a weight of the asker's own is laid over


class Finder(Protocol):
    """Search within a scope, without a log row."""

    async def find(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        mode: SearchMode = SearchMode.HYBRID,
        by_rank: bool = False,
    ) -> SearchResult: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """The parameters, with the document's names and defaults; "" is absent."""

    query: str = ""
    knowledge_base_id: str = ""
    knowledge_item_id: str = ""
    knowledge_revision_id: str = ""
    offset: int = 0
    limit_chars: int = 4_000
    max_results: int = 10
    mode: str = "hybrid"
    alpha: float = 0.5


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where documents, their texts and their collections are read from."""

    sources: Sources
    index: PassageIndex
    texts: RevisionTexts
    collections: Collections
    grants: Grants


class Revisions:
    """Published documents by search, and each kept revision by address; read-only."""

    def __init__(
        self,
        shelf: Shelf,
        finder: Finder,
        scopes: Scopes,
        audit: Audit,
        clock: Clock,
        *,
        is_open: bool,
    ) -> None:
        """`is_open`: [knowledge] enabled."""
        self._shelf = shelf
        self._finder = finder
        self._scopes = scopes
        self._audit = audit
        self._clock = clock
        self._is_open = is_open

    async def answer(self, caller: Caller, ask: Ask) -> Mapping[str, Any]:
        """One of the two envelopes. GatewayError with the document's codes."""
        if caller.account is None and caller.agent is None:
            raise NotSignedInError
        if not self._is_open:
            raise GatewayError("off", code="knowledge_runtime_disabled")
        query = storable(ask.query).strip()
        _check(ask, query)
        scope = await self._scopes.scope(caller.audience, caller.agent)
        if query:
            return await self._search(caller, ask, query, scope)
        return await self._read(caller, ask, scope)

    # ------------------------------------------------------------ ranked

    async def _search(
        self, caller: Caller, ask: Ask, query: str, scope: Scope
    ) -> Mapping[str, Any]:
        """Only current revisions: the index holds no others."""
        if ask.knowledge_base_id:
            if ask.knowledge_base_id not in scope.collections:
                raise await self._unavailable(caller, scope)
            scope = scope.narrow(frozenset({ask.knowledge_base_id}))
        mode = ask.mode if ask.mode in MODES else "hybrid"
        hits = await self._hits(ask, query, mode, scope)
        entry = self._entry(AccessAction.SEARCH, caller, scope, query)
        await self._log(entry, [str(hit.passage.id) for hit in hits])
        return {"type": "knowledge_search", "mode": mode, "results": list(map(_result, hits))}

    async def _hits(self, ask: Ask, query: str, mode: str, scope: Scope) -> Sequence[Hit]:
        most = ask.max_results
        if mode == "rrf":
            return (await self._finder.find(query, scope, most, by_rank=True)).hits
        lexical: Sequence[Hit] = ()
        semantic: Sequence[Hit] = ()
        pool = max(POOL, most) if mode == "hybrid" else most
        if mode != "semantic":
            found = await self._finder.find(query, scope, pool, mode=SearchMode.KEYWORD_ONLY)
            lexical = found.hits
        if mode != "lexical":
            found = await self._finder.find(query, scope, pool, mode=SearchMode.VECTOR_ONLY)
            semantic = found.hits
        if mode == "hybrid":
            return weighed(lexical, semantic, min(max(ask.alpha, 0.0), 1.0), most)
        return lexical or semantic

    # ------------------------------------------------------------ addressed

    async def _read(self, caller: Caller, ask: Ask, scope: Scope) -> Mapping[str, Any]:
        source = await self._shelf.sources.find(ask.knowledge_item_id)
        bases = {"", source.collection_id if source is not None else ""}
        is_there = source is not None and ask.knowledge_base_id in bases
        whole, revision_id = None, ""
        if source is not None and is_there and source.collection_id in scope.collections:
            revision_id = ask.knowledge_revision_id or source.revision_id or ""
            whole = await self._whole(scope, source, revision_id)
        if source is None or whole is None:
            raise await self._unavailable(caller, scope, source)
        if ask.offset > len(whole.text):
            raise _invalid(f"offset: at most {len(whole.text)}")
        entry = self._entry(AccessAction.PASSAGE, caller, scope, "")
        await self._log(entry, [source.id])
        (collection,) = await self._shelf.collections.list(frozenset({source.collection_id}))
        return {
            "type": "knowledge",
            "owner": await self._owner(collection),
            "team": collection.department,
            "scope": collection.sensitivity.value,
            **_address(source.collection_id, source.id, revision_id),
            "title": source.title,
            **_window(whole, ask),
            "source": source.address or source.title,
            "reference": _reference(source.collection_id, source.id, revision_id),
        }

    async def _whole(self, scope: Scope, source: Source, revision_id: str) -> WholeText | None:
        """None where nothing was published, or that revision is not kept."""
        if source.revision_id is None or not revision_id:
            return None
        whole = await self._shelf.texts.find(scope, source.id, revision_id)
        if whole is not None:
            return whole
        passages = await self._shelf.index.of_revision(scope, source.id, revision_id)
        return joined(passages) if passages else None

    async def _owner(self, collection: Collection) -> str:
        """The account's id; of several owners the first by id."""
        grants = await self._shelf.grants.of_collection(collection.id)
        owners = [
            grant.subject_id
            for grant in grants
            if grant.role is Role.OWNER and grant.subject_kind is SubjectKind.USER
        ]
        return min(owners, default="")

    # ------------------------------------------------------------ the log

    def _entry(self, action: AccessAction, caller: Caller, scope: Scope, query: str) -> AccessEntry:
        return access_entry(action, caller, scope, self._clock, query=query)

    async def _log(self, entry: AccessEntry, results: Sequence[str]) -> None:
        await self._audit.record(replace(entry, results=tuple(results)))

    async def _unavailable(
        self, caller: Caller, scope: Scope, source: Source | None = None
    ) -> GatewayError:
        """The same for missing, forbidden, unpublished; a refused row of the log."""
        refused = self._entry(AccessAction.DENIED, caller, scope, "")
        await self._log(refused, [] if source is None else [source.id])
        return GatewayError("unavailable", code="knowledge_resource_unavailable")


def _check(ask: Ask, query: str) -> None:
    """Which of the two it is, and that its numbers are within their bounds."""
    _check_bounds(ask)
    if query and (ask.knowledge_item_id or ask.knowledge_revision_id):
        raise _invalid("query: not with knowledge_item_id or knowledge_revision_id")
    if ask.knowledge_revision_id and not ask.knowledge_item_id:
        raise GatewayError("revision alone", code="knowledge_item_required")
    if not query and not ask.knowledge_item_id:
        raise GatewayError("neither", code="knowledge_query_required")


def _check_bounds(ask: Ask) -> None:
    if len(ask.query) > QUERY_CHARS:
        raise _invalid(f"query: at most {QUERY_CHARS} characters")
    if ask.offset < 0:
        raise _invalid("offset: 0 or more")
    if not 1 <= ask.limit_chars <= MOST_CHARS:
        raise _invalid(f"limit_chars: 1 to {MOST_CHARS}")
    if not 1 <= ask.max_results <= MOST_RESULTS:
        raise _invalid(f"max_results: 1 to {MOST_RESULTS}")


def _invalid(reason: str) -> GatewayError:
    return GatewayError(reason, code="knowledge_invalid_request", reason=reason)


def _address(base_id: str, item_id: str, revision_id: str) -> dict[str, str]:
    return {
        "knowledge_base_id": base_id,
        "knowledge_item_id": item_id,
        "knowledge_revision_id": revision_id,
    }


def _reference(base_id: str, item_id: str, revision_id: str, passage: int | None = None) -> str:
    """One string that names it; after # the passage."""
    ending = "" if passage is None else f"#{passage}"
    return f"knowledge:{base_id}/{item_id}/{revision_id}{ending}"


def _result(hit: Hit) -> dict[str, Any]:
    """Raw scores stay inside (DESIGN section 8.9)."""
    passage = hit.passage
    place = passage.locator.label()
    base_id, item_id, revision_id = passage.collection_id, passage.source_id, passage.revision_id
    return {
        **_address(base_id, item_id, revision_id),
        "title": passage.title,
        "excerpt": window(passage.text, 0, EXCERPT_CHARS),
        "source": passage.title,
        "citation": f"{passage.title} · {place}" if place else passage.title,
        "reference": _reference(base_id, item_id, revision_id, passage.id),
        "scores": {
            "score": round(hit.score, 4),
            "lexical_rank": hit.lexical_rank,
            "semantic_rank": hit.vector_rank,
        },
    }


def _window(whole: WholeText, ask: Ask) -> dict[str, Any]:
    content = window(whole.text, ask.offset, ask.limit_chars)
    end = ask.offset + len(content)
    return {
        "content": content,
        "locator": place_of(whole, ask.offset, end),
        "content_offset": ask.offset,
        "content_limit": ask.limit_chars,
        "content_total_chars": len(whole.text),
        "content_truncated": end < len(whole.text),
    }
