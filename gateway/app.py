"""Puts the program together: with its siblings app_*.py the only place of concrete classes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web

from channels.webchat.channel import WebChatChannel
from gateway import knowledge_config
from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.accounts.sign_in import SignIn
from gateway.app_channels import build_providers, named, read_channels
from gateway.app_library import Shelves, open_shelves, working
from gateway.app_mcp import Mcp, build_mcp
from gateway.app_models import build_encoders, build_models
from gateway.app_operations import Operations, Seams, build_operations, linking_of
from gateway.app_proposals import build_proposals, command_handlers
from gateway.app_reading import ReadingModels
from gateway.app_reload import ConfigFile, ConfigWatcher
from gateway.app_retrieval import writing_of
from gateway.app_turns import (
    TurnParts,
    answering,
    build_changes,
    build_dispatcher,
    build_lanes,
    build_sender,
    build_shelf,
    build_turns,
)
from gateway.app_upkeep import keep_up
from gateway.app_web import WebParts, build_application, listen, runner_of
from gateway.attachments import AttachmentShelf
from gateway.changes import Changes
from gateway.channel_set import ChannelSet
from gateway.config import GatewaySettings
from gateway.dispatch import Dispatcher
from gateway.inbox import InboxLanes
from gateway.interfaces import Clock, Ids
from gateway.knowledge.proposals import Proposals
from gateway.knowledge.sharing import ChannelAccounts
from gateway.knowledge_config import KnowledgeConfig
from gateway.llm.registry import ModelRegistry
from gateway.operations.embedding import ModelDesk
from gateway.operations.registry import Registry
from gateway.outbox import OutboxSender
from gateway.retraction import Retraction
from gateway.store import Store
from gateway.surfaces.local import LocalRoute
from gateway.surfaces.meter import LoopLag, PrometheusMeter
from gateway.system import SystemClock, Uuid7Ids
from gateway.tidying import keep_tidy
from gateway.turn import TurnRunner

log = structlog.get_logger()


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
    dispatcher: Dispatcher
    shelf: AttachmentShelf
    retraction: Retraction
    proposals: Proposals
    changes: Changes
    mcp: Mcp
    watcher: ConfigWatcher
    meter: PrometheusMeter
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
        local = LocalRoute(self.home, self.registry, self.store.accounts, self.clock, self.mcp.runs)
        runner = runner_of(self.application())
        await runner.setup()
        await self._begin()
        async with asyncio.TaskGroup() as tasks:
            lanes = tasks.create_task(self.lanes.run(self.dispatcher.run))
            tasks.create_task(self.sender.run())
            watching = tasks.create_task(self.watcher.run())
            connections = tasks.create_task(self.channels.run(self.lanes.accept))
            chores = [tasks.create_task(chore) for chore in self._chores()]
            try:
                await local.start()
                chosen = self.settings.port if port is None else port
                on_ready(await listen(runner, host or self.settings.host, chosen))
                await stop.wait()
            finally:
                watching.cancel()  # what we end is not begun again
                await asyncio.wait([watching])
                await runner.cleanup()
                await local.stop()
                for chore in chores:
                    chore.cancel()
                connections.cancel()
                await asyncio.wait([connections])
                self.lanes.stop()
                await asyncio.wait([lanes])  # what they still put is sent before we end
                self.sender.stop()

    def _chores(self) -> Iterable[Coroutine[Any, Any, None]]:
        """What goes on beside until we stop."""
        yield from (self.shelves.warm_up(), self._keep_up())
        yield from (self.changes.run(), *self.mcp.chores(), self.operations.models.run())
        yield LoopLag(self.meter, self.clock).run()
        yield keep_tidy(lambda: self.lanes.is_idle, self.clock)

    async def _begin(self) -> None:
        """Nothing that a dead process should have wiped is read again."""
        await self.shelf.start()
        await self.retraction.sweep()
        await self.proposals.start()
        await self.operations.own_documents.reconcile()

    async def _keep_up(self) -> None:
        days = self.knowledge.switches.access_log_retention_days
        others = {"sweep_files": self.shelf.sweep, "forget_retracted": self.retraction.sweep}
        others |= {"sweep_proposals": self.proposals.sweep}
        await keep_up(self.store, self.home, self.clock, days, others)

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
                self.meter,
                lambda: self.watcher.state,
                self.mcp.http,
                self.proposals,
            )
        )


@asynccontextmanager
async def open_app(home: Path, *, serves: bool = True) -> AsyncIterator[App]:
    """Open a home with its settings; background work on documents runs meanwhile.

    A command that does not serve needs neither the channels' secrets nor every provider's: they
    may stand in the environment of the gateway alone.
    """
    file = ConfigFile(home / "config.toml")
    config = file.read()
    knowledge = knowledge_config.read(config)
    for warning in knowledge.warnings:
        log.warning("setting ignored or clamped", setting=warning)
    clock, ids, meter = SystemClock(), Uuid7Ids(), PrometheusMeter()
    encoder, former = build_encoders(knowledge.embedding, home, clock)
    async with AsyncExitStack() as opened:
        models = ModelRegistry(build_providers(config, is_strict=serves), meter)
        opened.push_async_callback(models.close)
        needs = home, knowledge.limits, encoder, clock, ids, ReadingModels.of(knowledge, models)
        shelves = await opened.enter_async_context(open_shelves(*needs, former=former))
        web_chat = WebChatChannel()
        channels = ChannelSet([web_chat], read_channels(config, file.run) if serves else {})
        opened.push_async_callback(channels.close)
        await opened.enter_async_context(working(shelves))
        desk, follow = build_models(home, knowledge.embedding, shelves, file, clock)
        watcher = ConfigWatcher(file, channels, models, follow=follow)
        parts = home, config.gateway, knowledge, shelves, models, desk, channels, web_chat, watcher
        known = channels if serves else named(config)
        yield _assemble(_Opened(*parts, meter, lambda: tuple(known)), clock, ids)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What has to be closed again, before it is put together."""

    home: Path
    settings: GatewaySettings
    knowledge: KnowledgeConfig
    shelves: Shelves
    models: ModelRegistry
    models_desk: ModelDesk
    channels: ChannelSet
    web_chat: WebChatChannel
    watcher: ConfigWatcher
    meter: PrometheusMeter
    channel_accounts: ChannelAccounts


