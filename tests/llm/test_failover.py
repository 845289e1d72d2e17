"""Several models of an agent: the next one answers where one fails, whatever the failure."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from gateway.core.chat import ChatMessage, Draft, Speaker, ToolCall
from gateway.errors import LanguageModelError
from gateway.interfaces import LanguageModel
from gateway.llm.failover import FAILURES_IN_A_ROW, REST_S, Breakers, Candidate, FailoverModel
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings
from tests.fakes.models import ScriptedModel, Step
from tests.llm.asking import ANTHROPIC, ASK, OPENAI, SEARCH, SETTINGS, Shown
from tests.simulators.scripted import Say, ScriptedServer, Trouble, UseTool

DOWN = LanguageModelError("down")
LATE = LanguageModelError("late", code="llm_timeout")


@dataclass
class Time:
    """Seconds that pass when told to."""

    now_s: float = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Several:
    """Scripted models behind one, by the letters a, b, c, …"""

    scripts: tuple[list[Step], ...]
    time: Time = field(default_factory=Time)

    def __post_init__(self) -> None:
        self.breakers = Breakers(self.time)
        self.models = [ScriptedModel(script) for script in self.scripts]
        named = zip("abcdef", self.models, strict=False)
        candidates = [Candidate(name, model) for name, model in named]
        self.model: LanguageModel = FailoverModel(candidates, self.breakers)

    async def ask(self) -> tuple[Draft, str]:
        shown = Shown()
        return await self.model.complete(ASK, (SEARCH,), shown), "".join(shown.texts)

    def calls(self) -> list[int]:
        return [len(model.prompts) for model in self.models]


@pytest.mark.parametrize("failure", [DOWN, LATE, Draft(""), Draft(" \n\u200b")])
async def test_the_next_model_answers_where_one_fails_or_says_nothing(failure: Step) -> None:
    several = Several(([failure], [Draft("七日。")], [Draft("never asked")]))
    draft, shown = await several.ask()
    assert (draft, shown.strip(" \n\u200b")) == (Draft("七日。"), "七日。")
    assert several.calls() == [1, 1, 0]
    assert several.models[1].prompts == [ASK]
    assert several.models[1].offered == [(SEARCH,)]


async def test_a_call_for_a_tool_is_an_answer() -> None:
    search = Draft("", (ToolCall("c0", "knowledge_search", "{}"),))
    several = Several(([search], [Draft("七日。")]))
    assert (await several.ask())[0] == search


async def test_where_all_fail_the_last_failure_is_told() -> None:
    several = Several(([DOWN], [LATE]))
    with pytest.raises(LanguageModelError) as caught:
        await several.ask()
    assert caught.value.code == "llm_timeout"


async def test_an_empty_answer_of_the_last_one_is_its_answer() -> None:
    assert await Several(([DOWN], [Draft("")])).ask() == (Draft(""), "")


async def test_models_that_keep_failing_rest_and_then_one_call_tries_them() -> None:
    several = Several(([*[DOWN] * FAILURES_IN_A_ROW, Draft("back")], [Draft("七日。")]))
    for _ in range(FAILURES_IN_A_ROW + 5):
        assert (await several.ask())[0] == Draft("七日。")
    assert several.calls()[0] == FAILURES_IN_A_ROW
    several.time.now_s += REST_S - 0.1
    assert (await several.ask())[0] == Draft("七日。")
    several.time.now_s += 0.2
    assert [several.breakers.may_try("a") for _ in range(3)] == [True, False, False]
    several.time.now_s += REST_S
    assert [(await several.ask())[0].text for _ in range(2)] == ["back", "back"]


async def test_a_failure_among_successes_makes_nobody_rest() -> None:
    several = Several(([DOWN, DOWN, Draft("a")] * 4, [Draft("b")]))
    assert [(await several.ask())[0].text for _ in range(12)] == ["b", "b", "a"] * 4


async def test_the_last_one_is_asked_however_often_it_failed() -> None:
    several = Several(([DOWN], [DOWN]))
    for _ in range(FAILURES_IN_A_ROW + 2):
        with pytest.raises(LanguageModelError):
            await several.ask()
    assert several.calls() == [FAILURES_IN_A_ROW, FAILURES_IN_A_ROW + 2]


async def test_a_cancelled_turn_asks_nobody_else() -> None:
    async def never() -> Draft:
        await asyncio.Event().wait()
        return Draft("")

    several = Several(([never], [Draft("七日。")]))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await several.ask()
    assert several.calls() == [1, 0]
    assert several.breakers.may_try("a")


def registry(*servers: ScriptedServer) -> ModelRegistry:
    """Providers `a` (OpenAI) and `b` (Anthropic), impatient."""
    settings = replace(SETTINGS, max_retries=2)
    first, second = servers
    return ModelRegistry(
        {
            "a": OPENAI.settings(first, settings),
            "b": ANTHROPIC.settings(second, settings),
            "keyless": ProviderSettings(base_url="http://127.0.0.1:9"),
        }
    )


TROUBLES = [
    Trouble.HANG,
    Trouble.HANG_MID_STREAM,
    Trouble.DROP_MID_STREAM,
    Trouble.END_EARLY,
    Trouble.RATE_LIMIT,
    Trouble.OVERLOADED,
    Trouble.SERVER_ERROR,
    Trouble.WRONG_KEY,
    Trouble.NOTHING,
    Trouble.REFUSAL,
    Trouble.NOT_JSON,
    Trouble.ERROR_EVENT,
]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("order", ["ab", "ba"])
async def test_every_trouble_of_one_vendor_leads_to_the_other(trouble: Trouble, order: str) -> None:
    scripts = {order[0]: trouble, order[1]: Say("七日。[1]")}
    async with OPENAI.simulate(scripts["a"]) as a, ANTHROPIC.simulate(scripts["b"]) as b:
        models, shown = registry(a, b), Shown()
        names = [f"{letter}/small" for letter in order]
        draft = await models.find(*names).complete(ASK, (SEARCH,), shown)
        await models.close()
    servers = {"a": a, "b": b}
    assert draft.text == "七日。[1]"
    # whoever is not the last is tried once; what it had said stays until the whole text replaces it
    assert len(servers[order[0]].requests) == 1
    assert "".join(shown.texts) in ("七日。[1]", "half an ", "so far ", "so")


async def test_one_that_is_not_set_up_or_not_there_holds_up_nobody() -> None:
    async with OPENAI.simulate(Say("a")) as a, ANTHROPIC.simulate(Say("b")) as b:
        models = registry(a, b)
        names = ("gone/small", "nonsense", "keyless/small", "b/small")
        draft = await models.find(*names).complete(ASK, (), Shown())
        with pytest.raises(LanguageModelError):
            models.find("gone/small", "gone/large")
        built_in = await models.find("keyless/small", "extractive").complete(ASK, (), Shown())
        await models.close()
    assert draft.text == "b"
    assert built_in.text


async def test_another_vendors_calls_and_results_are_understood_in_the_next_round() -> None:
    script = (UseTool({"query": "特休"}, calls=2, has_ids=False), Trouble.SERVER_ERROR)
    async with OPENAI.simulate(*script) as a, ANTHROPIC.simulate(Say("七日。[1]")) as b:
        models = registry(a, b)
        model = models.find("a/small", "b/small")
        first = await model.complete(ASK, (SEARCH,), Shown())
        asked = ChatMessage(Speaker.ASSISTANT, first.text, first.tool_calls)
        found = [ChatMessage(Speaker.TOOL, "[1]", tool_call_id=c.id) for c in first.tool_calls]
        second = await model.complete((*ASK, asked, *found), (), Shown())
        await models.close()
    assert second.text == "七日。[1]"
    assert b.statuses == [200]
