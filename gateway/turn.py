"""The path of a message: from what a person asks to what is sent, within what they may read."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from gateway.catalogue import DEFAULT_LANGUAGE, error_text, text
from gateway.core import asking, footer
from gateway.core.access import Audience, AudienceKind
from gateway.core.agents import AgentSettings
from gateway.core.answering import NO_PASSAGE
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.chat import ChatMessage
from gateway.core.citations import rewrite
from gateway.core.excerpts import nearest_sentence
from gateway.core.folding import storable
from gateway.core.history import MAX_EXCHANGES, usable
from gateway.core.messages import CitationView, InboundMessage, Limits, Reply, Unit
from gateway.core.prompt import build
from gateway.core.splitting import split
from gateway.core.turns import Exchange, PresentedPassage, TurnCitation, TurnRecord
from gateway.core.urls import defang
from gateway.draft_stream import DraftStream
from gateway.errors import ChannelError
from gateway.interfaces import (
    AgentFiles,
    Channel,
    Claimed,
    Clock,
    LanguageModels,
    OnDelta,
    Replies,
    Scopes,
    Turns,
)
from gateway.reading import Reading, TurnReader
from gateway.tool_loop import Talk, ToolLoop

log = structlog.get_logger()
TYPING_TIMEOUT_S = 2.0
TERMINAL = Limits(Unit.CODE_POINTS, part_units=1_000_000, parts_per_call=1, footer_units=1_000)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and for whom it is: a channel's message, or one typed at the command line."""

    turn_id: str
    text: str
    audience: Audience
    agent_id: str | None  # None: a person at the library without an agent
    conversation: str  # Conversation.lane
    asked_at: datetime
    language: str = DEFAULT_LANGUAGE  # of our own sentences; see core.asking.reply_language
    channel: str | None = None
    sender: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer: `text` with [n] marks, the footer apart, what it cites."""

    turn_id: str
    text: str
    footer: str = ""
    citations: tuple[CitationView, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """The operator's say over all agents: `[knowledge]` and `[gateway]` of config.toml."""

    has_library: bool = True  # [knowledge] enabled
    inject_budget_chars_max: int = 12_000
    language: str = DEFAULT_LANGUAGE
    model: str = "extractive"  # where no agent is involved


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

    async def run(self, claimed: Claimed, channel: Channel) -> None:
        """Answer a message of a channel: once per turn id, however often it is run."""
        message = claimed.message
        audience = await self.scopes.audience(message)
        asked = _asked(claimed, audience, self.settings.language)
        show = partial(channel.show_delta, message, claimed.id)
        answer, _ = await asyncio.gather(
            self.answer(asked, channel.limits, show),
            _show_typing(channel, message),
            return_exceptions=True,  # both are waited for; nothing runs on behind a failure
        )
        if isinstance(answer, BaseException):
            raise answer
        notice = text("chat.cut_notice", asked.language)
        parts = split(answer.text, answer.footer, channel.limits, notice)
        reply = Reply(claimed.id, parts, answer.text, answer.citations)
        await self.replies.put(claimed.id, message, reply)

    async def answer(
        self, asked: Asked, limits: Limits = TERMINAL, show: OnDelta | None = None
    ) -> Answer:
        """From a question to its answer, within what the asker may read at each step."""
        agent = await self._agent(asked)
        if agent is None:
            return await self._say(asked, text("llm.no_agent", asked.language))
        question, is_whole = asking.read_part(asked.text)
        reading = await self._reading(asked, agent)
        past = await self._past(asked)
        history = usable(past, reading.scope)
        found = await self.reader.search_first(question, agent.knowledge, reading)
        if found.fixed_reply is not None:
            return await self._say(asked, text(found.fixed_reply, asked.language), reading)
        prompt = build(
            persona=agent.persona,
            has_collections=self._has_collections(reading),
            history=history,
            question=question,
            presented=found.presented,
        )
        talk = await self._talk(agent, prompt, found.presented, reading, show)
        if not await self._still_holds(asked, reading, talk, past):
            return await self._say(asked, text(NO_PASSAGE, asked.language), reading)
        cited = rewrite(talk.text, {each.n: each.passage for each in talk.presented})
        body = defang(cited.text, [each.passage.text for each in talk.presented])
        if asking.is_blank(body):
            return await self._say(asked, error_text("llm_failed", asked.language), reading)
        if not is_whole:
            body += "\n\n" + text("llm.question_cut", asked.language, count=asking.MAX_CHARS)
        more = text("chat.footer_more", asked.language)
        sources = footer.build(cited.cited, question, limits, more) if limits.footer_units else ""
        answer = Answer(asked.turn_id, body, sources, footer.views(cited.cited, question))
        await self._record(asked, answer, reading, talk.presented)
        log.info("turn answered", turn=asked.turn_id, cited=len(cited.cited), dropped=cited.dropped)
        return answer

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
        return Reading(scope, side, entry, min(budget, self.settings.inject_budget_chars_max))

    async def _past(self, asked: Asked) -> Sequence[Exchange]:
        """What was said here before; this turn's own first try is no past of it."""
        past = await self.turns.recent(asked.agent_id, asked.conversation, MAX_EXCHANGES + 1)
        return [exchange for exchange in past if exchange.turn_id != asked.turn_id]

    def _has_collections(self, reading: Reading) -> bool:
        return self.settings.has_library and asking.agent_has_collections(reading.scope)

    async def _talk(
        self,
        agent: AgentSettings,
        prompt: Sequence[ChatMessage],
        presented: tuple[PresentedPassage, ...],
        reading: Reading,
        show: OnDelta | None,
    ) -> Talk:
        """The model with its tool, which exists where the agent has documents (A21)."""
        stream = DraftStream(show, partial(self.reader.still_readable, reading), self.clock)
        tool = reading if self._has_collections(reading) else None
        model = self.models.find(agent.model)
        return await ToolLoop(self.reader).complete(model, prompt, presented, stream, tool)

    async def _still_holds(
        self, asked: Asked, reading: Reading, talk: Talk, past: Sequence[Exchange]
    ) -> bool:
        """Whether all that the draft may rest on, passages and past answers, is still readable."""
        if not await self.reader.still_readable(reading, talk.presented):
            return False
        history = usable(past, reading.scope)
        if not history:
            return True
        now = {exchange.turn_id: exchange for exchange in await self._past(asked)}
        past_now = [now.get(exchange.turn_id, exchange) for exchange in past]
        return usable(past_now, await self.reader.renewed(reading)) == history

    async def _say(self, asked: Asked, sentence: str, reading: Reading | None = None) -> Answer:
        """Answer with a sentence of our own, which rests on nothing."""
        answer = Answer(asked.turn_id, sentence)
        await self._record(asked, answer, reading, ())
        return answer

    async def _record(
        self,
        asked: Asked,
        answer: Answer,
        reading: Reading | None,
        presented: Sequence[PresentedPassage],
    ) -> None:
        cited = {view.n for view in answer.citations}
        account = asked.audience.account
        await self.turns.record(
            TurnRecord(
                id=asked.turn_id,
                agent_id=asked.agent_id,
                conversation=asked.conversation,
                is_direct=reading is not None and reading.scope.is_direct,
                audience=asked.audience.kind,
                account_id=account.id if account is not None else None,
                sender=asked.sender,
                question=storable(asked.text),
                answer=storable(answer.text),
                asked_at=asked.asked_at,
                answered_at=self.clock.now(),
                citations=tuple(_citation(each, asked.text, cited) for each in presented),
            )
        )


