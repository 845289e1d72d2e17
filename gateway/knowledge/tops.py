"""The best of one order whose passages still exist in a scope, loaded in parts."""

from collections.abc import Mapping, Sequence

from gateway.core import fusion
from gateway.core.fusion import Fused
from gateway.core.passages import Hit, Passage
from gateway.core.reranking import RERANKED, SecondLook

LOADED_AT_ONCE = 60


class Top:
    """The best `limit` of `ranked`, at most three a source; `look` puts the first in order."""

    def __init__(self, ranked: Sequence[Fused], look: SecondLook | None, limit: int) -> None:
        self._ranked = ranked
        self._look = look
        self._limit = limit
        self._loaded: dict[int, Passage] = {}
        self._kept: tuple[int, ...] = ()
        self._end = 0
        self._wanted: Sequence[int] = ()

    def wanted(self) -> Sequence[int]:
        """Which passages to load next; none once there are enough, or no more."""
        first = self._end
        if len(self._kept) < self._limit:
            self._end = min(self._end + self._step(), len(self._ranked))
        self._wanted = [found.passage_id for found in self._ranked[first : self._end]]
        return self._wanted

    def take(self, found: Mapping[int, Passage]) -> None:
        """Those of `wanted` that are there; others' passages in `found` are passed over."""
        mine = {each: found[each] for each in self._wanted if each in found}
        if self._look is not None and not self._loaded and self._end == len(self._wanted):
            texts = {passage_id: passage.text for passage_id, passage in mine.items()}
            self._ranked = self._look.reorder(self._ranked, texts)
        self._loaded |= mine
        sources = {passage_id: passage.source_id for passage_id, passage in self._loaded.items()}
        ids = [found.passage_id for found in self._ranked]
        self._kept = fusion.spread(ids, sources, self._limit)

    def hits(self) -> tuple[Hit, ...]:
        """What there is of the best, with what each list said of it."""
        evidence = {found.passage_id: found for found in self._ranked}
        return tuple(_hit(self._loaded[each], evidence[each]) for each in self._kept)

    def _step(self) -> int:
        return LOADED_AT_ONCE if self._end else max(RERANKED, self._limit)


def _hit(passage: Passage, found: Fused) -> Hit:
    return Hit(
        passage=passage,
        score=found.score,
        lexical_rank=found.lexical_rank,
        vector_rank=found.vector_rank,
        lexical_score=found.lexical_score,
        cosine=found.cosine,
    )
