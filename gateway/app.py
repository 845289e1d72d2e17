"""Puts the program together: the only place that names concrete classes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import structlog
import uuid6
from aiohttp import web

from channels.line.channel import LineChannel, LineSettings
from channels.webchat.channel import WebChatChannel
from gateway import knowledge_config
from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.scopes import ScopeService
from gateway.accounts.sign_in import SignIn
from gateway.config import Config, load, section
from gateway.core.messages import InboundMessage
from gateway.extract.supervisor import ExtractionSupervisor
from gateway.inbox import InboxLanes, LaneOptions
from gateway.interfaces import Channel, Encoder
from gateway.knowledge.ingestion import Ingestion
from gateway.knowledge.library import Library
from gateway.knowledge.search import Search
from gateway.knowledge_config import KnowledgeConfig
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings
from gateway.operations.ask import AskAnswer, Question
from gateway.operations.registry import Registry
from gateway.outbox import OutboxSender
from gateway.reading import TurnReader
from gateway.store.opening import Store, open_store
from gateway.surfaces.local import LocalRoute
from gateway.turn import Asked, TurnRunner, TurnSettings

log = structlog.get_logger()
ChannelKey = tuple[str, str]


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place where the clock is read

    def monotonic(self) -> float:
        """Seconds."""
        return monotonic()


class Uuid7Ids:
    """Ids that sort by the time they were made."""

    def new(self) -> str:
        """A UUIDv7."""
        return str(uuid6.uuid7())


def build_channels(config: Config) -> dict[ChannelKey, Channel]:
    """One channel an account of a platform; ConfigError names a wrong key."""
    channels: dict[ChannelKey, Channel] = {("webchat", "web"): WebChatChannel()}
    for name, table in config.channels.get("line", {}).items():
        settings = section(LineSettings, {"name": name, **table}, f"channels.line.{name}")
        channels["line", name] = LineChannel(settings)
    return channels
