"""Each kind of provider against a server that behaves, and one that does not."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.core.chat import ChatMessage, Draft, Speaker, TokenUsage, ToolCall
from gateway.errors import LanguageModelError
from gateway.llm.pieces import MAX_ARGUMENT_CHARS, MAX_DRAFT_CHARS, MAX_TOOL_CALLS
from gateway.llm.provider import StreamedModel
from gateway.llm.registry import KINDS
from tests.llm.asking import APIS, ASK, KEY, SEARCH, SETTINGS, Api, Shown, ask
from tests.simulators.scripted import Say, Trouble, UseTool

both = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


def results_of(draft: Draft) -> Sequence[ChatMessage]:
    """The assistant's turn with its calls, and a result for each."""
    return (
        ChatMessage(Speaker.ASSISTANT, draft.text, draft.tool_calls),
        *(ChatMessage(Speaker.TOOL, "[1] …", tool_call_id=call.id) for call in draft.tool_calls),
    )


@both
async def test_text_is_shown_as_it_comes_and_returned_whole_with_its_cost(api: Api) -> None:
    async with api.simulate(Say("滿一年者，特別休假七日。[1]", tokens=(1_234, 56))) as server:
        draft, shown = await ask(api, server)
    assert draft == Draft("滿一年者，特別休假七日。[1]")
    assert draft.usage == TokenUsage(1_234, 56)
    assert "".join(shown.texts) == draft.text
    assert len(shown.texts) > 3
    assert server.requests[0]["model"] == "small-1"
    assert server.keys == [api.key]


@both
async def test_tool_calls_are_put_together_and_their_results_travel_back(api: Api) -> None:
    script = (UseTool({"query": "特休"}, calls=2, text="查一下。"), Say("七日。[1]"))
    async with api.simulate(*script) as server:
        first, _ = await ask(api, server)
        second, _ = await ask(api, server, messages=(*ASK, *results_of(first)))
    assert first.text == "查一下。"
    assert first.tool_calls == (
        ToolCall("c0", "knowledge_search", '{"query": "特休"}'),
        ToolCall("c1", "knowledge_search", '{"query": "特休"}'),
    )
    assert second == Draft("七日。[1]")


@both
async def test_the_last_round_has_no_tool_on_offer_and_calls_of_others_behind_it(api: Api) -> None:
    odd = ToolCall("functions.search:0", "search the web!", "[1")
    rounds = [Draft("查。", (odd, replace(odd, id="")))] * 2  # ids repeat from round to round
    past = [message for draft in rounds for message in results_of(draft)]
    async with api.simulate(Say("七日。[1]")) as server:
        draft, _ = await ask(api, server, messages=(*ASK, *past), tools=())
    assert draft.text == "七日。[1]"


@both
async def test_arguments_reach_us_as_the_model_wrote_them_broken_or_not(api: Api) -> None:
    async with api.simulate(UseTool('{"query": "特')) as server:
        draft, _ = await ask(api, server)
    assert draft.tool_calls[0].arguments == '{"query": "特'


@both
async def test_calls_are_told_apart_and_bounded_in_number_and_length(api: Api) -> None:
    query = {"query": "特休"}
    script = (UseTool(query, calls=2, has_ids=False), UseTool(query, calls=MAX_TOOL_CALLS + 9))
    async with api.simulate(*script) as server:
        alike, _ = await ask(api, server)
        many, _ = await ask(api, server)
    assert len({call.id for call in alike.tool_calls}) == 2
    assert len(many.tool_calls) == MAX_TOOL_CALLS
    async with api.simulate(UseTool("[" * (MAX_ARGUMENT_CHARS + 1))) as server:
        with pytest.raises(LanguageModelError):
            await ask(api, server)


@both
async def test_no_tools_field_when_none_is_on_offer(api: Api) -> None:
    async with api.simulate(Say("好")) as server:
        await ask(api, server, tools=())
    assert "tools" not in server.requests[0]


@both
@pytest.mark.parametrize(
    ("trouble", "status"),
    [(Trouble.RATE_LIMIT, 429), (Trouble.SERVER_ERROR, 500), (Trouble.OVERLOADED, 529)],
)
async def test_a_passing_failure_is_tried_again_after_the_time_asked_for(
    api: Api, trouble: Trouble, status: int
) -> None:
    async with api.simulate(trouble, Say("好")) as server:
        draft, _ = await ask(api, server)
    assert draft.text == "好"
    assert server.statuses == [status, 200]


@both
@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (Trouble.HANG, "llm_timeout"),
        (Trouble.HANG_MID_STREAM, "llm_timeout"),
        (Trouble.DROP_MID_STREAM, "llm_failed"),
        (Trouble.END_EARLY, "llm_failed"),
        (Trouble.RATE_LIMIT, "llm_failed"),
        (Trouble.OVERLOADED, "llm_failed"),
        (Trouble.SERVER_ERROR, "llm_failed"),
        (Trouble.WRONG_KEY, "llm_failed"),
        (Trouble.REDIRECT, "llm_failed"),
        (Trouble.NO_CONTENT, "llm_failed"),
        (Trouble.NOT_JSON, "llm_failed"),
        (Trouble.NOT_AN_OBJECT, "llm_failed"),
        (Trouble.ERROR_EVENT, "llm_failed"),
        (Trouble.NOT_A_STREAM, "llm_failed"),
    ],
)
async def test_every_trouble_has_its_code_and_no_secret(
    api: Api, trouble: Trouble, code: str
) -> None:
    async with api.simulate(trouble) as server:
        with pytest.raises(LanguageModelError) as caught:
            await ask(api, server)
    assert caught.value.code == code
    assert KEY not in str(caught.value)


