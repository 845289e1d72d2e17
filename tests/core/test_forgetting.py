"""One plan an agent and conversation, at most twenty, the newest first, nothing twice."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.forgetting import MOST_PLANS, CitingTurn, group

turns = st.lists(
    st.tuples(
        st.integers(0, 60).map(str),
        st.none() | st.sampled_from(["hana", "taro"]),
        st.integers(0, 30).map(str),
    ),
    max_size=90,
)


@given(turns)
def test_each_turn_is_in_the_one_plan_of_its_agent_and_conversation(
    citing: list[CitingTurn],
) -> None:
    grouped = group(citing)
    places = list(dict.fromkeys((agent, conversation) for _, agent, conversation in citing))
    assert [place for place, _ in grouped.places] == places[:MOST_PLANS]
    for place, turn_ids in grouped.places:
        expected = {turn for turn, agent, conversation in citing if (agent, conversation) == place}
        assert set(turn_ids) == expected
        assert len(turn_ids) == len(expected)
    assert grouped.skipped == len(places) - len(grouped.places)
    counts = grouped.counts
    assert (counts.plans, counts.skipped) == (len(grouped.places), grouped.skipped)
    assert counts.turns == sum(len(turn_ids) for _, turn_ids in grouped.places)


def test_no_citing_turn_makes_no_plan() -> None:
    assert group([]).counts.plans == 0
