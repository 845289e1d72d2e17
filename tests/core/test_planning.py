"""From messages to sub-queries: a table of conversations, any text, and what a model may plan."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.planning import (
    MOST_QUERIES,
    QUERY_CHARS,
    SHOWN_TO_PLANNER,
    extract,
    parts,
    planned,
    planner_prompt,
    tokens,
)

WHO = {"u": Speaker.USER, "a": Speaker.ASSISTANT, "s": Speaker.SYSTEM}


def messages(*told: str) -> list[ChatMessage]:
    return [ChatMessage(WHO[each[0]], each[2:]) for each in told]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["u:hello world"], ["hello world"]),
        (["s:You are brief.", "u:hello world"], ["hello world"]),
        (
            ["u:How long is annual leave, and who approves sick leave? Where is the office?"],
            ["How long is annual leave", "who approves sick leave?", "Where is the office?"],
        ),
        (["u:特休有幾天，另外年終獎金怎麼算？"], ["特休有幾天", "年終獎金怎麼算？"]),
        (["u:特休有幾天？", "a:七天。", "u:那病假呢？"], ["特休有幾天? 病假"]),
        (["u:Where is the office?", "a:Taipei.", "u:Thanks!"], []),
        (["u:你好"], []),
        (["a:How can I help?"], []),
        (["u:Where is the office?", "a:In"], ["Where is the office?"]),
        ([], []),
    ],
)
def test_what_is_asked_is_taken_apart_and_read_in_its_conversation(
    told: list[str], expected: list[str]
) -> None:
    assert [each.text for each in extract(messages(*told))] == expected


def test_a_japanese_message_falls_into_its_questions() -> None:
    asked = "有給休暇は何日ありますか。また、申請方法は？ありがとうございます"
    assert parts(asked) == ("有給休暇は何日ありますか。", "申請方法は？")


def test_a_message_that_was_not_answered_is_asked_with_the_next() -> None:
    found = extract(messages("u:How long is annual leave?", "u:Where is the Osaka office?"))
    assert len(found) == 2


@given(st.lists(st.tuples(st.sampled_from("uas"), st.text(max_size=40)), max_size=6))
def test_any_messages_make_few_short_different_questions(told: list[tuple[str, str]]) -> None:
    found = extract([ChatMessage(WHO[who], text) for who, text in told])
    texts = [each.text for each in found]
    assert len(texts) == len(set(texts)) <= MOST_QUERIES
    assert all(0 < len(text) <= QUERY_CHARS for text in texts)
    assert all(each.wordings for each in found)


def test_a_page_of_questions_is_cut() -> None:
    found = extract(messages("u:" + " ".join(f"What is part number {n}?" for n in range(99))))
    assert len(found) == MOST_QUERIES
    (one,) = extract(messages("u:" + "long " * 1_000))
    assert len(one.text) <= QUERY_CHARS


@pytest.mark.parametrize(
    "answer",
    [
        '{"queries": ["annual leave", "sick\\nleave"]}',
        '```json\n{"queries": ["annual leave", "sick leave", "sick leave"]}\n```',
    ],
)
def test_a_plan_of_a_model_is_taken(answer: str) -> None:
    assert [each.text for each in planned(answer) or ()] == ["annual leave", "sick leave"]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "annual leave",
        "[]",
        '["annual leave"]',
        '{"queries": "annual leave"}',
        '{"queries": []}',
        '{"queries": [1]}',
        '{"queries": ["  "]}',
        '{"queries": ["a leave", {"x": 1}]}',
        json.dumps({"queries": ["annual leave"] * (MOST_QUERIES + 1)}),
        json.dumps({"queries": ["x" * (QUERY_CHARS + 1)]}),
        'Sure! {"queries": ["annual leave"]}',
        "[" * 100_000,
    ],
    ids=lambda answer: answer[:30],
)
def test_a_plan_that_is_not_what_was_asked_for_is_none(answer: str) -> None:
    assert planned(answer) is None


def test_a_planner_is_shown_the_newest_words_as_material() -> None:
    told = messages("s:secret rules", "u:" + "old " * SHOWN_TO_PLANNER, 'a:said "so"', "u:new?")
    rules, shown = planner_prompt(told)
    listed = json.loads(shown.text)
    assert rules.speaker is Speaker.SYSTEM
    assert [each["text"] for each in listed[-2:]] == ['said "so"', "new?"]
    assert sum(len(each["text"]) for each in listed) == SHOWN_TO_PLANNER
    assert "secret rules" not in shown.text


def test_half_a_character_in_a_plan_becomes_one_that_can_be_written() -> None:
    (found,) = planned('{"queries": ["leave \\ud800 days"]}') or ()
    assert "\ud800" not in found.text
    assert found.text.encode()


def test_tokens_are_counted_by_script() -> None:
    assert [tokens(text) for text in ("", "abcd", "abcde", "特休", "特休ab")] == [0, 1, 2, 2, 3]
