"""Search with a filter: documents are chosen within the scope, before anything is ranked."""

import pytest

from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.calibration import Calibration, Logistic
from gateway.core.odata import parse_filter
from gateway.core.passages import SearchMode
from gateway.interfaces import PassageVectors
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge.search import LEXICAL_LIMIT, Search
from gateway.store import Store
from tests.contract.world import World
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.wound_clock import WoundClock

RULE = Logistic(-1.0, {"coverage": 4.0}, 0.5)


@pytest.mark.parametrize("with_vectors", [False, True])
async def test_a_document_that_is_meant_is_found_behind_hundreds_that_are_not(
    store: Store, clock: WoundClock, *, with_vectors: bool
) -> None:
    world, encoder = World(store, clock), FakeEncoder()
    ken, lin = await world.account("ken"), await world.account("lin")
    mine, others = await world.collection(ken), await world.collection(lin)
    many = [f"annual leave {n}" for n in range(LEXICAL_LIMIT + 20)]
    await world.text(mine, *many, title="many")
    wanted = await world.text(mine, "leave is long, and this text is about much else", title="few")
    await world.text(others, "annual leave of somebody else", title="few")
    if with_vectors:
        missing = await store.vectors.without_vectors(encoder.model_key, None, 999)
        vectors = await encoder.embed_passages([each.text for each in missing])
        rows = [
            PassageVectors(each.id, each.collection_id, "en", vector[None])
            for each, vector in zip(missing, vectors, strict=True)
        ]
        await store.vectors.put(encoder.model_key, rows)
    calibration = Calibration("any", RULE, RULE, RULE, cosine_weight=0.45)
    search = Search(
        store.passages, store.vectors, encoder, store.audit, clock, lambda _key: calibration
    )
    filtered = FilteredSearch(search, store.passages, store.passages)
    scope, entry = await world.scope(ken), AccessEntry(AccessAction.SEARCH, clock.now())

    async def sources(text: str) -> set[str]:
        within = parse_filter(text)
        found = await filtered.search("annual leave", scope, 9, entry=entry, within=within)
        assert found.mode is SearchMode.HYBRID or not with_vectors or not found.hits
        return {hit.passage.source_id for hit in found.hits}

    assert await sources("title eq few") == {wanted.id}
    assert await sources(f"id eq '{wanted.id}' and kind eq file") == {wanted.id}
    assert await sources("title eq nothing") == set()
    assert wanted.id not in await sources("title ne few")
    whole = await filtered.search("annual leave", scope, 9, entry=entry)
    assert {hit.passage.title for hit in whole.hits} == {"many"}
