"""Takes changes of config.toml over while we run: channels, language models, embedding."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import structlog

from gateway.app_channels import build_providers, read_channels
from gateway.channel_set import ChannelSet
from gateway.config import Config, load
from gateway.errors import ConfigError
from gateway.llm.registry import ModelRegistry

log = structlog.get_logger()
POLL_S = 0.5
ACCEPTED, REJECTED = "ok", "rejected"
Signature = tuple[tuple[str, int, int, int], ...]


class ConfigFile:
    """config.toml and the files it takes secrets from; knows whether they changed since read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._secrets: tuple[Path, ...] = ()
        self._seen: Signature = ()

    def read(self) -> Config:
        """ConfigError names the exact wrong key."""
        self._seen = self.signature()
        try:
            config = load(self._path)
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            raise ConfigError(reason, path=self._path.name, reason=reason) from error
        self._secrets = tuple(_secret_files([config.channels, config.providers]))
        self._seen = (*self._seen[:1], *self.signature()[1:])
        return config

    def peek(self) -> Config:
        """What it says now; the watcher still finds it new. ConfigError."""
        return load(self._path)

    def signature(self) -> Signature:
        """Of each file its name, time, size and inode; zeros for one that is not there."""
        return tuple(_stat(path) for path in (self._path, *self._secrets))

    def is_new(self, signature: Signature) -> bool:
        """Whether that is not what was read."""
        return signature != self._seen

    @property
    def run(self) -> Path:
        """The home's folder for what lives as long as connections do."""
        return self._path.parent / "run"

    @property
    def is_there(self) -> bool:
        """A file that vanished is no wish to drop every channel."""
        return self._path.exists()


class ConfigWatcher:
    """Looks at the file twice a second, or when told; a bad one leaves everything as it was."""

    def __init__(
        self,
        file: ConfigFile,
        channels: ChannelSet,
        models: ModelRegistry,
        *,
        poll_s: float = POLL_S,
        follow: Callable[[Config], Awaitable[None]] | None = None,
    ) -> None:
        """`follow` is told of every file that was accepted."""
        self._follow = follow
        self._file = file
        self._poll_s = poll_s
        self._channels = channels
        self._models = models
        self._told = asyncio.Event()
        self.state = ACCEPTED
        self.reason = ""  # the key that was wrong, and why; never a value

    def look(self) -> None:
        """Read it now, changed or not (SIGHUP)."""
        self._told.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        last = await asyncio.to_thread(self._file.signature)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_s):
                    await self._told.wait()
            now = await asyncio.to_thread(self._file.signature)
            is_whole = now == last  # else somebody may still be writing it
            last = now
            if self._told.is_set() or (is_whole and self._file.is_new(now)):
                self._told.clear()
                await self._reload()

    async def _reload(self) -> None:
        try:
            config, wanted, providers = await asyncio.to_thread(self._read)
            await self._channels.replace(wanted)
        except ConfigError as error:
            self.state, self.reason = REJECTED, str(error)
            log.error("config rejected", reason=str(error))  # noqa: TRY400 - names the key
            return
        await self._models.replace(providers)
        if self._follow is not None:
            await self._follow(config)
        self.state, self.reason = ACCEPTED, ""
        log.info("config taken over", channels=len(wanted), providers=len(providers))

    def _read(self) -> Any:
        config = self._file.read()
        if not self._file.is_there:
            raise ConfigError("config.toml is gone", path="config.toml", reason="is gone")
        channels = read_channels(config, self._file.run)
        return config, channels, build_providers(config, is_strict=True)


def _stat(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino


def _secret_files(tables: Any) -> list[Path]:
    """Every `*_file` of these tables, however deep."""
    found: list[Path] = []
    values = tables.items() if isinstance(tables, Mapping) else [("", each) for each in tables]
    for key, value in values:
        if isinstance(value, Mapping):
            found += _secret_files(value)
        elif key.endswith("_file") and isinstance(value, str):
            found.append(Path(value).expanduser())
    return found
