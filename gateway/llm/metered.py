"""Counts a model's calls, seconds, tokens and cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.core.chat import ChatMessage, Draft, TokenUsage, Tool
from gateway.errors import LanguageModelError
from gateway.interfaces import LanguageModel, Meter, OnDelta
from gateway.llm.settings import ProviderSettings

OTHER = "other"
MOST_NAMES = 100  # of models in the figures; an agent's settings could name any number


class ModelNames:
    """Names that stand in the figures: the first hundred, the rest is one."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()

    def label(self, provider: str, model: str) -> str:
        """The model's name, or what stands for all further ones."""
        if (provider, model) not in self._known and len(self._known) >= MOST_NAMES:
            return OTHER
        self._known.add((provider, model))
        return model


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """Implements `interfaces.LanguageModel` around another one."""

    model: LanguageModel
    name: str
    provider_id: str
    label: str  # the model's name in the figures
    settings: ProviderSettings
    meter: Meter
    monotonic: Callable[[], float]

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        """As the model does."""
        meter, provider, model = self.meter, self.provider_id, self.label
        begun = self.monotonic()
        outcome = "cancelled"
        try:
            draft = await self.model.complete(messages, tools, on_delta)
            outcome = "ok" if draft.text or draft.tool_calls else "empty"
        except LanguageModelError as error:
            outcome = error.code
            raise
        finally:
            meter.count("llm_calls", provider=provider, model=model, outcome=outcome)
            meter.observe("llm", self.monotonic() - begun, provider=provider, model=model)
        if draft.usage is not None:
            self._count(draft.usage)
        return draft

    def _count(self, usage: TokenUsage) -> None:
        meter, provider, model = self.meter, self.provider_id, self.label
        cost = self.settings.cost(self.name, usage)
        meter.count("llm_tokens", usage.tokens_in, provider=provider, model=model, kind="in")
        meter.count("llm_tokens", usage.tokens_out, provider=provider, model=model, kind="out")
        meter.count("llm_cost", cost, provider=provider, model=model)
