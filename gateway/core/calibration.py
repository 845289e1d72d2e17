"""What was measured of one embedding model, or of keyword search alone, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic regression: probability = 1 / (1 + e^-(bias + Σ weight · feature)).

    A question is kept when its probability reaches `cut`.
    """

    bias: float
    weights: Mapping[str, float]
    cut: float


@dataclass(frozen=True, slots=True)
class Order:
    """How the evidence is summed for questions of one script.

    First `cosine` of the cosine and the rest of bm25, both over everything; then, for the best of
    that order, `sentences` and `coverage` of the features of these names besides.
    """

    cosine: float
    sentences: float = 0.0
    coverage: float = 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Centring vectors by script, and how to tell an answer from a mere best match.

    `question_means` and `passage_means` have the model's dimension; a script without one is not
    centred. `model_id` is "keyword" for searches without vectors.
    """

    model_id: str
    same_language: Logistic
    cross_language: Logistic  # question and best passage are of different scripts
    vector_only: Logistic
    cosine_weight: float | None = None  # None: no blend was fitted, so ranks are fused
    question_means: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    passage_means: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    order: Mapping[str, Order] = field(default_factory=dict)  # by the question's script
    wordless: Logistic | None = None  # one language, but no words shared; None: as same_language
    cross_bonus: float = 0.0  # of a passage in another script: it can share no words

    def order_for(self, script: str) -> Order | None:
        """The weights for a question in `script`; None: no blend was fitted."""
        if script in self.order or self.cosine_weight is None:
            return self.order.get(script)
        return Order(self.cosine_weight)
