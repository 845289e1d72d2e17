"""Finds the language model an agent names: `extractive` or `<provider id>/<model name>`."""

from collections.abc import Mapping

from gateway.errors import LanguageModelError
from gateway.interfaces import LanguageModel
from gateway.llm.extractive import ExtractiveModel
from gateway.llm.openai_compatible import OpenAIModel, OpenAIProvider
from gateway.llm.settings import ProviderSettings

EXTRACTIVE = "extractive"


class ModelRegistry:
    """Implements `interfaces.LanguageModels` over the providers of config.toml."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        self._providers = _opened(providers)
        self._extractive = ExtractiveModel()

    def find(self, model: str) -> LanguageModel:
        """The model, ready to be asked; LanguageModelError when its provider is not set up."""
        if model == EXTRACTIVE:
            return self._extractive
        provider_id, _, name = model.partition("/")  # a model's name may hold more of them
        provider = self._providers.get(provider_id)
        if provider is None or not name:
            raise LanguageModelError(f"no such model: {model}")
        return OpenAIModel(provider, name)

    async def replace(self, providers: Mapping[str, ProviderSettings]) -> None:
        """Take new settings over; a provider whose settings stay keeps its sockets."""
        old = self._providers
        self._providers = _opened(providers) | {
            provider_id: provider
            for provider_id, provider in old.items()
            if providers.get(provider_id) == provider.settings
        }
        for provider_id, provider in old.items():
            if self._providers.get(provider_id) is not provider:
                await provider.close()

    async def close(self) -> None:
        """Give all sockets back."""
        for provider in self._providers.values():
            await provider.close()


def _opened(providers: Mapping[str, ProviderSettings]) -> dict[str, OpenAIProvider]:
    return {
        provider_id: OpenAIProvider(provider_id, settings)
        for provider_id, settings in providers.items()
    }
