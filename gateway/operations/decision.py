"""How a search's relevance was decided, as admins see it."""

from dataclasses import dataclass

from gateway.core.passages import Relevance


@dataclass(frozen=True, slots=True)
class DecisionView:
    """Each feature with its weight, and the cut that the probability had to reach."""

    features: dict[str, float]
    weights: dict[str, float]
    bias: float
    cut: float


def decision_view(relevance: Relevance) -> DecisionView | None:
    """None where there was nothing to decide."""
    rule = relevance.rule
    if rule is None:
        return None
    features = {name: round(value, 4) for name, value in relevance.features.items()}
    return DecisionView(features, dict(rule.weights), rule.bias, rule.cut)
