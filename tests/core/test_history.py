"""Which past exchanges go into a prompt."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.history import MAX_CHARS, MAX_EXCHANGES, MAX_MESSAGES, usable
from gateway.core.scope import Scope, decide
from gateway.core.turns import Exchange
from tests.core import scope_world as w

AT = datetime(2026, 1, 1, tzinfo=UTC)
DIRECT = decide(w.LINKED, w.BOT, w.facts(w.TO_BOT, w.TO_MEI))
GROUP = decide(w.LINKED_GROUP, w.BOT, w.facts(w.TO_BOT, w.TO_MEI))
NOTHING = decide(w.NOBODY, w.BOT, w.facts())


def exchange(question: str, answer: str = "a", *collections: str) -> Exchange:
    presented = tuple((f"s-{each}", each) for each in collections)
    return Exchange(question, question, answer, AT, presented)


def questions(messages: tuple[ChatMessage, ...]) -> list[str]:
    return [each.text for each in messages if each.speaker is Speaker.USER]


def test_exchanges_come_whole_and_oldest_first() -> None:
    assert usable([exchange("q1", "a1"), exchange("q2", "a2")], DIRECT) == (
        ChatMessage(Speaker.USER, "q1"),
        ChatMessage(Speaker.ASSISTANT, "a1"),
        ChatMessage(Speaker.USER, "q2"),
        ChatMessage(Speaker.ASSISTANT, "a2"),
    )


CASES = [
    pytest.param(exchange("q", "a"), DIRECT, True, id="rests_on_nothing"),
    pytest.param(exchange("q", "a"), NOTHING, True, id="rests_on_nothing_scope_empty"),
    pytest.param(exchange("q", "a", "c-public"), DIRECT, True, id="readable"),
    pytest.param(exchange("q", "a", "c-public"), NOTHING, False, id="revoked"),
    pytest.param(exchange("q", "a", "c-personal"), DIRECT, True, id="personal_in_direct"),
    pytest.param(exchange("q", "a", "c-personal"), GROUP, False, id="personal_in_group"),
    pytest.param(exchange("q", "a", "c-public", "c-gone"), DIRECT, False, id="one_of_two_revoked"),
    pytest.param(
        exchange("q", "a", "c-gone", "c-public"), DIRECT, False, id="first_of_two_revoked"
    ),
    pytest.param(replace(exchange("q"), is_complete=False), DIRECT, False, id="a_source_is_gone"),
    pytest.param(replace(exchange("q"), is_direct=True), DIRECT, True, id="direct_in_direct"),
    pytest.param(replace(exchange("q"), is_direct=True), GROUP, False, id="direct_in_group"),
    pytest.param(exchange("q"), GROUP, True, id="group_in_group"),
    pytest.param(exchange(" ", "a"), DIRECT, False, id="blank_question"),
    pytest.param(exchange("q", "\n"), DIRECT, False, id="blank_answer"),
]


@pytest.mark.parametrize(("past", "scope", "is_used"), CASES)
def test_an_exchange_is_used_only_while_all_it_rests_on_is_readable(
    past: Exchange, scope: Scope, *, is_used: bool
) -> None:
    before, after = exchange("before"), exchange("after")
    expected = ["before", past.question, "after"] if is_used else ["before", "after"]
    assert questions(usable([before, past, after], scope)) == expected


def test_at_most_twenty_messages_the_newest_ones() -> None:
    past = [exchange(f"q{n}") for n in range(15)]
    assert questions(usable(past, DIRECT)) == [f"q{n}" for n in range(5, 15)]


def test_what_may_not_be_used_does_not_take_up_room() -> None:
    past = [exchange(f"q{n}") for n in range(10)] + [exchange("x", "a", "c-gone")] * 5
    assert questions(usable(past, DIRECT)) == [f"q{n}" for n in range(10)]


def test_the_characters_are_bounded_to_the_last_one() -> None:
    newest = exchange("n" * 4_000, "a" * 1_000)
    exactly = exchange("o" * 1_000, "a" * 2_000)
    assert len(usable([exactly, newest], DIRECT)) == 4
    assert len(usable([replace(exactly, answer="a" * 2_001), newest], DIRECT)) == 2


def test_no_hole_is_left_where_an_exchange_was_too_long() -> None:
    past = [exchange("old"), exchange("l" * MAX_CHARS), exchange("new")]
    assert questions(usable(past, DIRECT)) == ["new"]
    assert usable([exchange("l" * MAX_CHARS)], DIRECT) == ()


exchanges = st.builds(
    Exchange,
    st.uuids().map(str),
    st.text(max_size=10).map(lambda text: text * 300),
    st.text(max_size=10).map(lambda text: text * 300),
    st.just(AT),
    st.lists(st.sampled_from(["c-public", "c-personal", "c-gone"]), max_size=3).map(
        lambda ids: tuple((f"s-{each}", each) for each in ids)
    ),
    st.sampled_from([True, True, True, False]),
    st.booleans(),
)


@given(st.lists(exchanges, max_size=30), st.sampled_from([DIRECT, GROUP, NOTHING]))
def test_history_holds_only_what_may_be_read_whole_and_bounded(
    past: list[Exchange], scope: Scope
) -> None:
    messages = usable(past, scope)
    assert len(messages) <= MAX_MESSAGES == 2 * MAX_EXCHANGES
    assert sum(len(each.text) for each in messages) <= MAX_CHARS
    pairs = list(zip(messages[::2], messages[1::2], strict=True))
    allowed = [
        (each.question, each.answer)
        for each in past
        if each.is_complete
        and {collection for _, collection in each.presented} <= scope.collections
        and (scope.is_direct or not each.is_direct)
        and each.question.strip()
        and each.answer.strip()
    ]
    assert [(q.text, a.text) for q, a in pairs] == allowed[len(allowed) - len(pairs) :]
    assert all(q.speaker is Speaker.USER and a.speaker is Speaker.ASSISTANT for q, a in pairs)


@given(st.lists(exchanges, max_size=20), st.frozensets(st.sampled_from(["c-public", "c-personal"])))
def test_a_narrower_scope_never_brings_back_an_exchange_that_was_out(
    past: list[Exchange], named: frozenset[str]
) -> None:
    narrow = usable(past, DIRECT.narrow(named))
    readable = {each.question for each in past if {c for _, c in each.presented} <= named}
    assert set(questions(narrow)) <= readable
