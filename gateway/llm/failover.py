"""One model after the other, in the agent's order, until one answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from gateway.core.asking import is_blank
from gateway.core.chat import ChatMessage, Draft, Tool
from gateway.errors import LanguageModelError
from gateway.interfaces import LanguageModel, OnDelta

log = structlog.get_logger()
FAILURES_IN_A_ROW = 3
REST_S = 30.0


class Breakers:
    """Models that failed several times in a row rest for a while; then one call tries them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._failures: dict[str, int] = {}
        self._rests_until: dict[str, float] = {}

    def may_try(self, name: str) -> bool:
        """Whether to ask it now; of many that come after its rest the first one only."""
        if self._failures.get(name, 0) < FAILURES_IN_A_ROW:
            return True
        now = self._monotonic()
        if now < self._rests_until[name]:
            return False
        self._rests_until[name] = now + REST_S
        return True

    def failed(self, name: str) -> None:
        """One failure more."""
        self._failures[name] = self._failures.get(name, 0) + 1
        self._rests_until[name] = self._monotonic() + REST_S

    def worked(self, name: str) -> None:
        """It answered: whatever was before is over."""
        self._failures.pop(name, None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model by the name that agent.toml has for it."""

    name: str
    model: LanguageModel


class FailoverModel:
    """Implements `interfaces.LanguageModel` over several.

    What a model had shown before it failed stays in view until the finished text replaces it:
    the next one writes unseen, for its words do not go on where the others broke off. An answer
    without a word counts as none, but is no failure of the model.
    """

    def __init__(self, candidates: Sequence[Candidate], breakers: Breakers) -> None:
        """At least one candidate; the last is asked even while it should rest."""
        self._candidates = tuple(candidates)
        self._breakers = breakers

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        """The first answer. Raises the last one's LanguageModelError where none gave any."""
        stage = _Stage(on_delta)
        *others, last = self._candidates
        for candidate in others:
            if not self._breakers.may_try(candidate.name):
                continue
            draft = await self._tried(candidate, messages, tools, stage)
            if draft is not None:
                return draft
            stage.next_speaker()
        try:
            draft = await last.model.complete(messages, tools, stage)
        except LanguageModelError:
            self._breakers.failed(last.name)
            raise
        self._breakers.worked(last.name)
        return draft

    async def _tried(
        self,
        candidate: Candidate,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool],
        stage: "_Stage",
    ) -> Draft | None:
        try:
            draft = await candidate.model.complete(messages, tools, stage)
        except LanguageModelError as error:
            self._breakers.failed(candidate.name)
            log.warning("language model failed", model=candidate.name, code=error.code)
            return None
        self._breakers.worked(candidate.name)
        if draft.tool_calls or not is_blank(draft.text):
            return draft
        log.warning("language model said nothing", model=candidate.name)
        return None


class _Stage:
    """Shows what one model says, and nothing of those after it once it was seen."""

    def __init__(self, show: OnDelta) -> None:
        self._show = show
        self._was_seen = False
        self._is_dark = False

    async def __call__(self, text: str) -> None:
        if not self._is_dark:
            self._was_seen = self._was_seen or not is_blank(text)
            await self._show(text)

    def next_speaker(self) -> None:
        """Somebody else goes on."""
        self._is_dark = self._was_seen
