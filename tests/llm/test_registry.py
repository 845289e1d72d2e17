"""Finding a model by the name an agent gives it."""

from dataclasses import replace

import pytest

from gateway.core.chat import ChatMessage, Speaker
from gateway.core.secrets import Secret
from gateway.errors import LanguageModelError
from gateway.llm.extractive import ExtractiveModel
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings
from tests.simulators.openai import Say, openai_simulator

ASK = (ChatMessage(Speaker.USER, "hello"),)


async def unseen(_: str) -> None:
    pass


def test_the_built_in_model_needs_no_provider() -> None:
    assert isinstance(ModelRegistry({}).find("extractive"), ExtractiveModel)


@pytest.mark.parametrize("name", ["", "gpt", "house/", "elsewhere/small-1", "/", "extractive/x"])
def test_an_unknown_model_is_a_failure_with_a_sentence(name: str) -> None:
    with pytest.raises(LanguageModelError) as caught:
        ModelRegistry({"house": ProviderSettings()}).find(name)
    assert caught.value.code == "llm_failed"


async def test_a_model_name_may_hold_slashes_and_new_settings_hold_at_once() -> None:
    async with openai_simulator(Say("one")) as first, openai_simulator(Say("two")) as second:
        settings = ProviderSettings(base_url=first.base_url, api_key=Secret("k1"))
        registry = ModelRegistry({"house": settings})
        try:
            before = await registry.find("house/org/small:1").complete(ASK, (), unseen)
            await registry.replace({"house": replace(settings, base_url=second.base_url)})
            after = await registry.find("house/org/small:1").complete(ASK, (), unseen)
        finally:
            await registry.close()
    assert (before.text, after.text) == ("one", "two")
    assert first.requests[0]["model"] == "org/small:1"


async def test_a_removed_provider_is_gone_and_a_kept_one_stays_usable() -> None:
    async with openai_simulator(Say("one")) as simulator:
        kept = ProviderSettings(base_url=simulator.base_url)
        registry = ModelRegistry({"house": kept, "old": ProviderSettings()})
        try:
            await registry.replace({"house": kept})
            with pytest.raises(LanguageModelError):
                registry.find("old/small-1")
            draft = await registry.find("house/small-1").complete(ASK, (), unseen)
        finally:
            await registry.close()
    assert draft.text == "one"
