"""A change of models: the former one's vectors are searched until the new one's are whole."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from gateway.core.access import Account
from gateway.core.limits import KnowledgeLimits
from gateway.core.passages import NoVectors, Passage, SearchMode, SearchResult
from gateway.interfaces import Encoder, PassageVectors, Vector
from gateway.knowledge.ingestion import Ingestion
from gateway.knowledge.search import Search
from gateway.knowledge.upload_gate import UploadGate
from gateway.store import Store
from models.switching import EncoderSwitch, Former
from tests.contract.world import World
from tests.fakes.extraction import FakeExtractor
from tests.fakes.knowledge import FakeAudit, FakeEncoder
from tests.fakes.pages import FakeWeb
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock
from tests.stores import new_store

OLD, NEW, CLOUD = "local:old@1/mean/q,p", "local:new@2/last/q,p", "openai:small"
TEXTS = ("特別休假三日", "事假十四日", "病假三十日")


class Sized(FakeEncoder):
    """Vectors of its own length: two models' can never be compared by accident."""

    def __init__(self, key: str, dimensions: int) -> None:
        super().__init__()
        self.key = key
        self._dimensions = dimensions
        self.embedded: list[str] = []
        self.is_closed = False

    async def embed_query(self, text: str) -> Vector:
        return self._cut(await super().embed_query(text))

    async def embed_passages(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.embedded += texts
        return [self._cut(vector) for vector in await super().embed_passages(texts)]

    async def close(self) -> None:
        self.is_closed = True

    def _cut(self, vector: Vector) -> Vector:
        cut = vector[: self._dimensions]
        return np.asarray(cut / np.linalg.norm(cut), np.float32)


def nobody(_key: str) -> Encoder | None:
    return None


class Library:
    """Passages, the jobs that embed them, and a search."""

    def __init__(self, store: Store, clock: WoundClock, owner: Account) -> None:
        self.store, self.clock, self.owner = store, clock, owner
        self.world = World(store, clock)

    async def use(self, wanted: Encoder, former: Former = nobody) -> EncoderSwitch:
        """As after a start."""
        store = self.store
        self.switch = EncoderSwitch(wanted, former, store.coverage, store.vectors)
        self.ingestion = Ingestion(
            jobs=store.jobs,
            sources=store.sources,
            index=store.passages,
            vectors=store.vectors,
            blobs=store.blobs,
            extractor=FakeExtractor(),
            encoder=self.switch.passages,
            upkeep=store.maintenance,
            clock=self.clock,
            ids=RealIds(),
            limits=KnowledgeLimits(),
            gate=UploadGate(),
            fetch=FakeWeb().open,
            embedded=self.switch.advance,
        )
        self.search = Search(
            *(store.passages, store.vectors, self.switch.questions),
            *(FakeAudit(), self.clock, lambda _key: None),
        )
        await self.switch.begin()
        return self.switch

    async def embed(self) -> None:
        await self.ingestion.backfill()
        while await self.ingestion._embed_all():  # its passages were put in without a document
            continue

    async def put_vectors(self, key: str, passage: Passage) -> None:
        """Those of one passage, as when the work is stopped in the middle."""
        made = await Sized(key, 32).embed_passages([passage.text])
        row = PassageVectors(passage.id, passage.collection_id, "han", np.stack(made))
        await self.store.vectors.put(key, [row])

    async def find(self) -> SearchResult:
        return await self.search.find("病假幾日", await self.world.scope(self.owner), 3)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    """Three passages with the old model's vectors."""
    clock = WoundClock()
    async with new_store(tmp_path / "home", clock, RealIds()) as store:
        world = World(store, clock)
        owner = await world.account("ken")
        await world.text(await world.collection(owner), *TEXTS)
        yield Library(store, clock, owner)


def words_alone(result: SearchResult, reason: NoVectors) -> bool:
    return (result.mode, result.vector_unavailable) == (SearchMode.KEYWORD_ONLY, reason)


def is_whole(result: SearchResult) -> bool:
    return (result.mode, result.coverage, result.vector_unavailable) == (SearchMode.HYBRID, 1, None)


async def test_questions_go_to_the_former_model_until_the_new_one_is_ready(
    library: Library,
) -> None:
    old, new = Sized(OLD, 64), Sized(NEW, 32)
    switch = await library.use(old)
    await library.embed()
    assert is_whole(await library.find())
    await switch.select(new)
    assert switch.is_switching
    assert await library.store.coverage.of(NEW) == (3, 0)
    asked = len(old.asked)
    assert is_whole(await library.find())
    assert (len(old.asked), new.asked, old.is_closed) == (asked + 1, [], False)
    await library.embed()
    assert switch.questions.model_key == NEW
    assert await library.store.coverage.of(NEW) == (3, 3)
    assert await library.store.coverage.rows() == {NEW: 3}  # the former ones take no room
    assert is_whole(await library.find())
    assert (len(old.asked), len(new.asked), old.is_closed) == (asked + 1, 1, True)


async def test_a_model_that_is_not_installed_takes_nothing_over(library: Library) -> None:
    old, new = Sized(OLD, 64), Sized(NEW, 32)
    switch = await library.use(old)
    await library.embed()
    new.reason = NoVectors.MODEL_MISSING
    await switch.select(new)
    await library.embed()
    assert is_whole(await library.find())
    assert new.embedded == []
    new.reason = None  # it was installed meanwhile
    await library.embed()
    assert (switch.is_switching, new.asked) == (False, [])
    assert is_whole(await library.find())


async def test_what_a_cloud_computed_serves_no_more_at_once(library: Library) -> None:
    cloud, new = Sized(CLOUD, 64), Sized(NEW, 32)
    switch = await library.use(cloud)
    await library.embed()
    await switch.select(new)
    assert words_alone(await library.find(), NoVectors.NO_VECTORS_YET)
    assert (cloud.is_closed, cloud.asked) == (True, [])
    await library.embed()
    assert is_whole(await library.find())
    assert await library.store.coverage.rows() == {NEW: 3}


async def test_after_a_cloud_nothing_serves_before_all_vectors_are_there(
    library: Library,
) -> None:
    cloud, new = Sized(CLOUD, 64), Sized(NEW, 32)
    switch = await library.use(cloud)
    await library.embed()
    await switch.select(new)
    (first, *_) = await library.store.vectors.without_vectors(NEW, None, 9)
    await library.put_vectors(NEW, first)
    await switch.advance()
    assert await library.store.coverage.of(NEW) == (3, 1)
    assert words_alone(await library.find(), NoVectors.NO_VECTORS_YET)
    again = await library.use(Sized(NEW, 32))  # a restart on the way changes nothing
    assert words_alone(await library.find(), NoVectors.NO_VECTORS_YET)
    third = Sized("local:third@3/mean/q,p", 16)
    await again.select(third)  # nor does another choice: what is half done serves for nobody
    assert words_alone(await library.find(), NoVectors.NO_VECTORS_YET)
    await library.use(third, {NEW: Sized(NEW, 32)}.get)
    assert words_alone(await library.find(), NoVectors.NO_VECTORS_YET)
    third.reason = NoVectors.MODEL_MISSING
    assert words_alone(await library.find(), NoVectors.MODEL_MISSING)
    third.reason = None
    await library.embed()
    assert is_whole(await library.find())
    assert await library.store.coverage.rows() == {third.key: 3}


async def test_a_cloud_left_for_none_is_left_for_what_is_chosen_after_it(
    library: Library,
) -> None:
    cloud, none, new = Sized(CLOUD, 64), Sized("none", 32), Sized(NEW, 32)
    none.reason = NoVectors.PROVIDER_NONE
    switch = await library.use(cloud)
    await library.embed()
    await switch.select(none)
    await switch.select(new)
    (first, *_) = await library.store.vectors.without_vectors(NEW, None, 9)
    await library.put_vectors(NEW, first)
    assert words_alone(await library.find(), NoVectors.NO_VECTORS_YET)
    await switch.select(Sized(CLOUD, 64))  # back: its vectors are all there
    assert is_whole(await library.find())


async def test_no_provider_means_words_alone_at_once(library: Library) -> None:
    old, none = Sized(OLD, 64), Sized("none", 32)
    none.reason = NoVectors.PROVIDER_NONE
    switch = await library.use(old)
    await library.embed()
    await switch.select(none)
    assert (await library.find()).vector_unavailable is NoVectors.PROVIDER_NONE
    assert await library.store.coverage.rows() == {OLD: 3}  # there when it is chosen again


@pytest.mark.parametrize("is_installed", [True, False])
async def test_a_restart_goes_on_where_the_change_was(
    library: Library, *, is_installed: bool
) -> None:
    await library.use(Sized(OLD, 64))
    await library.embed()
    old, new = Sized(OLD, 64), Sized(NEW, 32)
    old.reason = None if is_installed else NoVectors.MODEL_MISSING
    switch = await library.use(new, {OLD: old}.get)
    assert switch.is_switching is is_installed
    assert is_whole(await library.find()) is is_installed
    await library.embed()
    assert not switch.is_switching
    assert is_whole(await library.find())
    again = await library.use(Sized(NEW, 32), {OLD: old}.get)
    assert not again.is_switching


async def test_choosing_back_and_forth_ends_at_the_last_choice(library: Library) -> None:
    old, new, third = Sized(OLD, 64), Sized(NEW, 32), Sized("local:third@3/mean/q,p", 16)
    switch = await library.use(old)
    await library.embed()
    await switch.select(new)
    await switch.select(third)
    assert (new.is_closed, old.is_closed) == (True, False)
    back = Sized(OLD, 64)
    await switch.select(back)
    assert (switch.is_switching, old.is_closed, third.is_closed) == (False, True, True)
    assert is_whole(await library.find())
    await switch.close()
    assert back.is_closed


async def test_a_rebuild_makes_all_again_and_the_old_are_found_meanwhile(
    library: Library,
) -> None:
    old = Sized(OLD, 64)
    await library.use(old)
    await library.embed()
    before = len(old.embedded)
    await library.embed()
    assert len(old.embedded) == before
    await library.store.coverage.begin_rebuild()
    assert await library.store.coverage.of(OLD) == (3, 0)
    assert is_whole(await library.find())
    await library.embed()
    assert len(old.embedded) == 2 * before
    assert await library.store.coverage.of(OLD) == (3, 3)
    assert await library.store.coverage.rows() == {OLD: 3}
