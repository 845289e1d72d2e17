"""A language model that the operator chose to be asked about whole documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.core.chat import ChatMessage
from gateway.errors import LanguageModelError
from gateway.interfaces import Collections, PlacedModels


async def _unseen(_text: str) -> None:
    """Nobody watches the answer grow."""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """`name` as agents name theirs. Its provider may change while we run: it is found anew."""

    name: str
    models: PlacedModels
    collections: Collections

    async def may_read(self, collection_id: str) -> bool:
        """By the collection's settings of this moment (DESIGN invariant 7): a restricted or
        local-only one goes to a model on this machine alone. False where it is gone.
        """
        found = await self.collections.list(frozenset({collection_id}))
        return any(each.may_leave or self.models.is_local(self.name) for each in found)

    async def ask(self, messages: Sequence[ChatMessage], seconds: float) -> str:
        """Its answer, untrusted. LanguageModelError, `llm_timeout` also after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                draft = await self.models.find(self.name).complete(messages, (), _unseen)
        except TimeoutError as error:
            raise LanguageModelError(self.name, code="llm_timeout") from error
        return draft.text
