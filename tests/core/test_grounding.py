"""Scores, what passes, and which find of a passage is presented."""

import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.calibration import Logistic
from gateway.core.finishing import finish
from gateway.core.grounding import (
    HIGHEST,
    Scored,
    grounding,
    merged,
    passing,
    scored,
    with_ref_ids,
)
from gateway.core.messages import Limits, Unit
from gateway.core.passages import Hit, Locator, Passage, Relevance, SearchMode, SearchResult
from gateway.core.turns import PresentedPassage


def passage(number: int, *, is_flagged: bool = False) -> Passage:
    text = f"text {number}"
    return Passage(number, "c", "s", "r", 0, "title", text, Locator(page=2), is_flagged)


def found(probability: float, *scores: float, cut: float | None = 0.4) -> SearchResult:
    hits = tuple(Hit(passage(number), score) for number, score in enumerate(scores))
    rule = None if cut is None else Logistic(0.0, {}, cut)
    is_relevant = cut is not None and probability >= cut
    relevance = Relevance(is_relevant, probability, {}, rule)
    return SearchResult(hits, SearchMode.HYBRID, 1.0, relevance)


@pytest.mark.parametrize(
    ("result", "threshold", "expected"),
    [
        (found(0.9, 0.8, 0.4, 0.1), None, [3.6, 1.8]),
        (found(0.4, 0.8, 0.79), None, [1.6]),
        (found(0.39, 0.8), None, []),
        (found(0.39, 0.8), 1.0, [1.56]),
        (found(0.9, 0.8, 0.4), 3.0, [3.6]),
        (found(0.9, 0.8, 0.4), 0.0, [3.6, 1.8]),
        (found(0.9, 0.8, cut=None), None, []),
        (found(0.9, 0.0, -0.1), 0.0, [0.0, 0.0]),
        (found(0.9), None, []),
    ],
    ids=str,
)
def test_what_passes_is_what_the_rule_or_the_threshold_lets_pass(
    result: SearchResult, threshold: float | None, expected: list[float]
) -> None:
    assert [each.score for each in passing(result, threshold)] == expected


@given(st.floats(0, 1), st.lists(st.floats(-1, 2), max_size=6), st.floats(0, 1))
def test_scores_lie_between_none_and_the_highest_and_the_cut_alone_decides(
    probability: float, scores: list[float], cut: float
) -> None:
    result = found(probability, *sorted(scores, reverse=True), cut=cut)
    assert all(0 <= each.score <= HIGHEST for each in scored(result))
    has_best = bool(scores) and max(scores) > 0
    if has_best:
        assert bool(passing(result)) == result.relevance.is_relevant


@given(
    st.dictionaries(
        st.integers(1, 4),
        st.lists(st.tuples(st.integers(0, 5), st.floats(0, 4)), max_size=5),
        max_size=4,
    ),
    st.integers(0, 8),
)
def test_each_passage_is_presented_once_by_its_best_find(
    finds: Mapping[int, list[tuple[int, float]]], most: int
) -> None:
    given_ = {
        activity: [Scored(passage(number), score) for number, score in some]
        for activity, some in finds.items()
    }
    references = merged(given_, most)
    ids = [each.passage.id for each in references]
    assert len(ids) == len(set(ids)) <= most
    best: dict[int, float] = {}
    for some in finds.values():
        for number, score in some:
            best[number] = max(best.get(number, 0.0), score)
    assert len(ids) == min(most, len(best))
    for each in references:
        assert each.score == best[each.passage.id]
        assert Scored(each.passage, each.score) in given_[each.activity]


def test_what_looks_like_an_instruction_is_no_ground() -> None:
    finds = {1: [Scored(passage(7, is_flagged=True), 4.0), Scored(passage(8), 3.0)]}
    shown = json.loads(grounding(merged(finds, 9)))
    assert shown == [{"ref_id": 1, "title": "title", "locator": "p. 2", "content": "text 8"}]


PIECES = (
    "[1]",
    "[2]",
    "[9]",
    "[ref_id:3]",
    "[ REF_ID : 0]",
    "[",
    "]",
    "ref_id",
    ":",
    "0",
    "特休",
    "\n",
    "`",
    "[^1]",
)
WHOLE = Limits(Unit.CODE_POINTS, part_units=10_000, parts_per_call=1, footer_units=0)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=14).map("".join))
def test_whatever_a_model_writes_only_what_it_was_shown_is_cited(draft: str) -> None:
    presented = [PresentedPassage(n, passage(n)) for n in (1, 2)]
    done = finish(draft, presented, "q", WHOLE, "")
    told = with_ref_ids(done.text, {1: 4, 2: 0})
    cited = re.findall(r"\[\s*ref_id\s*:\s*(\d*)", told, re.IGNORECASE)
    assert len(cited) == 0 or {int(each or -1) for each in cited} <= {
        {1: 4, 2: 0}[n.n] for n in done.views
    }


def test_marks_become_the_references_ids_and_forged_ones_nothing() -> None:
    assert with_ref_ids("七天[1][2]。b [2] [ref_id:8]", {1: 4, 2: 0}) == (
        "七天[ref_id:4][ref_id:0]。b [ref_id:0] 〚ref_id:8]"
    )