@both
async def test_nobody_listening_is_a_failure_too(api: Api) -> None:
    async with api.simulate(Say("好")) as server:
        pass
    with pytest.raises(LanguageModelError):
        await ask(api, server)


@both
@pytest.mark.parametrize("url", ["nonsense", "http://[", "ftp://127.0.0.1/"])
async def test_an_address_or_proxy_that_is_none_is_a_failure_too(api: Api, url: str) -> None:
    async with api.simulate(Say("好")) as server:
        server.base_url = url
        with pytest.raises(LanguageModelError):
            await ask(api, server)


@both
async def test_silence_ends_after_the_whole_time_even_if_something_once_came(api: Api) -> None:
    settings = replace(SETTINGS, first_token_timeout_s=30.0, total_timeout_s=0.4)
    async with api.simulate(Trouble.HANG_MID_STREAM) as server:
        with pytest.raises(LanguageModelError) as caught:
            await ask(api, server, settings)
    assert caught.value.code == "llm_timeout"


@both
@pytest.mark.parametrize(
    ("trouble", "text"),
    [
        (Trouble.NOTHING, ""),
        (Trouble.REFUSAL, ""),
        (Trouble.CUT_OFF, "half an "),
        (Trouble.ODD_EVENTS, "fine"),
    ],
)
async def test_streams_that_finish_oddly_are_taken_as_they_are(
    api: Api, trouble: Trouble, text: str
) -> None:
    async with api.simulate(trouble) as server:
        draft, _ = await ask(api, server)
    assert draft == Draft(text)


@both
async def test_a_model_without_end_is_cut_and_30000_characters_are_not(api: Api) -> None:
    script = (Say("字" * 30_000, 997), Say("字" * (MAX_DRAFT_CHARS + 1_000), 9_999))
    async with api.simulate(*script) as server:
        long, _ = await ask(api, server)
        endless, shown = await ask(api, server)
    assert long.text == "字" * 30_000
    assert endless.text == "字" * MAX_DRAFT_CHARS == "".join(shown.texts)


@both
async def test_cancelling_the_turn_cancels_the_request(api: Api) -> None:
    async with api.simulate(Trouble.HANG) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await ask(api, server, replace(SETTINGS, first_token_timeout_s=30.0))


@both
async def test_nothing_is_taken_from_the_environment(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{vendor}_BASE_URL", "http://127.0.0.1:9")
        for name in ("API_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID"):
            monkeypatch.setenv(f"{vendor}_{name}", "of-somebody-else")
    async with api.simulate(Say("好")) as server:
        draft, _ = await ask(api, server)
    assert draft.text == "好"
    assert "of-somebody-else" not in str(server.headers)


@both
async def test_a_limit_of_tokens_is_passed_on(api: Api) -> None:
    async with api.simulate(Say("好")) as server:
        await ask(api, server, replace(SETTINGS, max_tokens=77))
    assert server.requests[0]["max_tokens"] == 77


@both
async def test_the_list_of_models_tells_whether_the_key_is_taken(api: Api) -> None:
    async with api.simulate(Say("好")) as server:
        provider = KINDS[api.kind]("house", api.settings(server))
        server.valid_key = api.key
        right = await provider.check()
        server.valid_key = "another"
        wrong = await provider.check()
        server.LIST_PATH = "/elsewhere"
        await provider.close()
    assert (right.is_ok, wrong.is_ok) == (True, False)
    assert "401" in wrong.detail
    assert KEY not in wrong.detail
    assert server.listed == 2


@both
async def test_new_settings_let_the_answers_under_way_end(api: Api) -> None:
    async with api.simulate(Trouble.HANG_MID_STREAM) as server:
        settings = replace(SETTINGS, first_token_timeout_s=30.0)
        provider = KINDS[api.kind]("house", api.settings(server, settings))
        server.script = [Say("好", 1)]
        shown = Shown()
        model = StreamedModel(provider, "small-1")

        async def retire_in_the_middle(text: str) -> None:
            await provider.retire()
            await shown(text)

        draft = await model.complete(ASK, (SEARCH,), retire_in_the_middle)
    assert draft.text == "好"


def test_a_key_never_prints() -> None:
    assert KEY not in repr(SETTINGS)
    for kind in KINDS.values():
        assert KEY not in repr(kind("house", SETTINGS).settings)


async def test_anthropic_gets_system_text_apart_and_only_turns_with_words() -> None:
    api = APIS["anthropic"]
    messages = (
        *ASK,
        ChatMessage(Speaker.ASSISTANT, " \n"),
        ChatMessage(Speaker.USER, "特休？"),
    )
    async with api.simulate(Say("好")) as server:
        await ask(api, server, messages=messages)
    request = server.requests[0]
    assert request["system"] == "Answer from the passages."
    (turn,) = request["messages"]
    assert [block["text"] for block in turn["content"]] == [ASK[1].text, "特休？"]
    assert request["max_tokens"] == 4_096


async def test_openai_servers_that_refuse_to_count_are_not_asked_to() -> None:
    api = APIS["openai"]
    async with api.simulate(Say("好")) as server:
        draft, _ = await ask(api, server, replace(SETTINGS, ask_usage=False))
    assert "stream_options" not in server.requests[0]
    assert draft.usage is None
