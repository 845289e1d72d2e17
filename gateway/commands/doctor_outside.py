"""What doctor asks others: each platform's credentials and webhook, each provider's key."""

import dataclasses
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from gateway.app_channels import read_channels
from gateway.commands.operator import is_running, operator
from gateway.commands.output import language
from gateway.config import Config, load, section
from gateway.errors import ConfigError, GatewayError
from gateway.interfaces import Channel
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderSettings, checked
from gateway.operations.watching import (
    CHANNEL,
    PROVIDER,
    CheckView,
    check_channels,
    views_of_providers,
)


async def outside_checks(home: Path) -> list[dict[str, Any]]:
    """Rows of `gateway.check`. A running gateway asks by itself: the secrets may be in its
    environment alone. Otherwise each channel is built here, asked, and closed.
    """
    try:
        config = load(home / "config.toml")
    except GatewayError:
        return []  # a row of its own says so
    if is_running(home):
        async with operator(home, language()) as gateway:
            return list(await gateway.call("gateway.check", {}, None))
    views = [*await _channels(config), *await _providers(config)]
    return [dataclasses.asdict(view) for view in views]


async def _channels(config: Config) -> list[CheckView]:
    views: list[CheckView] = []
    built: list[Channel] = []
    async with AsyncExitStack() as opened:
        for platform, accounts in config.channels.items():
            for name, table in accounts.items():
                try:
                    channel = _built(config, platform, name, table)
                except ConfigError as error:
                    views.append(_wrong(CHANNEL, f"{platform}/{name}", error))
                else:
                    built.append(channel)
                    opened.push_async_callback(channel.close)
        return views + list(await check_channels(built))


def _built(config: Config, platform: str, name: str, table: Mapping[str, Any]) -> Channel:
    alone = dataclasses.replace(config, channels={platform: {name: table}})
    return read_channels(alone)[platform, name].build()


async def _providers(config: Config) -> list[CheckView]:
    views: list[CheckView] = []
    providers: dict[str, ProviderSettings] = {}
    for name, table in config.providers.items():
        try:
            settings = section(ProviderSettings, table, f"providers.{name}")
            providers[name] = checked(name, settings)
        except ConfigError as error:
            views.append(_wrong(PROVIDER, name, error))
    models = ModelRegistry(providers)
    try:
        return views + list(views_of_providers(await models.check()))
    finally:
        await models.close()


def _wrong(kind: str, name: str, error: ConfigError) -> CheckView:
    """The key that is wrong, as the start would name it."""
    return CheckView(kind, name, "settings", is_ok=False, detail=str(error))
