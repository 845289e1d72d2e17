"""When passages are looked up, and when the fixed replies are given."""

from itertools import product

import pytest

from gateway.catalogue import LANGUAGES, STRINGS, text
from gateway.core.agents import AgentKnowledge, AnswerMode
from gateway.core.answering import NO_COLLECTION, NO_PASSAGE, kb_only_reply, searches_first

ASSIST, KB_ONLY = AnswerMode.ASSIST, AnswerMode.KB_ONLY

SEARCHES = [
    (ASSIST, True, True, True),
    (ASSIST, False, True, False),
    (ASSIST, True, False, False),
    (ASSIST, False, False, False),
    (KB_ONLY, True, True, True),
    (KB_ONLY, False, True, True),
    (KB_ONLY, True, False, True),
    (KB_ONLY, False, False, True),
]


@pytest.mark.parametrize(("mode", "agent_wants", "operator_wants", "expected"), SEARCHES)
def test_who_decides_about_automatic_search(
    mode: AnswerMode, *, agent_wants: bool, operator_wants: bool, expected: bool
) -> None:
    knowledge = AgentKnowledge(auto_retrieve=agent_wants, answer_mode=mode)
    assert searches_first(knowledge, is_enabled=operator_wants) is expected


REPLIES = [
    pytest.param(True, True, True, 1, None, id="passages_found"),
    pytest.param(True, True, True, 0, NO_PASSAGE, id="relevant_but_flagged_or_too_long"),
    pytest.param(True, True, False, 3, NO_PASSAGE, id="not_relevant_or_small_talk"),
    pytest.param(True, False, True, 1, NO_PASSAGE, id="only_restricted_readable"),
    pytest.param(True, False, False, 0, NO_PASSAGE, id="only_restricted_and_small_talk"),
    pytest.param(False, False, False, 0, NO_COLLECTION, id="nothing_readable"),
    pytest.param(False, True, True, 1, NO_COLLECTION, id="nothing_readable_beats_all"),
]


@pytest.mark.parametrize(("readable", "injectable", "relevant", "presented", "key"), REPLIES)
def test_kb_only(
    presented: int, key: str | None, *, readable: bool, injectable: bool, relevant: bool
) -> None:
    reply = kb_only_reply(
        KB_ONLY,
        has_readable=readable,
        has_injectable=injectable,
        is_relevant=relevant,
        presented=presented,
    )
    assert reply == key


def test_assist_always_asks_the_model() -> None:
    for readable, injectable, relevant, presented in product(*[[True, False]] * 3, [0, 1]):
        reply = kb_only_reply(
            ASSIST,
            has_readable=bool(readable),
            has_injectable=bool(injectable),
            is_relevant=bool(relevant),
            presented=int(presented),
        )
        assert reply is None


FIXED = {
    NO_PASSAGE: "知識庫查無相關資料。可以換個問法，或請管理員把相關文件加入知識庫。",
    NO_COLLECTION: "目前沒有你可以查詢的知識庫。",
}


@pytest.mark.parametrize(("key", "sentence"), FIXED.items())
def test_the_fixed_sentences_stand_verbatim_in_every_language(key: str, sentence: str) -> None:
    assert text(key, "zh-TW") == sentence
    for language in ("ja", "en"):
        first, translation = text(key, language).split("\n")
        assert first == sentence
        assert translation


def test_chat_sentences_are_there_in_three_languages() -> None:
    keys = {key for key in STRINGS if key.startswith("chat.")}
    assert keys >= {
        f"chat.{name}"
        for name in (
            "no_passage",
            "no_collection",
            "no_answer",
            "busy",
            "apology",
            "cut_notice",
            "footer_more",
            "mention_help",
        )
    }
    assert all(set(STRINGS[key]) == set(LANGUAGES) for key in keys)
    assert text("chat.footer_more", count=3) == "另有 3 個來源"
    assert text("chat.cut_notice") == "…（內容過長，已截斷）"
