"""Which terms of a question go into the full-text query of a large library."""

import pytest

from gateway.store.fulltext import COMMON_FROM, telling

TERMS = ("的", "規定", "特休", "申請", "天數")
HAVING = {"的": 900, "規定": 400, "特休": 20, "申請": 90, "天數": 10}


@pytest.mark.parametrize(
    ("terms", "passages", "expected"),
    [
        (TERMS, COMMON_FROM - 1, set(TERMS)),  # a small library: every term counts
        (TERMS, COMMON_FROM, {"特休", "申請", "天數"}),
        (("的", "規定"), COMMON_FROM, {"的", "規定"}),  # nothing rarer: these are looked up
        (("的", "規定", "申請", "特休"), COMMON_FROM, {"特休", "申請", "規定"}),
        (("無此詞", "特休"), COMMON_FROM, {"特休"}),
        (("無此詞",), COMMON_FROM, {"無此詞"}),
        ((), COMMON_FROM, set()),
    ],
)
def test_the_commonest_terms_stay_out_where_rarer_ones_are_known(
    terms: tuple[str, ...], passages: int, expected: set[str]
) -> None:
    assert set(telling(terms, HAVING, passages)) == expected
