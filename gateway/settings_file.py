"""Writes single keys of config.toml; everything else in the file stays as it was."""

import asyncio
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gateway.accounts.agent_files import unwritable, write_whole
from gateway.errors import ConfigError

Value = str | bool | int | Mapping[str, str | int] | None


class SettingsFile:
    """The file of a home; it is changed by one call at a time, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._one_at_a_time = asyncio.Lock()

    async def put(self, section: Sequence[str], values: Mapping[str, Value]) -> None:
        """Set the keys of a table, None deletes one. ConfigError when the file cannot be read,
        StoreError when it cannot be written.
        """
        async with self._one_at_a_time:
            try:
                await asyncio.to_thread(self._put, section, values)
            except OSError as error:
                raise unwritable(error) from error

    def _put(self, section: Sequence[str], values: Mapping[str, Value]) -> None:
        text = self._path.read_text("utf-8") if self._path.exists() else ""
        try:
            document = tomlkit.parse(text)
            table = _table(document, section)
        except (TOMLKitError, ValueError, TypeError) as error:
            raise ConfigError(str(error), path=self._path.name, reason=str(error)) from error
        for key, value in values.items():
            if value is None:
                table.pop(key, None)
            elif table.get(key) != value:
                table[key] = value
        written = tomlkit.dumps(document)
        if tomllib.loads(written) != document.unwrap():  # readers would understand it otherwise
            reason = f"[{'.'.join(section)}] cannot be changed by program"
            raise ConfigError(reason, path=self._path.name, reason=reason)
        if written != text:
            write_whole(self._path, written)


def _table(document: tomlkit.TOMLDocument, section: Sequence[str]) -> MutableMapping[str, Any]:
    table: MutableMapping[str, Any] = document
    for name in section:
        if name not in table:
            is_inner = name != section[-1]
            table[name] = tomlkit.table(is_super_table=is_inner)
        table = table[name]
        if not isinstance(table, MutableMapping):
            raise TypeError(f"{name} is no table")
    return table
