"""Which calls a reply makes us owe: none lost, none blank, the same ones at every repeat."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.asking import is_blank
from gateway.core.messages import (
    Conversation,
    InboundMessage,
    Limits,
    Reply,
    ReplyHandle,
    Unit,
)
from gateway.core.owed import final_frame, owed_calls

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
MESSAGE = InboundMessage(
    conversation=Conversation("line", "main", "U1", is_direct=True),
    delivery_id="d",
    message_key="m",
    text="q",
    received_at=NOW,
    reply_handle=ReplyHandle("token", NOW),
)
parts = st.lists(st.text(max_size=4), max_size=12).map(tuple)


@given(parts, st.integers(1, 5), st.text(min_size=1, max_size=6))
def test_every_part_is_owed_once_in_order(
    said: tuple[str, ...], per_call: int, turn_id: str
) -> None:
    limits = Limits(Unit.UTF16, 5000, per_call, 1200)
    calls = owed_calls(turn_id, MESSAGE, Reply(turn_id, said, ""), limits, NOW)
    owed = [part for call in calls for part in call.parts]
    assert owed == [part for part in said if not is_blank(part)]
    assert all(1 <= len(call.parts) <= per_call for call in calls)
    assert [call.seq for call in calls] == list(range(len(calls)))
    assert [call.reply_handle is not None for call in calls] == [n == 0 for n in range(len(calls))]
    assert {call.conversation for call in calls} <= {MESSAGE.conversation}
    assert calls == owed_calls(turn_id, MESSAGE, Reply(turn_id, said, ""), limits, NOW)


@given(st.sets(st.text(min_size=1, max_size=6), min_size=2, max_size=4))
def test_ids_and_keys_are_of_one_turn_and_place_alone(turns: set[str]) -> None:
    limits = Limits(Unit.UTF16, 5000, 1, 1200)
    calls = [
        call
        for turn in turns
        for call in owed_calls(turn, MESSAGE, Reply(turn, ("a", "b"), ""), limits, NOW)
    ]
    assert len({call.id for call in calls} | {call.idempotency_key for call in calls}) == (
        4 * len(turns)
    )


def test_a_final_frame_without_citations() -> None:
    assert final_frame(Reply("t", ("a",), "a")) == {"text": "a", "citations": []}
