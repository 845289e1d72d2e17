"""Which collection may lie in which: a table, and a property over any tree and any move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import Collection, Sensitivity
from gateway.core.folders import MOST_DEPTH, check_parent, seen_among
from gateway.errors import InvalidRequestError, NotFoundError

NAMES = [f"f{n}" for n in range(14)]
Moves = list[tuple[str, str | None]]


def depth(parents: dict[str, str | None], folder: str) -> int:
    """Levels down to the folder; endless where it lies in itself."""
    steps, each = 1, parents[folder]
    while each is not None:
        steps, each = steps + 1, parents[each]
        assert steps <= len(parents), "a folder lies in itself"
    return steps


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([*NAMES, None])), max_size=60))
def test_no_row_of_moves_makes_a_circle_or_goes_too_deep(moves: Moves) -> None:
    parents: dict[str, str | None] = dict.fromkeys(NAMES)
    for moved, parent in moves:
        before, wanted = dict(parents), {**parents, moved: parent}
        try:
            if parent is not None:
                check_parent(parents, moved, parent)
            parents = wanted
        except InvalidRequestError:
            with pytest.raises(AssertionError):
                assert all(depth(wanted, each) <= MOST_DEPTH for each in NAMES)
        assert all(depth(parents, each) <= MOST_DEPTH for each in NAMES)
        assert parents in (before, wanted)


def test_a_parent_has_to_be_there() -> None:
    with pytest.raises(NotFoundError):
        check_parent({"a": None}, "a", "gone")
    check_parent({"a": None, "b": "gone"}, "a", "b")  # what lies in a lost folder lies at the top


def test_a_parent_that_is_not_listed_is_none() -> None:
    folder = Collection("b", 1, "b", "b", Sensitivity.INTERNAL, parent_id="a")
    assert seen_among({"a", "b"}, folder).parent_id == "a"
    assert seen_among({"b"}, folder).parent_id is None
