"""The model and its one tool: searches inside a turn, numbered on, each within the scope of now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import structlog

from gateway.core.chat import NO_TOKENS, ChatMessage, Speaker, TokenUsage, ToolCall
from gateway.core.folding import storable
from gateway.core.prompt import TOOL_SEARCH, fit, repeated, tool_result
from gateway.core.turns import PresentedPassage
from gateway.draft_stream import DraftStream
from gateway.interfaces import LanguageModel
from gateway.reading import Reading, TurnReader

log = structlog.get_logger()
MAX_ROUNDS = 4  # searches one after the other; then the model has to answer
MAX_CALLS = 4  # in one round
MAX_LIMIT = 20
MAX_CHARS = 24_000  # of all passages of one turn

UNKNOWN_TOOL = "error: there is no such tool; the only one is knowledge_search"
BAD_ARGUMENTS = (
    'error: arguments must be a JSON object like {"query": "words to look for", "limit": 5}'
)
TOO_MANY_CALLS = f"error: at most {MAX_CALLS} searches at a time; this one was not made"
READ_ENOUGH = "error: enough was read for one answer; answer from the passages you have"


@dataclass(frozen=True, slots=True)
class Talk:
    """What the model said in the end, and every passage it was shown on the way."""

    text: str
    presented: tuple[PresentedPassage, ...]
    usage: TokenUsage = NO_TOKENS  # of all calls of the turn that told theirs


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """Arguments of `knowledge_search`, as the model may write them."""

    query: str
    collections: list[str] | None = None
    limit: int = 5


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Lets a model search until it answers. Every search asks anew what may be read."""

    reader: TurnReader

    async def complete(
        self,
        model: LanguageModel,
        prompt: Sequence[ChatMessage],
        presented: tuple[PresentedPassage, ...],
        stream: DraftStream,
        reading: Reading | None,
    ) -> Talk:
        """Ask the model; `reading` None offers it no tool. Raises LanguageModelError."""
        messages = list(prompt)
        rounds_left = MAX_ROUNDS if reading is not None else 0
        usage = NO_TOKENS
        while True:
            stream.rest_on(presented)
            draft = await model.complete(messages, (TOOL_SEARCH,) if rounds_left else (), stream)
            usage += draft.usage or NO_TOKENS
            if reading is None or not rounds_left or not draft.tool_calls:
                await stream.close()
                return Talk(draft.text, presented, usage)
            rounds_left -= 1
            messages.append(ChatMessage(Speaker.ASSISTANT, draft.text, draft.tool_calls))
            for at, call in enumerate(draft.tool_calls):
                result, presented = await self._result(at, call, presented, reading)
                messages.append(ChatMessage(Speaker.TOOL, result, tool_call_id=call.id))

    async def _result(
        self,
        at: int,
        call: ToolCall,
        presented: tuple[PresentedPassage, ...],
        reading: Reading,
    ) -> tuple[str, tuple[PresentedPassage, ...]]:
        """What the model gets to read for one call, and all that it has been shown then."""
        if at >= MAX_CALLS:
            return TOO_MANY_CALLS, presented
        if call.name != TOOL_SEARCH.name:
            return UNKNOWN_TOOL, presented
        arguments = _arguments(call.arguments)
        if arguments is None:
            return BAD_ARGUMENTS, presented
        left = MAX_CHARS - sum(len(each.passage.text) for each in presented)
        if left <= 0:
            return READ_ENOUGH, presented
        return await self._search(arguments, presented, reading, min(left, reading.budget_chars))

    async def _search(
        self,
        arguments: SearchArguments,
        presented: tuple[PresentedPassage, ...],
        reading: Reading,
        budget_chars: int,
    ) -> tuple[str, tuple[PresentedPassage, ...]]:
        limit = min(max(arguments.limit, 1), MAX_LIMIT)
        hits = await self.reader.search_more(arguments.query, limit, arguments.collections, reading)
        new = fit(
            hits,
            first_n=max((each.n for each in presented), default=0) + 1,
            top_k=limit,
            budget_chars=budget_chars,
            already=frozenset(each.passage.id for each in presented),
            with_flagged=True,
        )
        log.info("model searched", turn=reading.entry.turn_id, hits=len(hits), shown=len(new))
        return tool_result(new, repeated(hits, presented)), (*presented, *new)


def _arguments(text: str) -> SearchArguments | None:
    try:
        found = msgspec.json.decode(text, type=SearchArguments, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    query = storable(found.query).strip()
    return replace(found, query=query) if query else None
