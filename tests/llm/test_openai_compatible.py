"""The OpenAI-compatible model against a server that behaves, and one that does not."""

import asyncio
from dataclasses import replace

import pytest

from gateway.core.chat import ChatMessage, Draft, Speaker, Tool, ToolCall
from gateway.core.secrets import Secret
from gateway.errors import LanguageModelError
from gateway.llm.openai_compatible import OpenAIModel, OpenAIProvider
from gateway.llm.settings import ProviderSettings
from gateway.llm.wire import MAX_ARGUMENT_CHARS, MAX_DRAFT_CHARS, MAX_TOOL_CALLS
from tests.simulators.openai import OpenAISimulator, Say, Trouble, UseTool, openai_simulator

KEY = "sk-local-7f3a9c"
SETTINGS = ProviderSettings(
    api_key=Secret(KEY), first_token_timeout_s=0.5, total_timeout_s=5.0, max_retries=1
)
ASK = (
    ChatMessage(Speaker.SYSTEM, "Answer from the passages."),
    ChatMessage(Speaker.USER, "到職滿一年的特休有幾天？"),
)
SEARCH = Tool("knowledge_search", "Search the documents.", {"type": "object", "properties": {}})


class Shown:
    """Collects what is shown while the draft comes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def __call__(self, text: str) -> None:
        self.texts.append(text)


async def ask(
    simulator: OpenAISimulator,
    settings: ProviderSettings = SETTINGS,
    messages: tuple[ChatMessage, ...] = ASK,
    tools: tuple[Tool, ...] = (SEARCH,),
) -> tuple[Draft, Shown]:
    provider = OpenAIProvider("house", replace(settings, base_url=simulator.base_url))
    shown = Shown()
    try:
        return await OpenAIModel(provider, "small-1").complete(messages, tools, shown), shown
    finally:
        await provider.close()


async def test_text_is_shown_as_it_comes_and_returned_whole() -> None:
    async with openai_simulator(Say("滿一年者，特別休假七日。[1]")) as simulator:
        draft, shown = await ask(simulator)
    assert draft == Draft("滿一年者，特別休假七日。[1]")
    assert "".join(shown.texts) == draft.text
    assert len(shown.texts) > 3
    request = simulator.requests[0]
    assert request["model"] == "small-1"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["tools"][0]["function"]["name"] == "knowledge_search"
    assert simulator.keys == [f"Bearer {KEY}"]


async def test_tool_calls_are_put_together_and_their_results_travel_back() -> None:
    script = (UseTool({"query": "特休"}, calls=2, text="查一下。"), Say("七日。[1]"))
    async with openai_simulator(*script) as simulator:
        first, _ = await ask(simulator)
        results = tuple(
            ChatMessage(Speaker.TOOL, "[1] …", tool_call_id=call.id) for call in first.tool_calls
        )
        asked = ChatMessage(Speaker.ASSISTANT, first.text, first.tool_calls)
        second, _ = await ask(simulator, messages=(*ASK, asked, *results))
    assert first.text == "查一下。"
    assert first.tool_calls == (
        ToolCall("c0", "knowledge_search", '{"query": "特休"}'),
        ToolCall("c1", "knowledge_search", '{"query": "特休"}'),
    )
    assert second == Draft("七日。[1]")


async def test_arguments_reach_us_as_the_model_wrote_them_broken_or_not() -> None:
    async with openai_simulator(UseTool('{"query": "特')) as simulator:
        draft, _ = await ask(simulator)
    assert draft.tool_calls[0].arguments == '{"query": "特'


async def test_calls_are_told_apart_and_bounded_in_number_and_length() -> None:
    query = {"query": "特休"}
    script = (UseTool(query, calls=2, has_ids=False), UseTool(query, calls=MAX_TOOL_CALLS + 9))
    async with openai_simulator(*script) as simulator:
        alike, _ = await ask(simulator)
        many, _ = await ask(simulator)
    assert [call.id for call in alike.tool_calls] == ["call_0", "call_1"]
    assert len(many.tool_calls) == MAX_TOOL_CALLS
    async with openai_simulator(UseTool("[" * (MAX_ARGUMENT_CHARS + 1))) as simulator:
        with pytest.raises(LanguageModelError):
            await ask(simulator)


async def test_no_tools_field_when_none_is_on_offer() -> None:
    async with openai_simulator(Say("好")) as simulator:
        await ask(simulator, tools=())
    assert "tools" not in simulator.requests[0]


@pytest.mark.parametrize("trouble", [Trouble.RATE_LIMIT, Trouble.SERVER_ERROR])
async def test_a_passing_failure_is_tried_again_after_the_time_asked_for(trouble: Trouble) -> None:
    async with openai_simulator(trouble, Say("好")) as simulator:
        draft, _ = await ask(simulator)
    assert draft.text == "好"
    assert simulator.statuses == [int({"rate_limit": 429, "server_error": 500}[trouble]), 200]


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (Trouble.HANG, "llm_timeout"),
        (Trouble.HANG_MID_STREAM, "llm_timeout"),
        (Trouble.DROP_MID_STREAM, "llm_failed"),
        (Trouble.END_EARLY, "llm_failed"),
        (Trouble.RATE_LIMIT, "llm_failed"),
        (Trouble.SERVER_ERROR, "llm_failed"),
        (Trouble.WRONG_KEY, "llm_failed"),
        (Trouble.NO_CHOICES, "llm_failed"),
        (Trouble.NOT_JSON, "llm_failed"),
        (Trouble.NOT_AN_OBJECT, "llm_failed"),
        (Trouble.ERROR_EVENT, "llm_failed"),
        (Trouble.NOT_A_STREAM, "llm_failed"),
    ],
)
async def test_every_trouble_has_its_code_and_no_secret(trouble: Trouble, code: str) -> None:
    async with openai_simulator(trouble) as simulator:
        with pytest.raises(LanguageModelError) as caught:
            await ask(simulator)
    assert caught.value.code == code
    assert KEY not in str(caught.value)


async def test_nobody_listening_is_a_failure_too() -> None:
    with pytest.raises(LanguageModelError):
        await ask(OpenAISimulator([Say("好")], base_url="http://127.0.0.1:9/v1"))


async def test_silence_ends_after_the_whole_time_even_if_chunks_once_came() -> None:
    settings = replace(SETTINGS, first_token_timeout_s=30.0, total_timeout_s=0.4)
    async with openai_simulator(Trouble.HANG_MID_STREAM) as simulator:
        with pytest.raises(LanguageModelError) as caught:
            await ask(simulator, settings)
    assert caught.value.code == "llm_timeout"


@pytest.mark.parametrize(("trouble", "text"), [(Trouble.NOTHING, ""), (Trouble.ODD_CHUNKS, "fine")])
async def test_odd_streams_that_finish_are_taken_as_they_are(trouble: Trouble, text: str) -> None:
    async with openai_simulator(trouble) as simulator:
        draft, _ = await ask(simulator)
    assert draft == Draft(text)


async def test_a_model_without_end_is_cut_and_30000_characters_are_not() -> None:
    script = (Say("字" * 30_000, 997), Say("字" * (MAX_DRAFT_CHARS + 1_000), 9_999))
    async with openai_simulator(*script) as simulator:
        long, _ = await ask(simulator)
        endless, shown = await ask(simulator)
    assert long.text == "字" * 30_000
    assert endless.text == "字" * MAX_DRAFT_CHARS == "".join(shown.texts)


async def test_cancelling_the_turn_cancels_the_request() -> None:
    async with openai_simulator(Trouble.HANG) as simulator:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await ask(simulator, replace(SETTINGS, first_token_timeout_s=30.0))


def test_a_key_never_prints() -> None:
    assert KEY not in repr(SETTINGS)
    assert KEY not in repr(OpenAIProvider("house", SETTINGS).settings)
