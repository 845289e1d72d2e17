"""A whole turn, from an inbox row to the reply: what is read, said, shown and kept."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from gateway.asked import Asked
from gateway.catalogue import error_text, text
from gateway.core.access import Audience, AudienceKind, Sensitivity, SubjectKind
from gateway.core.agents import AgentKnowledge, AnswerMode
from gateway.core.asking import MAX_CHARS
from gateway.core.audit import AccessAction
from gateway.core.chat import Draft, Speaker, ToolCall
from gateway.core.messages import Conversation, InboundMessage, Limits, Reply, Sender, Unit
from gateway.core.prompt import RULES, parse_passages
from gateway.errors import ChannelError, GatewayError, LanguageModelError
from gateway.interfaces import Claimed, Collections, LanguageModels, PassageIndex
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings
from gateway.reading import TurnReader
from gateway.tool_loop import MAX_CALLS, MAX_ROUNDS, READ_ENOUGH, TOO_MANY_CALLS
from gateway.turn import TurnRunner, TurnSettings
from tests.fakes.channels import FakeChannel, said
from tests.fakes.library import (
    FakeAgentFiles,
    FakeCollections,
    FakePassages,
    FakeReplies,
    FakeRetriever,
    FakeTurns,
    Office,
)
from tests.fakes.models import ScriptedModel, Step
from tests.fakes.times import RealClock
from tests.simulators.openai import Say, Trouble, UseTool, openai_simulator

QUESTION = "到職滿一年的特休有幾天？"
LEAVE = "同仁到職滿半年者，給予特別休假三日；滿一年者七日。特休應於一週前申請。"
SALARY = "到職滿一年的特休有幾天，會影響年終獎金：未休畢的特休折發三萬元。"
LINE_LIKE = Limits(Unit.UTF16, part_units=5_000, parts_per_call=5, footer_units=1_200)
NO_PASSAGE = text("chat.no_passage", "zh-TW")
NO_COLLECTION = text("chat.no_collection", "zh-TW")


class Chat(FakeChannel):
    """A channel that remembers what it showed while the reply was written."""

    def __init__(self, limits: Limits = LINE_LIKE, trouble: Exception | None = None) -> None:
        super().__init__()
        self._limits = limits
        self.trouble = trouble
        self.typing = 0
        self.deltas: list[str] = []

    async def show_typing(self, message: InboundMessage) -> None:
        self.typing += 1
        if self.trouble is not None:
            raise self.trouble

    async def show_delta(self, message: InboundMessage, turn_id: str, text: str) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.deltas.append(text)


@dataclass
class Scene:
    """An office, a model and a chat; one linked person, one agent, one collection to begin."""

    office: Office
    model: LanguageModels
    chat: Chat = field(default_factory=Chat)
    settings: TurnSettings = field(default_factory=TurnSettings)
    auto_retrieve: bool = True

    def __post_init__(self) -> None:
        self.retriever = FakeRetriever(self.office)

    @property
    def runner(self) -> TurnRunner:
        office = self.office
        reader = TurnReader(
            office.scopes,
            cast("Collections", FakeCollections(office)),
            self.retriever,
            cast("PassageIndex", FakePassages(office)),
            RealClock(),
            FakeAgentFiles(office),
            FakeTurns(office),
            self.auto_retrieve,
        )
        return TurnRunner(
            office.scopes,
            FakeAgentFiles(office),
            reader,
            self.model,
            FakeTurns(office),
            FakeReplies(office),
            RealClock(),
            self.settings,
        )

    async def ask(self, question: str = QUESTION, n: int = 1, **over: Any) -> Reply:
        message = said(question, n, agent_id="a1", **over)
        await self.runner.run(Claimed(f"t{n}", message, 1), self.chat)
        return self.office.replies[f"t{n}"]

    @property
    def prompts(self) -> list[tuple[Any, ...]]:
        assert isinstance(self.model, ScriptedModel)
        return self.model.prompts


def scene(*script: Step, mode: AnswerMode = AnswerMode.ASSIST, **over: Any) -> Scene:
    office = Office()
    office.hire("u1")
    office.links[Sender("fake", "main", "s1")] = "u1"
    office.shelve("handbook", "u1")
    office.add("handbook", LEAVE)
    office.employ(mode)
    model = ScriptedModel([*script]) if script else ModelRegistry({})
    return Scene(office, model, **over)


def search(query: str = "特休", n: int = 1, **arguments: object) -> Draft:
    written = json.dumps({"query": query, **arguments}, ensure_ascii=False)
    return Draft("", (ToolCall(f"c{n}", "knowledge_search", written),))


def told(prompt: tuple[Any, ...], speaker: Speaker) -> list[str]:
    return [message.text for message in prompt if message.speaker is speaker]


# ---------------------------------------------------------------- the straight path


async def test_a_question_is_answered_from_the_documents_with_mark_and_footer() -> None:
    it = scene()
    reply = await it.ask()
    assert reply.text == "同仁到職滿半年者，給予特別休假三日；滿一年者七日。[1]"
    (part,) = reply.parts
    assert part.startswith(reply.text)
    assert "[1] 員工手冊.docx" in part
    assert "p. 3" in part
    assert [view.n for view in reply.citations] == [1]
    assert it.chat.typing == 1
    assert "".join(it.chat.deltas) == reply.text


async def test_the_record_holds_places_and_a_short_excerpt_but_no_body_and_no_footer() -> None:
    it = scene(Draft("七日。[1]"))
    it.office.add("handbook", "特休年度終結未休完的日數，滿一年可遞延。" + "其他說明。" * 40)
    await it.ask()
    record = it.office.records["t1"]
    assert (record.question, record.answer) == (QUESTION, "七日。[1]")
    assert (record.account_id, record.agent_id, record.is_direct) == ("u1", "a1", True)
    assert [(each.n, each.is_cited) for each in record.citations] == [(1, True), (2, False)]
    assert all(len(each.excerpt) <= 40 for each in record.citations)
    assert {each.title for each in record.citations} == {"員工手冊.docx"}


async def test_injection_is_one_log_row_and_the_passages_are_not_kept_in_history() -> None:
    it = scene(Draft("七日。[1]"), Draft("是的。"))
    await it.ask()
    (row,) = it.office.log
    assert (row.action, row.account_id, row.agent_id) == (AccessAction.AUTO_INJECT, "u1", "a1")
    assert (row.turn_id, row.channel, row.sender) == ("t1", "fake", "fake/main/s1")
    await it.ask("謝謝", n=2)
    history = it.prompts[1][1:-1]
    assert [message.text for message in history] == [QUESTION, "七日。[1]"]


async def test_a_turn_run_again_replaces_its_record_and_sends_nothing_twice() -> None:
    it = scene(Draft("七日。[1]"), Draft("是七日。[1]"))
    first = await it.ask()
    again = await it.ask()
    assert again == first
    assert len(it.office.records) == 1
    assert told(it.prompts[1], Speaker.ASSISTANT) == []  # its first run is no past of it


# ---------------------------------------------------------------- what is injected


async def test_automatic_injection_and_its_switches() -> None:
    cases = {
        (True, True, AnswerMode.ASSIST): 1,
        (True, False, AnswerMode.ASSIST): 0,
        (False, True, AnswerMode.ASSIST): 0,  # the operator's false wins
        (False, False, AnswerMode.KB_ONLY): 1,  # kb_only searches in any case
    }
    for (operator, agent, mode), shown in cases.items():
        it = scene(Draft("好"), auto_retrieve=operator)
        knowledge = AgentKnowledge(auto_retrieve=agent, answer_mode=mode)
        it.office.employ(knowledge=knowledge)
        await it.ask()
        assert len(parse_passages(it.prompts[0][-1].text)) == shown


@pytest.mark.parametrize(
    ("sensitivity", "is_flagged", "shown"),
    [
        (Sensitivity.INTERNAL, False, 1),
        (Sensitivity.PERSONAL, False, 1),  # the chat is 1:1
        (Sensitivity.RESTRICTED, False, 0),
        (Sensitivity.INTERNAL, True, 0),
    ],
)
async def test_what_is_never_injected(
    sensitivity: Sensitivity, is_flagged: bool, shown: int
) -> None:
    it = scene(Draft("好"))
    it.office.passages.clear()
    it.office.shelve("box", "u1", sensitivity=sensitivity)
    it.office.add("box", LEAVE, is_flagged=is_flagged)
    await it.ask()
    assert len(parse_passages(it.prompts[0][-1].text)) == shown


@pytest.mark.parametrize("question", ["/help", "？？", "🙂", "", "今天天氣如何"])
async def test_no_passage_for_what_cannot_be_searched_or_is_not_relevant(question: str) -> None:
    it = scene(Draft("您好"))
    reply = await it.ask(question)
    assert parse_passages(it.prompts[0][-1].text) == ()
    assert it.prompts[0][-1].text
    assert reply.parts == ("您好",)


async def test_the_budget_and_top_k_hold() -> None:
    it = scene(Draft("好"), settings=TurnSettings(inject_budget_chars_max=500))
    for _ in range(9):
        it.office.add("handbook", LEAVE + "說明" * 60)
    await it.ask()
    shown = parse_passages(it.prompts[0][-1].text)
    assert sum(len(each.text) for each in shown) <= 500
    it.settings = TurnSettings()
    await it.ask(n=2)
    assert len(parse_passages(it.prompts[1][-1].text)) == 5


async def test_the_rules_stand_in_the_prompt_when_the_agent_has_documents_whoever_asks() -> None:
    it = scene(Draft("好"))
    await it.ask()
    await it.ask(n=2, sender=Sender("fake", "main", "stranger"))
    it.office.revoke("handbook", "a1")
    await it.ask(n=3)
    assert [RULES in prompt[0].text for prompt in it.prompts] == [True, True, False]
    assert isinstance(it.model, ScriptedModel)
    assert [len(tools) for tools in it.model.offered] == [1, 1, 0]


# ---------------------------------------------------------------- kb_only


async def test_kb_only_answers_with_its_two_sentences_without_the_model() -> None:
    it = scene(Draft("七日。[1]"), mode=AnswerMode.KB_ONLY)
    assert (await it.ask()).text == "七日。[1]"
    assert (await it.ask("今天天氣如何", n=2)).text == NO_PASSAGE
    assert (await it.ask("/help", n=3)).text.startswith(NO_PASSAGE)
    it.office.revoke("handbook", "u1")
    assert (await it.ask(n=4)).text == NO_COLLECTION
    it.office.shelve("box", "u1", sensitivity=Sensitivity.RESTRICTED)
    it.office.add("box", LEAVE)
    assert (await it.ask(n=5)).text == NO_PASSAGE
    assert len(it.prompts) == 1
    assert it.office.records["t4"].answer == NO_COLLECTION


async def test_an_answer_whose_citations_are_all_withdrawn_is_no_answer_of_kb_only() -> None:
    it = scene(Draft("特別休假滿一年給予九十九日[1]。"), mode=AnswerMode.KB_ONLY)
    reply = await it.ask()
    assert (reply.text, reply.citations) == (NO_PASSAGE, ())
    it.office.employ(AnswerMode.ASSIST)
    assert (await it.ask(n=2)).text == "特別休假滿一年給予九十九日。"
    it.settings = TurnSettings(checks_citations=False)
    assert (await it.ask(n=3)).text == "特別休假滿一年給予九十九日[1]。"


async def test_a_closed_library_reads_nothing_and_offers_nothing() -> None:
    it = scene(Draft("好"), settings=TurnSettings(has_library=False))
    await it.ask()
    assert RULES not in it.prompts[0][0].text
    assert it.office.log == []
    it.office.employ(AnswerMode.KB_ONLY)
    assert (await it.ask(n=2)).text == NO_COLLECTION


# ---------------------------------------------------------------- the tool


async def test_numbering_goes_on_across_tool_calls_and_a_passage_keeps_its_number() -> None:
    it = scene(search("特休申請"), search("加班", n=2), Draft("七日[1]，加班另計[2]。[7]"))
    it.office.add("handbook", "平日加班二小時內，加給三分之一。", "加班.md")
    reply = await it.ask()
    first, second, third = it.prompts
    assert [each.n for each in parse_passages(first[-1].text)] == [1]
    assert "[1]" in second[-1].text
    assert parse_passages(second[-1].text) == ()  # the same passage is not shown again
    assert [each.n for each in parse_passages(third[-1].text)] == [2]
    assert reply.text == "七日[1]，加班另計[2]。"
    assert [(view.n, view.title) for view in reply.citations] == [
        (1, "員工手冊.docx"),
        (2, "加班.md"),
    ]
    assert [row.action for row in it.office.log] == ["auto_inject", "search", "search"]


async def test_the_built_in_model_searches_once_when_nothing_was_injected() -> None:
    it = scene(auto_retrieve=False)
    assert "滿一年者七日" in (await it.ask()).text
    assert [row.action for row in it.office.log] == [AccessAction.SEARCH]
    assert (await it.ask("公司有員工宿舍嗎？", n=2)).text == text("chat.no_answer", "zh-TW")


async def test_a_collections_argument_only_narrows() -> None:
    names = ["handbook-slug", "secret-slug", "nowhere"]
    it = scene(search(collections=names), search(collections=[], n=2), Draft("好"))
    it.office.shelve("faq", "u1")
    it.office.shelve("secret", "u2")
    await it.ask("早安")
    assert it.retriever.scopes[-2:] == [frozenset({"handbook"}), frozenset()]


async def test_a_foreign_collection_and_a_missing_one_look_alike_in_every_respect() -> None:
    seen = []
    for asked in ("secret-slug", "secret", "no-such-slug", ""):
        it = scene(search(collections=[asked]), search(collections=[asked, "handbook-slug"]))
        it.office.shelve("secret")
        it.office.add("secret", SALARY)
        assert isinstance(it.model, ScriptedModel)
        it.model.script.append(Draft("好"))
        await it.ask("早安")
        results = told(it.prompts[-1], Speaker.TOOL)
        rows = [(row.action, row.query, row.collections, row.results) for row in it.office.log]
        seen.append((results, rows, it.retriever.scopes))
    assert seen == [seen[0]] * 4
    results, rows, scopes = seen[0]
    assert [len(parse_passages(each)) for each in results] == [0, 1]
    assert [row[0] for row in rows[1:]] == [AccessAction.SEARCH] * 2  # nothing was denied
    assert scopes[1:] == [frozenset(), frozenset({"handbook"})]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (ToolCall("c1", "delete_everything", "{}"), "no such tool"),
        (ToolCall("c1", "knowledge_search", '{"query": "特'), "arguments must be"),
        (ToolCall("c1", "knowledge_search", '{"query": "  "}'), "arguments must be"),
        (ToolCall("c1", "knowledge_search", '{"query": 7}'), "arguments must be"),
        (ToolCall("c1", "knowledge_search", "[" * 20_000), "arguments must be"),
        (ToolCall("c1", "knowledge_search", '{"query": "\ud800"}'), "arguments must be"),
    ],
)
async def test_a_wrong_tool_call_is_told_to_the_model(call: ToolCall, complaint: str) -> None:
    it = scene(Draft("", (call,)), Draft("抱歉。"))
    reply = await it.ask("早安")
    assert complaint in it.prompts[1][-1].text
    assert it.prompts[1][-1].tool_call_id == "c1"
    assert reply.text == "抱歉。"


async def test_an_endless_tool_loop_ends_with_a_sentence() -> None:
    it = scene(search())
    reply = await it.ask("早安")
    assert len(it.prompts) == MAX_ROUNDS + 1
    assert isinstance(it.model, ScriptedModel)
    assert it.model.offered[-1] == ()
    assert reply.text == error_text("llm_failed", "zh-TW")


async def test_calls_of_one_round_and_passages_of_one_turn_are_bounded() -> None:
    calls = tuple(replace(search().tool_calls[0], id=f"c{n}") for n in range(MAX_CALLS + 1))
    it = scene(Draft("", calls), search("說明", limit=20), search("特休", n=3), Draft("好"))
    await it.ask("早安")
    assert it.prompts[1][-1].text == TOO_MANY_CALLS
    it = scene(search("說明", limit=20), search("說明", limit=20, n=2), Draft("好"))
    it.office.employ(knowledge=AgentKnowledge(inject_budget_chars=12_000))
    it.settings = TurnSettings(inject_budget_chars_max=12_000)
    for _ in range(60):
        it.office.add("handbook", "說明" * 600)
    it.model = ScriptedModel([*(search("說明", limit=20, n=n) for n in range(3)), Draft("好")])
    await it.ask("早安")
    assert it.prompts[-1][-1].text == READ_ENOUGH


# ---------------------------------------------------------------- what changes in mid-turn


@dataclass(frozen=True)
class Change:
    """Something that happens while the model thinks."""

    name: str
    to: Callable[[Office], None]
    is_lost: bool


CHANGES = [
    Change("nothing", lambda office: None, False),
    Change("another collection's grant", lambda office: office.revoke("faq", "u1"), False),
    Change("the person's grant", lambda office: office.revoke("handbook", "u1"), True),
    Change("the agent's grant", lambda office: office.revoke("handbook", "a1"), True),
    Change("the document", lambda office: office.passages.clear(), True),
    Change("the collection", lambda office: office.collections.clear(), True),
    Change("the account", lambda office: office.accounts.clear(), True),
]


def during(office: Office, change: Change, draft: Draft) -> Callable[[], Awaitable[Draft]]:
    async def step() -> Draft:
        change.to(office)
        return draft

    return step


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
@pytest.mark.parametrize("mode", AnswerMode)
async def test_a_draft_that_rests_on_what_was_lost_is_never_sent(
    change: Change, mode: AnswerMode
) -> None:
    it = scene(Draft("x"), mode=mode)
    it.office.shelve("faq", "u1")
    it.model = ScriptedModel([during(it.office, change, Draft("特休七日。[1]"))])
    reply = await it.ask()
    if not change.is_lost:
        assert reply.text == "特休七日。[1]"
        return
    assert reply.text == NO_PASSAGE
    assert reply.citations == ()
    assert it.office.records["t1"].citations == ()
    assert "七日" not in "".join(it.chat.deltas)


@pytest.mark.parametrize("change", CHANGES[:4], ids=lambda change: change.name)
async def test_a_revoked_grant_holds_at_the_next_search_of_the_same_turn(change: Change) -> None:
    it = scene(Draft("x"))
    it.office.shelve("faq", "u1")
    it.model = ScriptedModel([during(it.office, change, search()), Draft("好")])
    await it.ask("早安")
    shown = parse_passages(it.prompts[1][-1].text)
    assert len(shown) == (0 if change.is_lost else 1)
    assert ("handbook" in it.retriever.scopes[-1]) is not change.is_lost


async def test_a_grant_given_in_mid_turn_does_not_widen_it() -> None:
    it = scene(Draft("x"))
    it.office.shelve("secret")
    it.office.add("secret", SALARY)

    def give(office: Office) -> None:
        office.grant("secret", SubjectKind.USER, "u1")

    it.model = ScriptedModel([during(it.office, Change("", give, False), search()), Draft("好")])
    await it.ask()
    assert it.retriever.scopes == [frozenset({"handbook"})] * 2


async def test_a_draft_that_may_rest_on_a_past_answer_is_checked_too() -> None:
    for is_lost in (False, True):
        it = scene(Draft("七日。[1]"))
        await it.ask()

        def lose(office: Office, is_lost: bool = is_lost) -> None:
            if is_lost:
                office.revoke("handbook", "u1")

        change = Change("", lose, is_lost)
        it.model = ScriptedModel([during(it.office, change, Draft("如前所述，七日。"))])
        reply = await it.ask("你剛才說幾天", n=2)
        assert told(it.prompts[0], Speaker.ASSISTANT) == ["七日。[1]"]
        assert reply.text == (NO_PASSAGE if is_lost else "如前所述，七日。")


# ---------------------------------------------------------------- history


async def test_history_leaves_out_what_the_scope_lost_and_what_was_written_upon_it() -> None:
    it = scene(Draft("好"), Draft("七日。[1]"), Draft("總之七日"))
    await it.ask("謝謝")
    await it.ask(n=2)
    await it.ask("請整理一下", n=3)  # "sum that up": presents nothing itself
    assert told(it.prompts[2], Speaker.ASSISTANT) == ["好", "七日。[1]"]
    assert it.office.records["t3"].citations == ()
    it.office.revoke("handbook", "u1")
    await it.ask("再說一次", n=4)
    assert told(it.prompts[3], Speaker.ASSISTANT) == ["好"]


async def test_history_leaves_out_an_answer_whose_source_is_gone() -> None:
    it = scene(Draft("七日。[1]"), Draft("好"))
    await it.ask()
    (past,) = it.office.exchanges.values()
    past[0] = replace(past[0], presented=(), is_complete=False)
    await it.ask("謝謝", n=2)
    assert told(it.prompts[1], Speaker.ASSISTANT) == []


async def test_a_group_never_sees_the_history_of_a_direct_chat() -> None:
    it = scene(Draft("七日。[1]"), Draft("好"))
    await it.ask()
    group = Conversation("fake", "main", "g1", is_direct=False)
    same = Conversation("fake", "main", "c1", is_direct=False)
    await it.ask("謝謝", n=2, conversation=group)
    await it.ask("謝謝", n=3, conversation=same)
    assert told(it.prompts[1], Speaker.ASSISTANT) == []
    assert told(it.prompts[2], Speaker.ASSISTANT) == []


async def test_personal_documents_answer_in_a_direct_chat_and_stay_out_of_a_group() -> None:
    it = scene()
    it.office.passages.clear()
    it.office.shelve("salary", "u1", sensitivity=Sensitivity.PERSONAL)
    it.office.add("salary", SALARY, "薪資.md")
    group = Conversation("fake", "main", "g1", is_direct=False)
    assert "三萬元" in (await it.ask()).text
    assert (await it.ask(n=2, conversation=group)).text == text("chat.no_answer", "zh-TW")


# ---------------------------------------------------------------- what a model may come up with


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("", None),
        (" \n\u200b", None),
        ("[9]", None),
        ("【9】［8］", None),
        ("\x07\x00\u2060\u3164", None),
        ("[1]", None),
        ("\u200b【1】[1]。", None),
        ("[1, 9].", None),
        ("👍[1]", "👍[1]"),
        ("七日【1】。", "七日[1]。"),
        ("七日[1, 9]。", "七日[1]。"),
    ],
)
async def test_empty_and_unfounded_drafts(draft: str, expected: str | None) -> None:
    it = scene(Draft(draft))
    reply = await it.ask()
    assert reply.text == (expected or error_text("llm_failed", "zh-TW"))
    assert (reply.citations == ()) is (expected is None)
    assert all(part.strip() for part in reply.parts)


async def test_30000_characters_are_sent_whole_or_cut_with_a_notice_and_the_footer() -> None:
    it = scene(Draft("長" * 30_000 + "。七日[1]"))
    it.chat = Chat(replace(LINE_LIKE, max_calls=2))
    whole = await it.ask()
    assert sum(part.count("長") for part in whole.parts) == 30_000
    it.chat = Chat()
    cut = await it.ask(n=2)
    assert len(cut.parts) == 5
    assert text("chat.cut_notice", "zh-TW") in cut.parts[-1]
    assert "[1] 員工手冊.docx" in cut.parts[-1]


async def test_a_link_that_stands_in_no_passage_is_no_link() -> None:
    it = scene(Draft("見 https://hr.example/leave 與 https://evil.example/?q=secret [1]"))
    it.office.add("handbook", "到職滿一年的特休請到 https://hr.example/leave 申請。")
    reply = await it.ask()
    assert "https://hr.example/leave" in reply.text
    assert "https://evil.example" not in reply.text + "".join(reply.parts)


async def test_a_preview_never_shows_half_a_mark() -> None:
    it = scene(Draft("特休七日[1]，另見【1】與[12]。"))
    await it.ask()
    shown = ""
    for delta in it.chat.deltas:
        shown += delta
        assert not re.search(r"[\[【［][0-9]*$", shown), shown


@pytest.mark.parametrize("code", ["llm_failed", "llm_timeout"])
async def test_a_failing_model_fails_the_turn_before_anything_is_kept(code: str) -> None:
    it = scene(LanguageModelError("down", code=code))
    with pytest.raises(GatewayError) as caught:
        await it.ask()
    assert caught.value.code == code
    assert it.office.records == {}
    assert it.office.replies == {}


async def test_a_channel_that_cannot_show_drafts_or_typing_still_gets_its_reply() -> None:
    it = scene(Draft("七日。[1]"), chat=Chat(trouble=ChannelError("down")))
    assert (await it.ask()).text == "七日。[1]"


# ---------------------------------------------------------------- the question


async def test_a_long_question_is_cut_for_the_prompt_and_the_person_is_told() -> None:
    it = scene(Draft("七日。[1]"))
    reply = await it.ask(QUESTION + "說" * 100_000)
    assert len(it.prompts[0][-1].text) < MAX_CHARS + 2_000
    assert all(len(query) <= MAX_CHARS for query in it.retriever.queries)
    assert text("llm.question_cut", "zh-TW", count=MAX_CHARS) in reply.text


async def test_a_question_with_half_a_character_is_asked_and_kept_without_it() -> None:
    it = scene(Draft("好"))
    await it.ask("特休\ud800\x00幾天")
    for kept in (it.prompts[0][-1].text, it.office.records["t1"].question):
        kept.encode()
        assert "\x00" not in kept


LANGUAGES = [
    ("account", {"of_account": "ja", "of_channel": "en", "question": "特休幾天"}, "ja"),
    ("channel", {"of_account": None, "of_channel": "en", "question": "特休幾天"}, "en"),
    ("script", {"of_account": None, "of_channel": None, "question": "天気はどうですか"}, "ja"),
    ("english", {"of_account": None, "of_channel": None, "question": "The weather?"}, "en"),
    ("none", {"of_account": None, "of_channel": None, "question": "？？"}, "zh-TW"),
]


@pytest.mark.parametrize(("case", "given", "expected"), LANGUAGES)
async def test_our_own_sentences_are_in_the_askers_language(
    case: str, given: dict[str, Any], expected: str
) -> None:
    it = scene(Draft("x"), mode=AnswerMode.KB_ONLY)
    it.office.hire("u1", given["of_account"])
    it.office.passages.clear()
    reply = await it.ask(given["question"], language=given["of_channel"])
    assert reply.text == text("chat.no_passage", expected)


# ---------------------------------------------------------------- who answers whom


async def test_no_agent_no_answer_but_a_sentence() -> None:
    it = scene(Draft("七日。[1]"))
    it.office.employ(is_archived=True)
    assert (await it.ask()).text == text("llm.no_agent", "zh-TW")
    it.office.agents.clear()
    assert (await it.ask(n=2)).text == text("llm.no_agent", "zh-TW")
    message = said(QUESTION, 3)
    await it.runner.run(Claimed("t3", message, 1), it.chat)
    assert it.office.replies["t3"].text == text("llm.no_agent", "zh-TW")
    assert it.prompts == []


async def test_a_stranger_gets_nothing_of_what_the_linked_person_reads() -> None:
    it = scene()
    assert "七日" in (await it.ask()).text
    stranger = await it.ask(n=2, sender=Sender("fake", "main", "stranger"))
    assert stranger.text == text("chat.no_answer", "zh-TW")
    assert stranger.citations == ()


async def test_the_command_asks_without_a_channel_and_without_an_agent() -> None:
    it = scene()
    account = it.office.accounts["u1"]
    for kind, agent_id in ((AudienceKind.ACCOUNT_DOOR, "a1"), (AudienceKind.DASHBOARD, None)):
        at = datetime(2026, 3, 1, tzinfo=UTC)
        asked = Asked(f"q-{kind}", QUESTION, Audience(kind, account), agent_id, "ask/1", at)
        answer = await it.runner.answer(asked)
        assert "滿一年者七日" in answer.text
        assert answer.footer.startswith("[1] 員工手冊.docx")
        assert answer.citations[0].source_id == "handbook/員工手冊.docx"
    assert it.office.replies == {}


async def test_a_channel_that_shows_citations_itself_gets_no_footer() -> None:
    it = scene()
    it.chat = Chat(replace(LINE_LIKE, footer_units=0))
    reply = await it.ask()
    assert reply.parts == (reply.text,)
    assert len(reply.citations) == 1


# ---------------------------------------------------------------- over the wire


async def test_a_whole_turn_through_a_model_behind_http() -> None:
    script = (UseTool({"query": "特休"}), Say("滿一年七日【1】。"))
    async with openai_simulator(*script) as simulator:
        it = scene(auto_retrieve=False)
        it.office.employ(model="house/small-1")
        registry = ModelRegistry({"house": ProviderSettings(base_url=simulator.base_url)})
        it.model = registry
        try:
            reply = await it.ask()
        finally:
            await registry.close()
    assert reply.text == "滿一年七日[1]。"
    assert "[1] 員工手冊.docx" in reply.parts[-1]
    assert simulator.statuses == [200, 200]


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (Trouble.NOTHING, error_text("llm_failed", "zh-TW")),
        (Say("[9]"), error_text("llm_failed", "zh-TW")),
        (UseTool({"query": "特休"}), error_text("llm_failed", "zh-TW")),  # and again, for ever
        (UseTool('{"query": "特'), error_text("llm_failed", "zh-TW")),
        (Say("長" * 30_000, 1_000), "長" * 30_000),
    ],
)
async def test_whatever_a_model_behind_http_does_a_reply_goes_out(
    step: Say | UseTool | Trouble, sentence: str
) -> None:
    async with openai_simulator(step) as simulator:
        it = scene()
        it.office.employ(model="house/small-1")
        registry = ModelRegistry({"house": ProviderSettings(base_url=simulator.base_url)})
        it.model = registry
        try:
            reply = await it.ask()
        finally:
            await registry.close()
    assert reply.text == sentence
    assert reply.parts


@pytest.mark.parametrize(
    ("trouble", "code"), [(Trouble.HANG, "llm_timeout"), (Trouble.DROP_MID_STREAM, "llm_failed")]
)
async def test_a_model_that_hangs_or_drops_ends_the_turn_with_its_code(
    trouble: Trouble, code: str
) -> None:
    async with openai_simulator(trouble) as simulator:
        it = scene()
        it.office.employ(model="house/small-1")
        settings = ProviderSettings(base_url=simulator.base_url, first_token_timeout_s=0.3)
        registry = ModelRegistry({"house": settings})
        it.model = registry
        try:
            with pytest.raises(LanguageModelError) as caught:
                await it.ask()
        finally:
            await registry.close()
    assert caught.value.code == code
