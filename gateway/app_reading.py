"""Puts together what language models do for documents: summaries of sections, pages described."""

from dataclasses import dataclass

from gateway.core.limits import KnowledgeLimits
from gateway.interfaces import Clock, PageImages, PlacedModels
from gateway.knowledge.chosen_model import ChosenModel
from gateway.knowledge.describing import Describing
from gateway.knowledge.outline_job import OutlineJobs
from gateway.knowledge_config import KnowledgeConfig
from gateway.llm.registry import EXTRACTIVE
from gateway.store import Store


@dataclass(frozen=True, slots=True)
class ReadingModels:
    """Which models are asked about documents, by the names of `[knowledge]`; none by default."""

    models: PlacedModels | None = None
    summary: str = ""
    vision: str = ""

    @classmethod
    def of(cls, config: KnowledgeConfig, models: PlacedModels) -> "ReadingModels":
        """As set; the built-in model writes no summaries and sees nothing."""
        names = config.switches.summary_model, config.switches.vision_model
        return cls(models, *("" if name == EXTRACTIVE else name for name in names))

    def outlines(self, store: Store, clock: Clock) -> OutlineJobs:
        """The background work on sections."""
        model = self._chosen(self.summary, store)
        return OutlineJobs(store.outlines, store.sources, store.jobs, clock, model)

    def describing(
        self, store: Store, images: PageImages, limits: KnowledgeLimits
    ) -> Describing | None:
        """What shows pages to a model; None where there is none."""
        model = self._chosen(self.vision, store)
        return None if model is None else Describing(model, images, store.sources, limits)

    def _chosen(self, name: str, store: Store) -> ChosenModel | None:
        if self.models is None or not name:
            return None
        return ChosenModel(name, self.models, store.collections)


NO_MODELS = ReadingModels()
