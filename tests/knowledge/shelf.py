"""A library over the real store, with a reader and an encoder that do as they are told."""

import io
from dataclasses import dataclass, field

from gateway.core.access import (
    Account,
    AccountRole,
    Audience,
    AudienceKind,
    Collection,
    Sensitivity,
)
from gateway.core.documents import Source
from gateway.core.limits import KnowledgeLimits
from gateway.core.matching import query_terms
from gateway.core.passages import Passage
from gateway.core.scope import Scope, decide
from gateway.interfaces import Encoder, Extractor, PassageVectors, PlacedModels
from gateway.knowledge.chosen_model import ChosenModel
from gateway.knowledge.describing import Describing
from gateway.knowledge.ingestion import OUTLINING, Ingestion
from gateway.knowledge.library import Library
from gateway.knowledge.outline_job import OutlineJobs
from gateway.knowledge.page_images import KeepOnly, keeps_nothing
from gateway.knowledge.upload_gate import UploadGate
from gateway.store import Store
from tests.fakes.drawn_pages import DrawnPages
from tests.fakes.extraction import FakeExtractor
from tests.fakes.knowledge import FakeEncoder
from tests.fakes.pages import FakeWeb
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

IDS = RealIds()
OWNER = Account("ken", "ken", "Ken", AccountRole.MANAGER, "HR")


@dataclass
class Shelf:
    """Everything one test needs; `restart` gives the Ingestion of a new process."""

    store: Store
    clock: WoundClock
    limits: KnowledgeLimits = field(default_factory=KnowledgeLimits)
    extractor: Extractor = field(default_factory=FakeExtractor)
    encoder: Encoder = field(default_factory=FakeEncoder)
    web: FakeWeb = field(default_factory=FakeWeb)
    images: DrawnPages = field(default_factory=DrawnPages)
    summaries: PlacedModels | None = None  # asked for summaries of sections
    vision: PlacedModels | None = None  # shown pages
    keep_only: KeepOnly = keeps_nothing

    def __post_init__(self) -> None:
        self.gate = UploadGate()
        self.ids = IDS
        self.restart()

    def restart(self) -> Ingestion:
        store = self.store
        self.ingestion = Ingestion(
            jobs=store.jobs,
            sources=store.sources,
            index=store.passages,
            vectors=store.vectors,
            blobs=store.blobs,
            extractor=self.extractor,
            encoder=self.encoder,
            upkeep=store.maintenance,
            clock=self.clock,
            ids=IDS,
            limits=self.limits,
            gate=self.gate,
            fetch=self.web.open,
            outlines=OutlineJobs(
                store.outlines, store.sources, store.jobs, self.clock, self._chosen(self.summaries)
            ),
            describing=self._describing(),
            keep_only=self.keep_only,
        )
        self.library = Library(
            sources=store.sources,
            blobs=store.blobs,
            jobs=store.jobs,
            clock=self.clock,
            ids=IDS,
            limits=self.limits,
            gate=self.gate,
            wake=self.ingestion.wake,
        )
        return self.ingestion

    def _chosen(self, models: PlacedModels | None) -> ChosenModel | None:
        store = self.store
        return None if models is None else ChosenModel("house/vl", models, store.collections)

    def _describing(self) -> Describing | None:
        model = self._chosen(self.vision)
        if model is None:
            return None
        return Describing(model, self.images, self.store.sources, self.limits, busy_s=0.0)

    async def outline(self) -> None:
        """Do the background work on sections that is put at a start, and what is due of it."""
        await self.store.jobs.put("outline", "", self.clock.now())
        while await self.ingestion._step(OUTLINING):
            continue

    async def collection(self, slug: str = "") -> Collection:
        await self.store.accounts.put(OWNER)
        draft = Collection(IDS.new(), 0, slug or IDS.new(), "手冊", Sensitivity.INTERNAL)
        return await self.store.collections.create(draft, OWNER.id)

    async def add(self, collection: Collection, name: str, text: str | bytes) -> Source:
        data = text.encode() if isinstance(text, str) else text
        source, _ = await self.library.add_file(collection, name, io.BytesIO(data), OWNER)
        return source

    async def page(self, collection: Collection, url: str, title: str = "") -> Source:
        source, _ = await self.library.add_page(collection, url, OWNER, title)
        return source

    async def done(self, collection: Collection, name: str, text: str | bytes) -> Source:
        """Added, and all that is due done."""
        source = await self.add(collection, name, text)
        await self.ingestion.drain()
        return await self.now(source)

    async def now(self, source: Source) -> Source:
        found = await self.store.sources.find(source.id)
        assert found is not None
        return found

    async def scope(self) -> Scope:
        audience = Audience(AudienceKind.DASHBOARD, OWNER)
        return decide(audience, None, await self.store.grants.facts(audience, None))

    async def found(self, question: str) -> list[Passage]:
        scope = await self.scope()
        hits = await self.store.passages.lexical(scope, query_terms(question).terms, 50)
        return list(await self.store.passages.load(scope, [each for each, _ in hits.hits]))

    async def vectors(self) -> dict[int, PassageVectors]:
        _, rows, _ = await self.store.vectors.changes(self.encoder.model_key, 0)
        return {row.passage_id: row for row in rows}
