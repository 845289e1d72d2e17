"""Puts together what answers: the runner of turns, its lanes, and the turn without a channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.linking import Linking
from gateway.accounts.scopes import ScopeService
from gateway.app_library import Shelves
from gateway.asked import Asked
from gateway.attachments import AttachmentShelf
from gateway.changes import Changes
from gateway.channel_set import ChannelSet
from gateway.config import GatewaySettings
from gateway.consulting import Consulting
from gateway.core.asking import reply_language
from gateway.core.chat_commands import CommandKind
from gateway.core.messages import InboundMessage
from gateway.dispatch import CommandHandler, Dispatcher
from gateway.downloads import Downloads
from gateway.gate import Gate, Urgency
from gateway.inbox import InboxLanes, LaneOptions, LanguageOf, OnNotice
from gateway.interfaces import Clock, Ids, LanguageModels, Meter
from gateway.knowledge.filtered import FilteredSearch
from gateway.knowledge_config import KnowledgeConfig
from gateway.operations.ask import Answer, AskAnswer, Question
from gateway.outbox import OutboxSender
from gateway.reading import TurnReader
from gateway.rechecking import Rechecking
from gateway.sending import SendingOptions
from gateway.turn import SIDE_BY_SIDE, TurnRunner, TurnSettings


@dataclass(frozen=True, slots=True)
class TurnParts:
    """What turns, their lanes and their way out are made of."""

    settings: GatewaySettings
    knowledge: KnowledgeConfig
    shelves: Shelves
    models: LanguageModels
    channels: ChannelSet
    scopes: ScopeService
    files: AgentFolder
    clock: Clock
    ids: Ids
    meter: Meter
    urgency: Urgency = field(default_factory=Urgency)


def build_sender(parts: TurnParts) -> OutboxSender:
    """The durable way out; a channel that was removed still sends what its turns began."""
    store, channels = parts.shelves.store, parts.channels
    language = parts.settings.language
    recheck = Rechecking(
        store.turns,
        parts.files,
        parts.scopes,
        store.passages,
        language,
        has_library=parts.knowledge.switches.enabled,
    )
    options = SendingOptions(
        using=channels.using, recheck=recheck, generation=store.access.now, meter=parts.meter
    )
    return OutboxSender(store.outbox, store.inbox, channels.outgoing, parts.clock, options)


def build_shelf(parts: TurnParts, home: Path) -> AttachmentShelf:
    """Where people's files lie for half an hour."""
    downloads = Downloads(home / "run" / "attachments", parts.ids)
    language_of = _language_of(parts.scopes, parts.settings.language)
    return AttachmentShelf(downloads, parts.clock, language_of)


def build_lanes(
    parts: TurnParts,
    sender: OutboxSender,
    shelf: AttachmentShelf,
    notices: Sequence[OnNotice],
) -> InboxLanes:
    """The durable way in; each of `notices` looks at what is no message and takes what is its."""

    async def on_notice(message: InboundMessage) -> None:
        for take in notices:
            await take(message)

    settings, channels = parts.settings, parts.channels
    options = LaneOptions(
        concurrency=settings.max_concurrent_turns,
        lane_limit=settings.lane_limit,
        turns_per_minute=settings.turns_per_minute,
        language_of=_language_of(parts.scopes, settings.language),
        on_notice=on_notice,
        note=shelf.note,
        using=channels.using,
        urgency=parts.urgency,
        meter=parts.meter,
    )
    inbox = parts.shelves.store.inbox
    return InboxLanes(inbox, sender, channels.outgoing, parts.clock, parts.ids, options)


def build_turns(parts: TurnParts, sender: OutboxSender) -> TurnRunner:
    """The path of a message."""
    store, switches = parts.shelves.store, parts.knowledge.switches
    search = FilteredSearch(parts.shelves.search, store.passages, store.passages)
    reader = TurnReader(
        parts.scopes,
        store.collections,
        search,
        store.passages,
        parts.clock,
        parts.files,
        store.turns,
        auto_retrieve=switches.auto_retrieve,
    )
    settings = TurnSettings(
        has_library=switches.enabled,
        inject_budget_chars_max=switches.inject_budget_chars_max,
        language=parts.settings.language,
        checks_citations=parts.settings.citation_check,
    )
    return TurnRunner(
        parts.scopes,
        parts.files,
        reader,
        parts.models,
        store.turns,
        sender,
        parts.clock,
        settings,
        shown=store.inbox.shown,
        owes=sender.owes,
        generation=store.access.now,
        consulting=Consulting(parts.files, parts.ids, parts.clock),
        meter=parts.meter,
        calm=Gate(SIDE_BY_SIDE, parts.urgency),
        beginning=Gate(SIDE_BY_SIDE, parts.urgency),
        ending=Gate(SIDE_BY_SIDE, parts.urgency),
    )


def build_changes(parts: TurnParts) -> Changes:
    """Who tells that an agent may read something else."""
    store = parts.shelves.store
    changes = Changes(store.agents, parts.files, parts.scopes, store.access.now)
    store.access.listen(changes.note)
    return changes


def build_dispatcher(
    parts: TurnParts,
    sender: OutboxSender,
    turns: TurnRunner,
    shelf: AttachmentShelf,
    linking: Linking,
    handlers: Mapping[CommandKind, CommandHandler],
) -> Dispatcher:
    """What the lanes run: commands and files first, questions by a turn."""
    settings = parts.settings
    return Dispatcher(
        turns.run,
        linking,
        parts.scopes,
        sender,
        language=settings.language,
        public_url=settings.public_url,
        attachments=shelf,
        handlers=handlers,
    )


def _language_of(scopes: ScopeService, default: str) -> LanguageOf:
    """For the busy sentence and the apology: as the turn itself would choose."""

    async def language_of(message: InboundMessage) -> str | None:
        audience = await scopes.audience(message)
        return reply_language(audience.account, message.language, message.text, default)

    return language_of


def answering(turns: TurnRunner, clock: Clock, ids: Ids) -> Answer:
    """The turn without a channel, for `chat.ask`; each question is a conversation of its own."""

    async def answer(question: Question) -> AskAnswer:
        turn_id = ids.new()
        asked = Asked(
            turn_id,
            question.text,
            question.audience,
            question.agent_id,
            f"ask/{turn_id}",
            clock.now(),
            reply_language(None, question.language, question.text, turns.settings.language),
        )
        found = await turns.answer(asked)
        return AskAnswer(found.turn_id, found.text, found.footer, list(found.citations))

    return answer
