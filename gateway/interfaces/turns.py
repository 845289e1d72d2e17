"""Language models, and what is kept of turns."""

from collections.abc import Sequence
from typing import Protocol

from gateway.core.chat import ChatMessage, Draft, Tool
from gateway.core.turns import Exchange, TurnRecord
from gateway.interfaces.common import OnDelta


class LanguageModel(Protocol):
    """DESIGN section 5. `on_delta` gets text as it comes. Raises LanguageModelError."""

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft: ...


class LanguageModels(Protocol):
    """Finds the model an agent names; raises LanguageModelError for an unknown one."""

    def find(self, model: str, *fallbacks: str) -> LanguageModel:
        """With fallbacks: the first that answers, in this order."""
        ...


class PlacedModels(LanguageModels, Protocol):
    """Language models that may be asked about whole documents."""

    def is_local(self, model: str) -> bool:
        """Whether what it is asked stays on this machine; false for an unknown one."""
        ...


class Turns(Protocol):
    """What is kept of turns; history and citations."""

    async def record(self, turn: TurnRecord) -> None:
        """Idempotent by turn id: a re-run replaces what the first run wrote."""
        ...

    async def find(self, turn_id: str) -> TurnRecord | None: ...
    async def recent(
        self, agent_id: str | None, conversation: str, limit: int
    ) -> Sequence[Exchange]:
        """Newest last, for the prompt; only those whose reply went out."""
        ...

    async def of_conversation(
        self, conversation: str, limit: int, after_turn_id: str | None = None
    ) -> Sequence[TurnRecord]:
        """Oldest first, for restoring web chat."""
        ...

    async def conversations(self, account_id: str, limit: int) -> Sequence[TurnRecord]:
        """The newest turn of each of the account's web chat conversations."""
        ...

    async def forget_questions(self, turn_ids: Sequence[str]) -> None:
        """Wipe what these turns were asked, in the access log too; idempotent."""
        ...
