"""The model and its tools in a turn: searches within the scope of now, and colleagues' answers."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import msgspec
import structlog

from gateway.core import colleagues
from gateway.core.agents import AgentSettings
from gateway.core.chat import NO_TOKENS, ChatMessage, Speaker, TokenUsage, Tool, ToolCall
from gateway.core.folding import storable
from gateway.core.grounds import Grounds, Reading, Told
from gateway.core.prompt import TOOL_SEARCH, fit, repeated, tool_result
from gateway.draft_stream import DraftStream
from gateway.interfaces import LanguageModel
from gateway.reading import TurnReader

log = structlog.get_logger()
MAX_ROUNDS = 4  # calls one after the other; then the model has to answer
MAX_CALLS = 4  # in one round
MAX_LIMIT = 20
MAX_CHARS = 24_000  # of all passages of one turn

UNKNOWN_TOOL = "error: there is no such tool"
BAD_ARGUMENTS = (
    'error: arguments must be a JSON object like {"query": "words to look for", "limit": 5}'
)
TOO_MANY_CALLS = f"error: at most {MAX_CALLS} calls at a time; this one was not made"
READ_ENOUGH = "error: enough was read for one answer; answer from the passages you have"

Consult = Callable[[str, str], Awaitable[Told | None]]  # a colleague's id, and the question


async def nobody(_agent_id: str, _question: str) -> None:
    """There is no colleague."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What the model said in the end, and all that it was shown and told on the way."""

    text: str
    grounds: Grounds
    usage: TokenUsage = NO_TOKENS  # of all calls of the turn that told theirs


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """Arguments of `knowledge_search`, as the model may write them."""

    query: str
    collections: list[str] | None = None
    limit: int = 5


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Lets a model search, and ask its agent's colleagues, until it answers.

    Every search asks anew what may be read.
    """

    reader: TurnReader
    colleagues: Sequence[AgentSettings] = ()
    consult: Consult = nobody

    async def complete(
        self,
        model: LanguageModel,
        prompt: Sequence[ChatMessage],
        grounds: Grounds,
        stream: DraftStream,
        reading: Reading | None,
    ) -> Talk:
        """Ask the model; `reading` None offers it no search. Raises LanguageModelError."""
        messages = list(prompt)
        tools = self._tools(reading)
        rounds_left = MAX_ROUNDS if tools else 0
        usage = NO_TOKENS
        while True:
            stream.rest_on(grounds)
            draft = await model.complete(messages, tools if rounds_left else (), stream)
            usage += draft.usage or NO_TOKENS
            if not rounds_left or not draft.tool_calls:
                await stream.close()
                return Talk(draft.text, grounds, usage)
            rounds_left -= 1
            messages.append(ChatMessage(Speaker.ASSISTANT, draft.text, draft.tool_calls))
            for at, call in enumerate(draft.tool_calls):
                result, grounds = await self._result(at, call, grounds, reading)
                messages.append(ChatMessage(Speaker.TOOL, result, tool_call_id=call.id))

    def _tools(self, reading: Reading | None) -> tuple[Tool, ...]:
        search = () if reading is None else (TOOL_SEARCH,)
        return (*search, *((colleagues.tool(self.colleagues),) if self.colleagues else ()))

    async def _result(
        self, at: int, call: ToolCall, grounds: Grounds, reading: Reading | None
    ) -> tuple[str, Grounds]:
        """What the model gets to read for one call, and all that its draft may rest on then."""
        if at >= MAX_CALLS:
            return TOO_MANY_CALLS, grounds
        left = MAX_CHARS - sum(len(each.passage.text) for each in grounds.presented)
        if call.name == TOOL_SEARCH.name and reading is not None:
            return await self._search(call.arguments, grounds, reading, left)
        if call.name == colleagues.NAME and self.colleagues:
            return await self._ask(call.arguments, grounds, left)
        return UNKNOWN_TOOL, grounds

    async def _search(
        self, written: str, grounds: Grounds, reading: Reading, left: int
    ) -> tuple[str, Grounds]:
        arguments = _arguments(written)
        if arguments is None:
            return BAD_ARGUMENTS, grounds
        if left <= 0:
            return READ_ENOUGH, grounds
        limit = min(max(arguments.limit, 1), MAX_LIMIT)
        hits = await self.reader.search_more(arguments.query, limit, arguments.collections, reading)
        presented = grounds.presented
        new = fit(
            hits,
            first_n=grounds.next_n,
            top_k=limit,
            budget_chars=min(left, reading.budget_chars),
            already=frozenset(each.passage.id for each in presented),
            with_flagged=True,
        )
        log.info("model searched", turn=reading.entry.turn_id, hits=len(hits), shown=len(new))
        result = tool_result(new, repeated(hits, presented))
        return result, replace(grounds, presented=(*presented, *new))

    async def _ask(self, written: str, grounds: Grounds, budget_chars: int) -> tuple[str, Grounds]:
        """A colleague's answer; why there is none stays a sentence to the model."""
        asked = _question(written)
        if asked is None:
            return colleagues.BAD_ARGUMENTS, grounds
        if asked.agent not in {each.agent_id for each in self.colleagues}:
            return colleagues.NOT_THERE, grounds
        if len(grounds.told) >= colleagues.MOST_ASKED:
            return colleagues.ASKED_ENOUGH, grounds
        told = await self.consult(asked.agent, asked.question)
        if told is None:
            return colleagues.NO_ANSWER, grounds
        return colleagues.heard(told, grounds, budget_chars)


def _question(text: str) -> colleagues.Question | None:
    try:
        found = msgspec.json.decode(text, type=colleagues.Question, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    question = storable(found.question).strip()
    return replace(found, question=question) if question else None


def _arguments(text: str) -> SearchArguments | None:
    try:
        found = msgspec.json.decode(text, type=SearchArguments, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    query = storable(found.query).strip()
    return replace(found, query=query) if query else None
