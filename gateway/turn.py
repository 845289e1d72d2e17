"""The path of a message: from what a person asks to what is sent, within what they may read."""

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from gateway.asked import Answer, Answered, Asked, asked_in, record_of
from gateway.catalogue import DEFAULT_LANGUAGE, error_text, text
from gateway.consulting import Consulting
from gateway.core import asking
from gateway.core.access import AudienceKind
from gateway.core.agents import AgentSettings
from gateway.core.answering import NO_PASSAGE, has_lost_its_grounds
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.chat import ChatMessage
from gateway.core.finishing import Finished, finish
from gateway.core.grounds import Grounds, Reading, Told
from gateway.core.history import usable
from gateway.core.messages import Limits, Reply, Unit
from gateway.core.prompt import build
from gateway.core.splitting import split
from gateway.draft_stream import DraftStream
from gateway.gate import Gate
from gateway.interfaces import (
    AgentFiles,
    Channel,
    Claimed,
    Clock,
    Generation,
    LanguageModels,
    Meter,
    Preview,
    Replies,
    Scopes,
    Turns,
)
from gateway.metering import SILENT, timed
from gateway.onlookers import never_told
from gateway.reading import TurnReader
from gateway.showing import Owes, Showing, Shown, not_kept, nothing_owed
from gateway.tool_loop import Talk, ToolLoop

