"""The half of a search that goes by vectors: which may be compared, and what is near."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from gateway.core.calibration import Calibration
from gateway.core.matching import script
from gateway.core.passages import NoVectors, SearchMode
from gateway.core.redaction import CLOUD_KEY
from gateway.core.scope import Scope
from gateway.interfaces import Clock, Encoder, Vector, VectorStore
from gateway.knowledge.lists import Lists, nearest_of
from gateway.knowledge.questions import Questions
from gateway.knowledge.side_by_side import side_by_side
from gateway.knowledge.vector_blocks import Nearest
from gateway.knowledge.vectors import VectorIndex

VECTOR_LIMIT = 150
KEYWORD = "keyword"  # the calibration for searches without vectors

Calibrations = Callable[[str], Calibration | None]
MayLeave = Callable[[Scope], Awaitable[frozenset[str]]]


async def _nothing(_scope: Scope) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class Near:
    """Of one question: its vector, or why it has none, and what is near."""

    vector: Vector | NoVectors | None
    nearest: Nearest = field(default_factory=Nearest)


class Meaning:
    """Embeds questions and compares them with the vectors of a scope."""

    def __init__(
        self, vectors: VectorStore, encoder: Encoder, clock: Clock, calibrations: Calibrations
    ) -> None:
        """`calibrations` finds by model key, and under "keyword" the one without a model."""
        self.may_leave: MayLeave = _nothing  # whose text may go to a cloud provider
        self._vectors = vectors
        self._questions = Questions(encoder, clock)
        self._calibrations = calibrations
        self._memory: VectorIndex | None = None
        self._only: Sequence[int] | None = None  # the passages it is about, where not all

    @property
    def model_key(self) -> str:
        """Of the model that embeds now."""
        return self._questions.model_key

    def among(self, passage_ids: Sequence[int]) -> "Meaning":
        """The same over some passages alone."""
        self._memory_of(self.model_key)  # both follow the same vectors
        narrowed = copy(self)
        narrowed._only = passage_ids  # noqa: SLF001 - its own copy
        return narrowed

    async def near(self, texts: Sequence[str], scope: Scope, mode: SearchMode) -> Sequence[Near]:
        """What is near each question, all compared in one pass."""
        vectors = await self._embed(texts, scope, mode)
        asked = [
            (vector, script(text))
            for vector, text in zip(vectors, texts, strict=True)
            if vector is not None and not isinstance(vector, NoVectors)
        ]
        if not asked:
            return [Near(vector) for vector in vectors]
        memory, embedded = self._memory_of(self.model_key), await self._embedded(scope)
        found = await memory.nearest_each(embedded, asked, VECTOR_LIMIT, self._only or ())
        left = iter(found)
        return [Near(vector, self._nearest(vector, left)) for vector in vectors]

    async def joined(
        self, lists: Sequence[Lists], near: Sequence[Near], scope: Scope
    ) -> Sequence[Lists]:
        """What words found, with what is near, where that can be told."""
        embedded = await self._embedded(scope)
        return [self._joined(*pair, embedded) for pair in zip(lists, near, strict=True)]

    async def _embed(
        self, texts: Sequence[str], scope: Scope, mode: SearchMode
    ) -> Sequence[Vector | NoVectors | None]:
        if mode is SearchMode.KEYWORD_ONLY:
            return [None] * len(texts)
        if not await self._embedded(scope):  # then the questions do not leave either
            return [self._questions.note(NoVectors.ALL_EXCLUDED)] * len(texts)
        return await side_by_side([self._questions.embed(text) for text in texts])

    async def _embedded(self, scope: Scope) -> frozenset[str]:
        """Where meaning is searched: a cloud's vectors of a collection that is restricted or
        local by now are not used (FEATURES A14).
        """
        if not self.model_key.startswith(CLOUD_KEY):
            return scope.collections
        return scope.collections & await self.may_leave(scope)

    def _nearest(self, vector: Vector | NoVectors | None, found: Iterator[Nearest]) -> Nearest:
        if vector is None or isinstance(vector, NoVectors):
            return Nearest()
        if self._only is None:
            return next(found)
        return nearest_of(next(found), self._only, VECTOR_LIMIT)

    def _joined(self, lists: Lists, near: Near, embedded: frozenset[str]) -> Lists:
        vector, nearest = near.vector, near.nearest
        by_words = self._calibrations(KEYWORD)
        if vector is None or isinstance(vector, NoVectors):
            return replace(lists, no_vectors=vector, calibration=by_words)
        if not nearest.ranked:
            reason = self._questions.note(NoVectors.NO_VECTORS_YET)
            return replace(lists, no_vectors=reason, calibration=by_words)
        words = [passage_id for passage_id, _ in lists.lexical.hits]
        question = vector, script(lists.question)
        more = self._memory_of(self.model_key).cosines(embedded, question, words)
        nearest = replace(nearest, cosines={**nearest.cosines, **more})
        calibration = self._calibrations(self.model_key) or by_words
        return replace(lists, nearest=nearest, calibration=calibration)

    def _memory_of(self, key: str) -> VectorIndex:
        if self._memory is None or self._memory.model_key != key:
            self._memory = VectorIndex(self._vectors, key, self._calibrations(key))
        return self._memory
