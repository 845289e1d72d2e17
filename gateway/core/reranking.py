"""The second look at the best of an order: how close together a passage has a question's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.core.calibration import Order
from gateway.core.fusion import Fused
from gateway.core.matching import match_text, script
from gateway.core.relevance import coverage

RERANKED = 24  # more brought nothing, and each one's text has to be read


@dataclass(frozen=True, slots=True)
class SecondLook:
    """What a question's passages are looked at for; `weights` are of its terms."""

    script: str
    weights: Mapping[str, float]
    order: Order
    cross_bonus: float = 0.0

    def reorder(self, ranked: Sequence[Fused], texts: Mapping[int, str]) -> tuple[Fused, ...]:
        """The first RERANKED by their new scores, ties by id, then the rest as they stood.

        Passages without a text are gone; they keep their score.
        """
        first = [self._judged(found, texts.get(found.passage_id)) for found in ranked[:RERANKED]]
        first.sort(key=lambda found: (-found.score, found.passage_id))
        return (*first, *ranked[RERANKED:])

    def _judged(self, found: Fused, text: str | None) -> Fused:
        if text is None:
            return found
        score = found.score + (self.cross_bonus if script(text) != self.script else 0.0)
        if self.order.sentences or self.order.coverage:
            share = coverage(self.weights, match_text(text))
            score += self.order.sentences * share.sentences + self.order.coverage * share.passage
        return found._replace(score=score)