def _citation(each: PresentedPassage, question: str, cited: Collection[int]) -> TurnCitation:
    """Where the passage stands and one short sentence of it, never its body (A20)."""
    passage = each.passage
    return TurnCitation(
        each.n,
        passage.id,
        passage.source_id,
        passage.collection_id,
        passage.title,
        passage.locator.label(),
        nearest_sentence(question, passage.text),
        each.n in cited,
    )


def _asked(claimed: Claimed, audience: Audience, default_language: str) -> Asked:
    message = claimed.message
    sender = message.sender
    language = asking.reply_language(
        audience.account, message.language, message.text, default_language
    )
    return Asked(
        claimed.id,
        message.text,
        audience,
        message.agent_id,
        message.conversation.lane,
        message.received_at,
        language,
        message.conversation.channel,
        f"{sender.channel}/{sender.account_name}/{sender.id}" if sender is not None else None,
    )


async def _show_typing(channel: Channel, message: InboundMessage) -> None:
    """A courtesy: a channel that cannot, or takes too long, loses nobody an answer."""
    try:
        async with asyncio.timeout(TYPING_TIMEOUT_S):
            await channel.show_typing(message)
    except (ChannelError, TimeoutError) as error:
        log.info("typing not shown", channel=channel.name, reason=type(error).__name__)
