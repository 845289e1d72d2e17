"""What the two lists brought for one question, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.core import fusion, relevance
from gateway.core.calibration import Calibration, Logistic, Order
from gateway.core.fusion import Fused
from gateway.core.matching import script
from gateway.core.passages import Hit, NoVectors, Relevance
from gateway.core.reranking import SecondLook
from gateway.interfaces import LexicalHits
from gateway.knowledge.vector_blocks import Nearest

WEIGHED = 3  # best passages whose words are looked at for relevance


@dataclass(frozen=True, slots=True)
class Lists:
    """Both lists of one search; `calibration` is of the model, or of keyword search."""

    question: str
    terms: tuple[str, ...]
    lexical: LexicalHits
    coverage: float
    nearest: Nearest = field(default_factory=Nearest)
    no_vectors: NoVectors | None = None
    calibration: Calibration | None = None

    @property
    def _having(self) -> dict[str, int]:
        return {term: self.lexical.document_frequency.get(term, 0) for term in self.terms}

    @property
    def _idf_sum(self) -> float:
        total = self.lexical.passages_total
        return sum(relevance.idf(total, having) for having in self._having.values())

    @property
    def _order(self) -> Order | None:
        return self.calibration.order_for(script(self.question)) if self.calibration else None

    def ranked(self, *, by_rank: bool) -> tuple[Fused, ...]:
        """The fused order; by reciprocal rank where that is asked for or no blend was fitted."""
        if by_rank or self._order is None:
            return fusion.reciprocal_rank(self.lexical.hits, self.nearest.ranked)
        return fusion.blend(
            self.lexical.hits,
            self.nearest.ranked,
            idf_sum=self._idf_sum,
            cosines=self.nearest.cosines,
            weight=self._order.cosine if self.nearest.ranked else 0.0,
        )

    def second_look(self) -> SecondLook | None:
        """How the best are put in order once their texts are there; None: they stay as they are."""
        order = self._order
        if self.calibration is None or order is None or not self.lexical.passages_total:
            return None
        weights = relevance.term_weights(self._having, self.lexical.passages_total)
        bonus = self.calibration.cross_bonus if self.nearest.ranked else 0.0
        return SecondLook(script(self.question), weights, order, bonus)

    def relevance(self, hits: Sequence[Hit]) -> Relevance:
        """Whether the best hits answer the question; without a calibration never."""
        if not hits or self.calibration is None:
            return relevance.NOTHING_FOUND
        evidence = relevance.Evidence(
            question=self.question,
            having=self._having,
            passages=self.lexical.passages_total,
            texts=[hit.passage.text for hit in hits[:WEIGHED]],
            vector=self.nearest.ranked,
            margin=hits[0].score - _next_score(hits),
        )
        values = relevance.features(evidence)
        return relevance.decide(values, *self._rules(hits[0], values["coverage"], self.calibration))

    def _rules(self, best: Hit, covered: float, calibration: Calibration) -> Sequence[Logistic]:
        if not self.lexical.passages_total:  # the words were not looked up
            return (calibration.vector_only,)
        if script(self.question) != script(best.passage.text):
            return (calibration.cross_language,)
        if covered < relevance.FEW_WORDS and calibration.wordless is not None:
            return (calibration.same_language, calibration.wordless)
        return (calibration.same_language,)


def _next_score(hits: Sequence[Hit]) -> float:
    """The score of the best that is no copy of the first; 0 where there is none."""
    first = hits[0].passage.text
    return next((hit.score for hit in hits[1:WEIGHED] if hit.passage.text != first), 0.0)


def nearest_of(nearest: Nearest, passage_ids: Sequence[int], limit: int) -> Nearest:
    """What was compared, for these passages alone; ties by id."""
    compared = {**nearest.cosines, **dict(nearest.ranked)}
    kept = {each: compared[each] for each in passage_ids if each in compared}
    ranked = sorted(kept.items(), key=lambda found: (-found[1], found[0]))
    return Nearest(tuple(ranked[:limit]), kept)
