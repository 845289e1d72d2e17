"""Follow-up questions, from the message to the answer, without a cloud model."""

from dataclasses import replace

import pytest

from gateway.catalogue import text
from gateway.core.agents import AnswerMode
from gateway.core.chat import ChatMessage, Speaker
from gateway.core.messages import Conversation, Sender
from gateway.core.prompt import TOOL_SEARCH
from gateway.llm.extractive import ExtractiveModel
from gateway.llm.registry import ModelRegistry
from tests.fakes.library import Office
from tests.journeys.test_turn import Scene

LEAVE = "特別休假：到職滿一年的特休七日。滿半年的特休三日。特休應於一週前在系統申請。"
SHIPPING = "宅配：本島運費一百元。離島運費二百二十元，滿三千元免運。"
PAY = "到職滿一年的特休有幾天會影響獎金，滿半年的特休折發三萬元。"
NO_PASSAGE = text("chat.no_passage", "zh-TW")
GROUP = Conversation("fake", "main", "g1", is_direct=False)


@pytest.fixture
def scene() -> Scene:
    office = Office()
    for number in (1, 2):
        office.hire(f"u{number}")
        office.links[Sender("fake", "main", f"s{number}")] = f"u{number}"
    office.shelve("handbook", "u1", "u2")
    office.add("handbook", LEAVE, "leave.md")
    office.add("handbook", SHIPPING, "shipping.md")
    office.employ(AnswerMode.KB_ONLY)
    return Scene(office, ModelRegistry({}))


async def test_a_follow_up_is_answered_from_the_passage_it_means(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    reply = await scene.ask("那半年呢？", 2)
    assert "三日" in reply.text
    assert "七日" not in reply.text
    assert reply.citations[0].n == 1
    assert "滿半年" in reply.citations[0].excerpt


async def test_the_second_follow_up_still_knows_the_subject(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    await scene.ask("那半年呢？", 2)
    reply = await scene.ask("要怎麼申請？", 3)
    assert "一週前" in reply.text


async def test_the_access_log_keeps_what_the_person_wrote(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    await scene.ask("那半年呢？", 2)
    assert [entry.query for entry in scene.office.log] == ["到職滿一年的特休有幾天？", "那半年呢？"]


async def test_a_change_of_subject_drags_nothing_along(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    reply = await scene.ask("離島運費滿多少免運？", 2)
    assert "三千元" in reply.text
    assert "特休" not in reply.text
    assert [each.text for each in scene.retriever.wordings[-1]] == ["離島運費滿多少免運？"]


async def test_without_a_conversation_the_message_stands_alone(scene: Scene) -> None:
    reply = await scene.ask("那半年呢？")
    assert [each.text for each in scene.retriever.wordings[-1]] == ["那半年呢？"]
    assert reply.text


async def test_what_was_answered_from_documents_out_of_reach_is_not_carried(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    scene.office.shelve("other", "u1")
    scene.office.add("other", SHIPPING)
    scene.office.revoke("handbook", "u1")
    await scene.ask("那半年呢？", 2)
    assert [each.text for each in scene.retriever.wordings[-1]] == ["那半年呢？"]


async def test_a_follow_up_in_a_group_reads_on_the_askers_own_side(scene: Scene) -> None:
    scene.office.shelve("pay", "u1")
    scene.office.add("pay", PAY, "pay.md")
    await scene.ask("到職滿一年的特休有幾天？", conversation=GROUP)
    await scene.ask("那半年呢？", 2, conversation=GROUP, sender=Sender("fake", "main", "s2"))
    # the first answer was shown what the second person may not read: it is as if never said
    assert scene.retriever.scopes == [{"handbook", "pay"}, {"handbook"}]
    assert [each.text for each in scene.retriever.wordings[-1]] == ["那半年呢？"]


async def test_in_a_group_nobodys_question_lends_words_to_anothers(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？", conversation=GROUP)
    await scene.ask("那半年呢？", 2, conversation=GROUP, sender=Sender("fake", "main", "s2"))
    assert [each.text for each in scene.retriever.wordings[-1]] == ["那半年呢？"]
    await scene.ask("那半年呢？", 3, conversation=GROUP)  # whose question it follows
    assert len(scene.retriever.wordings[-1]) > 1


async def test_what_was_said_in_private_is_not_carried_into_a_group(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    await scene.ask("那半年呢？", 2, conversation=replace(GROUP, id="c1"))
    assert [each.text for each in scene.retriever.wordings[-1]] == ["那半年呢？"]


async def test_thanks_after_an_answer_are_no_question_about_it(scene: Scene) -> None:
    await scene.ask("到職滿一年的特休有幾天？")
    reply = await scene.ask("謝謝！", 2)
    assert reply.text == NO_PASSAGE


async def test_the_built_in_model_searches_for_what_a_follow_up_means() -> None:
    messages = (
        ChatMessage(Speaker.USER, "到職滿一年的特休有幾天？"),
        ChatMessage(Speaker.ASSISTANT, "七日。"),
        ChatMessage(Speaker.USER, "那半年呢？"),
    )

    async def ignore(_delta: str) -> None:
        return None

    draft = await ExtractiveModel().complete(messages, (TOOL_SEARCH,), ignore)
    assert "到職滿半年的特休有幾天" in draft.tool_calls[0].arguments
