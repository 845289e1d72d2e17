"""The tool `knowledge_base` in a turn: what it searches, how long, and what goes on meanwhile."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import structlog

from gateway.core.chat import ChatMessage, Draft, Speaker, Tool, ToolCall
from gateway.core.filters import equal_to
from gateway.core.knowledge_tool import (
    BAD_ARGUMENTS,
    DELIVERED,
    FAILED,
    SEARCHING,
    TOO_SLOW,
    KnowledgeBaseTool,
)
from gateway.core.prompt import parse_passages
from gateway.errors import LanguageModelError, StoreError
from gateway.interfaces import OnDelta
from gateway.llm.extractive import ExtractiveModel
from gateway.llm.registry import ModelRegistry
from gateway.tool_loop import MAX_ROUNDS, UNKNOWN_TOOL
from tests.fakes.library import FakeRetriever
from tests.fakes.models import ScriptedModel, Step
from tests.journeys.test_turn import NO_PASSAGE, Scene, told
from tests.journeys.test_turn import scene as plain
from tests.journeys.test_turn import search as search_call
from tests.llm.asking import APIS
from tests.simulators.scripted import Say, UseTool

LATE = "加班須於前一日申請，平日加班加給三分之一。"
SAID = Draft("特休申請須一週前提出。[1]")


def scene(tool: KnowledgeBaseTool | None, *script: Step) -> Scene:
    it = plain(*script, auto_retrieve=False)
    it.office.add("handbook", LATE, "加班.md")
    it.office.employ(knowledge_base=tool)
    return it


def look_up(query: Any = "特休申請", n: int = 1, said: str = "") -> Draft:
    written = json.dumps({"query": query}, ensure_ascii=False)
    return Draft(said, (ToolCall(f"k{n}", "knowledge_base", written),))


def heard(it: Scene, at: int = -1) -> list[str]:
    return told(it.prompts[at], Speaker.TOOL)


class Held(FakeRetriever):
    """A search that waits until it is let go; what went wrong with it is kept."""

    def __init__(self, it: Scene) -> None:
        super().__init__(it.office)
        self.let_go = asyncio.Event()
        self.begun = asyncio.Event()
        self.found = asyncio.Event()
        self.cancelled = 0
        it.retriever = self

    async def search(self, *args: Any, **over: Any) -> Any:
        self.begun.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        result = await super().search(*args, **over)
        self.found.set()
        return result


# ---------------------------------------------------------------- what is offered and searched


async def test_it_is_offered_as_the_operator_says_and_only_where_it_stands() -> None:
    it = scene(KnowledgeBaseTool(description="只查保單。"), look_up(), SAID)
    reply = await it.ask()
    assert isinstance(it.model, ScriptedModel)
    [offered] = [each for each in it.model.offered[0] if each.name == "knowledge_base"]
    assert offered.description == "只查保單。"
    assert list(offered.parameters["properties"]) == ["query"]
    assert [each.title for each in parse_passages(heard(it)[0])][:1] == ["員工手冊.docx"]
    assert reply.text == SAID.text
    assert [view.n for view in reply.citations] == [1]
    assert [row.action for row in it.office.log] == ["search"]
    it = scene(None, look_up(), Draft("好"))
    await it.ask()
    assert isinstance(it.model, ScriptedModel)
    assert [each.name for each in it.model.offered[0]] == ["knowledge_search"]
    assert heard(it) == [UNKNOWN_TOOL]


async def test_numbers_go_on_across_both_tools() -> None:
    calls = (search_call("特休申請", limit=1), look_up("加班申請", 2), Draft("七日[1]，加班[2]。"))
    it = scene(KnowledgeBaseTool(), *calls)
    reply = await it.ask()
    assert [each.n for each in parse_passages(heard(it)[1])] == [2]
    assert [(view.n, view.title) for view in reply.citations] == [
        (1, "員工手冊.docx"), (2, "加班.md"),
    ]  # fmt: skip


async def test_filter_and_number_are_the_operators_alone() -> None:
    only = equal_to({"title": "加班.md"})
    it = scene(KnowledgeBaseTool(filters=only), look_up("申請"), Draft("好"))
    await it.ask()
    assert [each.title for each in parse_passages(heard(it)[0])] == ["加班.md"]
    it = scene(KnowledgeBaseTool(top_k=1), look_up("申請"), Draft("好"))
    await it.ask()
    assert len(parse_passages(heard(it)[0])) == 1


@pytest.mark.parametrize("written", ["", "{", "[]", '{"query": " "}', '{"q": "x"}', '"x"'])
async def test_bad_arguments_are_said_to_the_model(written: str) -> None:
    bad = Draft("", (ToolCall("k", "knowledge_base", written),))
    it = scene(KnowledgeBaseTool(), bad, Draft("好"))
    assert (await it.ask()).text == "好"
    assert heard(it) == [BAD_ARGUMENTS]
    assert it.office.log == []


async def test_what_the_person_or_the_agent_may_not_read_is_not_found() -> None:
    for subject in ("u1", "a1"):
        it = scene(KnowledgeBaseTool(), look_up(), Draft("沒有"))
        it.office.shelve("open", "u1")
        it.office.revoke("handbook", subject)
        await it.ask()
        assert heard(it) == ["沒有找到相關段落。"]


async def test_a_grant_revoked_in_mid_turn_holds_at_the_next_look_up() -> None:
    async def revoke() -> Draft:
        it.office.revoke("handbook", "u1")
        return look_up("加班申請", 2)

    it = scene(KnowledgeBaseTool(), look_up(), revoke, SAID)
    it.office.shelve("open", "u1")
    assert (await it.ask()).text == NO_PASSAGE
    assert heard(it)[1] == "沒有找到相關段落。"


async def test_the_built_in_model_goes_on_as_before() -> None:
    it = scene(KnowledgeBaseTool(is_background=True))
    assert "滿一年者七日" in (await it.ask()).text


# ---------------------------------------------------------------- time and trouble


@pytest.mark.parametrize("is_background", [False, True])
async def test_too_slow_is_said_in_words_and_the_search_is_ended(is_background: bool) -> None:
    tool = KnowledgeBaseTool(timeout_s=0.05, is_background=is_background)
    it = scene(tool, look_up(), Draft("現在查不到。"))
    held = Held(it)
    assert (await it.ask()).text == "現在查不到。"
    assert heard(it)[-1].endswith(TOO_SLOW)
    assert held.cancelled == 1


@pytest.mark.parametrize("is_background", [False, True])
async def test_a_store_that_fails_is_said_in_words(is_background: bool) -> None:
    it = scene(KnowledgeBaseTool(is_background=is_background), look_up(), Draft("好"))

    class Broken(FakeRetriever):
        async def search(self, *args: Any, **over: Any) -> Any:
            raise StoreError("gone", code="store_unavailable")

    it.retriever = Broken(it.office)
    assert (await it.ask()).text == "好"
    assert heard(it)[-1].endswith(FAILED)


async def test_a_long_time_is_warned_of() -> None:
    for timeout, warned in ((10.0, []), (10.5, ["knowledge_base waits long"])):
        it = scene(KnowledgeBaseTool(timeout_s=timeout), Draft("好"))
        with structlog.testing.capture_logs() as lines:
            await it.ask()
        assert [each["event"] for each in lines if each["log_level"] == "warning"] == warned


# ---------------------------------------------------------------- in the background


async def test_the_model_goes_on_at_once_and_is_told_before_the_turn_ends() -> None:
    async def meanwhile() -> Draft:
        held.let_go.set()
        return Draft("我查一下。")

    it = scene(KnowledgeBaseTool(is_background=True), look_up(), meanwhile, SAID)
    held = Held(it)
    reply = await it.ask()
    assert heard(it, 1) == [SEARCHING]
    last = it.prompts[2]
    delivered = heard(it)[1]
    assert delivered.startswith(DELIVERED)
    assert [each.n for each in parse_passages(delivered)] == [1, 2]
    asking = next(each for each in last if each.tool_calls and each.text == "我查一下。")
    assert asking.tool_calls[0].name == "knowledge_base"
    assert last[-1].tool_call_id == asking.tool_calls[0].id
    assert reply.text == SAID.text
    assert [view.n for view in reply.citations] == [1]


async def test_other_tools_go_on_meanwhile_and_numbers_are_given_when_it_is_delivered() -> None:
    async def other() -> Draft:
        assert not held.let_go.is_set()
        held.let_go.set()
        return search_call("加班申請", 2, limit=1)

    said = Draft("加班[1]，特休[2]。")
    it = scene(KnowledgeBaseTool(is_background=True), look_up("特休"), other, said)
    held = Held(it)
    reply = await it.ask()
    assert [view.title for view in reply.citations] == ["加班.md", "員工手冊.docx"]


async def test_what_is_under_way_after_the_last_round_is_still_delivered() -> None:
    rounds = [look_up("特休", n) for n in range(1, MAX_ROUNDS + 1)]
    it = scene(KnowledgeBaseTool(is_background=True), *rounds, SAID)
    reply = await it.ask()
    assert len(it.prompts) == MAX_ROUNDS + 1
    assert sum(each.startswith(DELIVERED) for each in heard(it)) == MAX_ROUNDS
    assert reply.text == SAID.text


async def test_what_may_no_longer_be_read_when_it_is_delivered_is_left_out() -> None:
    async def revoke() -> Draft:
        held.let_go.set()
        await held.found.wait()
        it.office.revoke("handbook", "u1")
        return Draft("我查一下。")

    it = scene(KnowledgeBaseTool(is_background=True), look_up(), revoke, Draft("查無資料。"))
    it.office.shelve("open", "u1")
    held = Held(it)
    assert (await it.ask()).text == "查無資料。"
    assert parse_passages(heard(it)[1]) == ()


async def test_it_is_cancelled_with_the_turn() -> None:
    async def hang() -> Draft:
        await held.begun.wait()
        asking.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    it = scene(KnowledgeBaseTool(is_background=True, timeout_s=30.0), look_up(), hang)
    held = Held(it)
    asking = asyncio.ensure_future(it.ask())
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert held.cancelled == 1


async def test_a_model_that_fails_meanwhile_fails_as_itself() -> None:
    async def fail() -> Draft:
        await held.begun.wait()
        raise LanguageModelError("x", code="llm_failed")

    it = scene(KnowledgeBaseTool(is_background=True, timeout_s=30.0), look_up(), fail)
    held = Held(it)
    with pytest.raises(LanguageModelError):
        await it.ask()
    assert held.cancelled == 1


class TakenOver(ScriptedModel):
    """After its script the built-in model goes on, as where a provider fails."""

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        if len(self.prompts) < len(self.script):
            return await super().complete(messages, tools, on_delta)
        self.prompts.append(tuple(messages))
        return await ExtractiveModel().complete(messages, tools, on_delta)


@pytest.mark.parametrize("is_background", [False, True])
async def test_the_built_in_model_takes_over_what_another_looked_up(is_background: bool) -> None:
    it = scene(KnowledgeBaseTool(is_background=is_background))
    it.model = TakenOver([look_up("到職滿一年的特休")])
    assert "滿一年者七日" in (await it.ask()).text


@pytest.mark.parametrize("kind", APIS)
async def test_servers_take_what_is_delivered_from_the_background(kind: str) -> None:
    """Their simulators refuse results without calls, and calls without results."""
    asked = UseTool({"query": "特休"}, "knowledge_base", text="我查一下。")
    script = (asked, Say("請稍候。"), Say("滿一年七日【1】。"))
    api = APIS[kind]
    async with api.simulate(*script) as simulator:
        tool = KnowledgeBaseTool(is_background=True)
        it = scene(tool)
        it.office.employ(model="house/small-1", knowledge_base=tool)
        settings = replace(api.settings(simulator), first_token_timeout_s=10.0)
        registry = ModelRegistry({"house": settings})
        it.model = registry
        try:
            reply = await it.ask()
        finally:
            await registry.close()
    assert reply.text == "滿一年七日[1]。"
    assert simulator.statuses == [200, 200, 200]
