"""Several questions in the same passes over the library: each as if it came alone."""

import random

import pytest

from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.calibration import Calibration, Logistic
from gateway.core.followups import Wording
from gateway.core.lookups import Lookup
from gateway.core.odata import parse_filter
from gateway.interfaces import PassageVectors
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge.search import Search
from gateway.store import Store
from tests.contract.world import World
from tests.fakes.knowledge import FakeAudit, FakeEncoder
from tests.fakes.wound_clock import WoundClock

RULE = Logistic(-1.0, {"coverage": 4.0, "margin": 1.0}, 0.5)
CALIBRATION = Calibration("any", RULE, RULE, RULE, cosine_weight=0.45)
WORDS = ("annual", "leave", "sick", "days", "travel", "特休", "出差", "報支", "!?", '"sick days"')
WITHIN = (None, parse_filter("title eq one"), parse_filter("title eq nothing"))


def text_of(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randrange(5)))


def lookup_of(draw: random.Random) -> Lookup:
    text = text_of(draw)
    more = [
        Wording(text_of(draw), draw.choice((0.0, 0.5, 1.0)), frozenset({"leave"}))
        for _ in range(draw.randrange(3))
    ]
    entry = AccessEntry(AccessAction.SEARCH, WoundClock().now(), sender=text)
    return Lookup(text, entry, (Wording(text), *more) if more else ())


@pytest.mark.parametrize("with_vectors", [False, True])
async def test_questions_asked_together_find_what_each_finds_alone(
    store: Store, clock: WoundClock, *, with_vectors: bool
) -> None:
    world, encoder, audit = World(store, clock), FakeEncoder(), FakeAudit()
    ken, lin = await world.account("ken"), await world.account("lin")
    mine, others = await world.collection(ken), await world.collection(lin)
    for title in ("one", "two", "three"):
        passages = [f"{a} {b} {title}" for a in WORDS[:8] for b in WORDS[:8] if a < b]
        await world.text(mine, *passages, title=title)
    await world.text(others, "annual leave of somebody else", title="one")
    if with_vectors:
        missing = await store.vectors.without_vectors(encoder.model_key, None, 999)
        vectors = await encoder.embed_passages([each.text for each in missing])
        rows = [
            PassageVectors(each.id, each.collection_id, "en", vector[None])
            for each, vector in zip(missing, vectors, strict=True)
        ]
        await store.vectors.put(encoder.model_key, rows)
    search = Search(store.passages, store.vectors, encoder, audit, clock, lambda _: CALIBRATION)
    filtered = FilteredSearch(search, store.passages, store.passages)
    scope = await world.scope(ken)

    draw, found = random.Random(5), 0
    for _ in range(60):
        asked = [lookup_of(draw) for _ in range(draw.randrange(6))]
        limit, within = draw.randrange(1, 9), draw.choice(WITHIN)
        audit.recorded.clear()
        together = await filtered.search_each(asked, scope, limit, within=within)
        written = sorted(map(repr, audit.recorded))
        audit.recorded.clear()
        alone = [
            await filtered.search(
                each.query, scope, limit, entry=each.entry, wordings=each.wordings, within=within
            )
            for each in asked
        ]
        assert list(together) == alone
        assert written == sorted(map(repr, audit.recorded))
        found += sum(bool(each.hits) for each in alone)
    assert found > 60  # what is compared is not nothing