def _assemble(opened: _Opened, clock: Clock, ids: Ids) -> App:
    parts = _turn_parts(opened, clock, ids)
    store = opened.shelves.store
    sign_in = SignIn(store.accounts, store.account_changes, store.sessions, clock)
    sender = build_sender(parts)
    turns = build_turns(parts, sender)
    shelf = build_shelf(parts, opened.home)
    retraction = Retraction(store.inbox, store.turns, shelf)
    linking, changes = linking_of(store, clock), build_changes(parts)
    proposals = build_proposals(parts, opened.home)
    handlers = command_handlers(parts, proposals, shelf)
    operations = build_operations(_seams(parts, opened, sign_in, turns, sender))
    return App(
        opened.home,
        opened.settings,
        opened.knowledge,
        store,
        opened.shelves,
        operations,
        sign_in,
        opened.channels,
        opened.web_chat,
        build_lanes(parts, sender, shelf, [retraction.retract, linking.line_linked]),
        sender,
        turns,
        build_dispatcher(parts, sender, turns, shelf, linking, handlers),
        shelf,
        retraction,
        proposals,
        changes,
        build_mcp(parts, opened.home, sign_in, proposals, changes, operations.desk),
        opened.watcher,
        opened.meter,
        clock,
    )


def _turn_parts(opened: _Opened, clock: Clock, ids: Ids) -> TurnParts:
    store = opened.shelves.store
    return TurnParts(
        opened.settings,
        opened.knowledge,
        opened.shelves,
        opened.models,
        opened.channels,
        ScopeService(store.accounts, store.links, store.grants),
        AgentFolder(opened.home / "agents", store.agents),
        clock,
        ids,
        opened.meter,
    )


def _seams(
    parts: TurnParts,
    opened: _Opened,
    sign_in: SignIn,
    turns: TurnRunner,
    sender: OutboxSender,
) -> Seams:
    return Seams(
        parts.shelves,
        parts.scopes,
        sign_in,
        parts.files,
        answering(turns, parts.clock, parts.ids),
        parts.knowledge.limits,
        parts.settings.session_days,
        parts.settings.default_agent,
        parts.knowledge.switches.enabled,
        parts.clock,
        parts.ids,
        parts.channels,
        opened.models,
        opened.models_desk,
        sender.wake,
        opened.channel_accounts,
        writing_of(parts.settings, parts.knowledge),
    )