log = structlog.get_logger()
SIDE_BY_SIDE = 4  # turns that read the library at the same time, so that the loop stays free
TERMINAL = Limits(Unit.CODE_POINTS, part_units=1_000_000, parts_per_call=1, footer_units=1_000)


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """The operator's say over all agents: `[knowledge]` and `[gateway]` of config.toml."""

    has_library: bool = True  # [knowledge] enabled
    inject_budget_chars_max: int = 12_000
    language: str = DEFAULT_LANGUAGE
    model: str = "extractive"  # where no agent is involved
    checks_citations: bool = True  # each cited sentence is compared with its passage (F3)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn when the model is asked."""

    agent: AgentSettings
    reading: Reading
    prompt: tuple[ChatMessage, ...]
    grounds: Grounds
    question: str
    is_whole: bool  # false: the question was longer than what is read of it
    colleagues: tuple[AgentSettings, ...] = ()  # whom the model may ask


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Answers one message after the other; `answer` is the path, `run` its two ends."""

    scopes: Scopes
    agents: AgentFiles
    reader: TurnReader
    models: LanguageModels
    turns: Turns
    replies: Replies
    clock: Clock
    settings: TurnSettings = TurnSettings()
    shown: Shown = not_kept
    owes: Owes = nothing_owed
    generation: Generation = never_told
    consulting: Consulting | None = None  # None: no agent asks another
    meter: Meter = SILENT
    beginning: Gate = field(default_factory=lambda: Gate(SIDE_BY_SIDE))
    calm: Gate = field(default_factory=lambda: Gate(SIDE_BY_SIDE))
    ending: Gate = field(default_factory=lambda: Gate(SIDE_BY_SIDE))

    async def run(self, claimed: Claimed, channel: Channel) -> None:
        """Answer a message of a channel: once per turn id, however often it is run."""
        waited_s = (self.clock.now() - claimed.message.received_at).total_seconds()
        self.meter.observe("turn", max(0.0, waited_s), stage="queued")
        showing = Showing(channel, claimed, self.shown, self.owes, self.calm)
        with timed(self.meter, self.clock, "total"):
            reply = await showing.during(partial(self._reply, claimed, channel.limits))
        await self.replies.put(claimed.id, claimed.message, reply, channel)

    async def _reply(self, claimed: Claimed, limits: Limits, show: Preview) -> Reply:
        audience = await self.scopes.audience(claimed.message)
        asked = asked_in(claimed, audience, self.settings.language)
        answer = await self.answer(asked, limits, show if limits.shows_drafts else None)
        parts = split(answer.text, answer.footer, limits, text("chat.cut_notice", asked.language))
        return Reply(claimed.id, parts, answer.text, answer.citations, answer.checked_at)

    async def answer(
        self, asked: Asked, limits: Limits = TERMINAL, show: Preview | None = None
    ) -> Answer:
        """From a question to its answer, within what the asker may read at each step."""
        return (await self._answered(asked, limits, show)).answer

    async def _answered(
        self, asked: Asked, limits: Limits = TERMINAL, show: Preview | None = None
    ) -> Answered:
        async with self.beginning:
            begun = await self._begin(asked)
        if isinstance(begun, Answered):
            return begun
        with timed(self.meter, self.clock, "model"):
            talk = await self._talk(asked, begun, show)
        async with self.ending:
            return await self._end(asked, begun, talk, limits)

    async def _begin(self, asked: Asked) -> _Begun | Answered:
        """What the model is to be told, or the sentence that stands instead."""
        agent = await self._agent(asked)
        if agent is None:
            return await self._say(asked, text("llm.no_agent", asked.language))
        question, is_whole = asking.read_part(asked.text)
        with timed(self.meter, self.clock, "scope"):
            reading = await self._reading(asked, agent)
        with timed(self.meter, self.clock, "search"):
            found = await self.reader.search_first(question, agent.knowledge, reading)
        if found.fixed_reply is not None:
            return await self._say(asked, text(found.fixed_reply, asked.language), reading)
        consulting = self.consulting
        offered = await consulting.offered(agent, asked) if consulting is not None else ()
        prompt = build(
            persona=agent.persona,
            has_collections=bool(offered) or self._has_collections(reading),
            history=usable(reading.past, reading.scope),
            question=question,
            presented=found.presented,
        )
        grounds = Grounds(found.presented)
        return _Begun(agent, reading, tuple(prompt), grounds, question, is_whole, offered)

    async def _end(self, asked: Asked, begun: _Begun, talk: Talk, limits: Limits) -> Answered:
        """From the draft to what may be sent."""
        reading, grounds = begun.reading, talk.grounds
        standing = await self.reader.standing(reading, grounds)
        if not standing.is_whole:
            return await self._say(asked, text(NO_PASSAGE, asked.language), reading)
        more = text("chat.footer_more", asked.language)
        checks = self.settings.checks_citations
        finishing = partial(finish, checks=checks)
        done = await asyncio.to_thread(
            finishing, talk.text, grounds.presented, begun.question, limits, more
        )
        self._count(done)
        if asking.is_blank(done.text):
            return await self._say(asked, error_text("llm_failed", asked.language), reading)
        if has_lost_its_grounds(begun.agent.knowledge.answer_mode, len(done.views), done.withdrawn):
            return await self._say(asked, text(NO_PASSAGE, asked.language), reading)
        body = done.text
        if not begun.is_whole:
            body += "\n\n" + text("llm.question_cut", asked.language, count=asking.MAX_CHARS)
        answer = Answer(asked.turn_id, body, done.footer, done.views, standing.checked_at)
        answered = Answered(answer, reading, grounds)
        await self.turns.record(record_of(asked, answered, self.clock.now(), done.citations))
        log.info(
            "turn answered",
            turn=asked.turn_id,
            cited=len(done.views),
            dropped=done.dropped,
            withdrawn=done.withdrawn,
            moved=done.moved,
            asked=len(grounds.told),
            tokens_in=talk.usage.tokens_in,
            tokens_out=talk.usage.tokens_out,
        )
        return answered

    def _count(self, done: Finished) -> None:
        """How many marks stood, and how many pointed at nothing, at the wrong passage or at none
        that supports the sentence.
        """
        outcomes = {"cited": len(done.views), "made_up": done.dropped}
        outcomes |= {"moved": done.moved, "withdrawn": done.withdrawn}
        for outcome, count in outcomes.items():
            if count:
                self.meter.count("citations", count, outcome=outcome)

    async def _agent(self, asked: Asked) -> AgentSettings | None:
        """Who answers; the library itself where a person asks it without an agent."""
        if asked.agent_id is None:
            is_person = asked.audience.kind is AudienceKind.DASHBOARD
            return AgentSettings("", "", model=self.settings.model) if is_person else None
        agent = await self.agents.load(asked.agent_id)
        return None if agent is None or agent.is_archived else agent

    async def _reading(self, asked: Asked, agent: AgentSettings) -> Reading:
        """The scope of this turn, from the store as it is now."""
        side = agent.side if asked.agent_id is not None else None
        scope = await self.scopes.scope(asked.audience, side)
        if not self.settings.has_library:
            scope = scope.narrow(frozenset())
        account = asked.audience.account
        entry = AccessEntry(
            AccessAction.SEARCH,
            self.clock.now(),
            account_id=account.id if account is not None else None,
            agent_id=asked.agent_id,
            channel=asked.channel,
            sender=asked.sender,
            turn_id=asked.turn_id,
        )
        budget = agent.knowledge.inject_budget_chars
        budget = min(budget, self.settings.inject_budget_chars_max)
        reading = Reading(scope, side, entry, budget, asked.conversation)
        return replace(reading, past=await self.reader.past(reading))

    def _has_collections(self, reading: Reading) -> bool:
        return self.settings.has_library and asking.agent_has_collections(reading.scope)

    async def _talk(self, asked: Asked, begun: _Begun, show: Preview | None) -> Talk:
        """The model with its tools: one exists where the agent has documents (A21), the other
        where it has colleagues.
        """
        reading = begun.reading
        is_readable = partial(self.reader.still_readable, reading)
        stream = DraftStream(show, is_readable, self.clock, self.generation)
        if show is not None:
            show.only_while(stream.may_show)
        tool = reading if self._has_collections(reading) else None
        model = self.models.find(begun.agent.model, *begun.agent.fallbacks)
        consult = partial(self._consult, asked)
        loop = ToolLoop(self.reader, begun.colleagues, consult, begun.agent.knowledge_base)
        return await loop.complete(model, begun.prompt, begun.grounds, stream, tool)

    async def _consult(self, asked: Asked, agent_id: str, question: str) -> Told | None:
        if self.consulting is None:
            return None
        return await self.consulting.ask(asked, self._answered, agent_id, question)

    async def _say(self, asked: Asked, sentence: str, reading: Reading | None = None) -> Answered:
        """Answer with a sentence of our own, which rests on nothing."""
        said = Answered(Answer(asked.turn_id, sentence), reading)
        await self.turns.record(record_of(asked, said, self.clock.now(), None))
        return said
