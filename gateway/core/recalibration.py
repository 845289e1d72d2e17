"""Moving a calibration to one's own questions: the cuts, and with enough data the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.core.calibration import Calibration, Logistic
from gateway.core.fitting import Example, cut_keeping, fit, probability
from gateway.core.relevance import FEW_WORDS

LEAST_ANSWERABLE = 20
LEAST_UNANSWERABLE = 10
ENOUGH_ANSWERABLE = 100  # for weights: fewer fit the questions instead of the library
ENOUGH_UNANSWERABLE = 40
RULES = ("same_language", "cross_language", "vector_only", "wordless")


@dataclass(frozen=True, slots=True)
class Moved:
    """One rule after recalibration; the shares are of the questions it was made of."""

    name: str
    rule: Logistic
    answerable: int
    unanswerable: int
    kept: float
    refused: float
    has_new_weights: bool


def rule_name(calibration: Calibration, rule: Logistic, values: Mapping[str, float]) -> str | None:
    """The rule that learns from an example, by the one that spoke; None: it is none of these.

    Where few words are shared two are asked, and `wordless` learns from it, whichever spoke.
    """
    name = next((name for name in RULES if getattr(calibration, name) == rule), None)
    has_few = values.get("coverage", 1.0) < FEW_WORDS
    if name == "same_language" and has_few and calibration.wordless is not None:
        return "wordless"
    return name


def recalibrated(
    calibration: Calibration, examples: Mapping[str, Sequence[Example]], keep: float
) -> tuple[Calibration, tuple[Moved, ...]]:
    """The calibration with each rule moved that has examples enough, and what became of those.

    `examples` are by the names of the rules; `keep` is the least share of answerable ones kept.
    """
    moved = tuple(
        _moved(name, getattr(calibration, name), examples[name], keep)
        for name in RULES
        if is_enough(examples.get(name, ()))
    )
    rules = {name: getattr(calibration, name) for name in RULES}
    for each in moved:  # keyword search has one rule under all names: they move together
        old = getattr(calibration, each.name)
        rules |= {name: each.rule for name in RULES if getattr(calibration, name) == old}
    same, cross, vector, wordless = (rules[name] for name in RULES)
    new = replace(
        calibration,
        same_language=same,
        cross_language=cross,
        vector_only=vector,
        wordless=wordless,
    )
    return new, moved


def is_enough(examples: Sequence[Example]) -> bool:
    """Whether a cut can be told from so many questions."""
    answerable, unanswerable = _count(examples)
    return answerable >= LEAST_ANSWERABLE and unanswerable >= LEAST_UNANSWERABLE


def _count(examples: Sequence[Example]) -> tuple[int, int]:
    answerable = sum(example.is_answerable for example in examples)
    return answerable, len(examples) - answerable


def _moved(name: str, rule: Logistic, examples: Sequence[Example], keep: float) -> Moved:
    answerable, unanswerable = _count(examples)
    has_many = answerable >= ENOUGH_ANSWERABLE and unanswerable >= ENOUGH_UNANSWERABLE
    fitted = fit(examples, tuple(rule.weights)) if has_many else rule
    yes = [probability(fitted, each.values) for each in examples if each.is_answerable]
    no = [probability(fitted, each.values) for each in examples if not each.is_answerable]
    new = replace(fitted, cut=cut_keeping(yes, keep))
    kept = sum(p >= new.cut for p in yes) / answerable
    refused = sum(p < new.cut for p in no) / unanswerable
    return Moved(name, new, answerable, unanswerable, kept, refused, has_many)
