"""Builds channels and language models from config.toml; a platform nobody uses costs nothing."""

import importlib
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import structlog

from gateway.channel_set import Configured, Key
from gateway.cloud_config import EMBEDDING_ONLY
from gateway.config import Config, section, wrong
from gateway.core.asking import is_blank
from gateway.core.secrets import Secret
from gateway.errors import ConfigError
from gateway.llm.settings import ProviderSettings, checked

log = structlog.get_logger()

# platform -> (module, its settings for one [channels.<platform>.<name>] table, its channel)
PLATFORMS: Mapping[str, tuple[str, str, str]] = {
    "line": ("channels.line.channel", "LineSettings", "LineChannel"),
    "telegram": ("channels.telegram.channel", "TelegramSettings", "TelegramChannel"),
    "slack": ("channels.slack.channel", "SlackSettings", "SlackChannel"),
    "discord": ("channels.discord.channel", "DiscordSettings", "DiscordChannel"),
    "widget": ("channels.widget.channel", "WidgetSettings", "WidgetChannel"),
    "odoolivechat": (
        "channels.odoolivechat.channel",
        "OdooLiveChatSettings",
        "OdooLiveChatChannel",
    ),
}
WITH_SESSION = frozenset({"discord"})  # their sockets go on where they were
# a second connection with one's token would answer everything twice: (its key, in which mode)
ALONE = {
    "discord": ("bot_token", ""),
    "telegram": ("bot_token", "polling"),
    "slack": ("app_token", "socket"),
}
_NAME = re.compile(r"\w[\w.@-]{0,63}")  # goes into addresses, grants and the keys of conversations


def read_channels(config: Config, run: Path | None = None) -> dict[Key, Configured]:
    """What each `[channels.<platform>.<name>]` table wants; ConfigError names a wrong key.

    `run` is where a platform's session is kept over a restart; without it nothing is kept.
    """
    found: dict[Key, Configured] = {}
    alone: dict[tuple[str, ...], str] = {}
    for platform, accounts in config.channels.items():
        if platform not in PLATFORMS:
            raise wrong(f"channels.{platform}", f"unknown; known: {', '.join(PLATFORMS)}")
        if not accounts:
            continue
        module_name, settings_name, channel_name = PLATFORMS[platform]
        module = importlib.import_module(module_name)
        settings_class: Any = getattr(module, settings_name)
        channel_class: Any = getattr(module, channel_name)
        for name, table in accounts.items():
            path = f"channels.{platform}.{name}"
            if not _NAME.fullmatch(name):
                raise wrong(path, "a name is letters, digits and . @ _ -, 64 at most")
            settings: Any = section(settings_class, {"name": name, **table}, path)
            _no_empty_values(settings, table, path)
            _alone(platform, settings, path, alone)
            kept: dict[str, Any] = {}
            if platform in WITH_SESSION and run is not None:
                kept["session_file"] = run / f"{platform}-{quote(name, safe='')}.json"
            found[platform, name] = Configured(settings, partial(channel_class, settings, **kept))
    return found


def build_providers(config: Config, *, is_strict: bool) -> dict[str, ProviderSettings]:
    """Language models by provider id; where it is not strict a wrong one is told and left out."""
    providers: dict[str, ProviderSettings] = {}
    for name, table in config.providers.items():
        if table.get("kind") in EMBEDDING_ONLY:
            continue
        try:
            settings = section(ProviderSettings, table, f"providers.{name}")
            providers[name] = checked(name, settings)
        except ConfigError as error:
            if is_strict:
                raise
            log.warning("provider left out", provider=name, reason=str(error))
    return providers


def _no_empty_values(settings: Any, table: Mapping[str, Any], path: str) -> None:
    """An empty secret would accept what anybody signs: better no start than an open door."""
    if is_blank(settings.agent):
        raise wrong(f"{path}.agent", "is empty")
    for field in fields(settings):
        value = getattr(settings, field.name)
        is_given = any(key.startswith(field.name) for key in table)
        if is_given and isinstance(value, Secret) and is_blank(value.reveal()):
            raise wrong(f"{path}.{field.name}", "is empty")


def _alone(platform: str, settings: Any, path: str, seen: dict[tuple[str, ...], str]) -> None:
    """Of two accounts that would be one at the platform the second is refused."""
    key, mode = ALONE.get(platform, ("", ""))
    if not key or (mode and settings.mode != mode):
        return
    account = platform, settings.api_base_url, getattr(settings, key).reveal()
    other = seen.setdefault(account, path)
    if other != path:
        raise wrong(f"{path}.{key}", f"is that of {other}; it would answer everything twice")


def named(config: Config) -> tuple[tuple[str, str], ...]:
    """Our accounts on platforms by the file alone, where no channel is running."""
    return tuple((platform, name) for platform, named in config.channels.items() for name in named)
