"""What is a command and what is a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.chat_commands import Command, CommandKind, parse
from gateway.core.link_codes import code_of, normalise, shown

LINK, HELP, ADD = CommandKind.LINK, CommandKind.HELP, CommandKind.ADD_SOURCE
CODE = "ABCDE12345"


@pytest.mark.parametrize(
    "text",
    [
        "綁定 ABCDE-12345",
        "綁定ABCDE-12345",
        "綁定：abcde-12345",
        "綁定\u3000ａｂｃｄｅ－１２３４５",
        "綁定 「ABCDE-12345」",
        "綁定\nABCDE12345",
        "綁定碼 ABCDE-12345",
        "綁定 ABCDE-12345 謝謝您",
        "綁定 abcde 12345",
        "绑定 ABCDE12345",
        "連携 ABCDE-12345",
        "連携 ABCDEー12345",
        "/link ABCDE-12345",
        "/link@our_bot abcde-12345",
        "/LINK ABCDE12345",
        "／bind ABCDE-12345",
        "link ABCDE-12345",
        "Bind: abcde 12345",
        "綁定 ABCDE\u200b-12345",
        "\ufeff/link\u2060 ABCDE-\u200d12345\u200e",
    ],
)
def test_a_code_is_found_however_it_is_sent(text: str) -> None:
    command = parse(text)
    assert command is not None
    assert command.kind is LINK
    assert normalise(command.argument) == CODE


@pytest.mark.parametrize("text", ["綁定 123456", "/link nonsense 喔", "連携 WRONG", "/bind 1"])
def test_what_is_no_code_is_still_a_try(text: str) -> None:
    command = parse(text)
    assert command is not None
    assert (command.kind, bool(command.argument)) == (LINK, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("綁定", Command(LINK, "", "zh-TW")),
        ("绑定 ", Command(LINK, "", "zh-TW")),
        ("連携", Command(LINK, "", "ja")),
        ("/link", Command(LINK)),
        ("link", Command(LINK)),
        ("/start", Command(HELP)),
        ("/start payload", Command(HELP, "payload")),
        ("/help@our_bot", Command(HELP)),
        ("加入知識庫", Command(ADD, "", "zh-TW")),
        ("加入知識庫 handbook", Command(ADD, "handbook", "zh-TW")),
        ("加入知識庫handbook", Command(ADD, "handbook", "zh-TW")),
        ("加入知识库：人事 規章", Command(ADD, "人事 規章", "zh-TW")),
        ("ナレッジに追加 handbook", Command(ADD, "handbook", "ja")),
    ],
)
def test_commands(text: str, expected: Command) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "綁定帳號要怎麼做？",
        "綁定 帳號的流程是什麼",
        "怎麼綁定 LINE？",
        "連携したい",
        "加入知識庫的流程是什麼？",
        "link attachment",
        "link between sales and costs?",
        "/linked list",
        "/unknown ABCDE-12345",
        "特休有幾天？",
        "ABCDE-12345 的庫存",
        "綁定 ABCDE-12345 " + "長" * 600,
    ],
)
def test_questions(text: str) -> None:
    assert parse(text) is None


@given(st.integers(min_value=0, max_value=2**50 - 1), st.sampled_from(["綁定 ", "/link ", "連携"]))
def test_no_code_is_taken_for_a_question(number: int, word: str) -> None:
    code = code_of(number)
    for form in (shown(code), shown(code).lower()):
        command = parse(word + form)
        assert command is not None
        assert normalise(command.argument) == code


@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    command = parse(text)
    assert command is None or command.kind in CommandKind
