"""Puts the program together: with its siblings app_*.py the only place of concrete classes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from aiohttp import web

from channels.webchat.channel import WebChatChannel
from gateway import knowledge_config
from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.accounts.sign_in import SignIn
from gateway.app_channels import build_providers, read_channels
from gateway.app_library import Shelves, build_encoder, open_shelves, working
from gateway.app_operations import Operations, Seams, build_operations
from gateway.app_upkeep import keep_up
from gateway.app_web import WebParts, build_application
from gateway.channel_set import ChannelSet
from gateway.config import GatewaySettings, load
from gateway.core.asking import reply_language
from gateway.core.messages import InboundMessage
from gateway.errors import ConfigError
from gateway.inbox import InboxLanes, LaneOptions, LanguageOf
from gateway.interfaces import Clock, Ids
from gateway.knowledge_config import KnowledgeConfig
from gateway.llm.registry import ModelRegistry
from gateway.operations.ask import Answer, AskAnswer, Question
from gateway.operations.registry import Registry
from gateway.outbox import OutboxSender, SendingOptions
from gateway.reading import TurnReader
from gateway.store import Store
from gateway.surfaces.local import LocalRoute
from gateway.system import SystemClock, Uuid7Ids
from gateway.turn import Asked, TurnRunner, TurnSettings

log = structlog.get_logger()
SERVER_LOG = logging.getLogger("shutten.http")  # what it says of broken requests quotes them
SERVER_LOG.setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class App:
    """An open home: the store, the operations, and all that serves messages."""

    home: Path
    settings: GatewaySettings
    knowledge: KnowledgeConfig
    store: Store
    shelves: Shelves
    operations: Operations
    sign_in: SignIn
    channels: ChannelSet
    web_chat: WebChatChannel
    lanes: InboxLanes
    sender: OutboxSender
    turns: TurnRunner
    clock: Clock

    @property
    def registry(self) -> Registry:
        """The table of operations."""
        return self.operations.registry

    async def serve(
        self,
        stop: asyncio.Event,
        *,
        host: str | None = None,
        port: int | None = None,
        on_ready: Callable[[str], None] = lambda _url: None,
    ) -> None:
        """Serve until `stop` is set, then let running turns and calls end."""
        local = LocalRoute(self.home, self.registry, self.store.accounts, self.clock)
        runner = web.AppRunner(self.application(), access_log=None, logger=SERVER_LOG)
        await runner.setup()
        async with asyncio.TaskGroup() as tasks:
            lanes = tasks.create_task(self.lanes.run(self.turns.run))
            tasks.create_task(self.sender.run())
            warm_up = tasks.create_task(self.shelves.warm_up())
            days = self.knowledge.switches.access_log_retention_days
            connections = tasks.create_task(self.channels.run(self.lanes.accept))
            upkeep = tasks.create_task(keep_up(self.store, self.home, self.clock, days))
            try:
                await local.start()
                chosen = self.settings.port if port is None else port
                on_ready(await _listen(runner, host or self.settings.host, chosen))
                await stop.wait()
            finally:
                await runner.cleanup()
                await local.stop()
                warm_up.cancel()
                upkeep.cancel()
                connections.cancel()
                await asyncio.wait([connections])
                self.lanes.stop()
                await asyncio.wait([lanes])  # what they still put is sent before we end
                self.sender.stop()

    def application(self) -> web.Application:
        """The HTTP side alone; `serve` runs it together with the lanes and the outbox."""
        return build_application(
            WebParts(
                self.home,
                self.settings,
                self.knowledge.limits,
                self.shelves,
                self.operations,
                self.sign_in,
                self.channels,
                self.web_chat,
                self.lanes,
                self.clock,
            )
        )


@asynccontextmanager
async def open_app(home: Path, *, serves: bool = True) -> AsyncIterator[App]:
    """Open a home with its settings; background work on documents runs meanwhile.

    A command that does not serve needs neither the channels' secrets nor every provider's: they
    may stand in the environment of the gateway alone.
    """
    config = load(home / "config.toml")
    knowledge = knowledge_config.read(config)
    for warning in knowledge.warnings:
        log.warning("setting ignored or clamped", setting=warning)
    clock, ids = SystemClock(), Uuid7Ids()
    encoder = build_encoder(knowledge.embedding, home / "models" / "embedding", clock)
    async with AsyncExitStack() as opened:
        shelves = await opened.enter_async_context(
            open_shelves(home, knowledge.limits, encoder, clock, ids)
        )
        models = ModelRegistry(build_providers(config, is_strict=serves))
        opened.push_async_callback(models.close)
        web_chat = WebChatChannel()
        channels = ChannelSet([web_chat], read_channels(config) if serves else {})
        opened.push_async_callback(channels.close)
        await opened.enter_async_context(working(shelves))
        yield _assemble(
            _Opened(home, config.gateway, knowledge, shelves, models, channels, web_chat),
            clock,
            ids,
        )


@dataclass(frozen=True, slots=True)
class _Opened:
    """What has to be closed again, before it is put together."""

    home: Path
    settings: GatewaySettings
    knowledge: KnowledgeConfig
    shelves: Shelves
    models: ModelRegistry
    channels: ChannelSet
    web_chat: WebChatChannel


def _assemble(opened: _Opened, clock: Clock, ids: Ids) -> App:
    store, settings = opened.shelves.store, opened.settings
    scopes = ScopeService(store.accounts, store.links, store.grants)
    sign_in = SignIn(store.accounts, store.sessions, clock)
    files = AgentFolder(opened.home / "agents", store.agents)
    channels = opened.channels
    sending = SendingOptions(using=channels.using)
    sender = OutboxSender(store.outbox, store.inbox, channels.outgoing, clock, sending)
    turns = _turns(opened, scopes, files, sender, clock)
    options = _lane_options(settings, scopes, channels)
    lanes = InboxLanes(store.inbox, sender, channels.outgoing, clock, ids, options)
    seams = Seams(
        opened.shelves,
        scopes,
        sign_in,
        files,
        _answering(turns, clock, ids),
        opened.knowledge.limits,
        settings.session_days,
        settings.default_agent,
        opened.knowledge.switches.enabled,
        clock,
        ids,
    )
    return App(
        opened.home,
        settings,
        opened.knowledge,
        store,
        opened.shelves,
        build_operations(seams),
        sign_in,
        opened.channels,
        opened.web_chat,
        lanes,
        sender,
        turns,
        clock,
    )


def _lane_options(
    settings: GatewaySettings, scopes: ScopeService, channels: ChannelSet
) -> LaneOptions:
    return LaneOptions(
        concurrency=settings.max_concurrent_turns,
        lane_limit=settings.lane_limit,
        turns_per_minute=settings.turns_per_minute,
        using=channels.using,
        language_of=_language_of(scopes, settings.language),
    )


def _turns(
    opened: _Opened, scopes: ScopeService, files: AgentFolder, sender: OutboxSender, clock: Clock
) -> TurnRunner:
    store, switches = opened.shelves.store, opened.knowledge.switches
    reader = TurnReader(
        scopes,
        store.collections,
        opened.shelves.search,
        store.passages,
        clock,
        auto_retrieve=switches.auto_retrieve,
    )
    settings = TurnSettings(
        has_library=switches.enabled,
        inject_budget_chars_max=switches.inject_budget_chars_max,
        language=opened.settings.language,
    )
    return TurnRunner(
        scopes,
        files,
        reader,
        opened.models,
        store.turns,
        sender,
        clock,
        settings,
        shown=store.inbox.shown,
    )


def _language_of(scopes: ScopeService, default: str) -> LanguageOf:
    """For the busy sentence and the apology: as the turn itself would choose."""

    async def language_of(message: InboundMessage) -> str | None:
        audience = await scopes.audience(message)
        return reply_language(audience.account, message.language, message.text, default)

    return language_of


def _answering(turns: TurnRunner, clock: Clock, ids: Ids) -> Answer:
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


async def _listen(runner: web.AppRunner, host: str, port: int) -> str:
    """Open the port; ConfigError where it cannot be had."""
    try:
        await web.TCPSite(runner, host, port).start()
    except (OSError, OverflowError, UnicodeError) as error:  # taken, out of range, no host name
        reason = f"{host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise ConfigError(reason, path="gateway.port", reason=reason) from error
    address = runner.addresses[0]
    return f"http://{address[0]}:{address[1]}"
