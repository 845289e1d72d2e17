"""The model and its tools in a turn: searches within the scope of now, and colleagues' answers."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import msgspec
import structlog

from gateway.core import colleagues, knowledge_tool
from gateway.core.agents import AgentSettings
from gateway.core.chat import NO_TOKENS, ChatMessage, Speaker, TokenUsage, Tool, ToolCall
from gateway.core.folding import storable
from gateway.core.grounds import Grounds, Reading, Told
from gateway.core.knowledge_tool import KnowledgeBaseTool
from gateway.core.passages import Hit
from gateway.core.prompt import TOOL_SEARCH, fit, repeated, tool_result
from gateway.draft_stream import DraftStream
from gateway.interfaces import LanguageModel
from gateway.lookups import Found, Lookups
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


@dataclass(slots=True)
class _Course:
    """Where one talk has come to."""

    messages: list[ChatMessage]
    grounds: Grounds
    reading: Reading | None
    lookups: Lookups | None = None  # None: the agent has no such tool


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Lets a model search, and ask its agent's colleagues, until it answers.

    Every search asks anew what may be read.
    """

    reader: TurnReader
    colleagues: Sequence[AgentSettings] = ()
    consult: Consult = nobody
    knowledge_base: KnowledgeBaseTool | None = None

    async def complete(
        self,
        model: LanguageModel,
        prompt: Sequence[ChatMessage],
        grounds: Grounds,
        stream: DraftStream,
        reading: Reading | None,
    ) -> Talk:
        """Ask the model; `reading` None offers it no search. Raises LanguageModelError."""
        course = _Course(list(prompt), grounds, reading)
        async with AsyncExitStack() as stack:
            if self.knowledge_base is not None and reading is not None:
                lookups = Lookups(self.reader, self.knowledge_base, reading)
                course.lookups = await stack.enter_async_context(lookups)
            return await self._talk(model, course, stream)

    async def _talk(self, model: LanguageModel, course: _Course, stream: DraftStream) -> Talk:
        tools = self._tools(course)
        rounds_left = MAX_ROUNDS if tools else 0
        usage = NO_TOKENS
        while True:
            await self._deliver(course, wait=not rounds_left)
            stream.rest_on(course.grounds)
            draft = await model.complete(course.messages, tools if rounds_left else (), stream)
            usage += draft.usage or NO_TOKENS
            if rounds_left and draft.tool_calls:
                rounds_left -= 1
                said = ChatMessage(Speaker.ASSISTANT, draft.text, draft.tool_calls)
                course.messages.append(said)
                for at, call in enumerate(draft.tool_calls):
                    result = await self._result(at, call, course)
                    course.messages.append(ChatMessage(Speaker.TOOL, result, tool_call_id=call.id))
            elif not await self._deliver(course, said=draft.text, wait=True):
                await stream.close()
                return Talk(draft.text, course.grounds, usage)

    def _tools(self, course: _Course) -> tuple[Tool, ...]:
        return (
            *(() if course.reading is None else (TOOL_SEARCH,)),
            *(
                (knowledge_tool.tool(self.knowledge_base),)
                if self.knowledge_base is not None and course.lookups is not None
                else ()
            ),
            *((colleagues.tool(self.colleagues),) if self.colleagues else ()),
        )

    async def _deliver(self, course: _Course, *, said: str = "", wait: bool) -> bool:
        """Tell the model what was found meanwhile, as results of calls; whether there was any."""
        ended = () if course.lookups is None else await course.lookups.ended(wait=wait)
        if not ended:
            return False
        named = {f"found_{each.number}": each for each in ended}
        calls = tuple(
            ToolCall(name, knowledge_tool.NAME, _written(each.query))
            for name, each in named.items()
        )
        course.messages.append(ChatMessage(Speaker.ASSISTANT, said, calls))
        for name, each in named.items():
            result = f"{knowledge_tool.DELIVERED}\n{self._looked_up(course, each.found)}"
            course.messages.append(ChatMessage(Speaker.TOOL, result, tool_call_id=name))
        return True

    async def _result(self, at: int, call: ToolCall, course: _Course) -> str:
        """What the model gets to read for one call; the course goes on to what that rests on."""
        if at >= MAX_CALLS:
            return TOO_MANY_CALLS
        if call.name == TOOL_SEARCH.name and course.reading is not None:
            return await self._search(call.arguments, course, course.reading)
        if call.name == knowledge_tool.NAME and course.lookups is not None:
            return await self._look_up(call.arguments, course, course.lookups)
        if call.name == colleagues.NAME and self.colleagues:
            result, course.grounds = await self._ask(
                call.arguments, course.grounds, _left(course.grounds)
            )
            return result
        return UNKNOWN_TOOL

    async def _search(self, written: str, course: _Course, reading: Reading) -> str:
        arguments = _arguments(written)
        if arguments is None:
            return BAD_ARGUMENTS
        if _left(course.grounds) <= 0:
            return READ_ENOUGH
        limit = min(max(arguments.limit, 1), MAX_LIMIT)
        hits = await self.reader.search_more(arguments.query, limit, arguments.collections, reading)
        return _presented(course, reading, hits, limit)

    async def _look_up(self, written: str, course: _Course, lookups: Lookups) -> str:
        query = _query(written)
        if query is None:
            return knowledge_tool.BAD_ARGUMENTS
        if _left(course.grounds) <= 0:
            return READ_ENOUGH
        if self.knowledge_base is not None and self.knowledge_base.is_background:
            lookups.begin(query)
            return knowledge_tool.SEARCHING
        return self._looked_up(course, await lookups.find(query))

    def _looked_up(self, course: _Course, found: Found) -> str:
        if isinstance(found, str) or course.reading is None or self.knowledge_base is None:
            return str(found)
        return _presented(course, course.reading, found, self.knowledge_base.top_k)

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


def _left(grounds: Grounds) -> int:
    """Characters of passages that the turn may still read."""
    return MAX_CHARS - sum(len(each.passage.text) for each in grounds.presented)


def _presented(course: _Course, reading: Reading, hits: Sequence[Hit], limit: int) -> str:
    """Number the hits on, and say them to the model."""
    presented = course.grounds.presented
    new = fit(
        hits,
        first_n=course.grounds.next_n,
        top_k=limit,
        budget_chars=min(_left(course.grounds), reading.budget_chars),
        already=frozenset(each.passage.id for each in presented),
        with_flagged=True,
    )
    log.info("model searched", turn=reading.entry.turn_id, hits=len(hits), shown=len(new))
    course.grounds = replace(course.grounds, presented=(*presented, *new))
    return tool_result(new, repeated(hits, presented))


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


def _query(text: str) -> str | None:
    try:
        found = msgspec.json.decode(text, type=knowledge_tool.Arguments, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return storable(found.query).strip() or None


def _written(query: str) -> str:
    return msgspec.json.encode({"query": query}).decode()
