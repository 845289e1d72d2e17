"""The second look at the best of an order: how close together a passage has a question's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from gateway.core.calibration import Order
from gateway.core.fusion import Fused
from gateway.core.matching import match_text, script
from gateway.core.relevance import Coverage, coverage

RERANKED = 24  # more brought nothing, and each one's text has to be read
ENOUGH_WORDS = 0.4  # of a question in two sentences: from here on words count in full
NO_WORDS = Coverage(0.0, 0.0)


class _Looked(NamedTuple):
    """A passage's score in two parts: of its meaning, and of the question's words in it."""

    found: Fused
    meaning: float
    words: float
    is_foreign: bool
    share: Coverage


@dataclass(frozen=True, slots=True)
class SecondLook:
    """What a question's passages are looked at for; `weights` are of its terms."""

    script: str
    weights: Mapping[str, float]
    order: Order
    cross_bonus: float = 0.0

    def reorder(self, ranked: Sequence[Fused], texts: Mapping[int, str]) -> tuple[Fused, ...]:
        """The first RERANKED by their new scores, ties by id, then the rest as they stood.

        Where no passage holds much of the question, the few words that one has by chance say
        little: words count the less, by the square, the smaller the best one's share of them is.
        A passage in another script gains at most what words give the best in the question's own.
        Passages without a text are gone; they keep their score.
        """
        first = self._looked_at(ranked[:RERANKED], texts)
        trust = self._trust(first)
        own = (trust * each.words for each in first if not each.is_foreign)
        bonus = min(self.cross_bonus, max(own, default=0.0))
        judged = [
            each.found._replace(
                score=each.meaning + trust * each.words + (bonus if each.is_foreign else 0.0)
            )
            for each in first
        ]
        seen = {each.passage_id for each in judged}
        judged += [found for found in ranked[:RERANKED] if found.passage_id not in seen]
        judged.sort(key=lambda found: (-found.score, found.passage_id))
        return (*judged, *ranked[RERANKED:])

    def _looked_at(self, ranked: Sequence[Fused], texts: Mapping[int, str]) -> list[_Looked]:
        known = [found.cosine for found in ranked if found.cosine is not None]
        usual = median(known) if known else 0.0  # of a passage whose vector is still being made
        looked = []
        for found in ranked:
            text = texts.get(found.passage_id)
            if text is None:
                continue
            share = self._share(text)
            near = self.order.cosine * (usual if found.cosine is None else found.cosine)
            words = self.order.sentences * share.sentences + self.order.coverage * share.passage
            is_foreign = script(text) != self.script
            looked.append(_Looked(found, near, found.score - near + words, is_foreign, share))
        return looked

    def _share(self, text: str) -> Coverage:
        needed = self.order.sentences or self.order.coverage or self.order.cosine
        return coverage(self.weights, match_text(text)) if needed else NO_WORDS

    def _trust(self, looked: Sequence[_Looked]) -> float:
        """What the words count, 0 to 1; there is nothing else to go by without meaning."""
        if all(each.found.cosine is None for each in looked):
            return 1.0
        best = max(each.share.sentences for each in looked)
        return min(1.0, best / ENOUGH_WORDS) ** 2
