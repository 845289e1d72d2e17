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
