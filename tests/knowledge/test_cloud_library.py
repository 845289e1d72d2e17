"""A library with a cloud provider: whose texts go there, whose do not, and what is told of it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from gateway.core.access import Collection, EmbeddingPolicy, Sensitivity
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.documents import SourceWarning, StatusDetail
from gateway.core.passages import NoVectors, SearchMode, SearchResult
from gateway.core.scope import Scope
from gateway.knowledge.search import Search
from gateway.store import Store
from models.cloud.encoder import CloudEncoder
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.wound_clock import WoundClock
from tests.knowledge.shelf import IDS, OWNER, Shelf
from tests.models.test_cloud import Paused, settings_for
from tests.simulators.embeddings import Embeddings, Trouble, embeddings

SECRETS = {"restricted": "機密薪資表 SALARY", "local": "只留本機的專案 INHOUSE"}
OPEN = "公司電梯每月保養一次 ELEVATOR，聯絡 amy@example.com"


@pytest.fixture
async def server() -> AsyncIterator[Embeddings]:
    async with embeddings() as here:
        yield here


@pytest.fixture
async def shelf(store: Store, clock: WoundClock, server: Embeddings) -> Shelf:
    it = Shelf(store, clock)
    it.encoder = CloudEncoder(settings_for(server), clock, pause=Paused())
    it.restart()
    await store.accounts.put(OWNER)
    return it


async def put(shelf: Shelf, text: str, sensitivity: str, policy: EmbeddingPolicy) -> Collection:
    kind = Sensitivity(sensitivity)
    draft = Collection(IDS.new(), 0, IDS.new(), "x", kind, embedding_policy=policy)
    made = await shelf.store.collections.create(draft, OWNER.id)
    await shelf.done(made, "a.txt", text)
    return made


async def asked(shelf: Shelf, question: str, scope: Scope | None = None) -> SearchResult:
    store = shelf.store
    search = Search(
        *(store.passages, store.vectors, shelf.encoder, store.audit, shelf.clock),
        lambda key: None,
    )

    async def may_leave(wanted: Scope) -> frozenset[str]:
        found = await store.collections.list(wanted.collections)
        return frozenset(each.id for each in found if each.may_leave)

    search.may_leave = may_leave
    entry = AccessEntry(AccessAction.SEARCH, shelf.clock.now(), account_id=OWNER.id)
    return await search.search(question, scope or await shelf.scope(), 5, entry=entry)


async def test_no_byte_of_a_restricted_or_local_collection_or_of_what_rules_find_ever_arrives(
    shelf: Shelf, server: Embeddings
) -> None:
    await put(shelf, SECRETS["restricted"], "restricted", EmbeddingPolicy.ANY)
    await put(shelf, SECRETS["local"], "internal", EmbeddingPolicy.LOCAL_ONLY)
    await put(shelf, OPEN, "internal", EmbeddingPolicy.ANY)
    await shelf.ingestion.backfill()
    await shelf.ingestion.drain()
    result = await asked(shelf, "電梯多久保養？")
    assert result.mode is SearchMode.HYBRID
    assert b"ELEVATOR" in server.arrived
    for part in ("SALARY", "薪資", "INHOUSE", "專案", "amy", "example.com"):
        assert part.encode() not in server.arrived
    assert (await asked(shelf, "薪資表")).hits[0].passage.text == SECRETS["restricted"]


async def test_where_nothing_may_leave_the_question_does_not_either(
    shelf: Shelf, server: Embeddings
) -> None:
    await put(shelf, SECRETS["local"], "internal", EmbeddingPolicy.LOCAL_ONLY)
    result = await asked(shelf, "專案在哪裡？")
    assert (result.mode, result.vector_unavailable) == (
        SearchMode.KEYWORD_ONLY,
        NoVectors.ALL_EXCLUDED,
    )
    assert not server.arrived


async def test_a_collection_that_becomes_local_is_found_by_its_words_alone_from_then_on(
    shelf: Shelf, server: Embeddings
) -> None:
    made = await put(shelf, OPEN, "internal", EmbeddingPolicy.ANY)
    assert (await asked(shelf, "電梯保養")).mode is SearchMode.HYBRID
    arrived = len(server.arrived)
    changed = replace(made, embedding_policy=EmbeddingPolicy.LOCAL_ONLY)
    await shelf.store.collections.replace(changed, version=made.version)
    result = await asked(shelf, "電梯保養")
    assert result.mode is SearchMode.KEYWORD_ONLY
    assert [hit.passage.text for hit in result.hits] == [OPEN]
    assert len(server.arrived) == arrived


async def detail_of(shelf: Shelf, made: Collection) -> StatusDetail | None:
    (source,) = await shelf.store.sources.list(made.id)
    return source.status_detail


async def test_documents_that_do_not_leave_are_labelled_as_found_by_their_words(
    shelf: Shelf, server: Embeddings
) -> None:
    shut = await put(shelf, SECRETS["restricted"], "restricted", EmbeddingPolicy.ANY)
    here = await put(shelf, SECRETS["local"], "internal", EmbeddingPolicy.LOCAL_ONLY)
    made = await put(shelf, OPEN, "internal", EmbeddingPolicy.ANY)
    assert await detail_of(shelf, shut) is StatusDetail.KEYWORD_ONLY
    assert await detail_of(shelf, here) is StatusDetail.KEYWORD_ONLY
    assert await detail_of(shelf, made) is StatusDetail.HYBRID
    changed = replace(made, sensitivity=Sensitivity.RESTRICTED)
    await shelf.store.collections.replace(changed, version=made.version)
    await shelf.library.look_for_vectors()
    await shelf.ingestion.drain()
    assert await detail_of(shelf, made) is StatusDetail.KEYWORD_ONLY
    shelf.encoder = FakeEncoder()  # of this machine
    shelf.restart()
    await shelf.ingestion.backfill()
    await shelf.ingestion.drain()
    for each in (shut, here, made):
        assert await detail_of(shelf, each) is StatusDetail.HYBRID


async def test_an_error_leaves_a_warning_until_the_next_backfill_succeeds(
    shelf: Shelf, server: Embeddings, clock: WoundClock
) -> None:
    server.troubles = [Trouble(503)] * 4
    made = await put(shelf, OPEN, "internal", EmbeddingPolicy.ANY)
    (source,) = await shelf.store.sources.list(made.id)
    assert SourceWarning("embedding_failed") in source.warnings
    server.troubles = [Trouble(401)]
    result = await asked(shelf, "電梯保養")
    assert (result.mode, result.vector_unavailable) == (
        SearchMode.KEYWORD_ONLY,
        NoVectors.CLOUD_ERROR,
    )
    clock.wind(hours=1)
    await shelf.ingestion.drain()
    assert (await shelf.now(source)).warnings == ()
    assert (await asked(shelf, "電梯保養")).mode is SearchMode.HYBRID
