"""Filter expressions: a table of readings, and any expression against a naive evaluator."""

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.core.filters import MOST_FIELDS, Value, equal_to
from gateway.core.odata import MOST_CHARS, MOST_DEPTH, ODataError, parse_filter
from gateway.errors import InvalidRequestError

BOOK: Mapping[str, Value] = {
    "title": "Tea's \u5bb6",
    "kind": "url",
    "year": 2024,
    "share": 0.5,
    "is_open": True,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind eq url", True),
        ("kind eq 'url'", True),
        ("kind eq 'URL'", False),
        ("title eq 'Tea''s \u5bb6'", True),
        ("kind ne file", True),
        ("year eq 2024", True),
        ("year eq 2024.0", True),
        ("year eq '2024'", False),
        ("share eq 5e-1", True),
        ("is_open eq true", True),
        ("is_open eq 1", False),
        ("missing eq null", True),
        ("missing ne null", False),
        ("missing eq x", False),
        ("missing ne x", True),
        ("kind in ('file', 'url')", True),
        ("kind in (file)", False),
        ("search.in(kind, 'file,url')", True),
        ("search.in(kind, 'file url')", True),
        ("search.in(title, 'x|Tea''s \u5bb6', '|')", True),
        ("search.in(kind, '')", False),
        ("kind eq file and kind eq file or kind eq url", True),
        ("kind eq file and (kind eq file or kind eq url)", False),
        ("not kind eq url or kind eq url", True),
        ("not (kind eq url or year eq 1)", False),
        ("  kind\teq\nurl  ", True),
        ("kind eq 2024-01-01", False),
        ("kind eq 'and'", False),
    ],
)
def test_an_expression_means_what_it_says(text: str, expected: bool) -> None:
    assert parse_filter(text).matches(BOOK) is expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 1),
        ("   ", 4),
        ("kind", 5),
        ("kind eq", 8),
        ("kind gt 3", 6),
        ("kind eq 'x", 9),
        ("kind eq x y", 11),
        ("kind eq x and", 14),
        ("(kind eq x", 11),
        ("kind eq x)", 10),
        ("kind in x", 9),
        ("kind in ()", 10),
        ("kind eq and", 9),
        ("'kind' eq x", 1),
        ("1kind eq x", 1),
        ("true eq true", 1),
        ("search.in(kind, x)", 17),
        ("search.in('kind', 'x')", 11),
        ("(" * (MOST_DEPTH + 2) + "a eq b", MOST_DEPTH + 2),
        ("x" * (MOST_CHARS + 1), MOST_CHARS + 1),
        ("a ne 1 and " * MOST_FIELDS + "a ne 1", len("a ne 1 and ") * MOST_FIELDS + 1),
        ("not " * 900 + "a eq b", 4 * (MOST_DEPTH + 1) + 1),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_expression_is_refused_where_it_stops_being_one(
    text: str, position: int
) -> None:
    with pytest.raises(ODataError) as refused:
        parse_filter(text)
    assert refused.value.position == position


FIELDS = ("kind", "title", "year", "a/b")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.one_of(
    st.sampled_from(["url", "and", "true", "it's", "a,b", ""]),
    TEXTS,
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -2.25]),
    st.booleans(),
    st.none(),
)
LEAVES = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne"]), st.sampled_from(FIELDS), VALUES),
    st.tuples(st.just("in"), st.sampled_from(FIELDS), st.lists(VALUES, min_size=1, max_size=3)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=8,
)


def written(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def rendered(tree: tuple) -> str:  # type: ignore[type-arg]
    name = tree[0]
    if name in ("eq", "ne"):
        return f"{tree[1]} {name} {written(tree[2])}"
    if name == "in":
        return f"{tree[1]} in ({', '.join(map(written, tree[2]))})"
    if name == "not":
        return f"not ({rendered(tree[1])})"
    return f" {name} ".join(f"({rendered(part)})" for part in tree[1])


def same(one: object, other: object) -> bool:
    if type(one) is bool or type(other) is bool:
        return one is other
    return one == other


def naive(tree: tuple, known: Mapping[str, Value]) -> bool:  # type: ignore[type-arg]
    name = tree[0]
    if name == "eq":
        return same(known.get(tree[1]), tree[2])
    if name == "ne":
        return not same(known.get(tree[1]), tree[2])
    if name == "in":
        return any(same(known.get(tree[1]), value) for value in tree[2])
    if name == "not":
        return not naive(tree[1], known)
    results = [naive(part, known) for part in tree[1]]
    return all(results) if name == "and" else any(results)


@given(TREES, st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_any_expression_matches_as_a_naive_evaluator_says(
    tree: tuple,  # type: ignore[type-arg]
    known: dict[str, Value],
) -> None:
    assert parse_filter(rendered(tree)).matches(known) is naive(tree, known)


@given(st.text(st.sampled_from("ab '(),.\t1-\u3000\0") | st.characters(), max_size=40))
@example("a eq '\0' and\u3000b eq c")
def test_any_text_is_a_filter_or_an_error_with_a_place(text: str) -> None:
    assert place_of_error(text) in (None, *range(1, len(text) + 2))


def place_of_error(text: str) -> int | None:
    try:
        parse_filter(text).matches(BOOK)
    except ODataError as error:
        return error.position
    return None


def test_flat_filters_compare_as_json_does_and_hold_no_lists() -> None:
    assert equal_to({"kind": "url", "year": 2024.0}).matches(BOOK)
    assert equal_to({}).matches(BOOK)
    assert not equal_to({"kind": "url", "year": 1}).matches(BOOK)
    assert not equal_to({"is_open": 1}).matches(BOOK)
    with pytest.raises(InvalidRequestError):
        equal_to({"kind": ["url"]})
