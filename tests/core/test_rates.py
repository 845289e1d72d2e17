"""Token buckets against a bucket that is filled drop by drop."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.rates import Buckets

STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 90)), max_size=60)


@given(per_minute=st.integers(1, 10), steps=STEPS)
def test_as_many_are_let_in_as_flow_in(per_minute: int, steps: list[tuple[str, int]]) -> None:
    buckets, now_s = Buckets(per_minute), 0
    left = {key: (Fraction(per_minute), 0) for key in "ab"}
    for key, later_s in steps:
        now_s += later_s
        before, at_s = left[key]
        drops = min(Fraction(per_minute), before + Fraction(per_minute * (now_s - at_s), 60))
        wait_s = buckets.take(key, float(now_s))
        missing = (1 - drops) * 60 / per_minute
        if abs(missing) > Fraction(1, 10**6):  # on the edge a float may say either
            assert (wait_s == 0.0) == (missing < 0)
            assert abs(wait_s - max(0.0, float(missing))) < 1e-6
        left[key] = (drops - 1 if wait_s == 0.0 else drops, now_s)


def test_no_rate_is_no_limit_and_the_least_recent_are_forgotten() -> None:
    assert all(Buckets(0).take("a", 0.0) == 0.0 for _ in range(99))
    few = Buckets(1, most_keys=2)
    assert [few.take(key, 0.0) for key in "aabc"] == [0.0, 60.0, 0.0, 0.0]
    assert few.take("a", 0.0) == 0.0
