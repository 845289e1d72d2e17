"""What may be noted down about a document, and how values compare."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.filters import MOST_FIELDS, Value, is_same, spelled
from gateway.core.metadata import checked_metadata
from gateway.errors import InvalidRequestError

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20)
)


@pytest.mark.parametrize(
    "given_",
    [
        {},
        {"category": "policy", "部門": "人事", "年": 2026, "率": 0.5, "ok": True, "x": None, "": ""}
        | {"": "left out"},
        {"k" * 100: "v" * 1_000},
        {str(n): n for n in range(MOST_FIELDS)},
        {"a\"b.c[0]'$": "quotes and paths are letters"},
        {"n": 2**63 - 1, "m": -(2**63) + 1, "f": 1e308},
    ],
)
def test_what_may_be_noted_down_is_kept_as_it_is(given_: dict[str, Value]) -> None:
    wanted = {key: value for key, value in given_.items() if key}
    assert dict(checked_metadata(wanted)) == wanted


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"": "x"}, "metadata"),
        ({" a": "x"}, "metadata. a"),
        ({"k" * 101: "x"}, "metadata.kkk"),
        ({"a\nb": "x"}, "metadata.a\ufffdb"),
        ({"a\u2028b": "x"}, "metadata.a\ufffdb"),
        ({"a": "line\nline"}, "metadata.a"),
        ({"a": "\ud800"}, "metadata.a"),
        ({"a": "v" * 1_001}, "metadata.a"),
        ({"a": float("nan")}, "metadata.a"),
        ({"a": float("inf")}, "metadata.a"),
        ({"a": 2**63}, "metadata.a"),
        ({"a": ["list"]}, "metadata.a"),
        ({"a": {"b": 1}}, "metadata.a"),
        ({str(n): n for n in range(MOST_FIELDS + 1)}, "metadata"),
    ],
)
def test_what_may_not_is_refused_by_its_key(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        checked_metadata(wrong)
    assert str(refused.value.params["reason"]).startswith(named)


@given(VALUES, VALUES)
def test_two_values_are_spelled_alike_exactly_where_they_are_the_same(
    one: Value, other: Value
) -> None:
    assert (spelled(one) == spelled(other)) is is_same(one, other)


def test_near_values_are_told_apart() -> None:
    near: tuple[Value, ...] = (0, False, None, "", "0", "null", "false", '"', 2**53, 2**53 + 1)
    for one, other in product(near, repeat=2):
        assert (spelled(one) == spelled(other)) is is_same(one, other) is (one is other)
    assert spelled(1) == spelled(1.0)
    assert spelled(0) == spelled(-0.0)
