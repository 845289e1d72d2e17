"""A language model that plays a script, one step a request."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from gateway.core.chat import ChatMessage, Draft, Tool
from gateway.errors import GatewayError
from gateway.interfaces import LanguageModel, LanguageModels, OnDelta

Step = Draft | GatewayError | Callable[[], Awaitable[Draft]]


@dataclass
class ScriptedModel:
    """Implements LanguageModel and LanguageModels: whoever asks for a model gets this one.

    The last step repeats. Text is shown in pieces of two characters.
    """

    script: list[Step]
    prompts: list[tuple[ChatMessage, ...]] = field(default_factory=list)
    offered: list[tuple[Tool, ...]] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        step = self.script[min(len(self.prompts), len(self.script) - 1)]
        self.prompts.append(tuple(messages))
        self.offered.append(tuple(tools))
        if isinstance(step, GatewayError):
            raise step
        draft = step if isinstance(step, Draft) else await step()
        for at in range(0, len(draft.text), 2):
            await on_delta(draft.text[at : at + 2])
        return draft

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        return self


fits_model: type[LanguageModel] = ScriptedModel
fits_models: type[LanguageModels] = ScriptedModel
