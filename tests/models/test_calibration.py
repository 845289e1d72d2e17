"""The calibration files: found by model key, whole, and of the right sign."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.core.relevance import decide
from gateway.errors import ModelError
from models.calibration import find_calibration, own_calibrations, save_calibration
from models.catalogue import E5_SMALL, MODELS, QWEN3

MEASURED = {E5_SMALL}


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_every_build_of_a_model_has_its_figures(name: str) -> None:
    model = MODELS[name]
    for source in model.sources:
        found = find_calibration(model.key(source))
        assert found is not None
        assert found.model_id == name
        assert found.cosine_weight is not None
        assert 0 < found.cosine_weight < 1
        for means in (found.question_means, found.passage_means):
            assert set(means) == {"zh", "ja", "en"}
            for mean in means.values():
                assert len(mean) == model.recipe.dimensions
                assert 0.5 < math.hypot(*mean) < 1  # a mean of unit vectors that are all alike


@pytest.mark.parametrize("key", ["keyword", "local:multilingual-e5-small@123/mean/query,passage"])
def test_more_evidence_never_makes_a_passage_less_relevant(key: str) -> None:
    found = find_calibration(key)
    assert found is not None
    rules = found.same_language, found.cross_language, found.vector_only, found.wordless
    for rule in filter(None, rules):
        assert all(weight > 0 for weight in rule.weights.values())
        assert not decide({}, rule).is_relevant
        assert decide(dict.fromkeys(rule.weights, 1.0), rule).is_relevant


@pytest.mark.parametrize("key", ["", "other", "local:unknown@1/mean", "../keyword", "local:../x@1"])
def test_what_was_never_measured(key: str) -> None:
    assert find_calibration(key) is None


def test_ones_own_calibration_comes_first_and_holds_for_its_model_alone(tmp_path: Path) -> None:
    shipped = find_calibration("keyword")
    assert shipped is not None
    own = replace(shipped, same_language=replace(shipped.same_language, cut=0.123))
    save_calibration(tmp_path, own)
    find = own_calibrations(tmp_path)
    assert find("keyword") == own
    assert find(f"local:{E5_SMALL}@1/mean") == find_calibration(E5_SMALL)
    assert own_calibrations(tmp_path / "absent")("keyword") == shipped


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "keyword.json").write_text('{"model_id": 1}')
    with pytest.raises(ModelError, match=r"keyword\.json"):
        own_calibrations(tmp_path)


def test_a_model_without_figures_of_its_own_falls_back_to_ranks() -> None:
    assert MODELS.keys() - MEASURED == {QWEN3}
    assert find_calibration(MODELS[QWEN3].key(MODELS[QWEN3].source)) is None
