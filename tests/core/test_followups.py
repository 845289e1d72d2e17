"""Follow-up questions: which lean on what was said, what they carry, and what they drag along."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.followups import Said, Wording, resolve, said
from gateway.core.followups_found import fused, is_decided
from gateway.core.passages import Hit, Locator, Passage, Relevance, SearchMode, SearchResult

LEAVE = Said("到職滿一年的特休有幾天？", "滿一年以上者七日。[1]")
LIST = Said("有哪些付款方式？", "1. 信用卡\n2. 銀行轉帳 [1]\n3. 貨到付款 [1]")


@pytest.mark.parametrize(
    ("past", "question", "meant"),
    [
        ([LEAVE], "那半年呢？", "到職滿半年的特休有幾天?"),
        ([LEAVE], "薪水怎麼算？", "到職滿一年的特休 薪水怎麼算"),
        ([Said("去日本出差住宿費上限多少？")], "美國呢？", "去美國出差住宿費上限多少?"),
        ([Said("住宿費的上限是多少")], "那交通費呢", "交通費 的上限是多少"),
        ([Said("有給休暇は何日もらえますか？")], "それは何日？", "有給休暇 それは何日"),
        (
            [Said("課長の出張日当はいくらですか？")],
            "部長は？",
            "部長の出張日当はいくらですか? 部長は",
        ),
        (
            [Said("How many days of leave do full-time employees get?")],
            "what about part-timers?",
            "how many days of leave do part-timers get?",
        ),
        (
            [Said("What does a mixer cost per day?")],
            "And per week?",
            "what does a mixer cost per week?",
        ),
        ([LIST], "第二個要手續費嗎？", "銀行轉帳 要手續費嗎"),
    ],
)
def test_a_follow_up_stands_in_the_place_of_what_it_replaces(
    past: list[Said], question: str, meant: str
) -> None:
    found = resolve(question, past)
    assert found.text == meant
    assert found.is_sure


def test_the_subject_is_carried_over_several_follow_ups() -> None:
    past = [Said("去日本出差住宿費上限多少？"), Said("美國呢？"), Said("謝謝"), Said("/help")]
    assert resolve("那歐洲呢？", past).text == "去歐洲出差住宿費上限多少?"


def test_a_new_subject_ends_the_one_before() -> None:
    past = [LEAVE, Said("出差住宿費經理級每晚上限多少？")]
    assert "特休" not in resolve("那課長呢？", past).text


@pytest.mark.parametrize(
    "question",
    [
        "離島宅配運費滿多少可以免運？",
        "謝謝你！",
        "好的，我知道了",
        "？？？",
        "👍",
        "会議室は何か月先まで予約できますか？",
        "ありがとうございます",
        "Can business accounts pay by invoice within a month?",
        "thanks, that helps!",
        "第" * 100,
    ],
)
def test_what_stands_alone_is_searched_alone(question: str) -> None:
    assert resolve(question, [LEAVE]).wordings == (Wording(question),)


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=4))
def test_the_message_itself_is_always_searched_first(question: str, past: list[str]) -> None:
    found = resolve(question, [Said(each) for each in past])
    assert found.wordings[0].text == question
    assert resolve(question, []).wordings == (Wording(question),)


def test_a_prompts_history_becomes_questions_with_their_answers() -> None:
    history = [
        ChatMessage(Speaker.USER, "a"),
        ChatMessage(Speaker.ASSISTANT, "b"),
        ChatMessage(Speaker.USER, "c"),
    ]
    assert said(history) == (Said("a", "b"), Said("c"))


# ---------------------------------------------------------------- one result of several


def hit(number: int, score: float, text: str = "特休", source: str | None = None) -> Hit:
    place = source or f"s{number}"
    return Hit(Passage(number, "c", place, "r", number, "t", text, Locator()), score)


def result(*hits: Hit, probability: float = 0.9) -> SearchResult:
    relevance = Relevance(probability >= 0.5, probability)
    return SearchResult(hits, SearchMode.KEYWORD_ONLY, 0.0, relevance)


def test_scores_are_summed_by_weight_and_ties_go_to_the_smaller_id() -> None:
    alone = Wording("a", 0.5), result(hit(3, 0.4), hit(2, 0.4), hit(1, 0.3))
    whole = Wording("b"), result(hit(1, 0.2), hit(4, 0.1))
    assert [each.passage.id for each in fused([alone, whole], 3).hits] == [1, 2, 3]


def test_at_most_three_passages_a_source_are_left_of_all_wordings() -> None:
    found = [
        (Wording(name), result(*(hit(at, 0.5, source="s") for at in ids)))
        for name, ids in (("a", (1, 2, 3)), ("b", (4, 5, 6)))
    ]
    assert len(fused(found, 10).hits) == 3


@pytest.mark.parametrize(
    ("text", "is_relevant"), [("特休七日，離職時折發", True), ("特休七日", False)]
)
def test_the_old_subject_answers_only_what_its_passage_speaks_of(
    text: str, is_relevant: bool
) -> None:
    alone = Wording("離職？"), result(hit(1, 0.1, text), probability=0.1)
    whole = Wording("特休 離職", 0.5, frozenset({"离职"})), result(hit(1, 0.9, text))
    assert fused([alone, whole], 5).relevance.is_relevant is is_relevant


def test_the_subject_alone_decides_for_its_own_passages_and_has_no_say_in_the_order() -> None:
    alone = Wording("離職？"), result(hit(1, 0.1), hit(2, 0.09), probability=0.1)
    subject = Wording("特休", 0.0), result(hit(2, 5.0), hit(1, 4.0))
    other = Wording("病假", 0.0), result(hit(3, 5.0))
    assert not is_decided([alone, other])
    assert is_decided([alone, subject])
    assert [each.passage.id for each in fused([alone, subject], 5).hits] == [1, 2]
