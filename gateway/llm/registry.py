"""Finds the language model an agent names: `extractive` or `<provider id>/<model name>`."""

import asyncio
import time
from collections.abc import Callable, Mapping

import structlog

from gateway.core.messages import Check
from gateway.errors import LanguageModelError
from gateway.interfaces import LanguageModel, Meter
from gateway.llm.anthropic_messages import AnthropicProvider
from gateway.llm.extractive import ExtractiveModel
from gateway.llm.failover import Breakers, Candidate, FailoverModel
from gateway.llm.metered import MeteredModel, ModelNames
from gateway.llm.openai_compatible import OpenAIProvider
from gateway.llm.provider import Provider, StreamedModel
from gateway.llm.settings import ProviderKind, ProviderSettings
from gateway.metering import SILENT

log = structlog.get_logger()
EXTRACTIVE = "extractive"
KINDS: Mapping[ProviderKind, type[Provider]] = {
    ProviderKind.OPENAI: OpenAIProvider,
    ProviderKind.ANTHROPIC: AnthropicProvider,
}


class ModelRegistry:
    """Implements `interfaces.LanguageModels` over the providers of config.toml."""

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings],
        meter: Meter = SILENT,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._providers = _opened(providers)
        self._extractive = ExtractiveModel()
        self._meter = meter
        self._monotonic = monotonic
        self._names = ModelNames()
        self._breakers = Breakers(monotonic)

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        """The model, ready to be asked, or several that stand in for each other in this order.

        One whose provider is not set up is passed over; LanguageModelError where none is. In a
        list each but the last is tried once, without tries again: the next one is quicker.
        """
        names = tuple(dict.fromkeys((model, *fallbacks)))
        if len(names) == 1:
            return self._one(model)
        candidates: list[Candidate] = []
        for name in names:
            try:
                found = self._one(name, tries_again=name == names[-1])
            except LanguageModelError as error:
                log.warning("language model left out", reason=str(error))
            else:
                candidates.append(Candidate(name, found))
        if not candidates:
            raise LanguageModelError(f"no such models: {', '.join(names)}")
        return FailoverModel(candidates, self._breakers)

    def is_local(self, model: str) -> bool:
        """Whether what this model is asked stays on this machine: no other host, no proxy."""
        if model == EXTRACTIVE:
            return True
        provider = self._providers.get(model.partition("/")[0])
        return provider is not None and provider.settings.is_local

    def _one(self, model: str, *, tries_again: bool = True) -> LanguageModel:
        if model == EXTRACTIVE:
            return self._extractive
        provider_id, _, name = model.partition("/")  # a model's name may hold more of them
        provider = self._providers.get(provider_id)
        if provider is None or not name:
            raise LanguageModelError(f"no such model: {model}")
        return MeteredModel(
            StreamedModel(provider, name, tries_again=tries_again),
            name,
            provider_id,
            self._names.label(provider_id, name),
            provider.settings,
            self._meter,
            self._monotonic,
        )

    async def check(self) -> Mapping[str, Check]:
        """Per provider whether it is there and takes the key."""
        checks = await asyncio.gather(*(each.check() for each in self._providers.values()))
        return dict(zip(self._providers, checks, strict=True))

    async def replace(self, providers: Mapping[str, ProviderSettings]) -> None:
        """Take new settings over; a provider whose settings stay keeps its sockets, and one that
        goes keeps them until the answers that come through it have come.
        """
        old = self._providers
        self._providers = _opened(providers) | {
            provider_id: provider
            for provider_id, provider in old.items()
            if providers.get(provider_id) == provider.settings
        }
        for provider_id, provider in old.items():
            if self._providers.get(provider_id) is not provider:
                await provider.retire()

    async def close(self) -> None:
        """Give all sockets back."""
        for provider in self._providers.values():
            await provider.close()


def _opened(providers: Mapping[str, ProviderSettings]) -> dict[str, Provider]:
    return {
        provider_id: KINDS[settings.kind](provider_id, settings)
        for provider_id, settings in providers.items()
    }
